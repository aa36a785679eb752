"""POST /artifacts and GET /artifacts/{id}."""

from __future__ import annotations

import hashlib
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.unit.http.conftest import FakeCrib

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 400


async def upload(client: httpx2.AsyncClient, content: bytes, name: str = "picture.png", **headers: str) -> Any:
    answer = await client.post("/artifacts", params={"name": name}, content=content, headers=headers)
    assert answer.status_code == 201, answer.text
    return answer.json()


async def test_an_uploaded_file_is_answered_by_reference_and_found_there(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/artifacts?name=a.png", content=PNG, headers={"Content-Type": "image/png"})
    artifact = answer.json()
    assert answer.headers["location"] == artifact["url"]
    assert artifact["reference"] == f"artifact://{artifact['id']}"
    assert (artifact["name"], artifact["mime_type"], artifact["size"]) == ("a.png", "image/png", len(PNG))
    assert artifact["sha256"] == hashlib.sha256(PNG).hexdigest()

    file = await client.get(artifact["url"])
    assert file.content == PNG
    assert file.headers["content-type"] == "image/png"
    assert file.headers["content-disposition"] == 'attachment; filename="a.png"'
    assert file.headers["etag"] == f'"{artifact["sha256"]}"'
    assert file.headers["accept-ranges"] == "bytes"
    assert "sandbox" in file.headers["content-security-policy"]
    assert file.headers["x-content-type-options"] == "nosniff"


async def test_a_head_request_has_the_headers_only(client: httpx2.AsyncClient) -> None:
    artifact = await upload(client, PNG)
    head = await client.head(artifact["url"])
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", str(len(PNG)))


@pytest.mark.parametrize(
    ("asked", "part", "told"),
    [
        ("bytes=0-9", PNG[:10], "bytes 0-9/{}"),
        ("bytes=10-", PNG[10:], "bytes 10-{}/{}"),
        ("bytes=-5", PNG[-5:], "bytes {}-{}/{}"),
    ],
)
async def test_a_range_is_answered_206(client: httpx2.AsyncClient, asked: str, part: bytes, told: str) -> None:
    artifact = await upload(client, PNG)
    answer = await client.get(artifact["url"], headers={"Range": asked})
    assert (answer.status_code, answer.content) == (206, part)
    assert answer.headers["content-range"].endswith(f"/{len(PNG)}")
    assert answer.headers["content-range"].startswith("bytes ")


async def test_a_range_beyond_the_end_is_416(client: httpx2.AsyncClient) -> None:
    artifact = await upload(client, PNG)
    answer = await client.get(artifact["url"], headers={"Range": f"bytes={len(PNG)}-"})
    assert answer.status_code == 416
    assert answer.headers["content-range"] == f"bytes */{len(PNG)}"


async def test_a_file_that_the_client_has_is_304(client: httpx2.AsyncClient) -> None:
    artifact = await upload(client, PNG)
    answer = await client.get(artifact["url"], headers={"If-None-Match": f'"{artifact["sha256"]}"'})
    assert (answer.status_code, answer.content) == (304, b"")


async def test_an_interrupted_download_goes_on_only_with_the_same_file(client: httpx2.AsyncClient) -> None:
    artifact = await upload(client, PNG)
    for if_range, status in ((f'"{artifact["sha256"]}"', 206), ('"other"', 200)):
        answer = await client.get(artifact["url"], headers={"Range": "bytes=5-", "If-Range": if_range})
        assert answer.status_code == status


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        pytest.param("../../etc/cron.d/x", ".._.._etc_cron.d_x", id="E045"),
        pytest.param("a\x00.png", "a.png", id="E047"),
        pytest.param(".", "file.png", id="E049"),
        pytest.param("\u202egnp.exe", "gnp.exe", id="E051"),
        pytest.param("-rf", "-rf", id="E053"),
        ('图 片".png', '图 片".png'),
        ("a\r\nSet-Cookie: x=y", "aSet-Cookie: x=y"),
    ],
)
async def test_a_name_is_kept_for_display_and_used_for_nothing_else(
    client: httpx2.AsyncClient, crib: FakeCrib, name: str, shown: str
) -> None:
    artifact = await upload(client, PNG, name)
    assert artifact["name"] == shown
    file = await client.get(artifact["url"])
    disposition = file.headers["content-disposition"]
    assert disposition in (f'attachment; filename="{shown}"', f"attachment; filename*=utf-8''{quote(shown)}")
    assert "set-cookie" not in file.headers
    kept = [path for path in crib.settings.project.rglob("*") if path.is_file()]
    assert all(path.is_relative_to(crib.settings.home / "artifacts") for path in kept)


async def test_a_page_that_somebody_uploads_does_not_act(client: httpx2.AsyncClient) -> None:
    artifact = await upload(client, b"<script>alert(1)</script>", "x.html", **{"Content-Type": "text/html"})
    file = await client.get(artifact["url"])
    assert file.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert file.headers["content-disposition"].startswith("attachment")


async def test_E055_one_name_twice_is_two_files(client: httpx2.AsyncClient) -> None:
    first, second = await upload(client, b"one", "a.txt"), await upload(client, b"two", "a.txt")
    assert [(await client.get(each["url"])).content for each in (first, second)] == [b"one", b"two"]


@pytest.mark.parametrize("path", ["x", "art_" + "0" * 32, "..%2F..%2Fetc%2Fpasswd", "%00"])
async def test_an_unknown_artifact_is_404(client: httpx2.AsyncClient, path: str) -> None:
    answer = await client.get(f"/artifacts/{path}")
    assert answer.status_code == 404
    assert answer.json()["error_code"] in ("unknown_artifact", "not_found")


@pytest.mark.parametrize("kind", ["multipart/form-data; boundary=x", "application/x-www-form-urlencoded"])
async def test_a_form_is_refused_with_what_to_send(client: httpx2.AsyncClient, kind: str) -> None:
    answer = await client.post("/artifacts", content=b"--x", headers={"Content-Type": kind})
    assert answer.status_code == 415
    assert "--data-binary" in answer.json()["hint"]


async def test_a_home_that_cannot_be_written_is_a_clear_error(client: httpx2.AsyncClient, crib: FakeCrib) -> None:
    crib.settings.home.write_text("a file where a folder should be")
    answer = await client.post("/artifacts", content=PNG)
    assert answer.status_code == 500
    assert answer.json()["error_code"] == "storage_error"
    assert "TOOLCRIB_HOME" in answer.json()["hint"]
