"""uvicorn's HTTP protocol, whose own refusals have S2's form as well (contract T009)."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from toolcrib.interfaces.http.answers import encode, failure


class Protocol(HttpToolsProtocol):
    """`HttpToolsProtocol` that answers in JSON what is no HTTP."""

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read, and close."""
        body = encode(failure(msg, "malformed_request", "Send HTTP/1.1; this service has no TLS on this port."))
        self.transport.write(
            b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n"
            b"content-length: %d\r\n\r\n%s" % (len(body), body)
        )
        self.transport.close()
