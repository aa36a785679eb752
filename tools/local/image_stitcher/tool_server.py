"""Serve one Python function as a tool process.

This file is the whole tool SDK. It needs nothing but the standard library, because it is copied beside a tool's
``main.py`` and runs in that tool's own environment::

    from tool_server import ToolFailure, serve


    def run(params):
        if "city" not in params:
            raise ToolFailure("city is required", code="invalid_params")
        return {"temperature": 22}


    if __name__ == "__main__":
        serve(run)

``python main.py --port 8002`` then answers ``GET /health`` and ``POST /run``. The router starts the process, waits for
``/health``, sends each call's parameters as a JSON object, and ends the process with SIGTERM.
"""

from __future__ import annotations

import argparse
import base64
import errno
import inspect
import json
import os
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from io import BufferedReader
from types import FrameType
from typing import Any, NamedTuple, NoReturn

__all__ = ["Call", "ToolFailure", "read_bytes", "serve"]

MAX_BODY_BYTES = 64 * 1024 * 1024
EXIT_PORT_TAKEN = 98

_BACKLOG = 512
_MAX_LINE_BYTES = 16 * 1024
_MAX_HEADERS = 100
_IDLE_SECONDS = 120
_LINGER_SECONDS = 5.0
_GRACE_SECONDS = 5.0
_HEX_DIGITS = b"0123456789abcdefABCDEF"
_SEND = "send the file's bytes as base64, or a data: URL"
_WHOLE = "send the whole file's bytes as base64"
_UPLOAD = "upload the file again (POST /artifacts) and send the reference you get, or send its bytes as base64"
_REASONS = {status.value: status.phrase for status in HTTPStatus}


class ToolFailure(Exception):
    """A failure the caller should read: bad arguments, a missing file, a service that said no.

    Raised by a handler, it becomes the answer ``{"status": "error", "error": message, "error_code": code, ...}`` with
    HTTP status 200. Every other exception is a fault of the tool: status 500, with the traceback in its log.

    Args:
        message: One sentence that says what is wrong and where.
        code: A short stable word for programs, such as ``invalid_params``, ``too_large`` or ``not_found``.
        hint: What the caller can do about it.

    Example:
        >>> failure = ToolFailure("images[0] is not an image", code="invalid_params", hint="send PNG or JPEG")
    """

    def __init__(self, message: str, *, code: str = "tool_error", hint: str | None = None) -> None:
        super().__init__(message)
        self.message = str(message)
        self.code = code
        self.hint = hint


class Call(NamedTuple):
    """What a handler may know about the call it serves; passed to handlers that take a second parameter.

    Attributes:
        id: The caller's id for this call, or None.
        deadline_seconds: Seconds the caller was still willing to wait when the call arrived, or None.

    Example:
        >>> def run(params, call):
        ...     return {"pages": crawl(params["url"], seconds=call.deadline_seconds or 30)}
    """

    id: str | None = None
    deadline_seconds: float | None = None


Handler = Callable[..., Any]


def serve(run: Handler, *, endpoint: str = "run", port: int | None = None, host: str = "127.0.0.1") -> None:
    """Answer ``GET /health`` and ``POST /{endpoint}`` until SIGTERM or SIGINT, then return.

    Calls run side by side, each in a thread, so ``run`` must be safe to call from several threads. On a signal no
    more calls are taken and those in flight get five seconds to finish.

    Args:
        run: The handler: ``run(params)`` or ``run(params, call)``, with ``params`` the JSON object sent and ``call``
            a `Call`. It returns the result, any JSON value; a coroutine function is awaited.
        endpoint: The path of the call, without the slash.
        port: TCP port where ``--port`` is not on the command line; None or 0 lets the system pick one.
        host: Address to listen on where ``--host`` is not on the command line.

    Raises:
        SystemExit: With status 98 where the port is taken, 1 where it cannot be listened on.

    Example:
        >>> serve(lambda params: {"echo": params})  # doctest: +SKIP
    """
    options = _parse_arguments(port or 0, host)
    listener = _listen(options.host, options.port)
    server = _Server(run, endpoint)
    try:
        if threading.current_thread() is threading.main_thread():
            for signal_number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(signal_number, _interrupt_once)
        sys.stdout.write(f"tool listening on {options.host} port {listener.getsockname()[1]}, POST {server.path}\n")
        sys.stdout.flush()
        server.accept_forever(listener)
    except KeyboardInterrupt:
        listener.close()
        server.drain(_GRACE_SECONDS)


def read_bytes(value: object, *, name: str = "value", limit: int = MAX_BODY_BYTES) -> bytes:
    """Turn a parameter that carries a file into its bytes.

    Takes base64 (with white space, without padding, in the URL-safe alphabet or percent-encoded), a ``data:`` URL, or
    a ``file://`` URI below ``$TOOLCRIB_HOME``, which is how artifact references reach a tool whose ``tool.toml`` says
    ``artifacts = "path"``.

    Args:
        value: What the caller sent.
        name: The parameter's name, such as ``images[0]``; every error begins with it.
        limit: Most bytes to accept.

    Raises:
        ToolFailure: ``invalid_params`` where the value is none of these, ``too_large`` above the limit,
            ``not_found`` where the file does not exist.

    Example:
        >>> read_bytes("aGVsbG8")
        b'hello'
    """
    if not isinstance(value, str):
        raise _bad_value(name, f"must be a string, not {type(value).__name__}", _SEND)
    text = value.strip()
    scheme = text[: max(text.find(":", 0, 16), 0)].lower()
    if scheme == "file":
        data = _read_file(text, name, limit)
    elif scheme == "data":
        header, comma, payload = text.partition(",")
        if not comma:
            raise _bad_value(name, "is a data: URL without a comma", "write data:TYPE;base64, and then the base64")
        encoded = header.lower().rstrip().endswith(";base64")
        data = _decode_base64(payload, name) if encoded else _unquote(payload)
    elif scheme:
        raise _bad_value(name, f"is a {scheme}: address, which this tool cannot fetch", _SEND)
    else:
        data = _decode_base64(text, name)
    if len(data) > limit:
        hint = f"send a smaller file: at most {limit:,} bytes"
        raise ToolFailure(f"{name} is too large: at most {limit:,} bytes", code="too_large", hint=hint)
    return data


def _decode_base64(text: str, name: str) -> bytes:
    if "%" in text:
        text = _unquote(text).decode("utf-8", "replace")
    text = "".join(text.split()).rstrip("=").replace("-", "+").replace("_", "/")
    if not text:
        raise _bad_value(name, "is empty", _WHOLE)
    if len(text) % 4 == 1:
        raise _bad_value(name, "is not base64: its length is impossible, so something is cut off", _WHOLE)
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        raise _bad_value(name, "is not base64: it holds other characters", _SEND) from None


def _read_file(uri: str, name: str, limit: int) -> bytes:
    from pathlib import Path  # rarely needed, and a fifth of the start's time

    authority, _, path = uri[len("file:") :].removeprefix("//").partition("/")
    home = os.environ.get("TOOLCRIB_HOME")
    try:
        file = Path(os.fsdecode(_unquote("/" + path))).resolve()
        local = authority.lower() in ("", "localhost")
        if not home or not local or not file.is_relative_to(Path(home).resolve()):
            raise _bad_value(name, "is a file:// address outside TOOLCRIB_HOME", _UPLOAD)
        if not file.is_file():
            raise ToolFailure(f"{name} refers to a file that does not exist", code="not_found", hint=_UPLOAD)
        with file.open("rb") as stream:
            return stream.read(limit + 1)
    except (OSError, RuntimeError, ValueError) as error:
        raise _bad_value(name, f"cannot be read: {getattr(error, 'strerror', None) or error}", _UPLOAD) from None


def _unquote(text: str) -> bytes:
    from urllib.parse import unquote_to_bytes

    return unquote_to_bytes(text)


def _bad_value(name: str, problem: str, hint: str) -> ToolFailure:
    return ToolFailure(f"{name} {problem}", code="invalid_params", hint=hint)


def _parse_arguments(port: int, host: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Serve this tool over HTTP.", allow_abbrev=False)
    parser.add_argument("--port", type=int, default=port, help="TCP port (default: %(default)s, 0 = any free one)")
    parser.add_argument("--host", default=host, help="address to listen on (default: %(default)s)")
    return parser.parse_known_args()[0]  # a tool may have options of its own


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except (OSError, OverflowError) as error:
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        problem = "the port is already in use" if taken else str(error)
        sys.stderr.write(f"cannot listen on {host} port {port}: {problem}\n")
        raise SystemExit(EXIT_PORT_TAKEN if taken else 1) from None


def _interrupt_once(signal_number: int, frame: FrameType | None) -> NoReturn:
    # A parent that forwards signals and a signal to the whole group deliver the same request twice.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


class _RequestError(Exception):
    """A request that is answered with an error status and after which the connection closes."""

    def __init__(self, status: int, message: str, code: str = "bad_request", headers: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = headers


class _Request(NamedTuple):
    method: str
    path: str
    headers: dict[bytes, bytes]
    body: bytes
    keep_alive: bool

    def allow(self, method: str) -> None:
        if self.method != method:
            message = f"{self.method[:20]} is not possible here, only {method}"
            raise _RequestError(405, message, "method_not_allowed", headers=f"Allow: {method}\r\n")


class _Server:
    """One thread a connection. Blocking sockets are the quickest way for few callers, and a tool has few."""

    def __init__(self, run: Handler, endpoint: str) -> None:
        self.path = "/" + endpoint.strip("/")
        self._run = run
        self._takes_call = _takes_call(run)
        token = os.environ.get("TOOLCRIB_INSTANCE_TOKEN", "").strip()
        self._instance = f"X-Toolcrib-Instance: {token}\r\n" if token else ""
        self._in_flight = 0
        self._stopping = False
        self._changed = threading.Condition()

    def accept_forever(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                time.sleep(0.05)  # out of descriptors, or a caller who left: the next one may fare better
                continue
            try:
                threading.Thread(target=self._converse, args=(connection,), daemon=True).start()
            except RuntimeError:  # no thread to be had
                connection.close()

    def drain(self, seconds: float) -> None:
        with self._changed:
            self._stopping = True
            self._changed.wait_for(lambda: self._in_flight == 0, timeout=seconds)

    def _converse(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as reader:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if os.name == "posix":  # Python's own time limit would cost a poll before every read and write
                    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
                        connection.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", _IDLE_SECONDS, 0))
                try:
                    while self._exchange(connection, reader):
                        pass
                except _RequestError as error:
                    body = _envelope(str(error), error.code)
                    connection.sendall(_response(error.status, body, headers=error.headers, keep_alive=False))
                    _linger(connection)
        except OSError:
            return  # the caller went away, or fell silent: there is nobody left to tell

    def _exchange(self, connection: socket.socket, reader: BufferedReader) -> bool:
        """Serve one request; tell whether the connection stays open for another."""
        request = _read_request(reader, connection)
        if request is None:
            return False
        with self._changed:
            if self._stopping:
                raise _RequestError(503, "the tool is stopping", "not_running")
            self._in_flight += 1
        try:
            connection.sendall(self._answer(request))
        finally:
            with self._changed:
                self._in_flight -= 1
                self._changed.notify_all()
        return request.keep_alive

    def _answer(self, request: _Request) -> bytes:
        if request.path == self.path:
            request.allow("POST")
            status, body = self._call(_decode_object(request.body), request.headers)
            return _response(status, body, keep_alive=request.keep_alive)
        if request.path == "/health":
            request.allow("GET")
            return _response(200, b'{"status":"ok"}', headers=self._instance, keep_alive=request.keep_alive)
        message = f"no such path: {request.path[:200]}; this tool has GET /health and POST {self.path}"
        raise _RequestError(404, message, "not_found")

    def _call(self, params: dict[str, Any], headers: dict[bytes, bytes]) -> tuple[int, bytes]:
        try:
            result = self._run(params, _read_call(headers)) if self._takes_call else self._run(params)
            if inspect.iscoroutine(result):
                import asyncio

                result = asyncio.run(result)
        except ToolFailure as failure:
            return 200, _envelope(failure.message, failure.code, failure.hint)
        except BaseException as error:  # SystemExit too: one call must not end the tool
            sys.excepthook(type(error), error, error.__traceback__)
            return 500, _envelope(f"{type(error).__name__}: {error}", "tool_error")
        try:
            return 200, _encode(result)
        except (TypeError, ValueError, RecursionError) as error:
            text = f"the tool's result is not JSON: {error}"
            sys.stderr.write(text + "\n")
            return 500, _envelope(text, "tool_error", "bytes travel as base64 text; NaN and infinity as null")


def _takes_call(run: Handler) -> bool:
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(parameter.kind in positional for parameter in inspect.signature(run).parameters.values()) >= 2


def _read_call(headers: dict[bytes, bytes]) -> Call:
    call_id = headers.get(b"x-toolcrib-call-id", b"").decode("latin-1") or None
    milliseconds = headers.get(b"x-toolcrib-deadline-ms", b"")
    return Call(call_id, int(milliseconds[:15]) / 1000 if milliseconds.isdigit() else None)


def _read_request(reader: BufferedReader, connection: socket.socket) -> _Request | None:
    """Read one request; None where the caller has hung up instead."""
    line = reader.readline(_MAX_LINE_BYTES)
    if not line:
        return None
    parts = line.decode("latin-1").split()
    if len(parts) != 3 or not line.endswith(b"\n"):
        raise _RequestError(400, "the request line is malformed")
    method, target, version = parts
    headers = _read_headers(reader)
    wish = headers.get(b"connection", b"").lower()
    keep_alive = b"close" not in wish if version == "HTTP/1.1" else b"keep-alive" in wish
    return _Request(method, target.partition("?")[0], headers, _read_body(headers, reader, connection), keep_alive)


def _read_headers(reader: BufferedReader) -> dict[bytes, bytes]:
    headers: dict[bytes, bytes] = {}
    for _ in range(_MAX_HEADERS + 1):
        line = reader.readline(_MAX_LINE_BYTES)
        if line in (b"\r\n", b"\n"):
            return headers
        if not line.endswith(b"\n"):
            if len(line) < _MAX_LINE_BYTES:
                raise ConnectionResetError
            break
        name, colon, value = line.partition(b":")
        if not colon or name.split() != [name]:
            raise _RequestError(400, "a header is malformed")
        name, value = name.lower(), value.strip()
        # Two lengths that differ are how a second request is smuggled inside the first.
        if name in (b"content-length", b"transfer-encoding") and headers.get(name, value) != value:
            raise _RequestError(400, f"two different {name.decode()} headers")
        headers[name] = value
    raise _RequestError(431, "the headers are too large")


def _read_body(headers: dict[bytes, bytes], reader: BufferedReader, connection: socket.socket) -> bytes:
    if b"origin" in headers:
        # Only browsers send it: no web page may run a tool on the machine of its visitor.
        raise _RequestError(403, "tools do not answer web pages; call the router instead", "denied")
    encoding, length = headers.get(b"transfer-encoding"), headers.get(b"content-length", b"0")
    if encoding is not None and encoding.lower() != b"chunked":
        raise _RequestError(501, "the only transfer encoding this server knows is chunked")
    if not length.isdigit() or (encoding is not None and b"content-length" in headers):
        raise _RequestError(400, "the length of the body is not clear")
    size = _within_limit(int(length[:20]))
    if headers.get(b"expect", b"").lower() == b"100-continue":
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    return _read_exactly(reader, size) if encoding is None else _read_chunks(reader)


def _read_chunks(reader: BufferedReader) -> bytes:
    chunks: list[bytes] = []
    total = 0
    while True:
        digits = reader.readline(_MAX_LINE_BYTES).partition(b";")[0].strip()
        if not digits or digits.strip(_HEX_DIGITS):
            raise _RequestError(400, "a chunk's size is malformed")
        size = int(digits, 16)
        if size == 0:
            _read_headers(reader)  # trailers, which nobody here reads
            return b"".join(chunks)
        total = _within_limit(total + size)
        chunks.append(_read_exactly(reader, size))
        if reader.readline(_MAX_LINE_BYTES) not in (b"\r\n", b"\n"):
            raise _RequestError(400, "a chunk is longer than its size says")


def _read_exactly(reader: BufferedReader, size: int) -> bytes:
    data: bytes | None = reader.read(size)  # None where the caller fell silent
    if data is None or len(data) < size:
        raise ConnectionResetError
    return data


def _within_limit(size: int) -> int:
    if size > MAX_BODY_BYTES:
        raise _RequestError(413, f"the body is too large: at most {MAX_BODY_BYTES:,} bytes", "too_large")
    return size


def _linger(connection: socket.socket) -> None:
    # Closing while the caller still sends would reset the connection, and the answer would be lost with it.
    connection.shutdown(socket.SHUT_WR)
    until = time.monotonic() + _LINGER_SECONDS
    while (left := until - time.monotonic()) > 0:
        connection.settimeout(left)
        if not connection.recv(65536):
            return


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


_decoder = json.JSONDecoder(parse_constant=_refuse_constant)
_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _decode_object(body: bytes) -> dict[str, Any]:
    try:
        params = _decoder.decode(body.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise _RequestError(400, f"the body is not JSON: {error}") from None
    if not isinstance(params, dict):
        raise _RequestError(422, "the body must be a JSON object with the tool's parameters", "invalid_params")
    return params


def _encode(value: object) -> bytes:
    # A lone surrogate has no UTF-8 form; written as \udXXX it is an ordinary JSON escape.
    return _encoder.encode(value).encode("utf-8", "backslashreplace")


def _envelope(message: str, code: str, hint: str | None = None) -> bytes:
    return _encode({"status": "error", "result": None, "error": message, "error_code": code, "hint": hint})


def _response(status: int, body: bytes, *, headers: str = "", keep_alive: bool = True) -> bytes:
    connection = "" if keep_alive else "Connection: close\r\n"
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n{headers}{connection}\r\n"
    )
    return head.encode("latin-1") + body
