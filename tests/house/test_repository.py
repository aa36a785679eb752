"""What is under version control is fit to be read by anyone, anywhere."""

from __future__ import annotations

import inspect
import os
import re
from pathlib import Path

import pytest

from tests.house.tree import ROOT, repository_files
from toolcrib import errors

REQUIRED = [
    *("LICENSE", "NOTICE", "CHANGELOG.md", "README.md", "README.zh-CN.md", "pyproject.toml", "constraints.txt"),
    *("scripts/serve", "scripts/test", "scripts/check", "scripts/bench", ".ci/run", "src/toolcrib/py.typed"),
]
PROGRAMS = ["scripts/serve", "scripts/test", "scripts/check", "scripts/bench", ".ci/run"]

# Written in pieces, so that this file does not hold what it looks for.
INDEX_HOST = re.compile(
    "|".join(["pypi" + r"\.org", "python" + r"hosted\.org", "registry" + r"\.npmjs", "deb" + r"\.debian"])
)
MACHINE_PATH = re.compile(r"(?<![\w.}\-/])/(?:" + "|".join(["work", "root", "tmp"]) + r")/[\w.-]")
UNFINISHED = re.compile(r"\b(?:" + "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX"]) + r")\b")


def text_of(path: Path) -> str:
    """A file's text; nothing where it is no text."""
    content = path.read_bytes()
    return "" if b"\0" in content else content.decode("utf-8", errors="replace")


def places(pattern: re.Pattern[str], *, without: tuple[str, ...] = ()) -> list[str]:
    """Where a pattern stands in the repository, as ``file:line: text``."""
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path in repository_files()
        if path.suffix not in without
        for number, line in enumerate(text_of(path).splitlines(), start=1)
        if pattern.search(line)
    ]


def test_no_file_names_a_package_index() -> None:
    assert places(INDEX_HOST) == []


def test_no_file_names_a_path_of_one_machine() -> None:
    assert places(MACHINE_PATH, without=(".jsonl",)) == []


def test_nothing_is_marked_as_unfinished() -> None:
    assert places(UNFINISHED, without=(".jsonl",)) == []


def test_no_lock_file_is_kept() -> None:
    assert [str(path) for path in repository_files() if path.name == "uv.lock" or path.name.endswith(".py.lock")] == []


def test_no_file_of_a_run_is_kept() -> None:
    kept = [path.relative_to(ROOT) for path in repository_files()]
    left = ("last_run.log", ".pyc", ".sqlite", ".db")
    assert [str(path) for path in kept if path.name.endswith(left)] == []


@pytest.mark.parametrize("name", REQUIRED)
def test_a_file_that_every_reader_expects_is_there(name: str) -> None:
    assert (ROOT / name).is_file()
    assert name.endswith("py.typed") or (ROOT / name).read_text(encoding="utf-8").strip()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_script_can_be_run(name: str) -> None:
    assert os.access(ROOT / name, os.X_OK)
    assert (ROOT / name).read_text(encoding="utf-8").startswith("#!/usr/bin/env bash\n")


def test_continuous_integration_runs_the_tests_and_nothing_else() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    commands = [line for line in lines if line and not line.startswith(("#", "set "))]
    assert len(commands) == 1
    assert commands[0].endswith('/../scripts/test"')


def headings(name: str) -> list[int]:
    """The levels of a Markdown file's headings, in order, without what stands in code blocks."""
    text = re.sub(r"^(```|~~~).*?^\1", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return [len(marks) for marks in re.findall(r"^(#{1,6}) ", text, flags=re.MULTILINE)]


def test_both_readmes_have_the_same_headings() -> None:
    assert headings("README.md") == headings("README.zh-CN.md")
    assert headings("README.md")[:1] == [1]


def test_vendored_code_is_accounted_for() -> None:
    folders = {
        parent for path in repository_files() for parent in path.parents if parent.name in ("vendor", "vendored")
    }
    assert [str(folder) for folder in folders if not (folder / "VENDOR.md").is_file()] == []


def test_a_copy_of_the_tool_server_is_the_tool_server() -> None:
    original = (ROOT / "src" / "toolcrib" / "tool_server.py").read_bytes()
    copies = [path for path in repository_files() if path.name == "tool_server.py" and path.parent.name != "toolcrib"]
    assert [str(path.relative_to(ROOT)) for path in copies if path.read_bytes() != original] == []


ERRORS = [each for _, each in inspect.getmembers(errors, inspect.isclass) if issubclass(each, errors.ToolcribError)]


def test_every_error_has_its_own_code() -> None:
    codes = [each.code for each in ERRORS]
    assert sorted(set(codes)) == sorted(codes)
    assert [code for code in codes if not re.fullmatch(r"[a-z][a-z_]*", code)] == []


@pytest.mark.parametrize("error", ERRORS, ids=lambda each: each.__name__)
def test_an_error_stands_in_the_drawn_tree_below_its_base(error: type[errors.ToolcribError]) -> None:
    lines = [line for line in (errors.__doc__ or "").splitlines() if re.search(rf"\b{error.__name__}\b", line)]
    assert len(lines) == 1
    depth = len(error.__mro__) - len(errors.ToolcribError.__mro__)
    assert lines[0].removeprefix("    ").index(error.__name__) == 4 * depth
    base = error.__mro__[1].__name__
    if depth:
        above = (errors.__doc__ or "").partition(lines[0])[0]
        parents = [line for line in above.splitlines() if re.match(rf"[ │├└─]{{{4 * depth}}}\w", line)]
        assert re.search(rf"\b{base}\b", parents[-1])
