"""``import toolcrib`` costs next to nothing and does nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import toolcrib

HEAVY = {
    *("pydantic", "pydantic_settings", "fastapi", "starlette", "uvicorn", "httpx", "httpx2", "anyio", "asyncio"),
    *("sqlalchemy", "psutil", "jsonschema_rs", "watchfiles", "rich", "click", "platformdirs", "uv", "mcp", "dbos"),
    *("concurrent.futures", "multiprocessing", "ssl", "socket", "subprocess", "sqlite3", "logging.config"),
}
PUBLIC_NAMES = [
    "ActionDef",
    "Artifact",
    "BaseTool",
    "Context",
    "Crib",
    "Injected",
    "Tool",
    "ToolDefinition",
    "ToolExecutor",
    "ToolRegistry",
    "ToolResult",
    "ToolResultStatus",
    "__version__",
    "get_service",
    "register_service",
    "tool",
]
RATIO_TO_PYDANTIC_CORE = 1.5
ROUNDS = 7

WATCHED_IMPORT = """
import json, os, sys, threading
acts, read = [], []
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
NAMES = ("os.mkdir", "os.rename", "os.remove", "subprocess.Popen", "socket.connect", "socket.bind", "os.fork")

def watch(event, arguments):
    if event in NAMES or (event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING):
        acts.append(f"{event} {arguments[0]}")

class Variables(type(os.environ)):
    def __init__(self, real):
        self.__dict__.update(real.__dict__)
    def __getitem__(self, name):
        read.append(name)
        return super().__getitem__(name)

os.environ = Variables(os.environ)
sys.addaudithook(watch)
import toolcrib
logging = sys.modules.get("logging")
handlers = [] if logging is None else logging.root.handlers + logging.getLogger("toolcrib").handlers
print(json.dumps({
    "modules": sorted(sys.modules), "acts": acts, "threads": threading.active_count(), "variables": read,
    "handlers": [type(each).__name__ for each in handlers if type(each).__name__ != "NullHandler"],
}))
"""


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a fresh interpreter saw while it imported toolcrib, and the files that were there afterwards."""
    home = tmp_path_factory.mktemp("home")
    environment = os.environ | {"HOME": str(home), "TOOLCRIB_HOME": str(home / "crib"), "TOOLCRIB_PORT": "not a port"}
    command = [sys.executable, "-I", "-B", "-c", WATCHED_IMPORT]
    finished = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, check=True)
    seen: dict[str, Any] = json.loads(finished.stdout)
    return seen | {"files": [str(path) for path in home.rglob("*")], "errors": finished.stderr}


def test_importing_loads_nothing_heavy(imported: dict[str, Any]) -> None:
    assert HEAVY.intersection(imported["modules"]) == set()


def test_defining_a_tool_loads_nothing_that_only_calling_it_needs() -> None:
    code = f"{USED}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    unused = {"pydantic_core", "logging", "pathlib", "difflib", "datetime", "toolcrib.definition.schema.reader"}
    assert (HEAVY | unused).intersection(json.loads(done.stdout)) == set()


def test_importing_does_nothing(imported: dict[str, Any]) -> None:
    assert imported["acts"] == []
    assert imported["files"] == []
    assert imported["threads"] == 1
    assert imported["errors"] == ""


def test_importing_reads_no_settings(imported: dict[str, Any]) -> None:
    assert [name for name in imported["variables"] if name.startswith("TOOLCRIB_")] == []


def test_importing_configures_no_logging(imported: dict[str, Any]) -> None:
    assert imported["handlers"] == []


USED = """
from toolcrib import tool

@tool
def add(a: int, b: int = 1) -> int:
    return a + b
"""


@pytest.mark.parametrize("ours", ["import toolcrib", USED], ids=["imported", "imported and used"])
def test_importing_costs_at_most_1_5_times_pydantic_core(tmp_path: Path, ours: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = str(tmp_path)

    def cpu_milliseconds(statements: str) -> float:
        code = f"import time\nstart = time.process_time()\n{statements}\nprint(time.process_time() - start)"
        command = [sys.executable, "-P", "-s", "-c", code]
        return float(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout) * 1e3

    both = (ours, "import pydantic_core")
    for statements in both:
        cpu_milliseconds(statements)  # writes the byte code
    rounds = [[cpu_milliseconds(statements) for statements in both] for _ in range(ROUNDS)]
    cost, budget = (min(column) for column in zip(*rounds, strict=True))
    assert cost <= RATIO_TO_PYDANTIC_CORE * budget, f"{cost:.1f} ms against {budget:.1f} ms"


def test_the_public_names_are_these() -> None:
    assert toolcrib.__all__ == PUBLIC_NAMES
    assert sorted(PUBLIC_NAMES) == PUBLIC_NAMES


@pytest.mark.parametrize("name", PUBLIC_NAMES)
def test_a_public_name_resolves(name: str) -> None:
    assert getattr(toolcrib, name) is not None
    assert name in dir(toolcrib)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        toolcrib.nonsense  # noqa: B018
