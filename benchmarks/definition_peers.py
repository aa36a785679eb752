"""The same tools through toolcrib and through other frameworks, each in fresh processes.

    python -m benchmarks.definition_peers [--python PATH …] [--only NAME …] [--repeats 3]

Measures whatever is importable here and, in turn, by the interpreters named with ``--python``, since frameworks do not
all fit into one environment. ``TOOLCRIB_BENCHMARK_PYTHONS`` names interpreters too, separated as in ``PATH``, so that
``scripts/bench`` uses them. A framework that none of them has gives a row that says so. Prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers.work import write_module

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT = 300
SILENT = {
    "AGNO_TELEMETRY": "false",
    "HAYSTACK_TELEMETRY_ENABLED": "false",
    "LANGSMITH_TRACING": "false",
    "OTEL_SDK_DISABLED": "true",
    "FASTMCP_CHECK_FOR_UPDATES": "off",
}
"""Nothing is reported to anyone while measuring."""


@dataclass(frozen=True)
class Framework:
    """A row: its title, its module in benchmarks.peers, and what a person installs."""

    title: str
    module: str
    distribution: str


FRAMEWORKS = (
    Framework("**toolcrib**", "toolcrib", "toolcrib"),
    Framework("Agno", "agno", "agno"),
    Framework("AutoGen core", "autogen_core", "autogen-core"),
    Framework("FastMCP", "fastmcp", "fastmcp"),
    Framework("Google ADK", "google_adk", "google-adk"),
    Framework("Haystack", "haystack", "haystack-ai"),
    Framework("LangChain core", "langchain_core", "langchain-core"),
    Framework("LangGraph", "langgraph", "langgraph"),
    Framework("LlamaIndex core", "llama_index", "llama-index-core"),
    Framework("MCP SDK", "mcp_sdk", "mcp"),
    Framework("Microsoft Agent Framework", "agent_framework", "agent-framework-core"),
    Framework("OpenAI Agents", "openai_agents", "openai-agents"),
    Framework("Pydantic AI slim", "pydantic_ai", "pydantic-ai-slim"),
    Framework("smolagents", "smolagents", "smolagents"),
    Framework("Strands Agents", "strands", "strands-agents"),
)

Figures = dict[str, Any]


@dataclass
class Row:
    """What is known of one framework: who has it, what was measured, and what went wrong."""

    framework: Framework
    python: str | None = None
    problem: str = "not installed"
    runs: list[Figures] = field(default_factory=list)

    def find(self, pythons: Sequence[str], work: Path) -> None:
        """Take the first interpreter that has it. Working once also lets Python keep the byte code."""
        try:
            self.python = next((each for each in pythons if "missing" not in self._run(each, work, 0, "few")), None)
        except Failed as error:
            self._give_up(error)

    def measure(self, work: Path, count: int) -> None:
        """Let two fresh processes measure: with a few tools, and with many."""
        if self.python is None:
            return
        try:
            self.runs += [self._run(self.python, work, count, size) for size in ("few", "many")]
        except Failed as error:
            self._give_up(error)

    @property
    def title(self) -> str:
        """Its first cell."""
        return f"{self.framework.title} {self.runs[0]['version'] if self.python else f'({self.problem})'}"

    @property
    def figures(self) -> Figures:
        """Its other cells; none where it is missing or has failed."""
        return medians(self.runs) if self.python else {}

    def _run(self, python: str, work: Path, count: int, size: str) -> Figures:
        """What one fresh process measures."""
        names = [self.framework.module, self.framework.distribution, str(work), str(count), size]
        try:
            finished = subprocess.run(
                [python, "-m", "benchmarks.peers", *names],
                cwd=ROOT,
                env={**os.environ, **SILENT},
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Failed(str(error)) from error
        lines = finished.stdout.splitlines()
        if finished.returncode != 0 or not lines:
            raise Failed(finished.stderr[-2000:])
        figures: Figures = json.loads(lines[-1])
        return figures

    def _give_up(self, error: Failed) -> None:
        print(f"{self.framework.title}: {error}", file=sys.stderr)
        self.python, self.problem = None, "failed"


class Failed(Exception):
    """A framework is there and does not do the work; the text says why."""


def columns(count: int) -> list[tuple[str, str, int]]:
    """Heading, figure and decimal places of each column."""
    return [
        ("import, CPU s", "import_s", 2),
        ("to the first answer, CPU s", "first_answer_s", 2),
        ("distributions", "distributions", 0),
        (f"define {count:,}, CPU ms", "define_ms", 1),
        ("all schemas first time, CPU ms", "schemas_ms", 1),
        ("again, CPU ms", "again_ms", 1),
        ("bytes per schema", "bytes", 0),
        (f"RSS of {count:,}, MB", "rss_mb", 1),
        ("async call, × floor", "async_few", 1),
        ("sync call, × floor", "sync_few", 1),
        (f"async call of {count + 4:,}, × floor", "async_many", 1),
        (f"sync call of {count + 4:,}, × floor", "sync_many", 1),
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="The same tools through toolcrib and through other frameworks.")
    parser.add_argument("--python", action="append", default=[], help="another interpreter to look for frameworks in")
    parser.add_argument("--only", action="append", choices=[each.module for each in FRAMEWORKS], help="only these rows")
    parser.add_argument("--repeats", type=int, default=3, help="fresh processes per figure")
    parser.add_argument("--count", type=int, default=1000, help="tools that are defined")
    options = parser.parse_args()
    named = os.environ.get("TOOLCRIB_BENCHMARK_PYTHONS", "").split(os.pathsep)
    pythons = [sys.executable, *options.python, *(each for each in named if each)]
    if absent := [each for each in pythons if shutil.which(each) is None]:
        parser.error(f"no such interpreter: {', '.join(absent)}")
    chosen = [each for each in FRAMEWORKS if options.only is None or each.module in options.only]
    rows = [Row(each) for each in chosen]
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder) / "benchmark_tools.py"
        write_module(work, options.count)
        for row in rows:
            row.find(pythons, work)
        # Round after round, so that a slow minute of the machine does not fall on one framework alone.
        for number in range(options.repeats):
            for row in rows:
                print(f"{number + 1}/{options.repeats} {row.framework.title}", file=sys.stderr, flush=True)
                row.measure(work, options.count)
    print_table(rows, options.count, options.repeats)


def medians(runs: list[Figures]) -> Figures:
    """The median of each figure over the processes that measured it."""
    names = {name for figures in runs for name in figures if name != "version"}
    return {name: statistics.median(figures[name] for figures in runs if name in figures) for name in names}


def print_table(rows: Sequence[Row], count: int, repeats: int) -> None:
    """The rows, and below them the median of the other frameworks and how all this was measured."""
    lines = [(row.title, row.figures) for row in rows]
    others = [row.figures for row in rows if row.figures and row.framework.module != "toolcrib"]
    if len(others) > 1:
        lines.append(("*median of the other frameworks*", medians(others)))
    shown = columns(count)
    print(f"| framework | {' | '.join(heading for heading, _, _ in shown)} |")
    print(f"|---|{'--:|' * len(shown)}")
    for title, figures in lines:
        print(f"| {title} | {' | '.join(cell(figures.get(name), places) for _, name, places in shown)} |")
    floors = [row.figures["floor_us_few"] for row in rows if row.figures]
    if floors:
        print(
            f"\nPython {platform.python_version()} on {platform.system()} {platform.machine()}. Every figure is the "
            f"median over {repeats} fresh processes. The floor is {statistics.median(floors):.1f} µs a call."
        )


def cell(value: float | None, places: int) -> str:
    """A figure as it is shown: three digits are enough."""
    if value is None or math.isnan(value):
        return "–"
    return f"{value:,.{places if value < 100 else 0}f}"


if __name__ == "__main__":
    main()
