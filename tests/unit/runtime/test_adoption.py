"""Tools that somebody started by hand: used, not started twice, and left alone at the end."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.unit.runtime.workshop import Workshop, begin, by_hand, lives, make_settings, until, write_main
from toolcrib.errors import UpstreamError
from toolcrib.runtime import adoption
from toolcrib.runtime.status import Lifecycle


async def test_T027_a_tool_started_by_hand_is_found_when_it_becomes_known(workshop: Workshop) -> None:
    directory, port = write_main(workshop.folder / "x"), workshop.settings.first_tool_port
    with by_hand(directory, port) as process:
        workshop.define("x", directory)
        await until(lambda: workshop.supervisor.status("x").adopted)
        status = workshop.supervisor.status("x")
        assert (status.state, status.port, status.pid) == ("running", port, process.pid)
        data = await workshop.call("x")
        assert (data["pid"], data["port"]) == (process.pid, port)
        await workshop.close()
        assert lives(process.pid), "what a person started is a person's to end"


async def test_T027_a_tool_started_by_hand_is_found_before_a_start(workshop: Workshop) -> None:
    workshop.add("x")
    await asyncio.sleep(0.1)
    with by_hand(workshop.folder / "x", workshop.settings.first_tool_port + 7) as process:
        answers = await asyncio.gather(*(workshop.call("x") for _ in range(10)))
        assert {answer["pid"] for answer in answers} == {process.pid}
        assert workshop.supervisor.status("x").port == workshop.settings.first_tool_port + 7
        assert await workshop.supervisor.start_tool("x") == workshop.supervisor.get_active_endpoint("x")


async def test_T027_its_end_is_noticed_and_the_next_call_starts_our_own(workshop: Workshop) -> None:
    workshop.add("x", idle_timeout=0.05)
    with by_hand(workshop.folder / "x", workshop.settings.first_tool_port) as process:
        await workshop.call("x")
        await asyncio.sleep(0.2)
        assert workshop.supervisor.status("x").adopted, "what is adopted is not stopped for being idle"
        with pytest.raises(UpstreamError, match="started by hand"):
            await workshop.run("x", exit=1)
        await until(lambda: workshop.supervisor.status("x").lifecycle is Lifecycle.STOPPED, 1)
        data = await workshop.call("x")
        assert data["pid"] != process.pid
        assert not workshop.supervisor.status("x").adopted


async def test_T019_stop_ends_an_adopted_tool_too(workshop: Workshop) -> None:
    workshop.add("x")
    with by_hand(workshop.folder / "x", workshop.settings.first_tool_port) as process:
        child = (await workshop.call("x", child="own session"))["child"]
        waiting = asyncio.create_task(asyncio.to_thread(process.wait))
        await workshop.supervisor.stop_tool("x")
        await waiting
        assert not lives(child)
        assert workshop.supervisor.status("x").lifecycle is Lifecycle.STOPPED


async def test_T027_a_tool_started_by_hand_is_seen_without_a_call(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = 0
    original = adoption._candidates

    def counted(*arguments: Any) -> Any:
        nonlocal looks
        looks += 1
        assert threading.current_thread() is not threading.main_thread()
        return original(*arguments)

    workshop.add("x")
    await until(lambda: not workshop.supervisor._background)
    monkeypatch.setattr(adoption, "_candidates", counted)
    with by_hand(workshop.folder / "x", workshop.settings.first_tool_port) as process:
        workshop.supervisor._looked = 0.0
        for _ in range(100):
            workshop.supervisor.status("x")
        await until(lambda: workshop.supervisor.status("x").adopted)
        assert workshop.supervisor.status("x").pid == process.pid
        assert looks == 1
        workshop.supervisor._looked = 0.0
        workshop.supervisor.status("x")
        assert not workshop.supervisor._background, "nothing is looked for where everything runs"


def _healthy(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


async def test_T027_uv_run_by_hand_is_found_too(workshop: Workshop) -> None:
    workshop.add("x")
    uv, port = Path(sys.executable).with_name("uv"), str(workshop.settings.first_tool_port)
    process = begin(
        uv, "run", "--offline", "main.py", "--port", port, cwd=workshop.folder / "x", start_new_session=True
    )
    try:
        await until(lambda: _healthy(int(port)), 10)
        data = await workshop.call("x")
        assert workshop.supervisor.status("x").adopted
        assert data["port"] == int(port)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


async def test_T027_what_another_router_started_is_not_taken_over(workshop: Workshop, tmp_path: Path) -> None:
    other = await Workshop(
        workshop.folder, make_settings(tmp_path / "other", first_tool_port=workshop.settings.first_tool_port)
    ).open()
    try:
        theirs = other.add("x")
        assert theirs.deployment is not None
        pid = (await other.call("x"))["pid"]
        workshop.define("x", workshop.folder / "x")
        data = await workshop.call("x")
        assert data["pid"] != pid
        assert not workshop.supervisor.status("x").adopted
        await workshop.supervisor.stop_tool("x")
        assert lives(pid)
    finally:
        await other.close()


@pytest.mark.parametrize("what", ["another folder", "out of range", "unhealthy"])
async def test_T027_only_the_tool_itself_is_adopted(workshop: Workshop, what: str) -> None:
    workshop.add("x")
    folder, port = workshop.folder / "x", workshop.settings.first_tool_port
    if what == "another folder":
        folder = write_main(workshop.folder / "y")
    elif what == "out of range":
        port = workshop.settings.last_tool_port + 1
    else:
        write_main(folder, before="health = {'status': 'ill'}")
    with by_hand(folder, port) as process:
        write_main(workshop.folder / "x")
        assert (await workshop.call("x"))["pid"] != process.pid
        assert lives(process.pid)


async def test_T027_a_tool_that_was_removed_while_it_was_looked_for_is_not_taken_over(workshop: Workshop) -> None:
    directory = write_main(workshop.folder / "x")
    with by_hand(directory, workshop.settings.first_tool_port) as process:
        workshop.define("x", directory)
        instance = workshop.supervisor._instances["x"]
        await instance.close("the tool was removed", drain=0)
        assert not await instance.adopt()
        assert instance.status().lifecycle is not Lifecycle.ACTIVE
        assert process.poll() is None
