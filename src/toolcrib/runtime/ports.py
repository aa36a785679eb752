"""Which TCP port each local tool gets."""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Collection
from dataclasses import dataclass

LOOPBACK = "127.0.0.1"


class NoPortError(Exception):
    """Every port of the range is reserved or busy."""


@dataclass(frozen=True, slots=True)
class PortHolder:
    """The process that listens on a port.

    Attributes:
        port: the port.
        pid: of the process; None where the system does not say (it belongs to another user).
        program: its name.
        command: what it was started with, shortened.
    """

    port: int
    pid: int | None = None
    program: str | None = None
    command: str | None = None

    @property
    def who(self) -> str:
        """The process in words."""
        if self.pid is None:
            return "another program"
        command = f": {self.command}" if self.command else ""
        return f"{self.program or 'a program'} (pid {self.pid}{command})"

    def __str__(self) -> str:
        return f"port {self.port} is held by {self.who}"


class PortAllocator:
    """Hands out the ports from ``first`` to ``last``, lowest first, each to one tool at a time (contract T022).

    Args:
        first: the first port of the range.
        last: its last port.
        excluded: ports never handed out, such as the router's own.

    Example:
        >>> ports = PortAllocator(8002, 8999, excluded=(8001,))
        >>> port = ports.reserve()
        >>> port in ports.reserved
        True
        >>> ports.release(port)
    """

    def __init__(self, first: int, last: int, *, excluded: Collection[int] = ()) -> None:
        self.first = first
        self.last = last
        self.reserved: set[int] = set()
        self._excluded = frozenset(excluded)

    def reserve(self, preferred: int | None = None, *, avoid: Collection[int] = ()) -> int:
        """Take a port on which nothing listens; it stays taken until `release`.

        Args:
            preferred: the port to take if it is free.
            avoid: ports not to take this time.

        Raises:
            NoPortError: none is free.
        """
        candidates = range(self.first, self.last + 1)
        order = [preferred, *candidates] if preferred is not None else candidates
        for port in order:
            if port in self.reserved or port in self._excluded or port in avoid or not can_bind(port):
                continue
            self.reserved.add(port)
            return port
        raise NoPortError(f"No port from {self.first} to {self.last} is free")

    def release(self, port: int) -> None:
        """Give a port back; a port that was not reserved is no error."""
        self.reserved.discard(port)


def can_bind(port: int) -> bool:
    """Whether a server could listen on the loopback port at this moment."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: connections of the last run that wait for their end do not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
            probe.listen(1)
        except OSError as error:
            if error.errno in (errno.EADDRINUSE, errno.EACCES):
                return False
            raise
    return True


def holder_of(port: int) -> PortHolder:
    """Who listens on a port, as far as the system says (reads every process: not for hot paths)."""
    import psutil

    with contextlib.suppress(psutil.Error, OSError):
        for connection in psutil.net_connections(kind="tcp"):
            if connection.status != psutil.CONN_LISTEN or not connection.laddr:
                continue
            if connection.laddr.port == port and connection.pid:
                process = psutil.Process(connection.pid)
                return PortHolder(port, process.pid, process.name(), " ".join(process.cmdline())[:120] or None)
    return PortHolder(port)


def listening_ports(pid: int) -> set[int]:
    """The TCP ports on which a process listens; empty where it is gone or may not be read."""
    import psutil

    try:
        connections = psutil.Process(pid).net_connections(kind="tcp")
    except (psutil.Error, OSError):
        return set()
    return {connection.laddr.port for connection in connections if connection.status == psutil.CONN_LISTEN}
