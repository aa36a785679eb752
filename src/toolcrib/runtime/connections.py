"""Connections to tools, kept for a moment between calls."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Sequence

from toolcrib.runtime.http1 import IDLE_SECONDS, Answer, Connection, ConnectionLost

OPENING = 4
OPENING_SECONDS = 0.01


class _Turn:
    """The right to open a connection, given back when the other side answers or after 10 ms.

    Small servers keep five connections that wait to be accepted; the system drops the rest, and a second passes before
    each tries again.
    """

    __slots__ = ("_gate", "_has_ended")

    def __init__(self, gate: asyncio.Semaphore) -> None:
        self._gate = gate
        self._has_ended = False

    async def begin(self) -> None:
        await self._gate.acquire()

    def end(self) -> None:
        if not self._has_ended:
            self._has_ended = True
            self._gate.release()


class ConnectionPool:
    """Connections to loopback ports, kept for a few seconds between requests.

    A connection whose request did not end well, for whatever reason, is closed, never kept.

    Example:
        >>> async def health(port: int) -> int:
        ...     pool = ConnectionPool()
        ...     answer = await pool.request(port, "GET", "/health", limit=1024)
        ...     pool.close()
        ...     return answer.status
    """

    def __init__(self, host: str = "127.0.0.1") -> None:
        self._host = host
        self._idle: dict[int, deque[Connection]] = {}
        self._busy: set[Connection] = set()
        self._gates: dict[int, asyncio.Semaphore] = {}
        self._sweep: asyncio.TimerHandle | None = None

    @property
    def open_connections(self) -> int:
        """How many connections are open, kept or in use."""
        return len(self._busy) + sum(not kept.closed for queue in self._idle.values() for kept in queue)

    async def request(
        self,
        port: int,
        method: str,
        target: str,
        *,
        headers: Sequence[tuple[str, str]] = (),
        body: bytes = b"",
        limit: int,
        seconds: float = math.inf,
        fresh: bool = False,
    ) -> Answer:
        """Send one request and return its whole answer; cancelling closes the connection.

        Args:
            port: on the loopback.
            method: GET or POST.
            target: the path with its query, percent-encoded.
            headers: beside Host and Content-Length.
            body: the whole body.
            limit: bytes of the answer's body.
            seconds: how long the whole of it may take.
            fresh: whether a kept connection must not be used.

        Raises:
            TimeoutError: it took longer.
            ConnectionLost: nobody listens, or the connection ended early.
            BodyTooLarge: the answer's body is over ``limit``.
            InvalidAnswer: the answer is not HTTP/1.1.
        """
        head = _head(self._host, port, method, target, headers, len(body))
        loop = asyncio.get_running_loop()
        connection = None if fresh else self._take(port, loop.time())
        if connection is None:
            until = loop.time() + seconds
            async with asyncio.timeout_at(until):
                connection = await self._connect(port)
            seconds = until - loop.time()
        self._busy.add(connection)
        try:
            answer = await connection.exchange(head, body, limit, seconds)
        except BaseException:
            connection.abort()
            raise
        finally:
            self._busy.discard(connection)
        self._keep(port, connection, loop)
        return answer

    def close(self) -> None:
        """Close every connection."""
        for connection in self._busy:
            connection.abort()
        for queue in self._idle.values():
            for connection in queue:
                connection.abort()
        self._idle.clear()
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None

    def _take(self, port: int, now: float) -> Connection | None:
        queue = self._idle.get(port)
        while queue:
            connection = queue.pop()
            if connection.is_usable(now):
                return connection
            connection.abort()
        return None

    async def _connect(self, port: int) -> Connection:
        loop = asyncio.get_running_loop()
        turn = _Turn(self._gates.setdefault(port, asyncio.Semaphore(OPENING)))
        await turn.begin()
        try:
            connection = (await loop.create_connection(lambda: Connection(loop), self._host, port))[1]
        except BaseException as error:
            turn.end()
            if isinstance(error, OSError):
                reason = f"no connection to port {port}: {error.strerror or error}"
                raise ConnectionLost(reason, silent=True, unread=True) from error
            raise
        connection.when_answering = turn.end
        loop.call_later(OPENING_SECONDS, turn.end)
        return connection

    def _keep(self, port: int, connection: Connection, loop: asyncio.AbstractEventLoop) -> None:
        if not connection.is_reusable():
            connection.abort()
            return
        connection.idle_since = loop.time()
        queue = self._idle.get(port)
        if queue is None:
            queue = self._idle[port] = deque()
        queue.append(connection)
        if self._sweep is None:
            self._sweep = loop.call_later(IDLE_SECONDS, self._sweep_idle)

    def _sweep_idle(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        for port, queue in list(self._idle.items()):
            while queue and (queue[0].closed or now - queue[0].idle_since >= IDLE_SECONDS):
                queue.popleft().abort()
            if not queue:
                del self._idle[port]
        self._sweep = loop.call_later(IDLE_SECONDS, self._sweep_idle) if self._idle else None


def _head(host: str, port: int, method: str, target: str, headers: Sequence[tuple[str, str]], length: int) -> bytes:
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers])
    measure = "" if method == "GET" else f"Content-Length: {length}\r\n"
    head = f"{method} {target} HTTP/1.1\r\nHost: {host}:{port}\r\n{lines}{measure}\r\n"
    breaks = len(headers) + (3 if method == "GET" else 4)
    if head.count("\n") != breaks or head.count("\r") != breaks:
        raise ValueError("a header or the target contains a line break")
    return head.encode("latin-1")
