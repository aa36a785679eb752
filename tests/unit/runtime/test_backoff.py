"""A tool that does not start is not started again and again."""

from __future__ import annotations

import asyncio

import pytest

from tests.unit.runtime.workshop import SLACK, Workshop, by_hand, until, write_main
from toolcrib.errors import StartFailedError
from toolcrib.runtime import backoff
from toolcrib.runtime.backoff import Backoff
from toolcrib.runtime.status import Lifecycle

EXITS = "open('starts', 'a').write('x'); print('no licence'); sys.exit(3)"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that the test sets."""
    now = [1000.0]
    monkeypatch.setattr("toolcrib.runtime.backoff.time.monotonic", lambda: now[0])
    return now


def test_T021_pauses_grow_from_the_third_failure_within_a_minute(clock: list[float]) -> None:
    pauses, it = [], Backoff()
    for _ in range(9):
        it.failed(StartFailedError("it exited"))
        pauses.append(it.remaining())
        clock[0] += it.remaining() + 1
    assert pauses == [0, 0, 1, 2, 4, 8, 16, 30, 30]
    it.reset()
    assert (it.remaining(), it.error) == (0, None)
    it.failed(StartFailedError("it exited"))
    assert it.remaining() == 0


def test_T021_failures_that_lie_apart_and_a_quiet_minute_do_not_count(clock: list[float]) -> None:
    it = Backoff()
    for _ in range(5):
        it.failed(StartFailedError("it exited"))
        assert it.remaining() == 0
        clock[0] += 31
    clock[0] += 61
    for pause in (0, 0, 1):
        it.failed(StartFailedError("it exited"))
        assert it.remaining() == pause
    clock[0] += 62
    it.failed(StartFailedError("it exited"))
    assert it.remaining() == 0


def starts(workshop: Workshop) -> int:
    return len((workshop.folder / "x" / "starts").read_text())


async def crash_three_times(workshop: Workshop) -> None:
    workshop.add("x", before=EXITS)
    for _ in range(3):
        with pytest.raises(StartFailedError):
            await workshop.call("x")


async def test_T021_eight_calls_of_a_tool_that_exits_at_once_are_not_eight_starts(workshop: Workshop) -> None:
    await crash_three_times(workshop)
    results = await asyncio.gather(*(workshop.run("x") for _ in range(5)), return_exceptions=True)
    assert starts(workshop) == 3
    for error in results:
        assert isinstance(error, StartFailedError)
        first, *rest = str(error).splitlines()
        assert first.startswith("Tool 'x' is not running or has no active endpoint: it exited with code 3; ")
        assert "the next try is in " in first
        assert "no licence" in rest
        assert (error.hint or "").startswith("To try now: toolcrib start x, ")
    assert workshop.supervisor.status("x").lifecycle is Lifecycle.FAILED
    await asyncio.sleep(backoff.FIRST_PAUSE)
    with pytest.raises(StartFailedError):
        await workshop.call("x")
    assert starts(workshop) == 4


async def test_T021_an_explicit_start_is_tried_at_once_and_so_is_a_changed_tool(workshop: Workshop) -> None:
    await crash_three_times(workshop)
    with pytest.raises(StartFailedError):
        await workshop.supervisor.start_tool("x")
    assert starts(workshop) == 4
    for _ in range(2):
        with pytest.raises(StartFailedError):
            await workshop.call("x")
    write_main(workshop.folder / "x", before=EXITS.replace("sys.exit(3)", "0"))
    assert (await workshop.call("x"))["calls"] == 1


async def test_T027_in_a_pause_what_somebody_starts_by_hand_is_used(workshop: Workshop) -> None:
    await crash_three_times(workshop)
    workshop.supervisor._instances["x"].backoff._until += 60 * SLACK
    main = workshop.folder / "x" / "main.py"
    crashing = main.read_text()
    main.write_text(crashing.replace("sys.exit(3)", "0"))
    with by_hand(workshop.folder / "x", workshop.settings.first_tool_port) as process:
        workshop.supervisor._instances["x"]._tried = workshop.supervisor._instances["x"].backoff  # not for the change
        await until(lambda: workshop.supervisor.status("x").adopted)
        assert (await workshop.call("x"))["pid"] == process.pid
