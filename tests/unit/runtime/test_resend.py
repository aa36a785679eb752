"""A process that dies under a call: the call is sent again exactly where that does no harm."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.unit.runtime.workshop import HEADER, Workshop, until
from toolcrib import tool_server
from toolcrib.definition.tool import Effects
from toolcrib.errors import UpstreamError

SDK = """
import os
from tool_server import serve

def run(params):
    return {"pid": os.getpid()}

serve(run)
"""

FASTAPI = """
import argparse, os, sys
sys.path[:0] = {path!r}
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()

class Params(BaseModel):
    number: int = 0

@app.get("/health")
def health():
    return {{"status": "ok"}}

@app.post("/run")
def run(params: Params):
    return {{"pid": os.getpid()}}

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int)
uvicorn.run(app, host="127.0.0.1", port=parser.parse_args().port, log_level="warning")
"""

WRITES = """
def carry_out(params):
    with open("effects", "a") as file:
        file.write("x")
    if not os.path.exists("once"):
        open("once", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
"""


def write(workshop: Workshop, form: str) -> None:
    """A tool of one of the two documented forms."""
    directory = workshop.folder / "x"
    directory.mkdir(parents=True)
    if form == "sdk":
        shutil.copy(Path(tool_server.__file__), directory)
        (directory / "main.py").write_text(HEADER + SDK)
    else:
        path = [path for path in sys.path if "site-packages" in path]
        (directory / "main.py").write_text(HEADER + FASTAPI.format(path=path))
    workshop.define("x", directory)


@pytest.mark.parametrize("form", ["sdk", "fastapi"])
async def test_E073_a_call_right_after_kill_9_is_answered_by_the_next_process(workshop: Workshop, form: str) -> None:
    write(workshop, form)
    pids = {(await workshop.call("x"))["pid"]}
    for number in range(20):
        pid = workshop.supervisor.status("x").pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        if number % 2:
            await asyncio.sleep(0.002 * number)
        pids.add((await workshop.call("x"))["pid"])
    assert len(pids) == 21


@pytest.mark.parametrize(
    ("facts", "written"),
    [
        ({}, "x"),
        ({"effects": "write"}, "x"),
        ({"effects": "external"}, "x"),
        ({"idempotent": True}, "xx"),
        ({"effects": "read"}, "xx"),
        ({"effects": "none"}, "xx"),
    ],
)
async def test_E073_a_call_that_was_read_is_sent_again_only_where_that_does_no_harm(
    workshop: Workshop, facts: dict[str, Any], written: str
) -> None:
    tool = workshop.add("x", before=WRITES)
    main = workshop.folder / "x" / "main.py"
    main.write_text(main.read_text().replace("        seen.append(params)\n", "        carry_out(params)\n"))
    workshop.tools["x"] = replace(tool, **facts)
    if written == "x":
        with pytest.raises(UpstreamError, match="killed by signal 9") as caught:
            await workshop.run("x")
        assert (caught.value.hint or "").startswith("The call may have been carried out.")
        assert "toolcrib logs x" in (caught.value.hint or "")
    else:
        assert (await workshop.run("x")).success
    assert (workshop.folder / "x" / "effects").read_text() == written


async def test_E073_it_is_sent_once_more_and_no_oftener(workshop: Workshop) -> None:
    tool = workshop.add("x")
    workshop.tools["x"] = replace(tool, idempotent=True)
    with pytest.raises(UpstreamError, match="killed by signal 9"):
        await workshop.run("x", kill=True)
    kills = [line for line in workshop.supervisor.log_tail("x", 100) if "killed by signal 9" in line]
    assert len(kills) == 2


async def test_T019_a_call_that_a_stop_cut_off_does_not_start_the_tool_again(workshop: Workshop) -> None:
    effects: Effects = "read"
    workshop.tools["x"] = replace(
        workshop.add("x", before="signal.signal(signal.SIGTERM, signal.SIG_DFL)"), effects=effects
    )
    await workshop.call("x")
    instance = workshop.supervisor._instances["x"]
    call = asyncio.create_task(workshop.run("x", sleep=60))
    await until(lambda: instance.in_flight)
    await instance.stop_completely("stopped by hand", drain=0.1)
    with pytest.raises(UpstreamError, match="killed by signal 15"):
        await call
    assert workshop.supervisor.status("x").state == "stopped"
