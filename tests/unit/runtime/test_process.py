"""Processes: begun apart from the router, listened to, and ended with everything they began."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.runtime.workshop import SLACK, begin, lives, until
from toolcrib.runtime.process import ExitWatch, ToolProcess, base_environment, end_group, kill_marked

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


class Started:
    """A process that runs a piece of Python, and what it wrote."""

    def __init__(self, program: str, directory: Path, **variables: str) -> None:
        self.output = bytearray()
        self.process = ToolProcess(
            [sys.executable, "-c", program], directory, base_environment() | variables, self.output.extend
        )

    async def words(self, count: int = 1) -> list[str]:
        """The words it wrote, once there are so many."""
        await until(lambda: len(self.output.split()) >= count)
        return self.output.decode().split()


async def test_T018_a_process_has_its_own_session_and_no_input(tmp_path: Path) -> None:
    program = "import os, sys; print(os.getpid(), os.getpgid(0), os.getsid(0), repr(sys.stdin.read()), os.getcwd())"
    started = Started(program, tmp_path)
    assert await started.process.wait(10 * SLACK)
    pid = str(started.process.pid)
    assert started.output.decode().split() == [pid, pid, pid, "''", str(tmp_path)]
    assert started.process.exited.result() == 0


async def test_T018_a_program_that_cannot_be_executed_says_why(tmp_path: Path) -> None:
    output = bytearray()
    process = ToolProcess(["/nowhere/python"], tmp_path, base_environment(), output.extend)
    assert await process.wait(10 * SLACK)
    assert process.exited.result() == 1
    assert output == b"/nowhere/python: No such file or directory\n"


async def test_T018_a_folder_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="gone"):
        Started("pass", tmp_path / "gone")


async def test_T019_how_a_process_ended_is_known_at_once(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    started = Started("print('up', flush=True); import time; time.sleep(300)", tmp_path)
    await started.words()
    before = loop.time()
    os.kill(started.process.pid, signal.SIGKILL)
    assert await asyncio.wait_for(started.process.exited, 10) == -9
    assert loop.time() - before < 0.5 * SLACK


async def test_T019_stop_is_a_polite_request_first(tmp_path: Path) -> None:
    program = "import signal, sys, time; signal.signal(15, lambda *a: (print('bye', flush=True), sys.exit(3)))\n"
    started = Started(program + "print('up', flush=True); time.sleep(300)", tmp_path)
    await started.words()
    await started.process.stop(10)
    assert started.process.exited.result() == 3
    assert started.output.split() == [b"up", b"bye"]


async def test_T019_a_deaf_process_and_its_grandchildren_are_gone_after_stop(tmp_path: Path) -> None:
    program = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child == 0:
    grandchild = os.fork()
    if grandchild:
        print(os.getpid(), grandchild, flush=True)
time.sleep(300)
"""
    started = Started(program, tmp_path)
    pids = [int(word) for word in await started.words(2)]
    await started.process.stop(0.1)
    assert started.process.exited.result() == -9
    assert not any(lives(pid) for pid in [started.process.pid, *pids])


async def test_T019_what_the_leader_leaves_behind_when_it_ends_is_ended(tmp_path: Path) -> None:
    started = Started("import os, time\nif os.fork() == 0:\n print(os.getpid(), flush=True); time.sleep(300)", tmp_path)
    assert await started.process.wait(10 * SLACK)
    await started.process.stop(0)
    words = started.output.split()
    assert not words or not lives(int(words[0]))


async def test_T019_what_went_into_a_session_of_its_own_is_found_by_its_mark(tmp_path: Path) -> None:
    program = "import subprocess; print(subprocess.Popen(['sleep', '300'], start_new_session=True).pid, flush=True)"
    started = Started(program, tmp_path, CRIB_TEST_MARK=str(tmp_path))
    stray = int((await started.words())[0])
    await started.process.stop(0)
    assert lives(stray)
    kill_marked("CRIB_TEST_MARK", str(tmp_path))
    await until(lambda: not lives(stray))


async def test_T028_a_flood_on_both_streams_is_always_drained(tmp_path: Path) -> None:
    program = "import sys; sys.stdout.write('o' * 1000000); sys.stderr.write('e' * 1000000); sys.stderr.write('end')"
    started = Started(program, tmp_path)
    assert await started.process.wait(20 * SLACK)
    assert len(started.output) == 2_000_003
    assert started.output.endswith(b"end") or started.output.endswith(b"o")


@LINUX
async def test_T018_nothing_of_the_router_is_inherited(tmp_path: Path) -> None:
    inherited = os.open(tmp_path / "secret", os.O_RDWR | os.O_CREAT)
    os.set_inheritable(inherited, True)
    started = Started(
        "import os; print(*(os.readlink('/proc/self/fd/' + n) for n in '012'), *os.listdir('/proc/self/fd'))", tmp_path
    )
    assert await started.process.wait(10 * SLACK)
    os.close(inherited)
    null, out, err, *numbers = started.output.decode().split()
    assert null == "/dev/null"
    assert out == err
    assert out.startswith("pipe:")
    assert set(numbers) <= {"0", "1", "2", "3"}


@LINUX
async def test_T018_a_process_dies_with_the_router_even_without_the_guard(tmp_path: Path) -> None:
    program = f"""
import asyncio, sys
from pathlib import Path
from toolcrib.runtime.process import ToolProcess, base_environment
async def main():
    argv = [sys.executable, "-c", "import time; time.sleep(300)"]
    process = ToolProcess(argv, Path({str(tmp_path)!r}), base_environment(), print)
    print(process.pid, flush=True)
    await asyncio.sleep(300)
asyncio.run(main())
"""
    router = begin(sys.executable, "-c", program, stdout=subprocess.PIPE)
    assert router.stdout is not None
    pid = int(router.stdout.readline())
    await until(lambda: b"-c\0import time" in Path(f"/proc/{pid}/cmdline").read_bytes()[: len(sys.executable) + 20])
    router.kill()
    router.wait()
    router.stdout.close()
    await until(lambda: not lives(pid), 2)


async def test_T018_only_what_every_program_needs_is_passed_on() -> None:
    source = {
        "PATH": "p",
        "LC_ALL": "C",
        "https_proxy": "x",
        "SECRET": "s",
        "MINE": "m",
        "VIRTUAL_ENV": "v",
        "PYTHONPATH": "y",
    }
    assert base_environment(["MINE", "ABSENT"], source=source) == {
        "PATH": "p",
        "LC_ALL": "C",
        "https_proxy": "x",
        "MINE": "m",
    }


@pytest.mark.parametrize("has_pidfd", [True, False])
async def test_T027_the_end_of_a_stranger_is_noticed(monkeypatch: pytest.MonkeyPatch, has_pidfd: bool) -> None:
    if not has_pidfd:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    ended = asyncio.Event()
    process = begin("sleep", "300")
    watch = ExitWatch(process.pid, ended.set)
    await asyncio.sleep(0.1)
    assert not ended.is_set()
    process.kill()
    await asyncio.wait_for(ended.wait(), 2 * SLACK)
    watch.close()
    process.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_E073_a_process_that_was_killed_is_known_to_be_ending_before_it_is_gone() -> None:
    for _ in range(10):
        process = begin("sleep", "300", start_new_session=True)
        watch = ExitWatch(process.pid, lambda: None)
        assert not watch.is_ending()
        process.kill()
        seen = any(watch.is_ending() for _ in range(1000))  # between taking the signal and exiting nothing shows it
        process.wait()
        assert seen
        assert watch.is_ending()
        watch.close()
        assert watch.is_ending()


async def test_T019_a_group_that_is_not_ours_is_ended_too() -> None:
    process = begin("sh", "-c", "trap '' TERM; sleep 300 & wait", start_new_session=True)
    await end_group(process.pid, 0.1)
    assert process.wait() in (-9, -15)
    await end_group(process.pid, 0.1)
