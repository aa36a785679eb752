"""Tools that somebody started by hand: used, not started twice, and left alone at the end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.runtime.workshop import SLACK, Workshop, by_hand, lives, make_settings, until, write_main
from toolcrib.errors import UpstreamError
from toolcrib.runtime.records import TOKEN_VARIABLE
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


async def test_T027_uv_run_by_hand_is_found_too(workshop: Workshop) -> None:
    workshop.add("x")
    uv, port = Path(sys.executable).with_name("uv"), str(workshop.settings.first_tool_port)
    process = subprocess.Popen(
        [uv, "run", "--offline", "main.py", "--port", port], cwd=workshop.folder / "x", start_new_session=True
    )
    try:
        await until(lambda: _healthy(int(port)), 10)
        data = await workshop.call("x")
        assert workshop.supervisor.status("x").adopted
        assert data["port"] == int(port)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _healthy(port: int) -> bool:
    import socket

    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


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


KILLED = """
import asyncio, json, sys
from pathlib import Path
from tests.unit.runtime.workshop import Workshop, make_settings
from toolcrib.settings import Settings

async def main():
    settings = Settings.model_validate_json(sys.argv[1])
    workshop = await Workshop(Path(sys.argv[2]), settings).open()
    found = []
    for name in ("plain", "deaf"):
        workshop.add(name, before="signal.signal(signal.SIGTERM, signal.SIG_IGN)" if name == "deaf" else "")
        data = await workshop.call(name, child="same group")
        found += [data["pid"], data["child"]]
    print(json.dumps(found), flush=True)
    await asyncio.sleep(300)

asyncio.run(main())
"""


def killed_router(settings: object, folder: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """A router with two tools, each with a child of its own; and their process ids."""
    import json

    router = subprocess.Popen(
        [sys.executable, "-c", KILLED, settings.model_dump_json(), str(folder)],  # type: ignore[attr-defined]
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        cwd=Path(__file__).parents[3],
    )
    assert router.stdout is not None
    line = router.stdout.readline()
    router.stdout.close()
    return router, json.loads(line)


async def test_T019_nothing_lives_two_seconds_after_a_router_was_killed(tmp_path: Path) -> None:
    settings = make_settings(tmp_path / "home")
    router, pids = await asyncio.to_thread(killed_router, settings, tmp_path / "tools")
    assert all(lives(pid) for pid in pids)
    assert len(list((tmp_path / "home" / "run").glob("*.json"))) == 2
    loop = asyncio.get_running_loop()
    before = loop.time()
    router.kill()
    router.wait()
    await until(lambda: not any(lives(pid) for pid in pids), 2)
    assert loop.time() - before < 2 * SLACK
    workshop = await Workshop(tmp_path / "tools", settings).open()
    try:
        assert list((tmp_path / "home" / "run").glob("*.json")) == []
        workshop.define("plain", tmp_path / "tools" / "plain")
        assert workshop.supervisor.status("plain").lifecycle is Lifecycle.INACTIVE
        assert (await workshop.call("plain"))["calls"] == 1
    finally:
        await workshop.close()


async def test_T019_the_next_router_ends_what_even_the_guard_could_not(tmp_path: Path) -> None:
    settings = make_settings(tmp_path / "home")
    directory = write_main(tmp_path / "tools" / "x")
    workshop = await Workshop(tmp_path / "tools", settings).open()
    workshop.define("x", directory)
    record = tmp_path / "home" / "run" / "x.json"
    await workshop.call("x")
    kept = record.read_text()
    await workshop.close()
    token = __import__("json").loads(kept)["token"]
    leftover = subprocess.Popen(
        [sys.executable, "main.py", "--port", str(settings.first_tool_port)],
        cwd=directory,
        env=os.environ | {TOKEN_VARIABLE: token},
        start_new_session=True,
    )
    from dataclasses import asdict

    from toolcrib.runtime.guard import start_time
    from toolcrib.runtime.records import ProcessRecord, boot_id

    alive = ProcessRecord("x", leftover.pid, start_time(leftover.pid) or "0", boot_id(), settings.first_tool_port, token)
    record.write_text(__import__("json").dumps(asdict(alive)))
    workshop = await Workshop(tmp_path / "tools", settings).open()
    try:
        assert leftover.wait(1) < 0
    finally:
        await workshop.close()


async def test_T019_a_stale_record_harms_no_stranger(tmp_path: Path) -> None:
    from dataclasses import asdict

    from toolcrib.runtime.records import ProcessRecord, boot_id

    stranger = subprocess.Popen(["sleep", "300"], start_new_session=True)
    run = tmp_path / "home" / "run"
    run.mkdir(parents=True)
    record = ProcessRecord("x", stranger.pid, "1", boot_id(), 8002, "t0ken")
    (run / "x.json").write_text(__import__("json").dumps(asdict(record)))
    workshop = await Workshop(tmp_path / "tools", make_settings(tmp_path / "home")).open()
    await workshop.close()
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()
