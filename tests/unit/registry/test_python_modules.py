"""Tools from Python modules."""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolcrib.registry.sources.python import PythonModules

numbers = itertools.count()

ModuleWriter = Callable[[str], str]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleWriter]:
    """Writes an importable module and returns its name."""
    monkeypatch.syspath_prepend(tmp_path)
    names: list[str] = []

    def write(text: str) -> str:
        name = f"module_of_tools_{next(numbers)}"
        (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        names.append(name)
        return name

    yield write
    for name in names:
        sys.modules.pop(name, None)


TOOLS = """\
from toolcrib.definition.tool import ToolDefinition
first = ToolDefinition("first", "The first.", {"type": "object"}, lambda arguments: 1)
again = first
second = ToolDefinition("second", "The second.", {"type": "object"}, lambda arguments: 2)
"""


def test_N003_the_tools_of_a_module_are_listed_once_in_their_order(module: ModuleWriter) -> None:
    name = module(TOOLS)
    source = PythonModules([name])
    listing = source.load()
    assert [(tool.name, tool.source) for tool in listing.tools] == [("first", name), ("second", name)]
    assert listing.problems == ()
    assert source.load() == listing
    assert list(source.paths()) == []


def test_T015_a_module_that_fails_is_named_with_its_line_and_the_others_load(
    module: ModuleWriter, tmp_path: Path
) -> None:
    good = module(TOOLS)
    failing = module("import os\n\nraise RuntimeError('no licence')\n")
    unparsable = module("x = 1\ny = (\n")
    leaving = module("import sys\nsys.exit(3)\n")
    source = PythonModules([failing, unparsable, leaving, "no_such_module_anywhere", good])
    listing = source.load()
    assert [tool.name for tool in listing.tools] == ["first", "second"]
    assert [(problem.path, problem.line) for problem in listing.problems] == [
        (str(tmp_path / f"{failing}.py"), 3),
        (str(tmp_path / f"{unparsable}.py"), 2),
        (str(tmp_path / f"{leaving}.py"), 2),
        ("no_such_module_anywhere", None),
    ]
    assert "RuntimeError: no licence" in str(listing.problems[0])
    assert list(source.paths()) == [tmp_path / f"{name}.py" for name in (failing, unparsable, leaving)]


def test_T015_the_line_is_that_of_the_import_that_failed_inside_the_module(
    module: ModuleWriter, tmp_path: Path
) -> None:
    name = module("\nimport surely_not_installed\n")
    (problem,) = PythonModules([name]).load().problems
    assert (problem.path, problem.line) == (str(tmp_path / f"{name}.py"), 2)


def test_T015_a_module_that_was_mended_loads(module: ModuleWriter, tmp_path: Path) -> None:
    name = module("raise RuntimeError\n")
    source = PythonModules([name])
    assert len(source.load().problems) == 1
    (tmp_path / f"{name}.py").write_text(TOOLS)
    importlib.invalidate_caches()
    assert [tool.name for tool in source.load().tools] == ["first", "second"]


def test_N003_two_modules_with_tools_of_one_name(module: ModuleWriter) -> None:
    first, second = module(TOOLS), module(TOOLS)
    listing = PythonModules([first, second]).load()
    assert [tool.source for tool in listing.tools] == [first, first]
    assert str(listing.problems[0]) == f"{second}: tool 'first' is defined in {first} already"


def test_N048_how_the_tools_of_a_module_are_found_can_be_given(module: ModuleWriter) -> None:
    name = module(TOOLS)
    assert PythonModules([name], lambda found: [found.second]).load().tools[0].name == "second"


def test_a_module_without_any_tool_is_a_problem(module: ModuleWriter) -> None:
    source = PythonModules([module("x = 1\n"), module(TOOLS)])
    listing = source.load()
    assert len(listing.tools) == 2
    (problem,) = listing.problems
    assert "defines no tool" in str(problem)
    assert problem.hint is not None
    assert source.load() == listing
