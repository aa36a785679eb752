"""Definitions that change while tools run."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.runtime.workshop import Workshop, by_hand, define, lives, until, write_main
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import UnknownToolError
from toolcrib.runtime.status import Lifecycle


async def test_T015_the_same_definition_again_changes_nothing(workshop: Workshop) -> None:
    workshop.add("x")
    pid = (await workshop.call("x"))["pid"]
    workshop.supervisor.update([define(workshop.folder / "x")])
    assert (await workshop.call("x"))["pid"] == pid


async def test_T015_a_changed_deployment_drains_and_the_next_call_starts_anew(workshop: Workshop) -> None:
    workshop.add("x")
    first = await workshop.call("x")
    running = asyncio.create_task(workshop.call("x", sleep=0.4))
    await until(lambda: workshop.supervisor.status("x").in_flight == 1)
    workshop.define("x", workshop.folder / "x", endpoint="v2", environment=("CRIB_NEW",))
    assert workshop.supervisor.status("x").lifecycle is Lifecycle.DRAINING
    second = await workshop.call("x")
    assert (await running)["pid"] == first["pid"]
    assert second["pid"] != first["pid"]
    assert second["path"] == "/v2"


async def test_T015_what_is_read_at_each_call_is_taken_over_without_a_restart(workshop: Workshop) -> None:
    workshop.add("x")
    first = await workshop.call("x")
    running = asyncio.create_task(workshop.call("x", sleep=0.4))
    await until(lambda: workshop.supervisor.status("x").in_flight == 1)
    workshop.define("x", workshop.folder / "x", endpoint="v2", timeout=5, idle_timeout=300, start_timeout=7)
    assert workshop.supervisor.status("x").lifecycle is Lifecycle.ACTIVE
    second = await workshop.call("x")
    assert (second["pid"], second["path"]) == (first["pid"], "/v2")
    assert (await running)["path"] == "/run"
    workshop.define("x", workshop.folder / "x", idle_timeout=0.05)
    await until(lambda: workshop.supervisor.status("x").lifecycle is Lifecycle.STOPPED)


async def test_T015_other_words_or_an_other_revision(workshop: Workshop) -> None:
    tool = workshop.add("x", options={"revision": "1"})
    first = await workshop.call("x")
    workshop.supervisor.update([replace(tool, description="In other words.")])
    assert (await workshop.call("x"))["pid"] == first["pid"]
    workshop.define("x", workshop.folder / "x", options={"revision": "2"})
    assert (await workshop.call("x"))["pid"] != first["pid"]


async def test_T015_a_changed_program_is_started_anew_by_the_next_call(workshop: Workshop) -> None:
    workshop.add("x")
    first = await workshop.call("x")
    write_main(workshop.folder / "x", before="health = {'status': 'ok', 'version': 2}")
    workshop.supervisor.update(workshop.tools.values())
    assert (await workshop.call("x"))["pid"] != first["pid"]


async def test_T015_a_change_during_a_start_is_not_lost(workshop: Workshop) -> None:
    workshop.add("x", before="time.sleep(0.3)")
    call = asyncio.create_task(workshop.call("x"))
    await until(lambda: workshop.supervisor.status("x").lifecycle is Lifecycle.STARTING)
    workshop.define("x", workshop.folder / "x", endpoint="v2", environment=("CRIB_NEW",))
    assert (await call)["path"] == "/v2"
    assert (
        workshop.supervisor.log_tail("x", 1000).count(
            "[toolcrib] the process exited with code -15 (killed by signal 15)"
        )
        == 1
    )


async def test_T015_a_tool_that_is_gone_is_stopped_and_may_come_back(workshop: Workshop) -> None:
    tool = workshop.add("x")
    pid = (await workshop.call("x"))["pid"]
    workshop.supervisor.update([])
    with pytest.raises(UnknownToolError):
        await workshop.run("x")
    workshop.supervisor.update([tool])
    assert (await workshop.call("x"))["pid"] != pid
    await until(lambda: not lives(pid))


async def test_T015_what_somebody_started_by_hand_stays_when_its_tool_is_gone(workshop: Workshop) -> None:
    workshop.add("x")
    with by_hand(workshop.folder / "x", workshop.settings.first_tool_port) as process:
        await workshop.call("x")
        workshop.define("x", workshop.folder / "x", endpoint="v2")
        assert (await workshop.call("x"))["path"] == "/v2"
        assert workshop.supervisor.status("x").pid == process.pid
        workshop.supervisor.update([])
        await asyncio.sleep(0.1)
        assert lives(process.pid)


async def test_only_local_tools_are_supervised(workshop: Workshop, tmp_path: Path) -> None:
    workshop.supervisor.update([ToolDefinition("inprocess", "For a test.", {}, lambda arguments: 1)])
    with pytest.raises(UnknownToolError):
        workshop.supervisor.log_tail("inprocess")
