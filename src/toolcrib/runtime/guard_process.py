"""The router's side of its guard."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import subprocess
import sys

from toolcrib.runtime import guard
from toolcrib.runtime.process import ExitWatch, base_environment

logger = logging.getLogger("toolcrib.runtime")

MOST_RESTARTS = 5
END_SECONDS = 3.0


class GuardProcess:
    """Keeps one `guard` running and tells it which process groups exist.

    A guard that was killed is replaced and told everything again.
    """

    def __init__(self) -> None:
        self._groups: dict[int, str] = {}
        self._popen: subprocess.Popen[bytes] | None = None
        self._watch: ExitWatch | None = None
        self._restarts = 0
        self._closing = False
        self._gone = asyncio.Event()

    @property
    def pid(self) -> int | None:
        """Its process id while it runs."""
        return self._popen.pid if self._popen is not None else None

    def start(self) -> None:
        """Begin the guard and tell it what there is."""
        self._popen = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env=base_environment(),
            bufsize=0,
            start_new_session=True,
        )
        assert self._popen.stdin is not None
        os.set_blocking(self._popen.stdin.fileno(), False)
        self._watch = ExitWatch(self._popen.pid, self._ended)
        for line in self._groups.values():
            self._tell(line)

    def add(self, group: int, started: str, mark: str = "") -> None:
        """A process group exists from now on.

        Args:
            group: its number, which is its leader's process id.
            started: when its leader began (see `guard.start_time`).
            mark: a ``NAME=VALUE`` in its processes' environment, without spaces.
        """
        self._groups[group] = f"+ {group} {started} {mark}\n"
        self._tell(self._groups[group])

    def remove(self, group: int) -> None:
        """A process group is gone."""
        if self._groups.pop(group, None) is not None:
            self._tell(f"- {group}\n")

    async def close(self) -> None:
        """End the guard; it ends what is still recorded."""
        self._closing = True
        if self._popen is None:
            return
        self._close_input()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._gone.wait(), END_SECONDS)
        if self._popen is not None:
            self._popen.kill()
            self._ended()

    def _tell(self, line: str) -> None:
        if self._popen is not None and self._popen.stdin is not None:
            # A guard that has just died is followed by one that is told everything.
            with contextlib.suppress(OSError, ValueError):
                if self._popen.stdin.write(line.encode()) is None:  # it has stopped reading: as good as dead
                    self._popen.kill()

    def _close_input(self) -> None:
        if self._popen is not None and self._popen.stdin is not None:
            with contextlib.suppress(OSError):
                self._popen.stdin.close()

    def _ended(self) -> None:
        if self._popen is None:
            return
        self._close_input()
        self._popen.wait()
        self._popen = None
        if self._watch is not None:
            self._watch.close()
        if self._closing:
            self._gone.set()
        elif self._restarts == MOST_RESTARTS:
            self._give_up(f"it ended {MOST_RESTARTS + 1} times")
        else:
            self._restarts += 1
            try:
                self.start()
            except OSError as error:
                self._give_up(str(error))

    def _give_up(self, reason: str) -> None:
        self._gone.set()
        logger.error("Tools would outlive this service if it were killed: its guard is gone (%s)", reason)
