"""Whether a tool is ready, and whether it is really ours that answers."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic_core import from_json

from toolcrib.runtime.connections import ConnectionPool
from toolcrib.runtime.http1 import BodyTooLarge, ConnectionLost, InvalidAnswer
from toolcrib.runtime.ports import listening_ports
from toolcrib.runtime.process import ToolProcess, group_members

INSTANCE_HEADER = b"x-toolcrib-instance"
ANSWER_LIMIT = 64 * 1024
PROBE_SECONDS = 5.0
FIRST_PAUSE = 0.02
LONGEST_PAUSE = 0.5
PAUSE_GROWTH = 1.25
NOBODY = "nothing listened on the port"
UNANSWERED = "GET /health gave no answer"


class NotHealthyError(Exception):
    """A process that began did not become healthy; the text says why."""


async def probe(pool: ConnectionPool, port: int, token: str | None = None) -> str | None:
    """Ask ``GET /health`` once; None = healthy, else what came instead (contract T021).

    Args:
        pool: carries the request.
        port: whom to ask.
        token: what the answer's header must say, where it has that header.
    """
    try:
        answer = await pool.request(port, "GET", "/health", limit=ANSWER_LIMIT, seconds=PROBE_SECONDS, fresh=True)
    except TimeoutError:
        return f"GET /health gave no answer within {PROBE_SECONDS:g} s"
    except (ConnectionLost, InvalidAnswer, BodyTooLarge) as error:
        return f"GET /health failed: {error or 'the answer is too long'}"
    said = answer.headers.get(INSTANCE_HEADER)
    if token is not None and said is not None and said.decode("latin-1") != token:
        return "GET /health was answered by another instance"
    text = answer.body[:200].decode("utf-8", "replace")
    try:
        value = from_json(answer.body)
    except ValueError:
        value = None
    if answer.status == 200 and isinstance(value, dict) and value.get("status") == "ok":
        return None
    return f"GET /health answered {answer.status} {text}"


async def wait_until_healthy(process: ToolProcess, port: int, token: str, seconds: float, pool: ConnectionPool) -> None:
    """Wait for ``{"status": "ok"}`` from the process that was begun, and nobody else.

    Nothing is sent to the port before it is known that a member of the process's own group listens there: a stranger's
    health means nothing.

    Raises:
        NotHealthyError: the process ended, or the time did.
    """
    loop = asyncio.get_running_loop()
    limit = loop.time() + seconds
    pause = FIRST_PAUSE
    last = NOBODY
    while True:
        if await asyncio.to_thread(_listens, process.pid, port):
            answer = await _ask_while_it_lives(process, port, token, limit - loop.time(), pool)
            if answer is None and not process.exited.done():
                return
            # What it said before tells more than that the time ran out during the last question.
            last = last if answer is None or (answer == UNANSWERED and last != NOBODY) else answer
        if await process.wait(min(pause, limit - loop.time())):
            raise NotHealthyError(f"it {exit_text(process.exited.result())}")
        if loop.time() >= limit:
            raise NotHealthyError(f"it did not become healthy within {seconds:g} s ({last})")
        pause = min(pause * PAUSE_GROWTH, LONGEST_PAUSE)


async def _ask_while_it_lives(
    process: ToolProcess, port: int, token: str, seconds: float, pool: ConnectionPool
) -> str | None:
    asking = asyncio.ensure_future(probe(pool, port, token))
    waiting: set[asyncio.Future[Any]] = {asking, process.exited}
    try:
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return asking.result() if asking.done() else UNANSWERED
    finally:
        asking.cancel()


def _listens(group: int, port: int) -> bool:
    """Whether a member of the process group, its leader first, listens on the port (reads every connection)."""
    return port in listening_ports(group) or any(port in listening_ports(pid) for pid in group_members(group)[1:])


def exit_text(code: int) -> str:
    """How a process ended, in words."""
    return f"exited with code {code}" if code >= 0 else f"exited with code {code} (killed by signal {-code})"
