"""HTTP/1.1 to tools: every legal answer is read, every illegal one is an error, no connection is left open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from tests.unit.runtime.workshop import free_port, until
from toolcrib.runtime.connections import ConnectionPool
from toolcrib.runtime.http1 import Answer, BodyTooLarge, ConnectionLost, InvalidAnswer

Respond = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
async def pool() -> AsyncIterator[ConnectionPool]:
    """A pool that leaves nothing open."""
    pool = ConnectionPool()
    yield pool
    pool.close()


@asynccontextmanager
async def server(respond: Respond) -> AsyncIterator[int]:
    """A server that reads a request's head and body and lets ``respond`` answer, as often as it returns."""
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        try:
            while not writer.is_closing():
                await read_request(reader)
                await respond(reader, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        for writer in writers:
            writer.transport.abort()
        await listener.wait_closed()
        await asyncio.sleep(0)


async def read_request(reader: asyncio.StreamReader) -> bytes:
    """A whole request."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
    return head + await reader.readexactly(length)


def answering(*pieces: bytes, close: bool = False) -> Respond:
    """Answers with the pieces, each on its own way."""

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.001)
        if close:
            writer.close()

    return respond


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Never answers."""
    await reader.read()


async def get(pool: ConnectionPool, port: int, limit: int = 1000) -> Answer:
    """One request."""
    return await pool.request(port, "GET", "/", limit=limit)


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;name=value\r\nlo\r\n0\r\n\r\n"
TRAILERS = CHUNKED[:-2] + b"Checksum: 1\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n" + OK


@pytest.mark.parametrize("text", [OK, CHUNKED, TRAILERS, CONTINUE])
async def test_T023_an_answer_is_read_however_it_is_cut(pool: ConnectionPool, text: bytes) -> None:
    for size in (1, 7, len(text)):
        async with server(answering(*(text[at : at + size] for at in range(0, len(text), size)))) as port:
            answer = await get(pool, port)
            assert (answer.status, bytes(answer.body)) == (200, b"hello")
            assert bytes((await get(pool, port)).body) == b"hello"


async def test_T023_an_answer_may_last_until_the_end_of_the_connection(pool: ConnectionPool) -> None:
    async with server(answering(b"HTTP/1.0 200 OK\r\nX-A: 1\r\n\r\n", b"hel", b"lo", close=True)) as port:
        answer = await get(pool, port)
        assert bytes(answer.body) == b"hello"
        assert answer.headers[b"x-a"] == b"1"
        assert pool.open_connections == 0


async def test_T023_an_answer_without_a_body_needs_no_length(pool: ConnectionPool) -> None:
    async with server(answering(b"HTTP/1.1 204 No Content\r\n\r\n")) as port:
        assert (await get(pool, port)).status == 204
        assert pool.open_connections == 1


async def test_T023_a_connection_is_kept_and_used_again(pool: ConnectionPool) -> None:
    connections: set[asyncio.StreamWriter] = set()

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(writer)
        writer.write(OK)

    async with server(respond) as port:
        for _ in range(5):
            await get(pool, port)
        assert len(connections) == pool.open_connections == 1
        await asyncio.gather(*(get(pool, port) for _ in range(5)))
        assert len(connections) == pool.open_connections <= 6


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n",
    ],
)
async def test_T023_a_connection_that_the_other_side_will_close_is_not_kept(pool: ConnectionPool, head: bytes) -> None:
    async with server(answering(head + b"hello")) as port:
        await get(pool, port)
        assert pool.open_connections == 0


async def test_T023_a_connection_that_was_closed_meanwhile_is_not_used(pool: ConnectionPool) -> None:
    async with server(answering(OK, close=True)) as port:
        for _ in range(5):
            assert bytes((await get(pool, port)).body) == b"hello"
            await until(lambda: pool.open_connections == 0)


async def test_T023_more_than_was_announced_ends_the_connection(pool: ConnectionPool) -> None:
    async with server(answering(OK + b"and more")) as port:
        assert bytes((await get(pool, port)).body) == b"hello"
        assert pool.open_connections == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"SSH-2.0-OpenSSH\r\n\r\n", "SSH"),
        (b"HTTP/1.1 OK\r\n\r\n", "HTTP/1.1 OK"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\n", "five"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfive\r\nhello\r\n", "chunk"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70000, "64 KiB"),
    ],
)
async def test_T023_what_is_not_http_is_an_error(pool: ConnectionPool, text: bytes, says: str) -> None:
    async with server(answering(text)) as port:
        with pytest.raises(InvalidAnswer, match=says):
            await get(pool, port)
        assert pool.open_connections == 0


@pytest.mark.parametrize(
    "text",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 1001,
    ],
)
async def test_T023_an_answer_over_the_limit_is_not_read_to_its_end(pool: ConnectionPool, text: bytes) -> None:
    async with server(answering(text)) as port:
        with pytest.raises(BodyTooLarge):
            await get(pool, port, limit=1000)
        assert pool.open_connections == 0


@pytest.mark.parametrize("text", [b"", b"HTTP/1.1 200", OK[:-1], CHUNKED[:-2]])
async def test_T023_a_connection_that_ends_too_early_is_an_error(pool: ConnectionPool, text: bytes) -> None:
    async with server(answering(text, close=True)) as port:
        with pytest.raises(ConnectionLost) as caught:
            await get(pool, port)
        assert not caught.value.retriable, "a new connection's request may have been carried out"


async def test_T023_only_a_kept_connection_that_said_nothing_counts_as_retriable(pool: ConnectionPool) -> None:
    count = 0

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        writer.write(OK if count == 1 else b"")
        if count == 2:
            writer.close()

    async with server(respond) as port:
        await get(pool, port)
        with pytest.raises(ConnectionLost) as caught:
            await get(pool, port)
        assert caught.value.retriable


async def test_T023_where_nobody_listens_the_error_says_so(pool: ConnectionPool) -> None:
    port = free_port()
    with pytest.raises(ConnectionLost, match=f"no connection to port {port}"):
        await get(pool, port)


async def test_T023_cancelling_closes_the_connection(pool: ConnectionPool) -> None:
    ended = asyncio.Event()

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        ended.set()
        writer.close()

    async with server(respond) as port:
        request = asyncio.create_task(get(pool, port))
        await until(lambda: pool.open_connections == 1)
        request.cancel()
        with pytest.raises(asyncio.CancelledError):
            await request
        assert pool.open_connections == 0
        await asyncio.wait_for(ended.wait(), 5)


async def test_T023_sixty_megabytes_go_and_come(pool: ConnectionPool) -> None:
    size = 60 * 1024 * 1024
    sizes = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await read_request(reader)
        sizes.append(len(request))
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n".encode())
        writer.write(bytes(size))
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    answer = await pool.request(port, "POST", "/", body=bytes(size), limit=size)
    listener.close()
    await listener.wait_closed()
    assert len(answer.body) == size
    assert sizes[0] > size


async def test_T023_a_line_break_in_a_header_is_refused(pool: ConnectionPool) -> None:
    with pytest.raises(ValueError, match="line break"):
        await pool.request(1, "GET", "/", headers=[("X", "a\r\nY: b")], limit=1)


async def test_T037_a_server_that_keeps_few_waiting_connections_loses_none(pool: ConnectionPool) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK.replace(b"OK\r\n", b"OK\r\nConnection: close\r\n"))
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=5)
    port = listener.sockets[0].getsockname()[1]
    async with asyncio.timeout(5):
        answers = await asyncio.gather(*(get(pool, port) for _ in range(100)))
    listener.close()
    await listener.wait_closed()
    assert {bytes(answer.body) for answer in answers} == {b"hello"}


@pytest.mark.parametrize("length", [b"-6", b"+5", b"0x5", b"1_0", b"", b" ", b"-0"])
async def test_a_chunk_whose_length_is_no_number_is_an_error_and_never_a_loop(
    pool: ConnectionPool, length: bytes
) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    async with server(answering(head + length + b"\r\nhello\r\n0\r\n\r\n")) as port:
        with pytest.raises(InvalidAnswer, match="chunk"):
            await get(pool, port)


async def test_trailers_have_a_limit(pool: ConnectionPool) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    async with server(answering(head, *[b"X: " + b"y" * 8192 + b"\r\n"] * 20)) as port:
        with pytest.raises(InvalidAnswer, match="trailers"):
            await get(pool, port)


async def test_any_number_of_interim_answers_is_skipped(pool: ConnectionPool) -> None:
    async with server(answering(b"HTTP/1.1 102 Processing\r\n\r\n" * 2000 + OK)) as port:
        assert (await get(pool, port)).body == b"hello"


async def test_T024_a_request_ends_in_time_and_its_connection_with_it(pool: ConnectionPool) -> None:
    async with server(silent) as port:
        with pytest.raises(TimeoutError):
            await pool.request(port, "GET", "/", limit=10, seconds=0.05)
        assert pool.open_connections == 0


async def test_T024_an_answer_that_only_trickles_ends_in_time(pool: ConnectionPool) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
    async with server(answering(head, *[b"x"] * 5000)) as port:
        with pytest.raises(TimeoutError):
            await pool.request(port, "GET", "/", limit=100_000, seconds=0.1)
        assert pool.open_connections == 0
