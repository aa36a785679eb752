"""What defining and calling tools costs, in CPU time and as ratios within one run.

Run as ``python benchmarks/definition.py``. The floor of a call is ``json.loads`` + the function + ``json.dumps`` in the
same process; that of the import is ``import pydantic_core`` in a fresh one.
"""

from __future__ import annotations

import gc
import json
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from typing import Any, get_args

from toolcrib.definition.context import Context
from toolcrib.definition.decorator import make_tool_decorator
from toolcrib.definition.dialects import Dialect, to_dialect
from toolcrib.definition.invoke import invoke
from toolcrib.definition.tool import ToolDefinition
from toolcrib.definition.validation import validate
from toolcrib.registry.registry import ToolRegistry

TEMPLATE = '''
def tool_{i}(a: int, b: int = 1, note: str = "", mode: Literal["fast", "deep"] = "fast") -> dict[str, int]:
    """Adds two numbers, number {i}.

    Args:
        a: the first summand
        b: the second summand
        note: a remark that is kept
        mode: how thoroughly to do it
    """
    return {{"sum": a + b}}
'''
DECORATED = "exec('from toolcrib import tool\\n@tool\\ndef add(a: int, b: int = 1) -> int: return a + b')"
COUNT = 1000
ARGUMENTS = '{"a": 1, "b": 2, "note": "hello", "mode": "deep"}'
SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "integer"},
        "b": {"type": "integer"},
        "note": {"type": "string"},
        "mode": {"enum": ["fast", "deep"]},
    },
    "required": ["a"],
}


def functions(count: int = COUNT) -> list[Callable[..., Any]]:
    """Typed functions with docstrings, as a module would hold them."""
    namespace: dict[str, Any] = {"__name__": "benchmark"}
    exec("from typing import Literal\n" + "".join(TEMPLATE.format(i=i) for i in range(count)), namespace)
    return [namespace[f"tool_{i}"] for i in range(count)]


def milliseconds(work: Callable[[], object], repeats: int = 5) -> float:
    """CPU time of one run, the best of several."""
    times = []
    for _ in range(repeats):
        gc.collect()
        start = time.process_time()
        work()
        times.append((time.process_time() - start) * 1e3)
    return min(times)


def microseconds(work: Callable[[], object], count: int = 5000, repeats: int = 7) -> float:
    """CPU time of one call, the median of several rounds."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(count):
            work()
        times.append((time.process_time() - start) / count * 1e6)
    return statistics.median(times)


def import_time(statement: str, repeats: int = 7) -> float:
    """CPU milliseconds of an import in a fresh process."""
    code = f"import time; start = time.process_time(); {statement}; print((time.process_time() - start) * 1e3)"
    return min(
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(repeats)
    )


def allocated() -> float:
    """Megabytes that Python has allocated since tracing began."""
    return tracemalloc.get_traced_memory()[0] / 1e6


def registered(made: list[Callable[..., Any]]) -> ToolRegistry:
    """All functions as tools of one registry."""
    registry = ToolRegistry()
    tool = make_tool_decorator(registry.register)
    for function in made:
        tool(function)
    return registry


def in_dialect(registry: ToolRegistry, dialect: Dialect) -> list[dict[str, Any]]:
    """All tools as a provider gets them."""
    return [to_dialect(tool, dialect) for tool in registry]


def line(what: str, value: float, unit: str, target: str) -> None:
    """One row of the report."""
    print(f"{what:<58} {value:9.2f} {unit:<6} {target}")


def main() -> None:
    """Measure and print."""
    core = import_time("import pydantic_core")
    line(
        "import toolcrib / import pydantic_core",
        import_time("import toolcrib") / core,
        "x",
        "<= 1.5",
    )
    line("importing tool and using it / import pydantic_core", import_time(DECORATED) / core, "x", "<= 1.5")
    made = functions()
    registered(made)
    line(f"register {COUNT} tools", milliseconds(lambda: registered(made)), "ms", "<= 5")
    fresh = [registered(made) for _ in range(5)]
    registries, listed = iter(fresh), []  # kept, so that throwing them away is not measured
    line(
        f"all {COUNT} schemas, first time",
        milliseconds(lambda: listed.append(next(registries).list_all())),
        "ms",
        "<= 80",
    )
    tracemalloc.start()
    kept = registered(made)
    kept.list_all()
    line(f"memory of {COUNT} tools with schemas", allocated(), "MB", "<= 4")
    tracemalloc.stop()
    for name in get_args(Dialect):
        line(f"all {COUNT} in {name}", milliseconds(partial(in_dialect, kept, name), 3), "ms", "")
    calls(kept)


def calls(registry: ToolRegistry) -> None:
    """What one call costs against the floor."""
    typed = next(iter(registry))
    function = typed.handler
    assert function is not None
    by_dict = ToolDefinition("by_dict", "", SCHEMA, lambda arguments: {"sum": arguments["a"] + arguments["b"]})
    context = Context()
    floor = microseconds(lambda: json.dumps(function(**json.loads(ARGUMENTS))))
    line("floor: json.loads + call + json.dumps", floor, "us", "")
    parsed = json.loads(ARGUMENTS)
    for tool, name in ((typed, "typed function"), (by_dict, "dict handler")):
        line(f"{name}: invoke / floor", microseconds(partial(invoke, tool, parsed, context)) / floor, "x", "<= 1.0")
        line(f"{name}: validate alone / floor", microseconds(partial(validate, tool, parsed)) / floor, "x", "")
    wrong = {"a": "one", "b": 2}
    for tool, name in ((typed, "typed function"), (by_dict, "dict handler")):
        refused = microseconds(partial(invoke, tool, wrong, context), 500)
        line(f"{name}: a refused call with its message / floor", refused / floor, "x", "")


if __name__ == "__main__":
    main()
