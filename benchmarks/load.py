"""A lean closed-loop HTTP client, so that what is measured is the server."""

from __future__ import annotations

import asyncio
import statistics
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Load:
    """What a run gave."""

    requests_per_second: float
    p50_ms: float
    p99_ms: float
    failures: int


class _Connection(asyncio.Protocol):
    """One keep-alive connection; one request at a time."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._waiter: asyncio.Future[bytes] | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self._waiter and not self._waiter.done():
            self._waiter.set_exception(exc or ConnectionResetError("closed"))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._buffer[:end]).lower()
        start = head.find(b"content-length:")
        length = int(head[start + 15 :].split(b"\r\n", 1)[0])
        if len(self._buffer) >= end + 4 + length and self._waiter:
            body = bytes(self._buffer[end + 4 : end + 4 + length])
            self._buffer.clear()
            waiter, self._waiter = self._waiter, None
            waiter.set_result(body)

    async def ask(self, request: bytes) -> bytes:
        assert self._transport is not None
        self._waiter = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._waiter

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


async def load(port: int, path: str, body: bytes, expect: bytes, callers: int, seconds: float) -> Load:
    """Keep ``callers`` requests going for ``seconds``; an answer without ``expect`` in it is a failure."""
    request = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body
    times: list[float] = []
    failures = 0
    loop = asyncio.get_running_loop()
    end = time.perf_counter() + seconds

    async def caller() -> None:
        nonlocal failures
        _, connection = await loop.create_connection(_Connection, "127.0.0.1", port)
        try:
            while time.perf_counter() < end:
                started = time.perf_counter()
                answer = await connection.ask(request)
                times.append(time.perf_counter() - started)
                failures += expect not in answer
        finally:
            connection.close()

    started = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(callers)))
    elapsed = time.perf_counter() - started
    times.sort()
    return Load(len(times) / elapsed, statistics.median(times) * 1e3, times[int(len(times) * 0.99)] * 1e3, failures)
