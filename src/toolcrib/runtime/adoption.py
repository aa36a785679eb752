"""Tools that somebody started by hand (contract T027)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib.runtime.connections import ConnectionPool
from toolcrib.runtime.health import probe
from toolcrib.runtime.ports import listening_ports
from toolcrib.runtime.process import KILL_SECONDS, is_running
from toolcrib.runtime.records import token_of

if TYPE_CHECKING:
    import psutil


@dataclass(frozen=True, slots=True)
class ManualProcess:
    """A process that serves a tool and that no router started."""

    directory: Path
    pid: int
    port: int
    created: float


async def find(directories: Iterable[Path], first: int, last: int, pool: ConnectionPool) -> dict[Path, ManualProcess]:
    """The healthy processes started by hand in any of the folders, by folder.

    A process counts where it is this user's, works in a tool's folder, has that folder's ``main.py`` on its command
    line, listens on a port of the range, and answers ``/health``; and where no router started it, which its environment
    shows.
    """
    wanted = {directory.resolve(): directory for directory in directories}
    found: dict[Path, ManualProcess] = {}
    if not wanted:
        return found
    for candidate in await asyncio.to_thread(_candidates, wanted, first, last):
        if candidate.directory not in found and await probe(pool, candidate.port) is None:
            found[candidate.directory] = candidate
    return found


def _candidates(wanted: dict[Path, Path], first: int, last: int) -> list[ManualProcess]:
    import psutil

    candidates = []
    user = os.getuid()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.uids().real != user or process.pid == os.getpid():
                continue
            folder = Path(process.cwd())
            directory = wanted.get(folder)
            if directory is None or not _runs_main(process.cmdline(), folder) or token_of(process.pid) is not None:
                continue
            ports = [port for port in sorted(listening_ports(process.pid)) if first <= port <= last]
            if ports:
                candidates.append(ManualProcess(directory, process.pid, ports[0], process.create_time()))
    return candidates


def _runs_main(command: list[str], folder: Path) -> bool:
    main = folder / "main.py"
    return any(argument.endswith("main.py") and (folder / argument).resolve() == main for argument in command)


async def end(manual: ManualProcess, grace: float) -> None:
    """End a process that was started by hand: TERM to it and its children, ``grace`` seconds, KILL."""
    import psutil

    family = await asyncio.to_thread(_family, manual)
    loop = asyncio.get_running_loop()
    for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, KILL_SECONDS)):
        for member in family:
            with contextlib.suppress(psutil.Error):
                member.send_signal(number)
        limit = loop.time() + seconds
        while loop.time() < limit:
            if not any(is_running(member.pid) for member in family):
                return
            await asyncio.sleep(0.02)


def _family(manual: ManualProcess) -> list[psutil.Process]:
    import psutil

    with contextlib.suppress(psutil.Error):
        process = psutil.Process(manual.pid)
        if process.create_time() == manual.created:
            return [process, *process.children(recursive=True)]
    return []
