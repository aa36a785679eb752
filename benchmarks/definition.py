"""What defining tools and calling them costs, as ratios within one run on CPU time: ``python benchmarks/definition.py``.

The floor of a call is ``json.loads`` + the function + ``json.dumps`` in the same process; that of the import is
``import pydantic_core`` in a fresh one.
"""

from __future__ import annotations

import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from toolcrib.definition.context import Context
from toolcrib.definition.decorator import make_tool_decorator
from toolcrib.definition.dialects import to_dialect
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


def resident() -> float:
    """Megabytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


def registered(made: list[Callable[..., Any]]) -> ToolRegistry:
    """All functions as tools of one registry."""
    registry = ToolRegistry()
    tool = make_tool_decorator(registry.register)
    for function in made:
        tool(function)
    return registry


def line(what: str, value: float, unit: str, target: str) -> None:
    """One row of the report."""
    print(f"{what:<58} {value:9.2f} {unit:<6} {target}")


def main() -> None:
    """Measure and print."""
    core = import_time("import pydantic_core")
    line(
        "import toolcrib / import pydantic_core",
        import_time("import toolcrib; toolcrib.ToolDefinition") / core,
        "x",
        "<= 1.5",
    )
    line("import toolcrib.tool / import pydantic_core", import_time("from toolcrib import tool") / core, "x", "")
    made = functions()
    registered(made)
    line(f"register {COUNT} tools", milliseconds(lambda: registered(made)), "ms", "<= 5")
    fresh = [registered(made) for _ in range(3)]
    line(f"all {COUNT} schemas, first time", milliseconds(lambda: fresh.pop().list_all(), 3), "ms", "<= 80")
    gc.collect()
    before = resident()
    kept = registered(functions(COUNT))
    line(f"memory of {COUNT} registered tools with their functions", resident() - before, "MB", "")
    kept.list_all()
    line(f"memory of {COUNT} tools with schemas", resident() - before, "MB", "<= 4 without functions")
    for name in ("openai", "openai_strict", "anthropic", "gemini", "mcp"):
        line(f"all {COUNT} in {name}", milliseconds(lambda n=name: [to_dialect(one, n) for one in kept], 3), "ms", "")  # type: ignore[misc]
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
        whole = microseconds(lambda t=tool: json.dumps(invoke(t, json.loads(ARGUMENTS), context).data))  # type: ignore[misc]
        line(f"{name}: json.loads + invoke + json.dumps / floor", whole / floor, "x", "")
        line(
            f"{name}: invoke alone / floor",
            microseconds(lambda t=tool: invoke(t, parsed, context)) / floor,
            "x",
            "<= 1.0",
        )  # type: ignore[misc]
        line(f"{name}: validate alone / floor", microseconds(lambda t=tool: validate(t, parsed)) / floor, "x", "")  # type: ignore[misc]
    wrong = {"a": "one", "b": 2}
    line("typed function: a refused call", microseconds(lambda: invoke(typed, wrong, context), 500), "us", "")


if __name__ == "__main__":
    main()
