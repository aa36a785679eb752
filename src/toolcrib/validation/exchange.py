"""Requests to a tool's process without the router in between; what it answers is read the way the router reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from toolcrib.definition.call import Deadline
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import CallError
from toolcrib.runtime.connections import ConnectionPool
from toolcrib.runtime.dispatch import interpret
from toolcrib.runtime.http1 import Answer, BodyTooLarge, ConnectionLost, InvalidAnswer
from toolcrib.runtime.status import Endpoint

CALL_SECONDS = 60.0
ANSWER_BYTES = 256 * 1024 * 1024
EXCERPT = 200


@dataclass(frozen=True, slots=True)
class Reply:
    """What a tool made of one request.

    Attributes:
        status: of HTTP; 0 where there was no answer.
        result: what the router would make of it.
        text: the beginning of the answer, or why there was none.
    """

    status: int
    result: ToolResult
    text: str

    @property
    def is_success(self) -> bool:
        """Whether it answered a result."""
        return self.result.success

    @property
    def is_clear_error(self) -> bool:
        """Whether a caller can act on it: an error with a text that blames the caller, not the tool."""
        return not self.is_success and 200 <= self.status < 500 and bool(self.result.error)

    @property
    def error(self) -> str:
        """The error's text, in one line."""
        return " / ".join((self.result.error or "").splitlines())

    def __str__(self) -> str:
        if self.status == 0:
            return self.text
        if self.is_success:
            return f"accepted: HTTP {self.status} {self.text}"
        return f"HTTP {self.status}: {self.error or self.text}"


class Exchange:
    """Asks one running tool.

    Args:
        tool: what its files say of it.
        endpoint: where its process answers.
        call_seconds: how long one answer may take.
    """

    def __init__(self, tool: ToolDefinition, endpoint: Endpoint, *, call_seconds: float = CALL_SECONDS) -> None:
        self.tool = tool
        self.endpoint = endpoint
        self._seconds = call_seconds
        self._pool = ConnectionPool()

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()

    async def run(self, params: Mapping[str, Any]) -> Reply:
        """Run it once with these parameters, right or wrong."""
        if self.endpoint.method == "GET":
            pairs = [(key, value if isinstance(value, str) else json.dumps(value)) for key, value in params.items()]
            return await self._ask(f"{self._target}?{urlencode(pairs)}", b"")
        return await self.send(json.dumps(dict(params)).encode())

    async def send(self, body: bytes) -> Reply:
        """Send it a body, whatever it is, as if it were JSON."""
        return await self._ask(self._target, body)

    async def health(self) -> Answer:
        """What ``GET /health`` answers; raises `OSError` where there is no answer."""
        try:
            return await self._pool.request(self.endpoint.port, "GET", "/health", limit=ANSWER_BYTES)
        except (ConnectionLost, InvalidAnswer, BodyTooLarge) as error:
            raise ConnectionError(str(error)) from error

    @property
    def _target(self) -> str:
        return urlsplit(self.endpoint.url).path or "/"

    async def _ask(self, target: str, body: bytes) -> Reply:
        import asyncio

        headers = [("Accept", "application/json"), ("Content-Type", "application/json")]
        deadline = Deadline(self._seconds)
        try:
            async with asyncio.timeout(deadline.remaining()):
                answer = await self._pool.request(
                    self.endpoint.port,
                    self.endpoint.method,
                    target,
                    headers=headers,
                    body=body,
                    limit=ANSWER_BYTES,
                    fresh=True,
                )
        except TimeoutError:
            return _silence(f"no answer within {self._seconds:g} s")
        except (ConnectionLost, InvalidAnswer, BodyTooLarge, OSError) as error:
            return _silence(f"no answer: {error or type(error).__name__}")
        text = answer.body[: EXCERPT * 4].decode("utf-8", "replace")[:EXCERPT]
        try:
            result = interpret(answer, self.tool, self.endpoint)
        except CallError as error:
            result = ToolResult.from_error(error)
        return Reply(answer.status, result, text)


def _silence(why: str) -> Reply:
    return Reply(0, ToolResult.fail(why), why)
