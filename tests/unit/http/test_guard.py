"""Who may knock, and what everyone is answered."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
import pytest
from starlette.types import Message

from tests.unit.http.conftest import FakeCrib
from toolcrib.interfaces.http.app import create_app
from toolcrib.interfaces.http.guard import is_loopback

FAILURE_KEYS = ["status", "result", "error", "error_code", "hint"]
ROUTES = ["/health", "/health/ready", "/tools", "/openapi.json", "/docs", "/", "/nothing", "/artifacts/x"]


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8001",
        "LOCALHOST:80",
        "127.0.0.1",
        "127.0.0.1:1",
        "[::1]:8001",
        "[::1]",
        "crib.localhost:8001",
    ],
)
async def test_T038_loopback_names_are_answered(client: httpx2.AsyncClient, host: str) -> None:
    assert (await client.get("/health", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:8001",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.example#localhost",
        "localhost:8001@evil.example",
        "notlocalhost",
        "192.168.1.2:8001",
        "[::2]:8001",
        "localhost:port",
        "localhost:8001, evil.example",
        "127.0.0.1:8001/x",
    ],
)
@pytest.mark.parametrize("path", ["/health", "/tools", "/nothing"])
async def test_T038_any_other_host_is_421_on_every_route(client: httpx2.AsyncClient, host: str, path: str) -> None:
    answer = await client.get(path, headers={"Host": host})
    assert answer.status_code == 421
    assert list(answer.json()) == FAILURE_KEYS


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "https://127.0.0.1:8001", "http://127.0.0.1:9999", "http://localhost:8001", ""],
)
@pytest.mark.parametrize("path", ROUTES)
async def test_T038_another_origin_is_403_on_every_route(client: httpx2.AsyncClient, origin: str, path: str) -> None:
    answer = await client.get(path, headers={"Origin": origin})
    assert answer.status_code == 403
    assert list(answer.json()) == FAILURE_KEYS
    assert "access-control-allow-origin" not in answer.headers


async def test_T038_a_page_of_another_site_cannot_run_a_tool(client: httpx2.AsyncClient, crib: FakeCrib) -> None:
    headers = {"Origin": "https://evil.example", "Content-Type": "text/plain"}
    assert (await client.post("/run_tool", content=b'{"tool_id": "echo"}', headers=headers)).status_code == 403
    preflight = await client.options("/run_tool", headers={"Origin": "https://evil.example"})
    assert preflight.status_code == 403
    assert crib.calls == []


async def test_the_services_own_page_may_use_it(client: httpx2.AsyncClient) -> None:
    headers = {"Origin": "http://127.0.0.1:8001"}
    answer = await client.post("/run_tool", json={"tool_id": "echo"}, headers=headers)
    assert answer.json()["status"] == "success"


@pytest.mark.parametrize("path", ROUTES)
async def test_T038_no_answer_is_sniffed_or_embedded_elsewhere(client: httpx2.AsyncClient, path: str) -> None:
    answer = await client.get(path)
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize(("method", "path"), [("GET", "/nothing"), ("POST", "/nothing"), ("GET", "/docs/../x.py")])
async def test_an_unknown_path_is_404_in_the_documented_form(
    client: httpx2.AsyncClient, method: str, path: str
) -> None:
    answer = await client.request(method, path)
    assert answer.status_code == 404
    assert list(answer.json()) == FAILURE_KEYS
    assert "detail" not in answer.json()


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/run_tool", "POST"),
        ("DELETE", "/tools", "GET"),
        ("POST", "/health", "GET"),
        ("POST", "/tools/echo", "GET"),
        ("PUT", "/artifacts", "POST"),
    ],
)
async def test_another_method_is_405_and_says_which(
    client: httpx2.AsyncClient, method: str, path: str, allowed: str
) -> None:
    answer = await client.request(method, path)
    assert answer.status_code == 405
    assert list(answer.json()) == FAILURE_KEYS
    assert allowed in answer.headers["allow"]


@pytest.mark.parametrize("path", ["/run_tool", "/tools/echo/run", "/artifacts"])
async def test_a_body_over_the_limit_is_413_before_it_is_read(
    client: httpx2.AsyncClient, crib: FakeCrib, path: str
) -> None:
    answer = await client.post(path, content=b"x" * (crib.settings.request_limit + 1))
    assert answer.status_code == 413
    assert list(answer.json()) == FAILURE_KEYS
    assert answer.json()["error_code"] == "too_large"


@pytest.mark.parametrize("path", ["/run_tool", "/tools/echo/run", "/artifacts", "/tools/echo/stop"])
async def test_a_body_of_unknown_length_is_413_when_it_passes_the_limit(
    client: httpx2.AsyncClient, crib: FakeCrib, path: str
) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 10_000
            yield b"x" * 10_000

    answer = await client.post(path, content=endless())
    assert answer.status_code == 413
    assert answer.json()["error_code"] == "too_large"
    assert sent <= crib.settings.request_limit + 20_000
    assert not any(path.is_file() for path in crib.settings.home.rglob("*"))


async def test_a_body_of_just_the_limit_is_read(client: httpx2.AsyncClient, crib: FakeCrib) -> None:
    body = b'{"tool_id": "echo", "params": {"a": "%s"}}'
    body %= b"x" * (crib.settings.request_limit - len(body) + 2)
    assert len(body) == crib.settings.request_limit
    assert (await client.post("/run_tool", content=body)).json()["status"] == "success"


async def test_a_websocket_of_another_site_is_closed_before_it_opens(crib: FakeCrib) -> None:
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"host", b"127.0.0.1:8001"), (b"origin", b"http://evil.example")]
    scope = {"type": "websocket", "scheme": "ws", "path": "/", "headers": headers, "query_string": b""}
    await create_app(crib.as_crib)(scope, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("localhost", True), ("::1", True), ("[::1]", True)]
    + [(host, False) for host in ("0.0.0.0", "::", "192.168.1.2", "example.org", "")],
)
def test_T001_what_counts_as_this_machine(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected
