"""One process of one tool: begun, watched, listened to and ended."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from toolcrib.runtime import launch
from toolcrib.runtime.guard import signal_group, start_time

READ_SIZE = 64 * 1024
POLL_SECONDS = 0.05
KILL_SECONDS = 5.0
KILL_ROUNDS = 10
FLAGS_FIELD, PENDING_FIELD = 6, 28  # of /proc/PID/stat, counted from the state
EXITING = 0x4

BASE_VARIABLES = frozenset(
    {
        *("PATH", "HOME", "LANG", "TZ", "TMPDIR", "USER", "LOGNAME", "SYSTEMROOT"),
        *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE"),
        *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
    }
)


def base_environment(names: Sequence[str] = (), *, source: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables that a child process may see: those every program needs, and ``names`` (contract T018).

    Args:
        names: further variables to pass on where they are set.
        source: where they come from; None = this process's environment.
    """
    given = os.environ if source is None else source
    return {
        name: value
        for name, value in given.items()
        if name in BASE_VARIABLES or name in names or name.startswith("LC_")
    }


class ExitWatch:
    """Notices that a process has ended, at once where the system can say so, also for one that is not our child.

    Args:
        pid: the process.
        ended: called once, in the event loop.
    """

    def __init__(self, pid: int, ended: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._pid = pid
        self._started = start_time(pid)
        self._ended = ended
        self._descriptor: int | None = None
        self._timer: asyncio.Handle | None = None
        self._stat: int | None = None
        with contextlib.suppress(OSError):
            self._stat = os.open(f"/proc/{pid}/task/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._descriptor = os.pidfd_open(pid)
        except (AttributeError, OSError):
            self._timer = self._loop.call_soon(self._poll)
        else:
            self._loop.add_reader(self._descriptor, self._fire)

    def is_ending(self) -> bool:
        """Whether the process has ended or is about to, having been killed; the event loop is a moment behind that.

        One system call. A thread that waits in recv() when its process is killed may still take what is sent to it, so
        that nobody can tell afterwards whether it was acted on: such a process must not be sent anything. Where the
        system does not say, False until the end was noticed.
        """
        if self._stat is None:
            return self._descriptor is None and self._timer is None
        try:
            facts = os.pread(self._stat, 1024, 0).rpartition(b")")[2].split(None, PENDING_FIELD + 1)
        except OSError:
            return True
        killed = int(facts[PENDING_FIELD]) >> (signal.SIGKILL - 1) & 1
        return bool(killed or int(facts[FLAGS_FIELD]) & EXITING or facts[0] in (b"Z", b"X"))

    def close(self) -> None:
        """Stop watching."""
        if self._descriptor is not None:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None
        if self._stat is not None:
            os.close(self._stat)
            self._stat = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self) -> None:
        self.close()
        self._ended()

    def _poll(self) -> None:
        if is_running(self._pid) and start_time(self._pid) == self._started:
            self._timer = self._loop.call_later(POLL_SECONDS, self._poll)
        else:
            self._fire()


def is_running(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    import psutil

    with contextlib.suppress(psutil.Error):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


class ToolProcess:
    """A tool's process in a session and group of its own.

    It is begun in the event loop's own thread, because the kernel ends it with the thread that began it. No Python code
    runs between fork and exec: `launch` asks for the parent-death signal in the child's place.

    Args:
        argv: the program, absolute, and its arguments.
        directory: the working directory.
        environment: all its variables.
        output: called with what it writes, on either stream.

    Attributes:
        pid: of the process, and the id of its group.
        started: when it began, see `guard.start_time`.
        exited: done when it has ended; the result is its exit code, negative for a signal.

    Raises:
        OSError: the process could not be begun.
    """

    def __init__(
        self, argv: Sequence[str], directory: Path, environment: Mapping[str, str], output: Callable[[bytes], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._output = output
        read_end, write_end = os.pipe()
        try:
            self._popen = subprocess.Popen(
                [sys.executable, "-I", "-S", launch.__file__, str(os.getpid()), *argv],
                cwd=directory,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=write_end,
                stderr=write_end,
                start_new_session=True,
            )
        except BaseException:
            os.close(read_end)
            raise
        finally:
            os.close(write_end)
        self.pid = self._popen.pid
        self.started = start_time(self.pid) or "0"
        self.exited: asyncio.Future[int] = self._loop.create_future()
        os.set_blocking(read_end, False)
        self._pipe: int | None = read_end
        self._loop.add_reader(read_end, self._read)
        self._watch = ExitWatch(self.pid, self._reap)

    def _read(self) -> bool:
        if self._pipe is None:
            return False
        try:
            chunk = os.read(self._pipe, READ_SIZE)
        except BlockingIOError:
            return False
        except OSError:
            chunk = b""
        if chunk:
            self._output(chunk)
        else:
            self._close_pipe()
        return bool(chunk)

    def _close_pipe(self) -> None:
        if self._pipe is not None:
            self._loop.remove_reader(self._pipe)
            os.close(self._pipe)
            self._pipe = None

    def _reap(self) -> None:
        # What is left of the group has lost its leader: calls that it still answers would never be accounted for.
        # The group is signalled while the unreaped leader keeps its number from being given away.
        signal_group(self.pid, signal.SIGKILL)
        code = self._popen.wait()
        for _ in range(64):
            if not self._read():
                break
        self._close_pipe()
        self.exited.set_result(code)

    def is_ending(self) -> bool:
        """Whether it has ended or is about to (see `ExitWatch`)."""
        return self._watch.is_ending()

    async def wait(self, seconds: float) -> bool:
        """Wait for the end; False where it did not come in time."""
        return bool((await asyncio.wait({self.exited}, timeout=max(0.0, seconds)))[0])

    async def stop(self, grace: float) -> None:
        """End the whole group: TERM, ``grace`` seconds, KILL, until no member is alive (contract T019)."""
        if not self.exited.done():
            signal_group(self.pid, signal.SIGTERM)
            if not await self.wait(grace):
                signal_group(self.pid, signal.SIGKILL)
                await self.wait(KILL_SECONDS)
        await end_group(self.pid, 0.0)


def group_is_alive(group: int) -> bool:
    """Whether a process group has a member that is no zombie."""
    return signal_group(group, 0) and any(is_running(pid) for pid in group_members(group))


def group_members(group: int) -> list[int]:
    """The processes of a group, its leader first."""
    import psutil

    members = []
    for pid in psutil.pids():
        with contextlib.suppress(OSError):
            if os.getpgid(pid) == group:
                members.append(pid)
    return sorted(members, key=lambda pid: pid != group)


async def end_group(group: int, grace: float) -> None:
    """End a group that need not be our child's: TERM, ``grace`` seconds, KILL, until no member is alive."""
    loop = asyncio.get_running_loop()
    if grace > 0:
        signal_group(group, signal.SIGTERM)
    term_until = loop.time() + grace
    kill_until = term_until + KILL_SECONDS
    while await asyncio.to_thread(group_is_alive, group) and loop.time() < kill_until:
        if loop.time() >= term_until:
            signal_group(group, signal.SIGKILL)
        await asyncio.sleep(0.02)


def kill_marked(variable: str, value: str) -> None:
    """Kill every process that has ``variable=value`` in its environment: what went into a session of its own."""
    # One that begins others meanwhile may be a step ahead of a single look.
    for _ in range(KILL_ROUNDS):
        if not _kill_marked_once(variable, value):
            return


def _kill_marked_once(variable: str, value: str) -> bool:
    import psutil

    killed = False
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(variable) == value:
                process.kill()
                killed = True
    return killed
