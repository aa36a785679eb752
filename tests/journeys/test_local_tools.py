"""Local tools on the whole road: definition, pipeline's runner, process, answer."""

from __future__ import annotations

import asyncio
import base64

import pytest

from tests.unit.runtime.conftest import uv_cache, workshop
from tests.unit.runtime.workshop import SLACK, Workshop, until
from toolcrib.errors import DeadlineExceeded, TooLargeError
from toolcrib.runtime.status import Lifecycle

__all__ = ["uv_cache", "workshop"]

pytestmark = pytest.mark.journey

FASTAPI_TOOL = """\
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
import argparse, sys
sys.path[:0] = {path!r}
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()

class Params(BaseModel):
    images: list[str]
    spacing: int = 0

@app.get("/health")
def health():
    return {{"status": "ok"}}

@app.post("/run")
async def run(params: Params):
    return {{"status": "success", "result": {{"count": len(params.images)}}, "error": None}}

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int)
uvicorn.run(app, host="127.0.0.1", port=parser.parse_args().port, log_level="warning")
"""


async def test_T025_a_plain_fastapi_tool_works_and_its_422_names_the_parameters(workshop: Workshop) -> None:
    import sys

    from toolcrib.errors import InvalidParamsError

    directory = workshop.folder / "stitcher"
    directory.mkdir(parents=True)
    (directory / "main.py").write_text(FASTAPI_TOOL.format(path=[path for path in sys.path if "site-packages" in path]))
    workshop.define("stitcher", directory)
    assert await workshop.call("stitcher", images=["a", "b"]) == {"count": 2}
    with pytest.raises(InvalidParamsError) as caught:
        await workshop.run("stitcher", images="a", spacing="wide")
    lines = str(caught.value).splitlines()
    assert [line.split(":")[0] for line in lines] == ["images", "spacing"]
    answers = await asyncio.gather(*(workshop.call("stitcher", images=["x"] * number) for number in range(50)))
    assert [answer["count"] for answer in answers] == list(range(50))


async def test_M05_sixty_megabytes_come_and_go_and_the_tool_stays_up(workshop: Workshop) -> None:
    workshop.add("x")
    size = 60 * 1024 * 1024
    assert len((await workshop.call("x", text=size))["text"]) == size
    assert await workshop.call("x", length=base64.b64encode(bytes(size * 3 // 4)).decode()) == {"length": size}
    with pytest.raises(TooLargeError):
        await workshop.run("x", text=65 * 1024 * 1024)
    assert (await workshop.call("x"))["calls"] == 4


async def test_T024_calls_that_are_too_slow_or_cancelled_leave_nothing_open(workshop: Workshop) -> None:
    workshop.add("x")
    await workshop.call("x")
    with pytest.raises(DeadlineExceeded, match=r"Tool 'x' did not answer within 0\.2 s"):
        await workshop.run("x", timeout=0.2, sleep=60)
    calls = [asyncio.create_task(workshop.run("x", sleep=60)) for _ in range(100)]
    await until(lambda: workshop.supervisor.status("x").in_flight == 100)
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    assert workshop.supervisor.status("x").in_flight == 0
    assert workshop.dispatcher._pool.open_connections == 0
    assert (await workshop.call("x"))["params"] == {}


async def test_T015_to_T028_one_day_of_a_tool(workshop: Workshop) -> None:
    """Started by a call, idle, started again, crashed, broken by its author, repaired, removed."""
    workshop.add("x", idle_timeout=0.2)
    supervisor, main = workshop.supervisor, workshop.folder / "x" / "main.py"
    first = await workshop.call("x")
    await until(lambda: supervisor.status("x").lifecycle is Lifecycle.STOPPED)
    second = await workshop.call("x")
    assert second["port"] == first["port"]
    assert second["pid"] != first["pid"]
    with pytest.raises(Exception, match="exited with code 9"):
        await workshop.run("x", exit=9)
    whole = main.read_text()
    main.write_text(whole.replace("import argparse", "import argparse, no_such_module"))
    supervisor.update(workshop.tools.values())
    with pytest.raises(Exception, match="No module named 'no_such_module'"):
        await workshop.run("x")
    main.write_text(whole)
    assert (await workshop.call("x", timeout=20 * SLACK))["calls"] == 1
    shown = (workshop.folder / "x" / "tests" / "last_run.log").read_text()
    assert shown.startswith("$ uv run main.py --port ")
    assert "no_such_module" not in shown
    assert "No module named 'no_such_module'" in "\n".join(supervisor.log_tail("x"))
    supervisor.update([])
    assert supervisor.status("x").lifecycle is Lifecycle.INACTIVE
