"""Modules and installed packages as sources of tools (contract N051)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.registry.test_python_sources import GREET, GREETER_CLASS
from toolcrib.registry.sources.python import EntryPoints, PythonModules

ModuleWriter = Callable[[str], str]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleWriter:
    """Writes an importable module and returns its name."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(text: str) -> str:
        name = f"tools_of_{tmp_path.name.replace('-', '_')}_{len(list(tmp_path.glob('*.py')))}"
        (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        monkeypatch.setitem(sys.modules, name, sys)  # so that it is removed afterwards
        del sys.modules[name]
        return name

    return write


def test_N051_a_module_gives_everything_in_it_that_is_a_tool(module: ModuleWriter) -> None:
    name = module(GREET + "\n\n" + GREETER_CLASS.format(name="GreeterTool", body="pass"))
    listing = PythonModules([name]).load()
    assert [(tool.name, tool.source) for tool in listing.tools] == [("greet", name), ("greeter_greet", name)]
    assert listing.problems == ()


def test_N051_a_second_crib_of_the_process_gets_the_tools_of_a_module_too(module: ModuleWriter) -> None:
    name = module(GREET)
    assert PythonModules([name]).load().tools == PythonModules([name]).load().tools != ()


def test_T015_a_module_that_does_not_end_is_a_problem(module: ModuleWriter) -> None:
    name = module("while True:\n    pass\n")
    (problem,) = PythonModules([name], seconds=0.2).load().problems
    assert (problem.line in (1, 2), "it takes longer than 0.2 s" in str(problem)) == (True, True)


ENTRY_POINTS = """\
from toolcrib import ToolDefinition, tool
def ping(number):
    return ToolDefinition(f"ping_{number}", "Answers.", {"type": "object"}, lambda arguments: number)
several = [ping(1), ping(2)]
def make():
    return [ping(3)]
@tool
def decorated() -> int:
    "A tool itself."
    return 4
def broken():
    raise RuntimeError("no licence")
nothing = 5
"""


@pytest.mark.parametrize(
    ("attribute", "names", "problem"),
    [
        ("", ["decorated"], ""),
        (":several", ["ping_1", "ping_2"], ""),
        (":make", ["ping_3"], ""),
        (":decorated", ["decorated"], ""),
        (":broken", [], "RuntimeError: no licence"),
        (":nothing", [], "5 is no tool"),
        (":absent", [], "has no attribute 'absent'"),
    ],
)
def test_N051_the_entry_points_of_an_installed_package(
    module: ModuleWriter, tmp_path: Path, attribute: str, names: list[str], problem: str
) -> None:
    name = module(ENTRY_POINTS)
    group = f"group.{name}"
    (tmp_path / "pinger-1.dist-info").mkdir()
    (tmp_path / "pinger-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: pinger\nVersion: 1\n")
    (tmp_path / "pinger-1.dist-info" / "entry_points.txt").write_text(f"[{group}]\nmine = {name}{attribute}\n")
    importlib.invalidate_caches()
    source = EntryPoints(group)
    listing = source.load()
    assert [tool.name for tool in listing.tools] == names
    assert source.load() is listing
    if problem:
        assert problem in str(listing.problems[0])
    else:
        assert listing.problems == ()
