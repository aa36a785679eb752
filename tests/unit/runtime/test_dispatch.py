"""What is sent to a tool, and what its answers mean."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.runtime.workshop import free_port, until
from toolcrib.definition.call import Deadline
from toolcrib.definition.deployment import Authentication, Deployment
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import (
    CallError,
    DeadlineExceeded,
    DependencyMissingError,
    InvalidParamsError,
    TooLargeError,
    UpstreamError,
)
from toolcrib.runtime.dispatch import Dispatcher, interpret
from toolcrib.runtime.http1 import Answer
from toolcrib.runtime.status import Endpoint
from toolcrib.settings import Settings

TOOL = ToolDefinition("x", "For a test.", {}, deployment=Deployment("local"))
ENDPOINT = Endpoint("http://127.0.0.1:1/run", 1, "POST")


def answered(status: int, body: Any, headers: dict[bytes, bytes] | None = None) -> ToolResult:
    """What an answer means."""
    answer = Answer(status, headers or {})
    answer.body += body if isinstance(body, bytes) else json.dumps(body).encode()
    return interpret(answer, TOOL, ENDPOINT)


@pytest.fixture
async def dispatcher() -> AsyncIterator[Dispatcher]:
    """A dispatcher that accepts small answers."""
    dispatcher = Dispatcher(Settings(response_limit=1000))
    yield dispatcher
    await dispatcher.close()


class Tool:
    """A tool's server that keeps the requests and answers one way."""

    def __init__(self, answer: bytes | None) -> None:
        self.answer = answer
        self.requests: list[bytes] = []
        self.port = 0

    @property
    def endpoint(self) -> Endpoint:
        """Where it answers."""
        return Endpoint(f"http://127.0.0.1:{self.port}/run", self.port, "POST")

    def header(self, name: str) -> str | None:
        """A header of the last request."""
        head = self.requests[-1].split(b"\r\n\r\n")[0].decode()
        pairs = dict(line.split(": ", 1) for line in head.split("\r\n")[1:])
        return pairs.get(name)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Tool]:
        """Listen."""
        writers: list[asyncio.StreamWriter] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writers.append(writer)
            head = await reader.readuntil(b"\r\n\r\n")
            length = [int(line[16:]) for line in head.split(b"\r\n") if line.startswith(b"Content-Length: ")]
            self.requests.append(head + await reader.readexactly(sum(length)))
            if self.answer is not None:
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(self.answer), self.answer))
                writer.close()

        listener = await asyncio.start_server(serve, "127.0.0.1", 0)
        self.port = listener.sockets[0].getsockname()[1]
        yield self
        listener.close()
        for writer in writers:
            writer.transport.abort()
        await listener.wait_closed()
        await asyncio.sleep(0)


async def test_T023_a_call_is_a_post_of_its_parameters_with_what_remains_of_its_time(dispatcher: Dispatcher) -> None:
    async with Tool(b'{"sum": 3}').running() as tool:
        result = await dispatcher.dispatch(tool.endpoint, TOOL, {"a": 1, "b": "二"}, Deadline(600), "call_1")
        assert result == ToolResult.ok({"sum": 3})
        head, _, body = tool.requests[0].partition(b"\r\n\r\n")
        assert head.startswith(b"POST /run HTTP/1.1\r\nHost: 127.0.0.1:")
        assert json.loads(body) == {"a": 1, "b": "二"}
        assert tool.header("Content-Type") == "application/json"
        assert tool.header("X-Toolcrib-Call-Id") == "call_1"
        assert 590_000 < int(tool.header("X-Toolcrib-Deadline-Ms") or 0) <= 600_000


async def test_T017_a_get_tool_gets_its_parameters_as_a_query(dispatcher: Dispatcher) -> None:
    async with Tool(b"1").running() as tool:
        endpoint = replace(tool.endpoint, method="GET")
        params = {"q": "猫 & dog", "n": 2, "exact": True, "tags": ["a", "b"], "filter": {"x": 1}, "none": None}
        await dispatcher.dispatch(endpoint, TOOL, params, Deadline(60), "c")
        assert tool.requests[0].split(b" ")[:2] == [
            b"GET",
            b"/run?q=%E7%8C%AB+%26+dog&n=2&exact=true&tags=a&tags=b&filter=%7B%22x%22%3A1%7D",
        ]
        assert tool.header("Content-Length") is None


async def test_T023_a_call_id_cannot_add_a_header(dispatcher: Dispatcher) -> None:
    async with Tool(b"1").running() as tool:
        await dispatcher.dispatch(tool.endpoint, TOOL, {}, Deadline(60), "a\r\nX-Evil: 1" + "x" * 1000)
        assert tool.header("X-Evil") is None
        assert len(tool.header("X-Toolcrib-Call-Id") or "") <= 200


@pytest.mark.parametrize(
    ("authentication", "header", "value"),
    [
        (Authentication("bearer", {"token": "env:CRIB_TEST_SECRET"}), "Authorization", "Bearer s3cret"),
        (Authentication("header", {"key": "env:CRIB_TEST_SECRET"}, "X-Key"), "X-Key", "s3cret"),
    ],
)
async def test_T023_authentication_comes_from_a_reference(
    dispatcher: Dispatcher, monkeypatch: pytest.MonkeyPatch, authentication: Authentication, header: str, value: str
) -> None:
    tool_with_key = replace(TOOL, deployment=Deployment("local", authentication=authentication))
    async with Tool(b"1").running() as tool:
        monkeypatch.delenv("CRIB_TEST_SECRET", raising=False)
        with pytest.raises(DependencyMissingError, match="CRIB_TEST_SECRET"):
            await dispatcher.dispatch(tool.endpoint, tool_with_key, {}, Deadline(60), "c")
        monkeypatch.setenv("CRIB_TEST_SECRET", "two\nlines")
        with pytest.raises(DependencyMissingError, match="cannot be sent") as caught:
            await dispatcher.dispatch(tool.endpoint, tool_with_key, {}, Deadline(60), "c")
        assert "lines" not in str(caught.value)
        assert tool.requests == []
        monkeypatch.setenv("CRIB_TEST_SECRET", "s3cret")
        await dispatcher.dispatch(tool.endpoint, tool_with_key, {}, Deadline(60), "c")
        assert tool.header(header) == value


async def test_T023_a_key_may_go_into_the_query_and_a_literal_secret_is_refused(
    dispatcher: Dispatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRIB_TEST_SECRET", "s3cret")

    def tool_with(secret: str) -> ToolDefinition:
        return replace(
            TOOL, deployment=Deployment("local", authentication=Authentication("query", {"k": secret}, "key"))
        )

    async with Tool(b"1").running() as tool:
        await dispatcher.dispatch(tool.endpoint, tool_with("env:CRIB_TEST_SECRET"), {}, Deadline(60), "c")
        assert b"POST /run?key=s3cret " in tool.requests[0]
        with pytest.raises(DependencyMissingError, match="not a reference"):
            await dispatcher.dispatch(tool.endpoint, tool_with("s3cret"), {}, Deadline(60), "c")


async def test_T024_no_answer_in_time_is_said_and_the_connection_closed(dispatcher: Dispatcher) -> None:
    async with Tool(None).running() as tool:
        with pytest.raises(DeadlineExceeded, match=r"^Tool 'x' did not answer within 0\.2 s$"):
            await dispatcher.dispatch(tool.endpoint, TOOL, {}, Deadline(0.2), "c")
        assert dispatcher._pool.open_connections == 0


async def test_T023_a_hundred_cancelled_calls_leave_no_connection(dispatcher: Dispatcher) -> None:
    async with Tool(None).running() as tool:
        calls = [
            asyncio.create_task(dispatcher.dispatch(tool.endpoint, TOOL, {}, Deadline(60), "c")) for _ in range(100)
        ]
        await until(lambda: len(tool.requests) > 50)
        for call in calls:
            call.cancel()
        assert all(
            isinstance(end, asyncio.CancelledError) for end in await asyncio.gather(*calls, return_exceptions=True)
        )
        assert dispatcher._pool.open_connections == 0


async def test_T023_an_answer_over_the_limit_is_an_error_with_a_name(dispatcher: Dispatcher) -> None:
    async with Tool(b'"' + b"x" * 1000 + b'"').running() as tool:
        with pytest.raises(TooLargeError, match="more than 1000 bytes") as caught:
            await dispatcher.dispatch(tool.endpoint, TOOL, {}, Deadline(60), "c")
        assert "TOOLCRIB_RESPONSE_LIMIT" in (caught.value.hint or "")


async def test_T023_nobody_there_is_an_upstream_error(dispatcher: Dispatcher) -> None:
    port = free_port()
    with pytest.raises(UpstreamError, match="no connection"):
        await dispatcher.dispatch(Endpoint(f"http://127.0.0.1:{port}/run", port, "POST"), TOOL, {}, Deadline(60), "c")


@pytest.mark.parametrize("idempotent", [True, False])
async def test_T023_only_an_idempotent_tool_is_asked_again_after_a_silent_end(
    dispatcher: Dispatcher, idempotent: bool
) -> None:
    requests = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal requests
        while not writer.is_closing():
            await reader.readuntil(b"\r\n\r\n{}")
            requests += 1
            if requests == 2:
                break
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1")
            if requests == 3:
                break
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    endpoint = Endpoint(f"http://127.0.0.1:{port}/run", port, "POST")
    tool = replace(TOOL, idempotent=idempotent)
    await dispatcher.dispatch(endpoint, tool, {}, Deadline(60), "c")
    if idempotent:
        assert (await dispatcher.dispatch(endpoint, tool, {}, Deadline(60), "c")).data == 1
    else:
        with pytest.raises(UpstreamError, match="closed the connection"):
            await dispatcher.dispatch(endpoint, tool, {}, Deadline(60), "c")
    listener.close()
    await listener.wait_closed()
    await asyncio.sleep(0)
    assert requests == (3 if idempotent else 2)


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ({"image": "…", "width": 3}, ToolResult.ok({"image": "…", "width": 3})),
        ([1, 2], ToolResult.ok([1, 2])),
        (None, ToolResult.ok(None)),
        ({"status": "success", "result": {"a": 1}, "error": None}, ToolResult.ok({"a": 1})),
        ({"status": "error", "result": None, "error": "no cat"}, ToolResult.fail("no cat")),
        (
            {"status": "error", "error": "no cat", "error_code": "no_cat", "hint": "a dog?"},
            ToolResult.fail("no cat", code="no_cat", hint="a dog?"),
        ),
        ({"status": "success", "speed": 3}, ToolResult.ok({"status": "success", "speed": 3})),
        ({"status": "success", "result": 1, "more": 2}, ToolResult.ok({"status": "success", "result": 1, "more": 2})),
    ],
)
def test_T023_a_tool_answers_its_bare_result_or_the_documents_envelope(body: Any, result: ToolResult) -> None:
    assert answered(200, body) == result


def test_T023_an_envelope_counts_whatever_the_status() -> None:
    assert answered(500, {"status": "error", "result": None, "error": "no cat"}) == ToolResult.fail("no cat")


def test_T025_fastapis_422_names_each_parameter() -> None:
    detail = [
        {"loc": ["body", "x"], "msg": "Field required"},
        {"loc": ["body", "images", 1, "url"], "msg": "not a URL"},
        {"loc": ["query", "q"], "msg": "too short"},
        {"msg": "odd"},
    ]
    with pytest.raises(InvalidParamsError) as caught:
        answered(422, {"detail": detail})
    assert str(caught.value) == "x: Field required\nimages[1].url: not a URL\nq: too short\nodd"


@pytest.mark.parametrize(
    ("status", "body", "text"),
    [
        (400, {"detail": "no such city"}, "no such city"),
        (409, b"busy", "busy"),
        (418, b"", "HTTP status 418"),
        (418, {"detail": "I am a teapot"}, "I am a teapot"),
        (418, {"error": {"message": "I am a teapot", "code": 1}}, "I am a teapot"),
        (418, {"message": "I am a teapot"}, "I am a teapot"),
        (418, {"detail": {"reason": 1}}, '{"detail": {"reason": 1}}'),
    ],
)
def test_T023_a_4xx_is_the_tools_own_failure(status: int, body: Any, text: str) -> None:
    result = answered(status, body)
    assert result.error == text or (body == b"" and text in (result.error or ""))
    assert result.error_code == CallError.code


@pytest.mark.parametrize(
    ("status", "body", "text"),
    [
        (200, b"<html>" + b"x" * 1000, r"not JSON: <html>x{194}$"),
        (200, b"", "not JSON"),
        (200, b'{"score": NaN}', "answered with NaN or Infinity, which is not JSON"),
        (200, b"[1, -Infinity]", "answered with NaN or Infinity, which is not JSON"),
        (500, b"Internal Server Error", "HTTP status 500: Internal Server Error"),
        (503, {"detail": "the model is loading"}, "the model is loading"),
        (404, {"detail": "Not Found"}, "no POST /run"),
        (307, b"", "redirect to 'http://elsewhere/'"),
    ],
)
def test_T023_no_usable_answer_is_an_upstream_error(status: int, body: Any, text: str) -> None:
    with pytest.raises(UpstreamError, match=text) as caught:
        answered(status, body, {b"location": b"http://elsewhere/"})
    assert caught.value.hint
