"""What an API answers, and what becomes of it."""

from __future__ import annotations

import asyncio
import base64
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.fake_api import FakeApi, Reply, Seen, fake_api
from tests.journeys.openapi_caller import AUTH, DATA, PNG, SECRET, SLACK, Caller, calling
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.registry.sources.openapi.source import OpenApiDocument
from toolcrib.storage.artifacts import FileArtifactStore


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with fake_api() as running:
        yield running


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", SECRET)
    monkeypatch.setenv("SHOP_USER", "ada")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)


@pytest.fixture
async def call(api: FakeApi, tmp_path: Path) -> AsyncIterator[Caller]:
    tools: list[ToolDefinition] = []
    for name, auth in (("petstore", AUTH), ("weather", None)):
        listing = OpenApiDocument(DATA / f"{name}.json", base_url=api.url, auth=auth).load()
        assert listing.problems == ()
        tools += listing.tools
    caller = Caller(tools, FileArtifactStore(tmp_path / "artifacts"))
    yield caller
    await caller.runner.close()


async def test_bytes_come_back_as_base64(call: Caller, api: FakeApi) -> None:
    api.answers(body=PNG, Content_Type="image/png")
    result = await call("get_pets_petId_photo", petId=1)
    assert result.data == {"content": base64.b64encode(PNG).decode(), "mime_type": "image/png"}
    assert api.only().header("Accept") == "image/png, */*;q=0.1"


async def test_nothing_comes_back_as_null(call: Caller, api: FakeApi) -> None:
    api.answers(status=204)
    assert await call("readings", station="s", day="d") == ToolResult.ok(None)


async def test_a_head_request_returns_its_headers(call: Caller, api: FakeApi) -> None:
    api.answers(body=b"", X_Size="12", Content_Type="application/zip")
    data = (await call("hasBackup")).data
    assert (data["status"], data["headers"]["x-size"]) == (200, "12")


@pytest.mark.parametrize(
    ("body", "content_type", "data"),
    [
        (b'{"a": NaN}', "application/json", {"a": None}),
        ('\ufeff{"a": 1}'.encode(), "application/json", {"a": 1}),
        ('{"a": "é"}'.encode("latin-1"), "application/json; charset=latin-1", {"a": "é"}),
        (b'{"a": 1}', "", {"a": 1}),
        (b'{"a": 1}', "application/problem+json", {"a": 1}),
        (b"plain", "", "plain"),
        ("é".encode("latin-1"), "text/plain; charset=iso-8859-1", "é"),
        (b"<a/>", "application/xml", "<a/>"),
        (b"\xff\xfe\x00", "", {"content": "//4A", "mime_type": "application/octet-stream"}),
    ],
)
async def test_an_answer_is_read_as_what_it_says_it_is(
    call: Caller, api: FakeApi, body: bytes, content_type: str, data: Any
) -> None:
    api.answers(body=body, Content_Type=content_type)
    assert await call("writeNote", body="x") == ToolResult.ok(data)


async def test_an_answer_that_is_not_the_json_it_says_is_an_upstream_error(call: Caller, api: FakeApi) -> None:
    api.answers(body=b"<html>")
    result = await call("writeNote", body="x")
    assert result.error_code == "upstream_error"
    assert result.hint == "The call was carried out; only its answer cannot be read."


@pytest.mark.parametrize(
    ("reply", "error", "code", "hint"),
    [
        (
            Reply(
                404,
                b'{"title": "No such pet", "detail": "Pet 7 has left."}',
                {"Content-Type": "application/problem+json"},
            ),
            "The API answered 404 Not Found: No such pet: Pet 7 has left.",
            "upstream_error",
            None,
        ),
        (
            Reply(400, b"<h1>Bad</h1>\n " + b"x" * 400, {"Content-Type": "text/html"}),
            f"The API answered 400 Bad Request: <h1>Bad</h1> {'x' * 287}…",
            "upstream_error",
            None,
        ),
        (
            Reply(429, b"", {"Retry-After": "30"}),
            "The API answered 429 Too Many Requests",
            "rate_limited",
            "Try again after 30 s.",
        ),
        (
            Reply(429, b"", {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}),
            "The API answered 429 Too Many Requests",
            "rate_limited",
            "Try again after 0 s.",
        ),
        (
            Reply(403, b'{"error": "no"}'),
            'The API answered 403 Forbidden: {"error": "no"}',
            "upstream_error",
            "Check the credential of the security scheme 'api_key' (env:SHOP_KEY), and what it is allowed to do.",
        ),
        (
            Reply(503, b"", {"Retry-After": "soon"}),
            "The API answered 503 Service Unavailable",
            "upstream_error",
            "Try again later.",
        ),
    ],
)
async def test_a_refusal_says_why(
    call: Caller, api: FakeApi, reply: Reply, error: str, code: str, hint: str | None
) -> None:
    api.reply = lambda seen: reply
    result = await call("getPet", petId=7)
    assert (result.error, result.error_code, result.hint) == (error, code, hint)
    assert result.data == {"status": reply.status}


async def test_an_answer_over_the_limit_is_refused(call: Caller, api: FakeApi) -> None:
    api.answers(body=b"[" + b" " * 100_000 + b"]")
    assert (await call("listPets")).error_code == "too_large"
    api.answers(status=500, body=b"x" * 200_000, Content_Type="text/plain")
    assert (await call("listPets")).error_code == "upstream_error"


async def test_a_compressed_answer_counts_decoded(call: Caller, api: FakeApi) -> None:
    import gzip

    api.answers(body=gzip.compress(b'{"a":"' + b" " * 1_000_000 + b'"}'), Content_Encoding="gzip")
    assert (await call("listPets")).error_code == "too_large"


async def test_the_deadline_ends_a_call(call: Caller, api: FakeApi) -> None:
    go_on = threading.Event()

    def wait(seen: Seen) -> Reply:
        go_on.wait(30 * SLACK)
        return Reply()

    api.reply = wait
    try:
        result = await call.within(0.2, "listPets", {})
    finally:
        go_on.set()
    assert (result.error_code, result.status.value) == ("timeout", "timeout")
    assert len(api.seen) == 1


async def test_an_api_that_is_away_is_named(tmp_path: Path) -> None:
    with fake_api() as gone:
        url = gone.url
    async with calling(OpenApiDocument(DATA / "petstore.json", base_url=url), tmp_path) as call:
        result = await call("listPets")
    assert result.error_code == "upstream_error"
    assert result.error is not None
    assert result.error.startswith("The API at 127.0.0.1 cannot be reached: ")


async def test_nothing_is_sent_twice(call: Caller, api: FakeApi) -> None:
    api.answers(status=500, body=b"")
    await call("createPet", name="Rex")
    assert len(api.seen) == 1


async def test_calls_run_side_by_side(call: Caller, api: FakeApi) -> None:
    together = threading.Barrier(8, timeout=30 * SLACK)

    def meet(seen: Seen) -> Reply:
        together.wait()
        return Reply(body=b"[]")

    api.reply = meet
    results = await asyncio.gather(*(call.within(40 * SLACK, "listPets", {}) for _ in range(8)))
    assert all(result.success for result in results)
