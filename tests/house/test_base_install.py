"""The library alone is small, complete and polite about what it does not bring."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from email.parser import HeaderParser
from pathlib import Path

import pytest

from tests.house.tree import ROOT

MOST_DISTRIBUTIONS = 8
MOST_BYTES = 15_000_000
UV = Path(sys.executable).with_name("uv")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree, built as a release is."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that holds the wheel without extras."""
    folder = tmp_path_factory.mktemp("base") / "environment"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, folder], check=True, capture_output=True)
    python = folder / "bin" / "python"
    wanted = ["--quiet", "--constraint", str(ROOT / "constraints.txt"), str(wheel)]
    uv = [str(UV), "pip", "install", "--python", str(python), *wanted]
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", *wanted]
    for command in ([*uv, "--offline"], uv, pip):
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
        if finished.returncode == 0:
            return python
    pytest.skip(f"no package index, and too little in the cache: {finished.stderr.strip()[-200:]}")


def names_in(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_the_wheel_holds_the_package_its_types_and_the_shipped_tools(wheel: Path) -> None:
    names = set(names_in(wheel))
    assert {"toolcrib/__init__.py", "toolcrib/py.typed", "toolcrib/shipped/registry.json"} <= names
    assert "toolcrib/shipped/tools/local/image_stitcher/main.py" in names
    for folder in (ROOT / "tools" / "local").glob("*/tool.toml"):
        assert f"toolcrib/shipped/tools/local/{folder.parent.name}/tool.toml" in names


def test_the_wheel_holds_nothing_that_a_run_left(wheel: Path) -> None:
    leftovers = ("last_run.log", ".pyc", ".lock", "CACHEDIR.TAG")
    assert [name for name in names_in(wheel) if name.endswith(leftovers) or "/." in name or "__pycache__" in name] == []


def test_every_extra_of_all_exists(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = HeaderParser().parsestr(archive.read(name).decode())
    extras = set(metadata.get_all("Provides-Extra") or [])
    assert {"serve", "office", "web", "data", "semantic", "science", "postgres", "local-model", "all"} <= extras


def test_the_base_installs_few_and_small_distributions(base: Path) -> None:
    (site,) = base.parent.parent.glob("lib/python*/site-packages")
    distributions = [path.name for path in site.glob("*.dist-info")]
    assert len(distributions) <= MOST_DISTRIBUTIONS, distributions
    size = sum(path.stat().st_size for path in installed_files(site))
    assert size <= MOST_BYTES, f"{size / 1e6:.1f} MB"


def installed_files(site: Path) -> Iterator[Path]:
    """The files of an environment without byte code."""
    return (path for path in site.rglob("*") if path.is_file() and path.suffix != ".pyc")


def test_a_tool_is_defined_and_called_with_the_base_alone(base: Path, tmp_path: Path) -> None:
    program = """
from toolcrib import Crib, ToolResult, ToolResultStatus, ToolRegistry, tool
import toolcrib

@tool
def add(a: int, b: int = 1) -> int:
    '''Adds two numbers.'''
    return a + b

assert add(1, 2) == 3
for name in toolcrib.__all__:
    getattr(toolcrib, name)
"""
    finished = subprocess.run(
        [base, "-I", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert (finished.returncode, finished.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [[], ["serve"], ["--help"]])
def test_the_command_line_says_which_extra_it_needs(base: Path, tmp_path: Path, arguments: list[str]) -> None:
    program = base.with_name("toolcrib")
    finished = subprocess.run(
        [program, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert finished.returncode == 2
    assert 'pip install "toolcrib[serve]"' in finished.stderr
    assert "Traceback" not in finished.stderr
