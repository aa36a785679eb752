"""Stopping: by hand, when idle, and when a process ends by itself; never under a call."""

from __future__ import annotations

import asyncio
import os
import signal
from functools import partial
from pathlib import Path

import pytest

from tests.unit.runtime.workshop import SLACK, Workshop, lives, make_settings, until
from toolcrib.definition.call import Deadline
from toolcrib.errors import HomeInUseError, NotRunningError, UpstreamError
from toolcrib.runtime.status import Lifecycle
from toolcrib.runtime.supervisor import Supervisor


async def test_T019_stop_ends_the_process_and_frees_its_port(workshop: Workshop) -> None:
    workshop.add("x")
    data = await workshop.call("x", child="own session")
    await workshop.supervisor.stop_tool("x")
    status = workshop.supervisor.status("x")
    assert (status.lifecycle, status.state, status.port) == (Lifecycle.STOPPED, "stopped", None)
    assert status.lifecycle_reason == "stopped by hand"
    assert not lives(data["pid"])
    await until(lambda: not lives(data["child"]))
    assert list((workshop.settings.home / "run" / "processes").glob("*.json")) == []
    await workshop.supervisor.stop_tool("x")
    assert (await workshop.call("x"))["pid"] != data["pid"]


async def test_T019_a_deaf_tool_and_its_grandchildren_are_gone_after_stop(tmp_path: Path) -> None:
    workshop = await Workshop(tmp_path / "tools", make_settings(tmp_path / "home", stop_grace=0.2)).open()
    try:
        workshop.add("x", before="signal.signal(signal.SIGTERM, signal.SIG_IGN)")
        data = await workshop.call("x", child="same group")
        await workshop.supervisor.stop_tool("x")
        assert not lives(data["pid"])
        assert not lives(data["child"])
    finally:
        await workshop.close()


async def test_T019_a_tool_that_is_frozen_or_whose_record_is_gone_is_stopped_all_the_same(workshop: Workshop) -> None:
    workshop.add("x")
    pid = (await workshop.call("x"))["pid"]
    os.kill(pid, signal.SIGSTOP)
    next((workshop.settings.home / "run" / "processes").glob("*.json")).unlink()
    await workshop.supervisor.stop_tool("x")
    assert not lives(pid)
    assert (await workshop.call("x"))["pid"] != pid


async def test_T019_stop_waits_for_calls_in_flight(workshop: Workshop) -> None:
    workshop.add("x")
    await workshop.call("x")
    call = asyncio.create_task(workshop.call("x", sleep=0.5))
    await until(lambda: workshop.supervisor.status("x").in_flight == 1)
    stopping = asyncio.create_task(workshop.supervisor.stop_tool("x"))
    await until(lambda: workshop.supervisor.status("x").lifecycle is Lifecycle.DRAINING)
    assert workshop.supervisor.get_active_endpoint("x") is None
    assert (await call)["calls"] == 2
    await stopping
    assert workshop.supervisor.status("x").lifecycle is Lifecycle.STOPPED


async def test_T019_a_call_that_outlasts_the_grace_fails_with_a_reason(tmp_path: Path) -> None:
    workshop = await Workshop(tmp_path / "tools", make_settings(tmp_path / "home", stop_grace=0.2)).open()
    try:
        workshop.add("x")
        await workshop.call("x")
        call = asyncio.create_task(workshop.run("x", sleep=60))
        await until(lambda: workshop.supervisor.status("x").in_flight == 1)
        await workshop.supervisor.stop_tool("x")
        with pytest.raises(UpstreamError, match="killed by signal"):
            await call
    finally:
        await workshop.close()


async def test_T019_a_stop_hurries_one_that_would_wait_for_a_long_call(tmp_path: Path) -> None:
    workshop = await Workshop(tmp_path / "tools", make_settings(tmp_path / "home", stop_grace=0.2)).open()
    try:
        workshop.add("x", timeout=600)
        await workshop.call("x")
        call = asyncio.create_task(workshop.run("x", sleep=60))
        await until(lambda: workshop.supervisor.status("x").in_flight == 1)
        workshop.define("x", tmp_path / "tools" / "x", timeout=500, environment=("CRIB_NEW",))
        assert _is(workshop, Lifecycle.DRAINING), "a changed definition waits for the call"
        async with asyncio.timeout(10 * SLACK):
            await workshop.supervisor.stop_tool("x")
        with pytest.raises(UpstreamError, match="killed by signal"):
            await call
    finally:
        await workshop.close()


async def test_T019_a_close_that_is_cancelled_still_ends_everything(tmp_path: Path) -> None:
    workshop = await Workshop(tmp_path / "tools", make_settings(tmp_path / "home", stop_grace=0.5)).open()
    workshop.add("x", before="signal.signal(signal.SIGTERM, signal.SIG_IGN)")
    pid = (await workshop.call("x"))["pid"]
    closing = asyncio.create_task(workshop.close())
    await until(lambda: not _is(workshop, Lifecycle.ACTIVE))
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert not lives(pid)
    again = await Workshop(tmp_path / "tools", workshop.settings).open()  # the lock is free
    await again.close()


async def test_T019_every_process_of_a_tool_that_comes_and_goes_is_ended_at_close(tmp_path: Path) -> None:
    workshop = await Workshop(tmp_path / "tools", make_settings(tmp_path / "home", stop_grace=1)).open()
    pids = []
    for _ in range(2):
        workshop.add("x", before="signal.signal(signal.SIGTERM, signal.SIG_IGN)")
        pids.append((await workshop.call("x"))["pid"])
        workshop.supervisor.update([])
    assert len(set(pids)) == 2
    await workshop.close()
    assert not any(lives(pid) for pid in pids)


def _is(workshop: Workshop, lifecycle: Lifecycle) -> bool:
    return workshop.supervisor.status("x").lifecycle is lifecycle


async def test_T019_stop_during_a_start_ends_the_start(workshop: Workshop) -> None:
    workshop.add("x", before="print('pid', os.getpid(), flush=True); time.sleep(300)")
    for lifecycle in (Lifecycle.QUEUED, Lifecycle.STARTING):
        call = asyncio.create_task(workshop.run("x"))
        await until(partial(_is, workshop, lifecycle))
        await workshop.supervisor.stop_tool("x")
        with pytest.raises(NotRunningError, match="stopped while it started"):
            await call
        assert workshop.supervisor.status("x").lifecycle is Lifecycle.STOPPED
    pids = [int(line[4:]) for line in workshop.supervisor.log_tail("x") if line.startswith("pid ")]
    assert not any(lives(pid) for pid in pids)


async def test_T019_stop_while_a_failed_start_is_put_in_order_leaves_nothing(workshop: Workshop) -> None:
    before = "signal.signal(signal.SIGTERM, signal.SIG_IGN); print('pid', os.getpid(), flush=True); time.sleep(300)"
    workshop.add("x", before=before, start_timeout=0.5)
    call = asyncio.create_task(workshop.run("x"))
    await until(lambda: workshop.supervisor.status("x").lifecycle is Lifecycle.STARTING)
    await asyncio.sleep(1.0)
    await workshop.supervisor.stop_tool("x")
    with pytest.raises(NotRunningError):
        await call
    pids = [int(line[4:]) for line in workshop.supervisor.log_tail("x") if line.startswith("pid ")]
    assert pids
    assert not any(lives(pid) for pid in pids)


async def test_T019_a_tool_that_nobody_calls_is_stopped(workshop: Workshop) -> None:
    workshop.add("x", idle_timeout=0.3)
    loop = asyncio.get_running_loop()
    await workshop.call("x")
    for _ in range(4):
        await asyncio.sleep(0.15)
        await workshop.call("x")
    last = loop.time()
    assert (await workshop.call("x"))["calls"] == 6
    await until(lambda: workshop.supervisor.status("x").lifecycle is Lifecycle.STOPPED)
    assert loop.time() - last >= 0.3
    assert workshop.supervisor.status("x").lifecycle_reason == "no call for 0.3 s"


async def test_T019_idle_never_means_during_a_call(workshop: Workshop) -> None:
    workshop.add("x", idle_timeout=0.1)
    assert (await workshop.call("x", sleep=0.7))["calls"] == 1
    await until(lambda: workshop.supervisor.status("x").lifecycle is Lifecycle.STOPPED)


async def test_T019_an_idle_time_of_nought_is_never(workshop: Workshop) -> None:
    workshop.add("x", idle_timeout=0)
    await workshop.call("x")
    await asyncio.sleep(0.3)
    assert workshop.supervisor.status("x").lifecycle is Lifecycle.ACTIVE


async def test_E071_calls_race_with_stopping_a_hundred_times_and_all_succeed(workshop: Workshop) -> None:
    workshop.add("x", idle_timeout=0.02)
    pids = set()
    for number in range(100):
        pids.add((await workshop.call("x", number=number))["pid"])
        await asyncio.sleep(0.0125 + number % 8 * 0.0012)
    assert len(pids) > 1
    assert workshop.supervisor.status("x").in_flight == 0


async def test_E071_a_call_that_comes_while_it_is_stopped_by_hand_waits_and_starts_it_anew(workshop: Workshop) -> None:
    workshop.add("x")
    for _ in range(5):
        first = await workshop.call("x")
        stopping = asyncio.create_task(workshop.supervisor.stop_tool("x"))
        await asyncio.sleep(0)
        calls = await asyncio.gather(*(workshop.call("x") for _ in range(5)))
        await stopping
        assert len({call["pid"] for call in calls} - {first["pid"]}) == 1


async def test_E073_a_process_that_dies_under_a_call_fails_that_call_at_once(workshop: Workshop) -> None:
    workshop.add("x")
    await workshop.call("x", print="before the end")
    async with asyncio.timeout(2 * SLACK):
        with pytest.raises(UpstreamError) as caught:
            await workshop.run("x", exit=3)
    text = str(caught.value)
    assert text.startswith("Tool 'x' exited with code 3 while it worked on the call\n")
    assert "before the end" in text
    assert "last_run.log" in (caught.value.hint or "")
    assert workshop.supervisor.status("x").lifecycle is Lifecycle.STOPPED
    assert workshop.supervisor.status("x").lifecycle_reason == "exited with code 3"
    assert (await workshop.call("x"))["calls"] == 1


async def test_E073_kill_9_is_seen_within_a_second_and_the_next_call_starts_it(workshop: Workshop) -> None:
    workshop.add("x")
    first = await workshop.call("x", child="same group")
    loop = asyncio.get_running_loop()
    calls = [asyncio.create_task(workshop.run("x", sleep=60)) for _ in range(5)]
    await until(lambda: workshop.supervisor.status("x").in_flight == 5)
    before = loop.time()
    os.kill(first["pid"], signal.SIGKILL)
    ends = await asyncio.gather(*calls, return_exceptions=True)
    assert loop.time() - before < 1 * SLACK
    assert all(isinstance(end, UpstreamError) and "exited with code -9" in str(end) for end in ends), ends
    assert workshop.supervisor.status("x").state == "stopped"
    assert (await workshop.call("x"))["pid"] != first["pid"]
    assert not lives(first["child"])
    assert workshop.supervisor.status("x").in_flight == 0


async def test_E073_a_tool_that_dies_between_calls_is_noticed_without_one(workshop: Workshop) -> None:
    workshop.add("x")
    pid = (await workshop.call("x"))["pid"]
    os.kill(pid, signal.SIGKILL)
    await until(lambda: workshop.supervisor.status("x").lifecycle is Lifecycle.STOPPED, 1)
    assert (await workshop.call("x"))["pid"] != pid


async def test_T037_a_tool_that_hangs_does_not_hold_up_another(workshop: Workshop) -> None:
    workshop.add("hangs")
    workshop.add("works")
    await workshop.call("hangs")
    await workshop.call("works")
    hanging = [asyncio.create_task(workshop.run("hangs", sleep=60)) for _ in range(20)]
    await until(lambda: workshop.supervisor.status("hangs").in_flight == 20)
    async with asyncio.timeout(5 * SLACK):
        for _ in range(50):
            await workshop.call("works")
    for call in hanging:
        call.cancel()
    await asyncio.gather(*hanging, return_exceptions=True)
    assert workshop.supervisor.status("hangs").in_flight == 0
    assert workshop.dispatcher._pool.open_connections <= 1


async def test_T019_close_ends_every_tool_and_the_guard_and_frees_the_home(tmp_path: Path) -> None:
    settings = make_settings(tmp_path / "home")
    workshop = await Workshop(tmp_path / "tools", settings).open()
    other = Supervisor(settings)
    with pytest.raises(HomeInUseError, match=f"pid {os.getpid()}"):
        await other.open()
    for name in ("a", "b"):
        workshop.add(name)
    pids = [(await workshop.call(name))["pid"] for name in ("a", "b")]
    workshop.add("c", before="print('pid', os.getpid(), flush=True); time.sleep(300)")
    starting = asyncio.create_task(workshop.run("c"))
    await until(lambda: workshop.supervisor.status("c").lifecycle is Lifecycle.STARTING)
    running = asyncio.create_task(workshop.call("a", sleep=0.3))
    await until(lambda: workshop.supervisor.status("a").in_flight == 1)
    await workshop.supervisor.close()
    assert (await running)["calls"] == 2, "a short call may end"
    with pytest.raises(NotRunningError):
        await starting
    assert not any(lives(pid) for pid in pids)
    with pytest.raises(NotRunningError, match="not running"):
        workshop.supervisor.lease("a", Deadline(1))
    await other.open()
    await other.close()
    await other.close()
    await workshop.dispatcher.close()
