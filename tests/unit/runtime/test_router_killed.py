"""A router that was killed leaves nothing running, and the next one puts in order what it finds."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from tests.unit.runtime.workshop import SLACK, Workshop, begin, lives, make_settings, until, write_main
from toolcrib.runtime.guard import start_time
from toolcrib.runtime.records import TOKEN_VARIABLE, ProcessRecord, boot_id
from toolcrib.runtime.status import Lifecycle
from toolcrib.settings import Settings

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
        for session in ("same group", "own session"):
            data = await workshop.call(name, child=session)
            found += [data["pid"], data["child"]]
    print(json.dumps(found), flush=True)
    await asyncio.sleep(300)

asyncio.run(main())
"""


def killed_router(settings: Settings, folder: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """A router with two tools, each with two children, one in a session of its own; and their process ids."""
    router = subprocess.Popen(
        [sys.executable, "-c", KILLED, settings.model_dump_json(), str(folder)],
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
    assert len(list((tmp_path / "home" / "run" / "processes").glob("*.json"))) == 2
    loop = asyncio.get_running_loop()
    before = loop.time()
    router.kill()
    router.wait()
    await until(lambda: not any(lives(pid) for pid in pids), 2)
    assert loop.time() - before < 2 * SLACK
    workshop = await Workshop(tmp_path / "tools", settings).open()
    try:
        assert list((tmp_path / "home" / "run" / "processes").glob("*.json")) == []
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
    await workshop.call("x")
    [record] = (tmp_path / "home" / "run" / "processes").glob("*.json")
    kept = record.read_text()
    await workshop.close()
    token = json.loads(kept)["token"]
    leftover = begin(
        *(sys.executable, "main.py", "--port", str(settings.first_tool_port)),
        cwd=directory,
        env=os.environ | {TOKEN_VARIABLE: token},
        start_new_session=True,
    )
    alive = ProcessRecord(
        "x", leftover.pid, start_time(leftover.pid) or "0", boot_id(), settings.first_tool_port, token
    )
    record.write_text(json.dumps(asdict(alive)))
    workshop = await Workshop(tmp_path / "tools", settings).open()
    try:
        assert leftover.wait(1) < 0
    finally:
        await workshop.close()


async def test_T019_a_stale_record_harms_no_stranger(tmp_path: Path) -> None:
    stranger = begin("sleep", "300", start_new_session=True)
    run = tmp_path / "home" / "run" / "processes"
    run.mkdir(parents=True)
    record = ProcessRecord("x", stranger.pid, "1", boot_id(), 8002, "0" * 32)
    (run / f"{record.token}.json").write_text(json.dumps(asdict(record)))
    workshop = await Workshop(tmp_path / "tools", make_settings(tmp_path / "home")).open()
    await workshop.close()
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()
