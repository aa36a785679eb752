"""Who may knock: the checks that every request passes before any route sees it (contract T001, T038)."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

from toolcrib.interfaces.http.answers import RequestFault, send_error

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?", re.IGNORECASE)
_HEADERS = ((b"x-content-type-options", b"nosniff"), (b"cross-origin-resource-policy", b"same-origin"))


class Guard:
    """ASGI middleware that answers in S2's form whatever goes wrong, and lets in only what belongs here.

    - The Host header names this machine's loopback or the bound address, else 421: a web page whose name was pointed at
      127.0.0.1 cannot reach the tools.
    - The Origin header, where a browser sends one, is the service's own, else 403. There is no CORS.
    - A body over the limit is 413, by its Content-Length at once, else when it has passed the limit; nothing of it
      beyond is kept.
    - What no route handled is 500 with an error id.

    Args:
        app: what it guards.
        host: the address or name the service binds.
        request_limit: bytes a request body may have.
    """

    def __init__(self, app: ASGIApp, *, host: str, request_limit: int) -> None:
        self._app = app
        self._names = {"127.0.0.1", "localhost", "::1", host.strip("[]").lower()}
        self._limit = request_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        started = False

        async def answer(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message["headers"] = [*message.get("headers", ()), *_HEADERS]
            await send(message)

        try:
            announced = self._check(scope)
            if scope["type"] == "http" and announced is None:
                receive = self._counted(receive)
            await self._app(scope, receive, answer)
        except Exception as error:
            if started:
                raise
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            else:
                await send_error(answer, error)

    def _check(self, scope: Scope) -> int | None:
        """Raise `RequestFault` unless host, origin and announced length are right; returns the length, if announced."""
        host = origin = length = None
        for name, value in scope["headers"]:
            if name == b"host":
                host = value.decode("latin-1")
            elif name == b"origin":
                origin = value.decode("latin-1")
            elif name == b"content-length":
                length = int(value) if value.isdigit() else None
        if host is None or not self._is_own_name(host):
            raise RequestFault(
                421,
                f"This service is not {host!r}" if host else "The request has no Host header",
                code="wrong_host",
                hint="Use a loopback name such as http://localhost or http://127.0.0.1 with the service's port.",
            )
        if origin is not None and origin.lower() != f"{_http_scheme(scope)}://{host.lower()}":
            raise RequestFault(
                403,
                f"Pages from {origin!r} may not use this service",
                code="wrong_origin",
                hint="Open the service's own page, or call it from a program, which sends no Origin header.",
            )
        if length is not None and length > self._limit:
            raise self._too_large(f"The body has {length} bytes")
        return length

    def _is_own_name(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        if match is None:
            return False
        name = match[1].strip("[]").lower()
        return name in self._names or name.endswith(".localhost")

    def _counted(self, receive: Receive) -> Receive:
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            if message["type"] == "http.request":
                received += len(message.get("body", b""))
                if received > self._limit:
                    raise self._too_large("The body has more bytes")
            return message

        return counted

    def _too_large(self, finding: str) -> RequestFault:
        return RequestFault(
            413,
            f"{finding}; {self._limit} is the most",
            code="too_large",
            hint="Upload files with POST /artifacts and pass their reference, or raise TOOLCRIB_REQUEST_LIMIT.",
        )


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a service bound to ``host``."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _http_scheme(scope: Scope) -> str:
    return "https" if scope["scheme"] in ("https", "wss") else "http"
