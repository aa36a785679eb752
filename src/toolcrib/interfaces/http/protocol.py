"""uvicorn's HTTP protocol: a response in one write, and its own refusals in S2's form (contract T009)."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from toolcrib.interfaces.http.answers import encode, failure

_HEAD = b"HTTP/1.1 "
_LENGTH = b"content-length: "


class JoinedWrites:
    """A transport that holds a response's head until its body comes, where the head announces one.

    Two writes are two packets, for which the kernel is called and the other side woken up twice; on a call that takes
    a fraction of a millisecond that is much of its time.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._held = b""

    def write(self, data: bytes) -> None:
        """Send ``data`` after what is held, or hold it."""
        if self._held:
            data, self._held = self._held + data, b""
        elif data.startswith(_HEAD) and _LENGTH in data:
            self._held = data
            return
        self._transport.write(data)

    def flush(self) -> None:
        """Send what is held: no body came after all."""
        if self._held:
            held, self._held = self._held, b""
            self._transport.write(held)

    def close(self) -> None:
        """Send what is held and close."""
        if not self._transport.is_closing():
            self.flush()
        self._transport.close()

    def is_closing(self) -> bool:
        """Whether it is closed or about to be."""
        return self._transport.is_closing()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Protocol(HttpToolsProtocol):
    """`HttpToolsProtocol` over `JoinedWrites`."""

    _joined: JoinedWrites

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected."""
        self._joined = JoinedWrites(transport)
        super().connection_made(self._joined)  # type: ignore[arg-type]

    def on_response_complete(self) -> None:
        """A response is whole; one without a body is sent now."""
        if not self._joined.is_closing():
            self._joined.flush()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read, and close."""
        body = encode(failure(msg, "malformed_request", "Send HTTP/1.1; this service has no TLS on this port."))
        self.transport.write(
            b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n"
            b"content-length: %d\r\n\r\n%s" % (len(body), body)
        )
        self.transport.close()
