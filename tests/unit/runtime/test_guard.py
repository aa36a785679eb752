"""The guard: when its router is gone, so is everything that the router began."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.runtime.workshop import SLACK, begin, lives, until
from toolcrib.runtime import guard
from toolcrib.runtime.guard import start_time
from toolcrib.runtime.guard_process import GuardProcess


class Guarded:
    """A guard, and groups that it is told of."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__, str(os.getpid())],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        self.groups: list[subprocess.Popen[bytes]] = []

    def group(self, script: str) -> subprocess.Popen[bytes]:
        """Start a group; it is not yet known to the guard."""
        process = subprocess.Popen(["sh", "-c", script], start_new_session=True)
        self.groups.append(process)
        return process

    def tell(self, line: str) -> None:
        """Write a line to the guard."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def hang_up(self) -> None:
        """End the guard's input, and wait until it has ended."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(5 * SLACK)


@pytest.fixture
def guarded() -> Iterator[Guarded]:
    """A running guard."""
    guarded = Guarded()
    yield guarded
    if guarded.process.stdin is not None:
        guarded.process.stdin.close()
    for process in [guarded.process, *guarded.groups]:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_T019_at_the_end_of_its_input_the_guard_ends_what_it_knows(guarded: Guarded) -> None:
    polite, deaf, gone, unknown = (guarded.group(f"{trap}sleep 300 & wait") for trap in ("", "trap '' TERM; ", "", ""))
    for process in (polite, deaf, gone):
        guarded.tell(f"+ {process.pid} {start_time(process.pid)}")
    guarded.tell(f"- {gone.pid}")
    before = time.monotonic()
    guarded.hang_up()
    assert time.monotonic() - before < 2 * SLACK
    assert polite.wait(1) == -15
    assert deaf.wait(1) == -9
    assert gone.poll() is None
    assert unknown.poll() is None


def test_T019_the_guard_ends_at_once_where_nothing_is_left(guarded: Guarded) -> None:
    before = time.monotonic()
    guarded.hang_up()
    assert time.monotonic() - before < 0.4 * SLACK
    assert guarded.process.returncode == 0


def test_T019_a_number_that_was_given_to_another_process_is_left_alone(guarded: Guarded) -> None:
    stranger = guarded.group("sleep 300")
    guarded.tell(f"+ {stranger.pid} 1")
    guarded.hang_up()
    assert stranger.poll() is None


async def test_T019_what_a_dead_leader_left_in_its_group_is_ended(guarded: Guarded, tmp_path: Path) -> None:
    leader = guarded.group(f"sleep 300 & echo $! > {tmp_path}/pid; exit 0")
    started = start_time(leader.pid)
    leader.wait()
    member = int((tmp_path / "pid").read_text())
    assert lives(member)
    guarded.tell(f"+ {leader.pid} {started}")
    guarded.hang_up()
    await until(lambda: not lives(member))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("trap", ["", "trap '' TERM; "])
async def test_T019_what_left_the_group_is_found_by_its_mark(guarded: Guarded, tmp_path: Path, trap: str) -> None:
    mark = f"CRIB_TEST_MARK={os.urandom(8).hex()}"
    script = (
        f"env {mark} setsid sh -c '{trap.replace(chr(39), chr(34))}echo $$ > {tmp_path}/pid; sleep 300 & wait' & wait"
    )
    leader = guarded.group(script)
    await until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    escaped = int((tmp_path / "pid").read_text())
    unmarked = guarded.group("sleep 300")
    guarded.tell(f"+ {leader.pid} {start_time(leader.pid)} {mark}")
    guarded.hang_up()
    await until(lambda: not lives(escaped))
    assert unmarked.poll() is None


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_T019_the_terminals_signals_do_not_end_the_guard(guarded: Guarded) -> None:
    child = guarded.group("sleep 300")
    guarded.tell(f"+ {child.pid} {start_time(child.pid)}")
    path = Path(f"/proc/{guarded.process.pid}/status")
    mask = 1 << signal.SIGHUP - 1 | 1 << signal.SIGINT - 1 | 1 << signal.SIGTERM - 1
    await until(lambda: int(path.read_text().partition("SigIgn:")[2].split()[0], 16) & mask == mask)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        guarded.process.send_signal(number)
    assert guarded.process.poll() is None
    guarded.hang_up()
    assert child.wait(1) == -15


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_T019_the_guard_holds_nothing_of_the_router() -> None:
    process = GuardProcess()
    process.start()
    assert process.pid is not None
    await until(lambda: any("pidfd" in target for target in descriptors_of(process.pid).values()))
    held = descriptors_of(process.pid)
    assert held.pop("0").startswith("pipe:")
    assert {held.pop("1"), held.pop("2")} == {"/dev/null"}
    assert all("pidfd" in target for target in held.values()), held
    assert os.getsid(process.pid) == process.pid
    await process.close()
    assert process.pid is None


def descriptors_of(pid: int | None) -> dict[str, str]:
    """What a guard that has begun holds, by number."""
    if b"guard.py" not in Path(f"/proc/{pid}/cmdline").read_bytes():
        return {}
    return {path.name: str(path.readlink()) for path in Path(f"/proc/{pid}/fd").iterdir()}


async def test_T019_a_guard_that_was_killed_is_replaced_and_told_everything() -> None:
    child = begin("sleep", "300", start_new_session=True)
    process = GuardProcess()
    process.start()
    process.add(child.pid, start_time(child.pid) or "0")
    first = process.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    await until(lambda: process.pid not in (None, first))
    await process.close()
    assert child.wait(5) == -15


async def test_T019_a_guard_that_no_longer_reads_is_replaced_and_never_waited_for() -> None:
    process = GuardProcess()
    process.start()
    first = process.pid
    assert first is not None
    os.kill(first, signal.SIGSTOP)
    before = time.monotonic()
    for number in range(20_000):  # more than a pipe holds; the numbers belong to nobody
        process.add(2**30 + number, "1")
        process.remove(2**30 + number)
    assert time.monotonic() - before < 5 * SLACK
    await until(lambda: process.pid not in (None, first))
    await process.close()


async def test_T019_a_guard_that_cannot_stay_is_given_up_loudly(caplog: pytest.LogCaptureFixture) -> None:
    process = GuardProcess()
    process.start()
    for _ in range(6):
        current = process.pid
        assert current is not None
        os.kill(current, signal.SIGKILL)
        await until(lambda current=current: process.pid != current)  # type: ignore[misc]
    assert process.pid is None
    assert "its guard is gone" in caplog.text
    await process.close()
