"""HTTP/1.1 to a tool on the loopback, as lean as the way there is short.

A router's request costs more than the tool's own work where the client is a general one: per call httpx2 takes 0.66 ms
of CPU, its connection pool alone 0.46 ms, this module 0.06 ms. It speaks what a tool's server speaks: one request at a
time on a kept connection, answers with a length, in chunks, or until the end of the connection. No redirects, no
proxies, no TLS, no decoding of content: what leaves the machine goes through httpx2.
"""

from __future__ import annotations

import asyncio
import select
import socket
from collections.abc import Callable
from typing import cast

HEAD_LIMIT = 64 * 1024
IDLE_SECONDS = 3.0
WHOLE = 256 * 1024

_BODILESS = frozenset({204, 304})
_HEX_DIGITS = b"0123456789abcdefABCDEF"


class ConnectionLost(Exception):
    """The connection ended before the answer was whole.

    Attributes:
        retriable: whether not a byte of an answer came on a connection that had been kept from an earlier request, so
            that the other side most likely closed it before the request arrived.
        silent: whether not a byte of an answer came.
        unread: whether, besides, the system says that the other side has not read the whole request: nobody listened,
            or the connection was reset. A socket that is closed while it holds unread bytes, or that gets some after it
            was closed, resets its connection; one that was read empty closes it in order.
    """

    def __init__(self, reason: str, *, retriable: bool = False, silent: bool = False, unread: bool = False) -> None:
        super().__init__(reason)
        self.retriable = retriable
        self.silent = silent
        self.unread = unread


class BodyTooLarge(Exception):
    """The answer's body is over the limit."""


class InvalidAnswer(Exception):
    """What came is not HTTP/1.1."""


class Answer:
    """A whole answer.

    Attributes:
        status: the HTTP status.
        headers: by lower-case name, the last of equal ones.
        body: as it came.
    """

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: dict[bytes, bytes]) -> None:
        self.status = status
        self.headers = headers
        self.body = bytearray()


class Connection(asyncio.Protocol):
    """One connection; `exchange` is used by one caller at a time."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._socket: socket.socket | None = None
        self._poll: select.poll | None = None
        self._waiter: asyncio.Future[Answer] | None = None
        self._buffer = bytearray()
        self._answer: Answer | None = None
        self._wanted: int | None = None
        self._chunked = False
        self._limit = 0
        self._keep = True
        self._received = False
        self._was_reset = False
        self._comes_in_pieces = False
        self.when_answering: Callable[[], None] | None = None
        self.uses = 0
        self.idle_since = 0.0
        self.closed = False

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is open."""
        transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance
        self._transport = transport
        self._socket = transport.get_extra_info("socket")
        self._poll = select.poll()
        self._poll.register(self._socket.fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        if self._waiter is None or self._waiter.done():
            self.abort()
            return
        self._received = True
        self._notice_answering()
        try:
            self._feed(data)
        except (InvalidAnswer, BodyTooLarge) as error:
            self._fail(error)
        else:
            self._comes_in_pieces = self._comes_in_pieces or self._answer is not None

    def eof_received(self) -> bool:
        """No more bytes will come; close."""
        if self._answer is not None and self._wanted is None and not self._chunked:
            self._finish()
        # A connection that was closed before it got the request is reset after its end, and read() only tells the end.
        self._was_reset = self._socket is not None and bool(self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed."""
        self.closed = True
        self._notice_answering()
        silent = not self._received
        unread = silent and (self._was_reset or isinstance(exc, ConnectionResetError | BrokenPipeError))
        self._fail(
            ConnectionLost(str(exc or "closed"), retriable=self.uses > 1 and silent, silent=silent, unread=unread)
        )

    # What the pool calls.

    def _notice_answering(self) -> None:
        if self.when_answering is not None:
            self.when_answering()
            self.when_answering = None

    def is_usable(self, now: float) -> bool:
        """Whether the kept connection is young and the other side has neither closed it nor sent anything."""
        return (
            not self.closed
            and now - self.idle_since < IDLE_SECONDS
            and self._poll is not None
            and not self._poll.poll(0)
        )

    async def exchange(self, head: bytes, body: bytes, limit: int, seconds: float) -> Answer:
        """Send a request and wait for its whole answer; closes the connection with TimeoutError after ``seconds``."""
        assert self._transport is not None
        self.uses += 1
        self._limit = limit
        self._received = False
        self._waiter = self._loop.create_future()
        if self.closed:
            raise ConnectionLost("closed", retriable=self.uses > 1, silent=True, unread=True)
        if len(body) < WHOLE:
            self._transport.write(head + body)
        else:
            self._transport.write(head)
            self._transport.write(body)
        if self._comes_in_pieces:
            self._acknowledge_at_once()
        # A third of what asyncio.timeout() would cost.
        timer = self._loop.call_later(seconds, self._fail, TimeoutError())
        try:
            return await self._waiter
        finally:
            timer.cancel()

    def _acknowledge_at_once(self) -> None:
        """Servers that write head and body separately wait for the head's acknowledgement, else 40 ms late on Linux."""
        if hasattr(socket, "TCP_QUICKACK") and self._socket is not None and not self.closed:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)

    def is_reusable(self) -> bool:
        """Whether another request may follow."""
        return (
            self._keep
            and not self.closed
            and not self._buffer
            and self._transport is not None
            and not self._transport.is_closing()
            and self._transport.get_write_buffer_size() == 0
        )

    def abort(self) -> None:
        """Close at once, whatever is under way."""
        self.closed = True
        if self._transport is not None:
            self._transport.abort()

    # The answer, as it comes.

    def _feed(self, data: bytes) -> None:
        answer = self._answer
        if answer is None:
            if self._buffer:
                data = bytes(self._buffer) + data
                self._buffer.clear()
            answer, data = self._read_head(data)
            if answer is None:
                self._buffer += data
                return
        if self._chunked:
            self._buffer += data
            self._read_chunks(answer)
            return
        answer.body += data
        if len(answer.body) > self._limit:
            raise BodyTooLarge
        if self._wanted is not None and len(answer.body) >= self._wanted:
            self._keep = self._keep and len(answer.body) == self._wanted
            del answer.body[self._wanted :]
            self._finish()

    def _read_head(self, data: bytes) -> tuple[Answer | None, bytes]:
        """The answer that ``data`` begins with, if its head is whole, and what follows it."""
        status, start = 100, 0
        while 100 <= status < 200:  # what only announces the answer is skipped
            end = data.find(b"\r\n\r\n", start)
            if end < 0:
                if len(data) - start > HEAD_LIMIT:
                    raise InvalidAnswer("the headers are over 64 KiB")
                return None, data[start:]
            first, *rest = data[start:end].split(b"\r\n")
            start = end + 4
            if not first.startswith(b"HTTP/1.") or not first[9:12].isdigit():
                raise InvalidAnswer(f"it begins with {first[:40]!r}")
            status = int(first[9:12])
        headers: dict[bytes, bytes] = {}
        for line in rest:
            name, _, value = line.partition(b":")
            headers[name.lower()] = value.strip()
        self._answer = answer = Answer(status, headers)
        self._measure(answer, http_1_0=first.startswith(b"HTTP/1.0"))
        return answer, data[start:]

    def _measure(self, answer: Answer, *, http_1_0: bool) -> None:
        headers = answer.headers
        connection = headers.get(b"connection", b"").lower()
        self._keep = b"close" not in connection and (not http_1_0 or b"keep-alive" in connection)
        self._chunked = b"chunked" in headers.get(b"transfer-encoding", b"").lower()
        self._wanted = None
        if answer.status in _BODILESS:
            self._wanted, self._chunked = 0, False
        elif not self._chunked and b"content-length" in headers:
            length = headers[b"content-length"]
            if not length.isdigit():
                raise InvalidAnswer(f"its Content-Length is {length[:40]!r}")
            self._wanted = int(length)
            if self._wanted > self._limit:
                raise BodyTooLarge

    def _read_chunks(self, answer: Answer) -> None:
        buffer, position = self._buffer, 0
        while True:
            end = buffer.find(b"\r\n", position)
            if end < 0:
                if len(buffer) - position > HEAD_LIMIT:
                    raise InvalidAnswer("a chunk's length is over 64 KiB")
                break
            digits = bytes(buffer[position:end]).partition(b";")[0].strip()
            if not digits or digits.strip(_HEX_DIGITS):
                # int() would take a sign as well, and a length below zero would be read for ever.
                raise InvalidAnswer("a chunk has no length")
            size = int(digits, 16)
            if len(answer.body) + size > self._limit:
                raise BodyTooLarge
            if size == 0:
                if self._skip_trailers(end):
                    return
                break
            if len(buffer) < end + 2 + size + 2:
                break
            answer.body += memoryview(buffer)[end + 2 : end + 2 + size]
            position = end + 2 + size + 2
        del buffer[:position]

    def _skip_trailers(self, end: int) -> bool:
        buffer = self._buffer
        if buffer[end + 2 : end + 4] == b"\r\n":
            stop = end + 4
        else:
            stop = buffer.find(b"\r\n\r\n", end) + 4
            if stop < 4:
                if len(buffer) - end > HEAD_LIMIT:
                    raise InvalidAnswer("the trailers are over 64 KiB")
                return False
        del buffer[:stop]
        self._finish()
        return True

    def _finish(self) -> None:
        waiter, answer = self._waiter, self._answer
        self._answer = self._wanted = None
        self._chunked = False
        if waiter is not None and not waiter.done():
            assert answer is not None
            waiter.set_result(answer)

    def _fail(self, error: Exception) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)
        if not self.closed:
            self.abort()
