"""The router before a warm local tool, against calling the tool directly in the same run.

    python -m benchmarks.router [--rounds 5] [--seconds 2]

Two tools that add two numbers: one as the documents write tools, with FastAPI, and one on toolcrib's SDK, which answers
several times as fast and so leaves the router less to hide behind. Direct and routed loads alternate; each figure is
the median of the rounds. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import psutil

from benchmarks.load import Load, load

ROOT = Path(__file__).resolve().parents[1]
SDK = """# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
from tool_server import serve


def run(params):
    return {"sum": params["a"] + params["b"]}


if __name__ == "__main__":
    serve(run)
"""
FASTAPI = """# /// script
# requires-python = ">=3.11"
# dependencies = ["fastapi==0.165.0", "uvicorn==0.54.0"]
# ///
import argparse

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()


class Numbers(BaseModel):
    a: float
    b: float


@app.get("/health")
def health() -> dict[str, str]:
    return {"status": "ok"}


@app.post("/run")
async def run(numbers: Numbers) -> dict[str, float]:
    return {"sum": numbers.a + numbers.b}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int)
    uvicorn.run(app, host="127.0.0.1", port=parser.parse_args().port, log_level="warning")
"""
TOOLS = {"fastapi_adder": ("FastAPI", FASTAPI), "sdk_adder": ("SDK", SDK)}
MANIFEST = """id = "{tool_id}"
name = "Adder"
description = "Adds two numbers."
category = "benchmark"
effects = "none"
idempotent = true
[input_schema]
type = "object"
required = ["a", "b"]
additionalProperties = false
properties.a.type = "number"
properties.b.type = "number"
[output_schema]
type = "object"
required = ["sum"]
properties.sum.type = "number"
"""
PARAMS = {"a": 2, "b": 40}


def make_tool(project: Path, tool_id: str, program: str) -> None:
    folder = project / "tools" / "local" / tool_id
    folder.mkdir(parents=True)
    (folder / "main.py").write_text(program)
    (folder / "tool.toml").write_text(MANIFEST.replace("{tool_id}", tool_id))
    shutil.copy(ROOT / "src" / "toolcrib" / "tool_server.py", folder)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def fetch(url: str, body: object = None) -> object:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def start_router(directory: Path, port: int) -> tuple[subprocess.Popen[bytes], float]:
    project = directory / "project"
    for tool_id, (_, program) in TOOLS.items():
        make_tool(project, tool_id, program)
    environment = {**os.environ, "TOOLCRIB_HOME": str(directory / "home"), "TOOLCRIB_FIRST_TOOL_PORT": str(free_port())}
    environment["TOOLCRIB_LAST_TOOL_PORT"] = "65535"
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "toolcrib", "serve", "--port", str(port)],
        cwd=project,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
    )
    while True:
        try:
            fetch(f"http://127.0.0.1:{port}/health")
            return process, time.perf_counter() - started
        except OSError:
            if process.poll() is not None:
                raise SystemExit("the router did not start") from None
            time.sleep(0.02)


def tool_start_cpu(tool_port: int) -> float:
    """CPU seconds that the tool's process had used once it was healthy."""
    for connection in psutil.net_connections("tcp"):
        if connection.status == psutil.CONN_LISTEN and connection.laddr.port == tool_port and connection.pid:
            times = psutil.Process(connection.pid).cpu_times()
            return float(times.user + times.system)
    raise SystemExit("the tool's process was not found")


async def measure(
    port: int, tool_id: str, tool_port: int, callers: int, rounds: int, seconds: float
) -> tuple[list[Load], list[Load]]:
    direct_body = json.dumps(PARAMS).encode()
    routed_body = json.dumps({"tool_id": tool_id, "params": PARAMS}).encode()
    direct, routed = [], []
    for _ in range(rounds):
        direct.append(await load(tool_port, "/run", direct_body, b"42", callers, seconds))
        routed.append(await load(port, "/run_tool", routed_body, b"42", callers, seconds))
    return direct, routed


def median(loads: list[Load], name: str) -> float:
    return statistics.median(getattr(item, name) for item in loads)


def compare(port: int, tool_id: str, rounds: int, seconds: float) -> list[str]:
    """The table's rows for one tool."""
    tool = fetch(f"http://127.0.0.1:{port}/tools/{tool_id}")
    assert isinstance(tool, dict)
    rows = []
    for callers in (1, 50):
        direct, routed = asyncio.run(measure(port, tool_id, tool["port"], callers, rounds, seconds))
        a, b = median(direct, "p50_ms"), median(routed, "p50_ms")
        x, y = median(direct, "requests_per_second"), median(routed, "requests_per_second")
        failures = sum(item.failures for item in direct + routed)
        latency = f"{a:.2f} | {b:.2f} | {b / a:.2f}"
        rows.append(f"| {TOOLS[tool_id][0]} | {callers} | {latency} | {x:.0f} | {y:.0f} | {y / x:.2f} | {failures} |")
    return rows


def first_call(port: int, tool_id: str) -> str:
    started = time.perf_counter()
    fetch(f"http://127.0.0.1:{port}/run_tool", {"tool_id": tool_id, "params": PARAMS})
    seconds = time.perf_counter() - started
    tool = fetch(f"http://127.0.0.1:{port}/tools/{tool_id}")
    assert isinstance(tool, dict)
    return f"First call of the {TOOLS[tool_id][0]} tool: {seconds:.2f} s, {tool_start_cpu(tool['port']):.2f} CPU s."


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    port = free_port()
    with tempfile.TemporaryDirectory() as name:
        process, start_seconds = start_router(Path(name), port)
        router = psutil.Process(process.pid)
        try:
            idle = router.memory_info().rss / 1e6
            firsts = [first_call(port, tool_id) for tool_id in TOOLS]
            print("| tool | callers | direct p50 ms | routed p50 ms | ratio | direct/s | routed/s | share | failures |")
            print("|---|---|---|---|---|---|---|---|---|")
            for tool_id in TOOLS:
                print("\n".join(compare(port, tool_id, options.rounds, options.seconds)))
            loaded = router.memory_info().rss / 1e6
        finally:
            process.terminate()
            process.wait(20)
    print()
    print(f"Router: healthy {start_seconds:.2f} s after its start, RSS {idle:.0f} MB idle, {loaded:.0f} MB loaded.")
    print("\n".join(firsts))


if __name__ == "__main__":
    main()
