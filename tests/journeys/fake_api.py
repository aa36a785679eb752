"""An HTTP API that records what it is sent and answers as a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Seen:
    """One request, exactly as it came."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """The one value of a header, or None."""
        found = [value for key, value in self.headers if key.lower() == name.lower()]
        assert len(found) < 2, f"{name} came {len(found)} times"
        return found[0] if found else None

    def parts(self) -> list[tuple[str | None, str | None, str | None, bytes]]:
        """Of a multipart body: name, file name, Content-Type (None where the part has none) and content of each."""
        head = f"Content-Type: {self.header('Content-Type')}\r\n\r\n".encode()
        found = []
        for part in message_from_bytes(head + self.body, policy=HTTP).iter_parts():
            disposition = part["Content-Disposition"].params
            content = part.get_payload(decode=True)
            assert isinstance(content, bytes)
            found.append((disposition.get("name"), disposition.get("filename"), part["Content-Type"], content))
        return found


@dataclass
class Reply:
    """What the API answers."""

    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})


class FakeApi:
    """The API's address, what it saw, and what it answers next."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.seen: list[Seen] = []
        self.reply: Callable[[Seen], Reply] = lambda seen: Reply()

    def answers(self, value: Any = None, *, status: int = 200, body: bytes | None = None, **headers: str) -> None:
        """Answer every request so; ``headers`` have ``_`` for ``-``."""
        content = json.dumps(value).encode() if body is None else body
        named = {"Content-Type": "application/json"} | {key.replace("_", "-"): text for key, text in headers.items()}
        self.reply = lambda seen: Reply(status, content, named)

    def only(self) -> Seen:
        """The one request that came."""
        assert len(self.seen) == 1, self.seen
        return self.seen[0]


@contextmanager
def fake_api() -> Iterator[FakeApi]:
    """An API on a free port of the loopback, for the length of a ``with`` block."""
    api: FakeApi

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            seen = Seen(self.command, self.path, list(self.headers.items()), body)
            api.seen.append(seen)
            reply = api.reply(seen)
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                if value:
                    self.send_header(name, value)
            if reply.status != 204 and "Content-Length" not in reply.headers:
                self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            if self.command != "HEAD" and reply.status != 204:
                try:
                    self.wfile.write(reply.body)
                except ConnectionError:  # the caller wanted no more
                    self.close_connection = True

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _answer  # noqa: N815

        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
            pass

    class Server(ThreadingHTTPServer):
        # A caller that keeps its connection open keeps its handler; closing must not wait for it.
        daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", 0), Handler) as server:
        api = FakeApi(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, name="fake-api")
        thread.start()
        try:
            yield api
        finally:
            server.shutdown()
            thread.join()
