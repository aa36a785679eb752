"""The tool SDK: one file beside ``main.py`` that serves a function (contract T025, T027).

Every test talks to a real process, started as the router starts it.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolcrib import tool_server

ROOT = Path(__file__).parents[2]
SDK = ROOT / "src" / "toolcrib" / "tool_server.py"
SLACK = float(os.environ.get("TOOLCRIB_TEST_SLACK", "2"))

MAIN = """
    import math
    import sys
    import time

    from tool_server import ToolFailure, serve


    def run(params, call):
        match params.get("do"):
            case "fail":
                raise ToolFailure("no such city", code="not_found", hint="try Paris")
            case "raise":
                raise ValueError("broken")
            case "exit":
                sys.exit(3)
            case "sleep":
                time.sleep(params["seconds"])
                return "slept"
            case "bytes":
                return {"data": b"x"}
            case "nan":
                return math.nan
            case "circle":
                loop = []
                loop.append(loop)
                return loop
            case "call":
                return [call.id, call.deadline_seconds]
            case "size":
                return len(params["text"])
        return params


    serve(run)
"""


class Tool:
    """A running tool process."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "main.py", *(arguments or ("--port", "0"))],
            cwd=folder,
            env={**os.environ, "TOOLCRIB_INSTANCE_TOKEN": "", **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        words = self.process.stdout.readline().replace(",", "").split()
        self.port = int(words[words.index("port") + 1]) if words else 0

    def request(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any, dict[str, str]]:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            data = json.dumps(body) if isinstance(body, dict | list) else body
            connection.request(method, path, data, headers or {})
            response = connection.getresponse()
            return response.status, json.loads(response.read()), dict(response.headers)

    def run(self, **params: Any) -> tuple[int, Any]:
        return self.request("POST", "/run", params)[:2]

    def send(self, raw: bytes, *, half_close: bool = True) -> bytes:
        """Send bytes as they are; return all that comes until the connection ends."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(raw)
            if half_close:
                connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65536), b""))

    def end(self, signal_number: int = signal.SIGTERM) -> tuple[int, str, float]:
        """Send a signal; return exit status, standard error, and the seconds it took."""
        start = time.monotonic()
        self.process.send_signal(signal_number)
        _, errors = self.process.communicate(timeout=30)
        return self.process.returncode, errors, time.monotonic() - start


def write_tool(folder: Path, source: str = MAIN) -> Path:
    (folder / "tool_server.py").write_bytes(SDK.read_bytes())
    (folder / "main.py").write_text(textwrap.dedent(source))
    return folder


@contextlib.contextmanager
def running(folder: Path, *arguments: str, **environment: str) -> Iterator[Tool]:
    tool = Tool(folder, *arguments, **environment)
    try:
        yield tool
    finally:
        if tool.process.poll() is None:
            tool.process.kill()
        tool.process.communicate()


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tool]:
    folder = write_tool(tmp_path_factory.mktemp("tool"))
    with running(folder, TOOLCRIB_INSTANCE_TOKEN="generation-7") as tool:
        yield tool


# -- health and the plain call


def test_health_is_exactly_ok_and_echoes_the_instance_token(tool: Tool) -> None:
    """T025, and what tells the router's own instance from one that was started by hand (T027)."""
    raw = tool.send(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
    head, _, body = raw.partition(b"\r\n\r\n")
    assert body == b'{"status":"ok"}'
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"\r\nX-Toolcrib-Instance: generation-7" in head


def test_without_a_token_no_instance_is_named(tmp_path: Path) -> None:
    with running(write_tool(tmp_path)) as tool:
        status, body, headers = tool.request("GET", "/health")
        assert (status, body) == (200, {"status": "ok"})
        assert "X-Toolcrib-Instance" not in headers


def test_the_result_is_returned_bare(tool: Tool) -> None:
    assert tool.run(text="你好", number=1.5) == (200, {"text": "你好", "number": 1.5})
    assert "你好".encode() in tool.send(post({"text": "你好"})), "readable for people, too"


def test_a_lone_surrogate_survives(tool: Tool) -> None:
    assert tool.run(text="\ud800") == (200, {"text": "\ud800"})


def test_a_query_string_does_not_hide_the_path(tool: Tool) -> None:
    assert tool.request("GET", "/health?x=1")[0] == 200


def test_a_handler_learns_the_calls_id_and_deadline(tool: Tool) -> None:
    headers = {"X-Toolcrib-Call-Id": "call-1", "X-Toolcrib-Deadline-Ms": "1500"}
    assert tool.request("POST", "/run", {"do": "call"}, headers)[1] == ["call-1", 1.5]
    assert tool.run(do="call")[1] == [None, None]
    assert tool.request("POST", "/run", {"do": "call"}, {"X-Toolcrib-Deadline-Ms": "soon"})[1] == [None, None]


@pytest.mark.parametrize(
    "handler",
    [
        "def run(params): return params",
        "async def run(params): return params",
        "run = lambda params: params",
        "import functools\ndef two(key, params): return params\nrun = functools.partial(two, 'x')",
        "class Echo:\n    def __call__(self, params): return params\nrun = Echo()",
    ],
)
def test_any_callable_can_be_served(tmp_path: Path, handler: str) -> None:
    source = f"from tool_server import serve\n{handler}\nserve(run, endpoint='echo')"
    with running(write_tool(tmp_path, source)) as tool:
        assert tool.request("POST", "/echo", {"a": 1})[:2] == (200, {"a": 1})


# -- HTTP


def post(params: object, *headers: str, path: str = "/run") -> bytes:
    body = json.dumps(params).encode() if not isinstance(params, bytes) else params
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def test_a_connection_serves_many_requests(tool: Tool) -> None:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", tool.port, timeout=30)) as connection:
        connection.connect()
        first_socket = connection.sock
        for number in range(3):
            connection.request("POST", "/run", json.dumps({"n": number}))
            assert json.loads(connection.getresponse().read()) == {"n": number}
        assert connection.sock is first_socket


def test_pipelined_requests_are_answered_in_order(tool: Tool) -> None:
    answers = tool.send(post({"n": 1}) + post({"n": 2}) + b"GET /health HTTP/1.1\r\n\r\n")
    assert answers.index(b'{"n":1}') < answers.index(b'{"n":2}') < answers.index(b'{"status":"ok"}')


def test_connection_close_is_honoured(tool: Tool) -> None:
    assert b"Connection: close" in tool.send(post({}, "Connection: close"), half_close=False)
    assert b"200 OK" in tool.send(b"GET /health HTTP/1.0\r\n\r\n", half_close=False)


def test_chunked_bodies_are_read(tool: Tool) -> None:
    head = b"POST /run HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    raw = head + b'4;name=value\r\n{"n"\r\n3\r\n:1}\r\n0\r\nTrailer: x\r\n\r\n'
    assert tool.send(raw + b"GET /health HTTP/1.1\r\n\r\n").count(b"200 OK") == 2


def test_a_caller_who_waits_for_100_continue_gets_it(tool: Tool) -> None:
    with socket.create_connection(("127.0.0.1", tool.port), timeout=30) as connection:
        head, _, body = post({"n": 1}, "Expect: 100-continue").partition(b"\r\n\r\n")
        connection.sendall(head + b"\r\n\r\n")
        assert connection.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        assert connection.recv(65536).endswith(b'{"n":1}')


def test_a_body_just_below_64_mib_is_taken_and_a_larger_one_refused(tool: Tool) -> None:
    frame = len(b'{"do": "size", "text": ""}')
    most = tool_server.MAX_BODY_BYTES - frame
    assert tool.run(do="size", text="x" * most) == (200, most)
    status, body = tool.run(do="size", text="x" * (most + 1))
    assert (status, body["error_code"]) == (413, "too_large")


def test_a_caller_that_announces_too_much_is_refused_at_once(tool: Tool) -> None:
    raw = tool.send(b"POST /run HTTP/1.1\r\nContent-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n")
    assert raw.startswith(b"HTTP/1.1 413 ")
    chunk = b"POST /run HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFF\r\n"
    assert tool.send(chunk).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "mention"),
    [
        ("POST", "/run", '{"a": ', 400, "JSON"),
        ("POST", "/run", "", 400, "JSON"),
        ("POST", "/run", '{"a": NaN}', 400, "NaN"),
        ("POST", "/run", b"\xff\xfe", 400, "JSON"),
        ("POST", "/run", "[" * 100_000, 400, "JSON"),
        ("POST", "/run", "[1]", 422, "object"),
        ("POST", "/run", "null", 422, "object"),
        ("GET", "/run", None, 405, "POST"),
        ("POST", "/health", "{}", 405, "GET"),
        ("GET", "/", None, 404, "/run"),
        ("POST", "/run/", "{}", 404, "/run"),
    ],
)
def test_a_wrong_request_is_told_what_is_wrong(
    tool: Tool, method: str, path: str, body: str | bytes | None, status: int, mention: str
) -> None:
    got, answer, headers = tool.request(method, path, body)
    assert got == status
    assert (answer["status"], answer["result"]) == ("error", None)
    assert mention in answer["error"]
    assert ("Allow" in headers) == (status == 405)


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET /health HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET /health HTTP/1.1\r\nbad name : x\r\n\r\n", 400),
        (b"POST /run HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"POST /run HTTP/1.1\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400),
        (b"POST /run HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        (b"POST /run HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
        (b"POST /run HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}x\r\n0\r\n\r\n", 400),
        (b"POST /run HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n", 400),
        (b"GET /health HTTP/1.1\r\n" + b"a: b\r\n" * 200 + b"\r\n", 431),
        (b"GET /health HTTP/1.1\r\na: " + b"b" * 20_000 + b"\r\n\r\n", 431),
    ],
)
def test_malformed_http_is_refused_and_the_connection_closed(tool: Tool, raw: bytes, status: int) -> None:
    answer = tool.send(raw, half_close=False)
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert b"Connection: close" in answer


def test_a_web_page_cannot_run_a_tool(tool: Tool) -> None:
    status, body, _ = tool.request("POST", "/run", {}, {"Origin": "https://evil.example"})
    assert (status, body["error_code"]) == (403, "denied")


def test_a_caller_who_hangs_up_in_the_middle_does_no_harm(tool: Tool) -> None:
    assert tool.send(b'POST /run HTTP/1.1\r\nContent-Length: 10\r\n\r\n{"a') == b""
    assert tool.send(b"GET /hea").startswith(b"HTTP/1.1 400")
    assert tool.request("GET", "/health")[0] == 200


# -- failures


def test_a_tool_failure_is_an_answer(tool: Tool) -> None:
    assert tool.run(do="fail") == (
        200,
        {"status": "error", "result": None, "error": "no such city", "error_code": "not_found", "hint": "try Paris"},
    )


@pytest.mark.parametrize(("do", "error"), [("raise", "ValueError: broken"), ("exit", "SystemExit: 3")])
def test_any_other_exception_is_a_500_and_the_tool_lives_on(tool: Tool, do: str, error: str) -> None:
    assert tool.run(do=do) == (
        500,
        {"status": "error", "result": None, "error": error, "error_code": "tool_error", "hint": None},
    )
    assert tool.request("GET", "/health")[0] == 200


@pytest.mark.parametrize(("do", "mention"), [("bytes", "bytes"), ("nan", "float"), ("circle", "ircular")])
def test_a_result_that_is_not_json_is_said_clearly(tool: Tool, do: str, mention: str) -> None:
    status, body = tool.run(do=do)
    assert (status, body["error_code"]) == (500, "tool_error")
    assert "not JSON" in body["error"]
    assert mention in body["error"]


def test_tracebacks_go_to_standard_error(tmp_path: Path) -> None:
    with running(write_tool(tmp_path)) as tool:
        tool.run(do="raise")
        _, errors, _ = tool.end()
        assert "Traceback" in errors
        assert "ValueError: broken" in errors


# -- side by side, start and end


def test_calls_run_side_by_side(tool: Tool) -> None:
    start = time.monotonic()
    threads = [threading.Thread(target=tool.run, kwargs={"do": "sleep", "seconds": 0.5}) for _ in range(20)]
    for thread in threads:
        thread.start()
    assert tool.request("GET", "/health")[0] == 200
    for thread in threads:
        thread.join()
    assert time.monotonic() - start < 0.5 + 1 * SLACK


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT])
def test_on_a_signal_calls_in_flight_finish_and_the_exit_is_clean(tmp_path: Path, signal_number: int) -> None:
    with running(write_tool(tmp_path)) as tool:
        answers: list[tuple[int, Any]] = []
        caller = threading.Thread(target=lambda: answers.append(tool.run(do="sleep", seconds=0.7)))
        caller.start()
        time.sleep(0.3)
        tool.process.send_signal(signal_number)  # twice, as a parent that forwards and a group do
        status, errors, seconds = tool.end(signal_number)
        caller.join()
        assert answers == [(200, "slept")]
        assert (status, errors) == (0, "")
        assert seconds < 0.7 + 1 * SLACK
        with pytest.raises(ConnectionRefusedError):
            tool.request("GET", "/health")


def test_a_call_that_does_not_end_gets_a_short_grace(tmp_path: Path) -> None:
    with running(write_tool(tmp_path)) as tool:
        caller = threading.Thread(target=lambda: tool.send(post({"do": "sleep", "seconds": 30})))
        caller.start()
        time.sleep(0.3)
        status, _, seconds = tool.end()
        caller.join()
        assert status == 0
        assert seconds < 5 + 2 * SLACK


def test_idle_connections_do_not_hold_the_exit_up(tmp_path: Path) -> None:
    with running(write_tool(tmp_path)) as tool, socket.create_connection(("127.0.0.1", tool.port)):
        assert tool.end()[2] < 1 * SLACK


def test_a_taken_port_is_one_clear_line_and_exit_98(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with running(write_tool(tmp_path), "--port", str(port)) as tool:
            _, errors = tool.process.communicate(timeout=30)
            assert tool.process.returncode == 98
            assert errors == f"cannot listen on 127.0.0.1 port {port}: the port is already in use\n"


@pytest.mark.parametrize("arguments", [("--port", "99999"), ("--port", "0", "--host", "no.such.host.invalid")])
def test_an_address_that_cannot_be_used_is_one_clear_line(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    with running(write_tool(tmp_path), *arguments) as tool:
        _, errors = tool.process.communicate(timeout=30)
        assert tool.process.returncode == 1
        assert errors.startswith("cannot listen on ")
        assert errors.count("\n") == 1


def test_a_tool_may_have_options_of_its_own(tmp_path: Path) -> None:
    with running(write_tool(tmp_path), "--port", "0", "--model", "small") as tool:
        assert tool.request("GET", "/health")[0] == 200


def test_a_start_costs_at_most_a_quarter_second_of_processor_time(tmp_path: Path) -> None:
    with running(write_tool(tmp_path)) as tool:
        tool.request("GET", "/health")
        fields = Path(f"/proc/{tool.process.pid}/stat").read_text().rpartition(")")[2].split()
        seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        assert seconds <= 0.25 * SLACK


def test_a_signal_right_after_the_start_ends_it_cleanly(tmp_path: Path) -> None:
    folder = write_tool(tmp_path)
    for _ in range(5):
        with running(folder) as tool:
            assert tool.end()[:2] == (0, "")


def test_every_copy_is_identical() -> None:
    """T036: a tool folder stands alone, so it carries its own copy."""
    copies = list((ROOT / "tools" / "local").glob("*/tool_server.py"))
    assert copies
    assert [copy for copy in copies if copy.read_bytes() != SDK.read_bytes()] == []
