"""The API page: ours, whole, and offline."""

from __future__ import annotations

import re

import httpx2
import pytest


async def test_the_root_leads_to_the_page(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/")
    assert (answer.status_code, answer.headers["location"]) == (307, "/docs")


async def test_the_page_allows_only_its_own_files(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/docs")
    policy = answer.headers["content-security-policy"]
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy


async def test_everything_the_page_loads_is_here(client: httpx2.AsyncClient) -> None:
    page = (await client.get("/docs")).text
    loaded = re.findall(r'(?:src|href)="(/[^"]+)"', page)
    assert {"/docs/api.css", "/docs/api.js"} <= set(loaded)
    script = (await client.get("/docs/api.js")).text
    loaded += [f"/docs/{name}" for name in re.findall(r'from "\./([^"]+)"', script)]
    for url in loaded:
        answer = await client.get(url)
        assert answer.status_code == 200, url
        assert answer.content


@pytest.mark.parametrize("path", ["/docs", "/docs/api.css", "/docs/api.js", "/docs/schema.js", "/docs/texts.js"])
async def test_nothing_is_loaded_from_elsewhere_and_nothing_stands_inline(
    client: httpx2.AsyncClient, path: str
) -> None:
    text = (await client.get(path)).text
    assert re.findall(r"https?://|//[a-z0-9-]+\.", text) == []
    assert re.findall(r"<style|<script>|\sstyle=|\son[a-z]+=\"|innerHTML|eval\(", text) == []


async def test_the_page_is_not_sent_twice(client: httpx2.AsyncClient) -> None:
    etag = (await client.get("/docs/api.js")).headers["etag"]
    assert (await client.get("/docs/api.js", headers={"If-None-Match": etag})).status_code == 304


@pytest.mark.parametrize("path", ["/docs/nothing.js", "/docs/..%2Fapp.py", "/docs/", "/docs/api.html%00"])
async def test_no_other_file_is_given_out(client: httpx2.AsyncClient, path: str) -> None:
    assert (await client.get(path)).status_code == 404


async def test_both_languages_have_the_same_words(client: httpx2.AsyncClient) -> None:
    texts = (await client.get("/docs/texts.js")).text
    english, chinese = texts.split("  zh: {")
    words = re.compile(r'(?:^ +|, )([a-zA-Z]+): (?=[("n])', re.MULTILINE)
    assert len(words.findall(english)) > 50
    assert words.findall(english) == words.findall(chinese)
