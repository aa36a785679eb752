"""Looking after a client while its call works."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from toolcrib.interfaces.http.answers import describe, encode, failure, send_json

if TYPE_CHECKING:
    from starlette.types import Receive, Send

PATIENCE = 0.05
"""Seconds before anybody looks whether the client is still there: most calls have ended by then."""

_STREAMED = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call's work comes to.

    Attributes:
        status: of HTTP.
        body: JSON.
        headers: further ones; an answer that is streamed has no place for them.
    """

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


async def attend(work: Coroutine[Any, Any, Answer], receive: Receive, send: Send, *, heartbeat: float) -> None:
    """Answer with what ``work`` returns (DESIGN §11.14, contract T024).

    Work that takes long is answered 200 with one space every ``heartbeat``, which JSON allows before its value, so that
    a client's read timeout does not run out. A client that leaves cancels the work. Fast work pays for neither: the
    request's own task does it, and a second task appears only after `PATIENCE`.

    Args:
        work: the call; an exception of it is answered in S2's form.
        receive: of a request whose body has been read.
        send: of the request.
        heartbeat: seconds between two spaces.
    """
    attendant = _Attendant(receive, send, heartbeat)
    try:
        try:
            answer = await work
        except Exception as error:
            answer = Answer(*describe(error))
        if attendant.has_begun:
            await attendant.leave()
        await _answer(attendant, send, answer)
    except asyncio.CancelledError:
        if attendant.client_left:
            attendant.caller.uncancel()
            return
        await attendant.leave()
        stopping = encode(failure("The service is stopping", "cancelled", "Send the call again once it is back."))
        await _answer(attendant, send, Answer(503, stopping))
        raise
    finally:
        attendant.stop()


async def _answer(attendant: _Attendant, send: Send, answer: Answer) -> None:
    if attendant.streaming:
        await send({"type": "http.response.body", "body": answer.body, "more_body": False})
    else:
        await send_json(send, answer.status, answer.body, answer.headers)


class _Attendant:
    """Waits for the client to leave, and sends the beats; does nothing at all for `PATIENCE`."""

    streaming = False
    client_left = False
    _task: asyncio.Task[None] | None = None
    _beating = False
    _wanted = True

    def __init__(self, receive: Receive, send: Send, heartbeat: float) -> None:
        self._receive = receive
        self._send = send
        self._heartbeat = heartbeat
        self._loop = asyncio.get_running_loop()
        caller = asyncio.current_task(self._loop)
        assert caller is not None
        self.caller = caller
        self._timer = self._loop.call_later(min(PATIENCE, heartbeat), self._begin)

    @property
    def has_begun(self) -> bool:
        return self._task is not None

    def _begin(self) -> None:
        self._due = self._loop.time() + max(0.0, self._heartbeat - PATIENCE)
        self._task = self._loop.create_task(self._attend())

    async def _attend(self) -> None:
        while self._wanted:
            try:
                async with asyncio.timeout_at(self._due):
                    message = await self._receive()
            except TimeoutError:
                await self._beat()
            else:
                if message["type"] == "http.disconnect":
                    self.client_left = True
                    self.caller.cancel()
                    return

    async def _beat(self) -> None:
        self._beating = True
        try:
            if not self.streaming:
                self.streaming = True
                await self._send(dict(_STREAMED))
            await self._send({"type": "http.response.body", "body": b" ", "more_body": True})
        finally:
            self._beating = False
            self._due = self._loop.time() + self._heartbeat

    def stop(self) -> None:
        """No more beats; a beat that is being sent is sent to its end, so that the stream stays whole."""
        self._wanted = False
        self._timer.cancel()
        if self._task is not None and not self._beating:
            self._task.cancel()

    async def leave(self) -> None:
        """`stop`, and wait until nothing of it is left."""
        self.stop()
        if self._task is not None:
            await asyncio.gather(self._task, return_exceptions=True)
