"""The door with a real server and real connections behind it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.unit.http.conftest import SLACK, FakeCrib, free_port, serving
from toolcrib.errors import PortTakenError, ServiceError
from toolcrib.interfaces.http.server import listen, serve, url_of


class Endless:
    """A tool that works until it is cancelled, and says when it began and ended."""

    def __init__(self) -> None:
        self.working = threading.Event()
        self.ended = threading.Event()

    async def __call__(self, arguments: dict[str, Any]) -> None:
        self.working.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()


@pytest.fixture
def endless(crib: FakeCrib) -> Endless:
    tool = Endless()
    crib.add("endless", lambda arguments: tool(arguments))
    return tool


async def happens(event: threading.Event) -> bool:
    return await asyncio.to_thread(event.wait, 5 * SLACK)


async def connect(url: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))


def request(body: bytes, path: str = "/run_tool", *, length: int | None = None) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body) if length is None else length}\r\n\r\n".encode() + body


async def test_T001_the_service_answers_at_its_port_and_closes_what_it_opened(crib: FakeCrib) -> None:
    async with serving(crib) as url, httpx2.AsyncClient(base_url=url) as client:
        assert url == f"http://127.0.0.1:{crib.settings.port}"
        assert crib.open
        assert (await client.get("/health")).content == b'{"status":"ok"}'
        answer = await client.post("/run_tool", json={"tool_id": "echo", "params": {"a": 1}})
        assert answer.json() == {"status": "success", "result": {"a": 1}, "error": None}
    assert not crib.open
    with listen("127.0.0.1", crib.settings.port):
        pass


async def test_T024_a_client_that_leaves_ends_its_call_before_the_first_beat(crib: FakeCrib, endless: Endless) -> None:
    crib.settings = crib.settings.model_copy(update={"heartbeat": 60.0})
    async with serving(crib) as url:
        _, writer = await connect(url)
        writer.write(request(b'{"tool_id": "endless"}'))
        assert await happens(endless.working)
        writer.close()
        assert await happens(endless.ended)


async def test_T024_a_client_that_leaves_ends_its_call_between_the_beats(crib: FakeCrib, endless: Endless) -> None:
    async with serving(crib) as url:
        reader, writer = await connect(url)
        writer.write(request(b'{"tool_id": "endless"}'))
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5 * SLACK)
        assert head.startswith(b"HTTP/1.1 200")
        assert await asyncio.wait_for(reader.readuntil(b"1\r\n \r\n1\r\n \r\n"), 5 * SLACK)
        assert not endless.ended.is_set()
        writer.close()
        assert await happens(endless.ended)


async def test_a_client_with_a_short_read_timeout_gets_the_answer_of_a_slow_call(crib: FakeCrib) -> None:
    async def slow(arguments: dict[str, Any]) -> str:
        await asyncio.sleep(crib.settings.heartbeat * 10)
        return "done"

    crib.add("slow", slow)
    timeout = httpx2.Timeout(5.0 * SLACK, read=crib.settings.heartbeat * 5)
    async with serving(crib) as url, httpx2.AsyncClient(base_url=url, timeout=timeout) as client:
        answer = await client.post("/run_tool", json={"tool_id": "slow"})
        assert answer.json()["result"] == "done"
        again = await client.get("/health")
        assert again.status_code == 200


async def test_a_call_just_as_long_as_a_beat_is_answered_whole(crib: FakeCrib) -> None:
    async def race(arguments: dict[str, Any]) -> float:
        await asyncio.sleep(arguments["seconds"])
        return float(arguments["seconds"])

    crib.settings = crib.settings.model_copy(update={"heartbeat": 0.02})
    crib.add("race", race)
    async with serving(crib) as url, httpx2.AsyncClient(base_url=url, timeout=10 * SLACK) as client:
        for seconds in [0.018 + 0.0005 * step for step in range(12)]:
            answer = await client.post("/run_tool", json={"tool_id": "race", "params": {"seconds": seconds}})
            assert answer.json() == {"status": "success", "result": seconds, "error": None}


async def test_stopping_the_service_answers_the_calls_that_it_cuts_off(crib: FakeCrib, endless: Endless) -> None:
    crib.settings = crib.settings.model_copy(update={"stop_grace": 0.0, "heartbeat": 60.0})
    async with httpx2.AsyncClient(timeout=30 * SLACK) as client:
        async with serving(crib) as url:
            call = asyncio.create_task(client.post(f"{url}/run_tool", json={"tool_id": "endless"}))
            assert await happens(endless.working)
        answer = await call
    assert answer.status_code == 503
    assert answer.json()["error_code"] == "cancelled"
    assert endless.ended.is_set()


@pytest.mark.parametrize("path", ["/run_tool", "/artifacts", "/tools"])
async def test_a_body_of_200_megabytes_is_refused_and_never_held(crib: FakeCrib, path: str) -> None:
    import psutil

    block = b"x" * 1_000_000
    async with serving(crib) as url, httpx2.AsyncClient(base_url=url, timeout=30 * SLACK) as client:

        async def blocks() -> Any:
            for _ in range(200):
                yield block

        before = psutil.Process().memory_info().rss
        for headers in ({"Content-Length": "200000000"}, {}):
            answer = await client.post(path, content=blocks(), headers=headers)
            assert answer.status_code == (413 if path != "/tools" or headers else 405)
        assert psutil.Process().memory_info().rss - before < 60_000_000
        assert (await client.get("/health")).status_code == 200


async def test_a_length_over_the_limit_is_refused_before_the_body_comes(crib: FakeCrib) -> None:
    async with serving(crib) as url:
        reader, writer = await connect(url)
        writer.write(request(b"", length=200_000_000))
        head = await asyncio.wait_for(reader.readuntil(b"\r\n"), 5 * SLACK)
        assert head.startswith(b"HTTP/1.1 413 ")
        writer.close()


async def test_a_client_that_leaves_in_the_middle_of_its_body_harms_nobody(crib: FakeCrib) -> None:
    async with serving(crib) as url, httpx2.AsyncClient(base_url=url) as client:
        for path in ("/run_tool", "/artifacts", "/tools/echo/run", "/tools/image_stitcher/start"):
            _, writer = await connect(url)
            writer.write(request(b"half", path, length=1000))
            await writer.drain()
            writer.close()
        assert (await client.get("/health")).status_code == 200
        assert (await client.get("/tools/image_stitcher")).json()["state"] == "stopped"
    assert crib.calls == []
    assert not any(path.is_file() for path in crib.settings.home.rglob("*"))


async def test_five_megabytes_by_reference_arrive_whole(crib: FakeCrib) -> None:
    crib.settings = crib.settings.model_copy(update={"request_limit": 6_000_000})
    content = os.urandom(5_000_000)
    async with serving(crib) as url, httpx2.AsyncClient(base_url=url, timeout=10 * SLACK) as client:
        artifact = (await client.post("/artifacts?name=a.bin", content=content)).json()
        assert (await client.get(artifact["url"])).content == content
        part = await client.get(artifact["url"], headers={"Range": "bytes=4999990-"})
        assert part.content == content[-10:]


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


async def test_a_taken_port_is_found_before_anything_is_opened(crib: FakeCrib, taken_port: int) -> None:
    crib.settings = crib.settings.model_copy(update={"port": taken_port})
    with pytest.raises(PortTakenError, match=f"Port {taken_port} is taken by .*pid {os.getpid()}") as caught:
        await serve(crib.as_crib)
    assert "--port" in str(caught.value.hint)
    assert not crib.open


def test_the_listening_socket_says_that_it_is_tcp_so_that_small_answers_do_not_wait() -> None:
    with listen("127.0.0.1", free_port()) as listener:
        assert listener.proto == socket.IPPROTO_TCP


@pytest.mark.parametrize("connection", ["keep-alive", "close"])
async def test_an_answer_without_a_body_does_not_wait_for_one(crib: FakeCrib, connection: str) -> None:
    async with serving(crib) as url:
        reader, writer = await connect(url)
        for _ in range(2 if connection == "keep-alive" else 1):
            writer.write(f"HEAD /docs HTTP/1.1\r\nHost: localhost\r\nConnection: {connection}\r\n\r\n".encode())
            async with asyncio.timeout(5 * SLACK):
                head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 ")
            assert b"content-length: " in head
        writer.close()
        await writer.wait_closed()


async def test_an_answer_is_one_packet(crib: FakeCrib) -> None:
    async with serving(crib) as url:
        reader, writer = await connect(url)
        for _ in range(20):
            writer.write(request(b'{"tool_id": "echo", "params": {}}'))
            assert (await reader.read(65536)).endswith(b'"error":null}')
        writer.close()
        await writer.wait_closed()


async def test_T009_what_is_no_http_is_refused_in_the_same_form(crib: FakeCrib) -> None:
    async with serving(crib) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(b"\x16\x03\x01 this is TLS\r\n\r\n")
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/json" in head
    fault = json.loads(body)
    assert (fault["status"], fault["result"], fault["error_code"]) == ("error", None, "malformed_request")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])
async def test_T001_an_address_that_others_can_reach_is_refused(crib: FakeCrib, host: str) -> None:
    crib.settings = crib.settings.model_copy(update={"host": host})
    with pytest.raises(ServiceError, match="keys"):
        await serve(crib.as_crib)
    assert not crib.open


async def test_a_crib_that_cannot_be_opened_frees_the_port(crib: FakeCrib) -> None:
    class Locked(FakeCrib):
        async def __aenter__(self) -> FakeCrib:
            raise ServiceError("the home is in use")

    with pytest.raises(ServiceError, match="in use"):
        await serve(Locked(crib.settings).as_crib)
    with listen("127.0.0.1", crib.settings.port):
        pass


def test_the_url_is_what_a_person_types() -> None:
    assert url_of("127.0.0.1", 8001) == "http://127.0.0.1:8001"
    assert url_of("::1", 8001) == "http://[::1]:8001"


PROGRAM = """
import asyncio, sys
from pathlib import Path
from toolcrib.interfaces.http.server import serve
from toolcrib.settings import Settings
from tests.unit.http.conftest import FakeCrib

class Crib(FakeCrib):
    async def __aexit__(self, *exception):
        print("closed", flush=True)

async def main():
    crib = Crib(Settings(home=Path(sys.argv[1]), port=int(sys.argv[2])))
    async def slow(arguments):
        print("working", flush=True)
        await asyncio.sleep(0.3)
        return "done"
    crib.add("slow", slow)
    await serve(crib, on_ready=lambda url: print(url, flush=True))

asyncio.run(main())
print("ended", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_the_service_in_order(tmp_path: Path, number: signal.Signals) -> None:
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM, str(tmp_path), str(port)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parents[3],
    )
    try:
        assert process.stdout is not None
        assert (await asyncio.wait_for(process.stdout.readline(), 10 * SLACK)).startswith(b"http://")
        async with httpx2.AsyncClient(timeout=10 * SLACK) as client:
            url = f"http://127.0.0.1:{port}/run_tool"
            call = asyncio.create_task(client.post(url, json={"tool_id": "slow"}))
            assert await asyncio.wait_for(process.stdout.readline(), 10 * SLACK) == b"working\n"
            process.send_signal(number)
            assert json.loads((await call).content)["result"] == "done"
        output, errors = await asyncio.wait_for(process.communicate(), 10 * SLACK)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert (process.returncode, output, errors) == (0, b"closed\nended\n", b"")
