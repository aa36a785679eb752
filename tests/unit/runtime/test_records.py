"""What is left on disk between routers, and the lock of a home."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from toolcrib.errors import HomeInUseError, ServiceError
from toolcrib.runtime.guard import start_time
from toolcrib.runtime.records import TOKEN_VARIABLE, HomeLock, ProcessRecord, ProcessRecords, boot_id, token_of

TOKEN = "0123456789abcdef" * 2


@pytest.fixture
def sleeper() -> Iterator[ProcessRecord]:
    """A process as a router starts one, and its record."""
    process = subprocess.Popen(
        ["sleep", "300"], start_new_session=True, env={"PATH": os.environ["PATH"], TOKEN_VARIABLE: TOKEN}
    )
    limit = time.monotonic() + 5
    while token_of(process.pid) is None and time.monotonic() < limit:
        time.sleep(0.001)
    yield ProcessRecord("x/y", process.pid, start_time(process.pid) or "0", boot_id(), 8002, TOKEN)
    process.kill()
    process.wait()


def test_T019_a_record_is_kept_until_its_process_is_known_to_be_gone(tmp_path: Path, sleeper: ProcessRecord) -> None:
    records = ProcessRecords(tmp_path)
    records.write(sleeper)
    assert ProcessRecords(tmp_path).read_all() == ProcessRecords(tmp_path).read_all() == [sleeper]
    records.remove(sleeper)
    records.remove(sleeper)
    assert list(tmp_path.iterdir()) == []


def test_T019_two_processes_of_one_tool_have_two_records(tmp_path: Path, sleeper: ProcessRecord) -> None:
    records = ProcessRecords(tmp_path)
    newer = replace(sleeper, token="f" * 32)
    records.write(sleeper)
    records.write(newer)
    records.remove(sleeper)
    assert records.read_all() == [newer]


def test_T019_broken_and_half_written_records_are_thrown_away(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"pid": 1')
    (tmp_path / "b.json").write_text("[]")
    (tmp_path / "c.json").write_text('{"pid": 1}')
    (tmp_path / ".half").write_text("{")
    assert ProcessRecords(tmp_path).read_all() == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "changes",
    [
        *({"pid": 0}, {"pid": -1}, {"pid": 1}, {"pid": "77"}, {"pid": True}, {"token": ""}, {"token": "../x"}),
        *({"port": "x"}, {"tool_id": None}, {"start_time": 5}, {"boot_id": 1}, {"more": 1}),
    ],
)
def test_T019_a_record_that_would_signal_ourselves_or_everybody_is_thrown_away(
    tmp_path: Path, sleeper: ProcessRecord, changes: dict[str, object]
) -> None:
    (tmp_path / f"{TOKEN}.json").write_text(json.dumps(asdict(sleeper) | changes))
    assert ProcessRecords(tmp_path).read_all() == []
    assert list(tmp_path.iterdir()) == []


def test_T019_what_a_dead_leader_left_is_ours_only_if_it_says_so(tmp_path: Path) -> None:
    program = "sleep 300 & echo $!"
    for token, ours in ((TOKEN, True), ("f" * 32, False)):
        leader = subprocess.Popen(
            ["sh", "-c", program],
            start_new_session=True,
            stdout=subprocess.PIPE,
            env={"PATH": os.environ["PATH"], TOKEN_VARIABLE: token},
        )
        assert leader.stdout is not None
        left = int(leader.stdout.readline())
        leader.stdout.close()
        leader.wait()
        try:
            assert ProcessRecord("x", leader.pid, "1", boot_id(), 8002, TOKEN).is_alive() is ours
        finally:
            os.kill(left, signal.SIGKILL)


def test_T019_the_file_alone_is_never_trusted(sleeper: ProcessRecord) -> None:
    assert sleeper.is_alive()
    assert not replace(sleeper, start_time="1").is_alive(), "the number was given to another process"
    assert not replace(sleeper, boot_id="of an earlier start of the system").is_alive()
    assert not replace(sleeper, token="of another router").is_alive()
    assert not replace(sleeper, pid=os.getpid(), start_time=start_time(os.getpid()) or "0").is_alive()
    os.kill(sleeper.pid, signal.SIGKILL)
    os.waitpid(sleeper.pid, 0)
    assert not sleeper.is_alive()


def test_one_service_a_home_and_the_error_names_the_holder(tmp_path: Path) -> None:
    first, second = HomeLock(tmp_path / "run"), HomeLock(tmp_path / "run")
    first.acquire()
    with pytest.raises(HomeInUseError, match=rf"\(pid {os.getpid()}\) works in {tmp_path}") as caught:
        second.acquire()
    assert "TOOLCRIB_HOME" in (caught.value.hint or "")
    first.release()
    second.acquire()
    second.release()


def test_a_home_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("not a folder")
    with pytest.raises(ServiceError, match="cannot be written") as caught:
        HomeLock(tmp_path / "home" / "run").acquire()
    assert "TOOLCRIB_HOME" in (caught.value.hint or "")


def test_a_lock_ends_with_its_process_however_that_ended(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from toolcrib.runtime.records import HomeLock\n"
        "HomeLock(Path(sys.argv[1])).acquire(); print('held', flush=True); time.sleep(300)"
    )
    process = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    with pytest.raises(HomeInUseError, match=f"pid {process.pid}"):
        HomeLock(tmp_path).acquire()
    process.kill()
    process.wait()
    process.stdout.close()
    lock = HomeLock(tmp_path)
    lock.acquire()
    lock.release()
