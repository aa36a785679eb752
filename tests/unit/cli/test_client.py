"""How the commands find a running router and talk to it."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from toolcrib.errors import NotRunningError, ServiceError, ToolcribError
from toolcrib.interfaces.cli.client import (
    RouterClient,
    RouterRecord,
    answer_of,
    find_router,
    need_router,
    process_start,
    read_record,
    record_path,
    write_record,
)
from toolcrib.settings import Settings


class Router(ThreadingHTTPServer):
    """Answers every request with ``body`` and remembers what was asked."""

    daemon_threads = True

    def __init__(self, body: bytes) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.body = body
        self.asked: list[tuple[str, str, bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        router = self.server
        assert isinstance(router, Router)
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        router.asked.append((self.command, self.path, content))
        self.send_response(200)
        self.send_header("Content-Length", str(len(router.body)))
        self.end_headers()
        self.wfile.write(router.body)

    do_POST = do_GET  # noqa: N815

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def router(body: Any) -> Iterator[Router]:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    with Router(content) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path)


def record(url: str, *, pid: int | None = None, started_at: float | None = None) -> RouterRecord:
    pid = os.getpid() if pid is None else pid
    return RouterRecord(url, pid, process_start(pid) or 0.0 if started_at is None else started_at, "0.1.0")


def test_a_record_that_is_true_leads_to_the_router(tmp_path: Path) -> None:
    with router({"status": "ok"}) as running:
        write_record(record_path(settings(tmp_path)), record(running.url))
        found = find_router(settings(tmp_path))
        assert found is not None
        assert found.url == running.url
        assert read_record(record_path(settings(tmp_path))) == record(running.url)


@pytest.mark.parametrize(
    "content", ["", "{", "[]", "{}", '{"url": "http://x", "pid": "?", "started_at": 0, "version": ""}']
)
def test_a_record_that_cannot_be_read_is_none(tmp_path: Path, content: str) -> None:
    path = record_path(settings(tmp_path))
    path.parent.mkdir()
    path.write_text(content)
    assert find_router(settings(tmp_path)) is None


def test_no_record_no_router(tmp_path: Path) -> None:
    assert find_router(settings(tmp_path)) is None
    with pytest.raises(NotRunningError, match="No router is running") as caught:
        need_router(settings(tmp_path))
    assert "toolcrib serve" in str(caught.value.hint)


def test_a_record_of_another_process_with_the_same_id_is_not_believed(tmp_path: Path) -> None:
    with router({"status": "ok"}) as running:
        write_record(record_path(settings(tmp_path)), record(running.url, started_at=1.0))
        assert find_router(settings(tmp_path)) is None


def test_a_router_that_does_not_answer_is_none(tmp_path: Path) -> None:
    with router({"status": "ok"}) as running:
        gone = running.url
    write_record(record_path(settings(tmp_path)), record(gone))
    assert find_router(settings(tmp_path)) is None


@pytest.mark.parametrize("body", [b"", b"<html>", {"status": "starting"}, [1]])
def test_another_program_on_the_port_is_no_router(tmp_path: Path, body: Any) -> None:
    with router(body) as running:
        write_record(record_path(settings(tmp_path)), record(running.url))
        assert find_router(settings(tmp_path)) is None


def test_white_space_before_the_answer_is_no_harm() -> None:
    with router(b"    " + json.dumps({"a": 1}).encode()) as running:
        assert RouterClient(running.url).post("/run_tool", {"x": "\ud800"}) == {"a": 1}
        assert running.asked == [("POST", "/run_tool", b'{"x": "\\ud800"}')]


def test_an_upload_is_the_file_itself_and_gives_its_reference() -> None:
    with router({"reference": "artifact://abc"}) as running:
        assert RouterClient(running.url).upload(b"\x00\xff", "图 1.png") == "artifact://abc"
        assert running.asked == [("POST", "/artifacts?name=%E5%9B%BE+1.png", b"\x00\xff")]


def test_what_is_not_given_is_not_asked() -> None:
    with router({}) as running:
        RouterClient(running.url).get("/tools", {"lang": None, "q": "a b"})
        assert running.asked == [("GET", "/tools?q=a+b", b"")]


def test_no_usable_answer_is_an_error_with_a_hint() -> None:
    with router(b"<html>") as running, pytest.raises(ServiceError, match="no usable answer") as caught:
        RouterClient(running.url).get("/tools")
    assert "doctor" in str(caught.value.hint)


def test_a_failure_of_the_router_keeps_its_text_code_and_hint() -> None:
    failure = {
        "status": "error",
        "result": None,
        "error": "Tool not found: x",
        "error_code": "unknown_tool",
        "hint": "Try y.",
    }
    with pytest.raises(ToolcribError, match="Tool not found: x") as caught:
        answer_of(failure)
    assert (caught.value.code, caught.value.hint) == ("unknown_tool", "Try y.")
    assert answer_of({"tools": []}) == {"tools": []}
