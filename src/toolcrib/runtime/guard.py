"""Ends a router's tools when the router was killed.

Run as ``python -I -S guard.py PARENT_PID`` in a session of its own, once per router. Its standard input says which
process groups exist: ``+ GROUP START_TIME MARK`` and ``- GROUP``, a line each; the mark, a ``NAME=VALUE`` in the
environment of every process of the group, also finds those that went into a session of their own. When the input ends
or the parent dies, everything that is left gets TERM, half a second, and KILL. Only the standard library, and nothing
of toolcrib, is imported.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

GRACE = 0.5
KILL_ROUNDS = 10


def start_time(pid: int) -> str | None:
    """When a process began, in clock ticks since boot; None where it is gone, "0" where the system does not say."""
    if sys.platform != "linux":
        return "0" if _signal_process(pid, 0) else None
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - pathlib would double the guard's size
            return file.read().rpartition(b")")[2].split()[19].decode()
    except OSError:
        return None


def _signal_process(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True


def signal_group(group: int, number: int) -> bool:
    """Send a signal to a process group; False where no such group is left."""
    try:
        os.killpg(group, number)
    except OSError:
        return False
    return True


def is_ours(group: int, started: str) -> bool:
    """Whether the group is still the one that was recorded.

    While a member lives its leader's process id is not given away, so a leader with another start time is a stranger,
    and a missing leader means that the members are what the leader left behind.
    """
    return start_time(group) in (started, None, "0") and signal_group(group, 0)


def end(groups: dict[int, list[str]]) -> None:
    """TERM, a short grace, KILL; ``groups`` says of each its leader's start time and, where there is one, its mark."""
    alive = [group for group, facts in groups.items() if is_ours(group, facts[0])]
    marks = {mark.encode() for facts in groups.values() for mark in facts[1:]}
    for group in alive:
        signal_group(group, signal.SIGTERM)
    escaped = signal_marked(marks, signal.SIGTERM)
    limit = time.monotonic() + GRACE
    while time.monotonic() < limit and (any(map(_lives, alive)) or any(is_marked(pid, marks) for pid in escaped)):
        time.sleep(0.02)
    for group in alive:
        signal_group(group, signal.SIGKILL)
    # One that begins others meanwhile may be a step ahead of a single look.
    for _ in range(KILL_ROUNDS):
        if not signal_marked(marks, signal.SIGKILL):
            return


def signal_marked(marks: set[bytes], number: int) -> list[int]:
    """Send a signal to every process that has one of the marks in its environment; those processes."""
    found: list[int] = []
    if marks:
        with contextlib.suppress(OSError):
            found = [int(name) for name in os.listdir("/proc") if name.isdigit() and is_marked(int(name), marks)]  # noqa: PTH208 - as above
    for pid in found:
        with contextlib.suppress(OSError, AttributeError):
            descriptor = os.pidfd_open(pid)
            try:
                if is_marked(pid, marks):  # the number may have been given away between the look and the opening
                    signal.pidfd_send_signal(descriptor, number)
            finally:
                os.close(descriptor)
    return found


def is_marked(pid: int, marks: set[bytes]) -> bool:
    """Whether a process lives that has one of the marks in its environment; False where it may not be read."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 - as above
            return not marks.isdisjoint(file.read().split(b"\0"))
    except OSError:
        return False


def _lives(group: int) -> bool:
    return signal_group(group, 0)


def read_until_the_end(parent: int) -> dict[int, list[str]]:
    """Follow the input until it ends or the parent is gone; the groups that are left."""
    groups: dict[int, list[str]] = {}
    waiting_for = [0]
    with contextlib.suppress(AttributeError, OSError):
        waiting_for.append(os.pidfd_open(parent))
    text = b""
    while os.getppid() == parent:
        ready = select.select(waiting_for, [], [], 0.5)[0]
        if 0 in ready:
            chunk = os.read(0, 65536)
            if not chunk:
                break
            *lines, text = (text + chunk).split(b"\n")
            for line in lines:
                sign, group, *facts = line.decode().split()
                if sign == "+":
                    groups[int(group)] = facts
                else:
                    groups.pop(int(group), None)
        elif ready:
            break
    return groups


def main(parent: int) -> None:
    """Guard until the end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    end(read_until_the_end(parent))


if __name__ == "__main__":
    main(int(sys.argv[1]))
