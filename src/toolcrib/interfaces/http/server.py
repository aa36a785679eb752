"""Runs the router with uvicorn (contract T001)."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from toolcrib.errors import PortTakenError, ServiceError
from toolcrib.interfaces.http.guard import is_loopback
from toolcrib.runtime.ports import holder_of

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import Receive, Scope, Send

    from toolcrib.crib import Crib


_LAST_WORDS = 1.0
"""Seconds that a call which is cut off has to say so to its client."""


async def serve(crib: Crib, *, on_ready: Callable[[str], object] | None = None) -> None:
    """Open the crib and answer HTTP until SIGINT or SIGTERM, or until cancelled; then close everything again.

    The port is taken before anything else happens, so that a second service neither starts tools nor touches files.

    Args:
        crib: not open yet.
        on_ready: called once with the service's URL when it answers.

    Raises:
        PortTakenError: another program listens there; the error names it.
        ServiceError: the address cannot be bound, or others than this machine could reach it.
    """
    settings = crib.settings
    with listen(settings.host, settings.port) as listener:
        async with crib:
            await _answer_until_stopped(crib, listener, on_ready)


async def _answer_until_stopped(crib: Crib, listener: socket.socket, on_ready: Callable[[str], object] | None) -> None:
    started = asyncio.Event()
    server = _make_server(crib, started)
    with _stopped_by_signals(server):
        answering = asyncio.create_task(server.serve(sockets=[listener]), name="toolcrib-http")
        starting = asyncio.create_task(started.wait())
        try:
            await asyncio.wait([answering, starting], return_when=asyncio.FIRST_COMPLETED)
            if started.is_set() and on_ready is not None:
                on_ready(url_of(crib.settings.host, crib.settings.port))
            await asyncio.shield(answering)
        finally:
            starting.cancel()
            server.should_exit = True
            await answering
            if cut_off := list(server.server_state.tasks):
                await asyncio.wait(cut_off, timeout=_LAST_WORDS)


def _make_server(crib: Crib, started: asyncio.Event) -> uvicorn.Server:
    import uvicorn

    from toolcrib.interfaces.http.app import create_app
    from toolcrib.interfaces.http.protocol import Protocol

    app = create_app(crib)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        # uvicorn would log a traceback for every call that it cancels when it stops.
        try:
            await app(scope, receive, send)
        except asyncio.CancelledError:
            return

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            started.set()

        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            # uvicorn's own raises the signal again in the end, which kills the process before the crib is closed.
            yield

    return Server(
        uvicorn.Config(
            answer,
            access_log=False,
            log_config=None,
            lifespan="off",
            ws="none",
            interface="asgi3",
            http=Protocol,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=max(1, round(crib.settings.stop_grace)),
        )
    )


@contextmanager
def _stopped_by_signals(server: uvicorn.Server) -> Iterator[None]:
    """SIGINT and SIGTERM end the service in order; a second one ends it without waiting for open calls."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.force_exit = server.should_exit
        server.should_exit = True

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


@contextmanager
def listen(host: str, port: int) -> Iterator[socket.socket]:
    """A socket bound to the address and open inside the ``with`` block.

    Raises:
        PortTakenError: another program listens there; the error names it.
        ServiceError: the address cannot be bound, or others than this machine could reach it.
    """
    if not is_loopback(host):
        raise ServiceError(
            f"{host} can be reached from other machines, and this release has no keys to keep strangers out",
            hint="Leave out --host, or use 127.0.0.1 and a tunnel such as ssh -L.",
        )
    try:
        # asyncio turns Nagle's algorithm off only where the socket says that it is TCP; left on, it costs 40 ms a call.
        tcp = {"type": socket.SOCK_STREAM, "proto": socket.IPPROTO_TCP}
        family, kind, protocol, _, address = socket.getaddrinfo(host.strip("[]"), port, **tcp)[0]
    except OSError as error:
        raise ServiceError(f"The address {host} is not known: {error.strerror}", hint="Use 127.0.0.1.") from error
    with socket.socket(family, kind, protocol) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
            listener.listen(2048)
        except OSError as error:
            raise _cannot_listen(host, port, error) from error
        listener.setblocking(False)
        yield listener


def url_of(host: str, port: int) -> str:
    """What a person types to reach the service."""
    return f"http://[{host.strip('[]')}]:{port}" if ":" in host else f"http://{host}:{port}"


def _cannot_listen(host: str, port: int, error: OSError) -> ServiceError:
    if error.errno == errno.EADDRINUSE:
        return PortTakenError(
            f"Port {port} is taken by {holder_of(port).who}",
            hint="Choose another port with --port, or stop that program.",
        )
    if error.errno == errno.EACCES:
        return ServiceError(f"Port {port} is reserved for the system", hint="Choose a port from 1024 on with --port.")
    return ServiceError(f"{host}:{port} cannot be bound: {error.strerror}", hint="Use 127.0.0.1 and a free port.")
