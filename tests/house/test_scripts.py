"""The scripts work from anywhere and say clearly what they miss."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.tree import ROOT

SLACK = float(os.environ.get("TOOLCRIB_TEST_SLACK", "2"))
PROGRAMS = ["scripts/serve", "scripts/test", "scripts/check", "scripts/bench", ".ci/run", "scripts/_setup.sh"]


def script(directory: Path, text: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "python3"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The scripts in another place, with a space in its path and without an environment."""
    place = tmp_path / "a place"
    shutil.copytree(ROOT / "scripts", place / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, place / name)
    return place


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_script_is_valid_bash(name: str) -> None:
    subprocess.run(["bash", "-n", str(ROOT / name)], check=True)


def test_an_old_python_is_refused_with_a_way_out(copy: Path, tmp_path: Path) -> None:
    old = script(tmp_path / "bin", 'case "$*" in *--version*) echo "Python 3.9.2";; *) exit 1;; esac')
    commands = ("bash", "dirname", "env")
    for command in commands:
        (old.parent / command).symlink_to(str(shutil.which(command)))
    finished = subprocess.run(
        [copy / "scripts" / "serve"], env={"PATH": str(old.parent)}, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 1
    assert "toolcrib needs Python 3.11 or newer. Found: Python 3.9.2" in finished.stderr
    assert "apt-get install python3 python3-venv" in finished.stderr
    assert "TOOLCRIB_PYTHON=" in finished.stderr


def set_up(place: Path, purpose: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", str(place / "scripts" / "_setup.py"), purpose]
    return subprocess.run(command, cwd="/", capture_output=True, text=True, check=False, timeout=60 * SLACK)


def test_a_set_up_that_is_done_does_nothing_and_one_for_tests_serves_too(copy: Path) -> None:
    remembered = f"""
import sys
sys.path.insert(0, {str(copy / "scripts")!r})
import _setup
(_setup.ENVIRONMENT / "bin").mkdir(parents=True)
(_setup.ENVIRONMENT / "lib" / "python{sys.version_info[0]}.{sys.version_info[1]}").mkdir(parents=True)
_setup.PYTHON.symlink_to(sys.executable)
_setup.remember("test", _setup.fingerprint())
_setup.SYSTEM_PROGRAMS.clear()
"""
    subprocess.run([sys.executable, "-I", "-c", remembered], check=True)
    for purpose in ("serve", "serve"):
        finished = set_up(copy, purpose)
        assert (finished.returncode, finished.stdout, finished.stderr) == (0, "", "")


@pytest.mark.parametrize("changed", ["pyproject.toml", "constraints.txt"])
def test_a_changed_file_asks_for_another_set_up(copy: Path, changed: str) -> None:
    ask = f"import sys; sys.path.insert(0, {str(copy / 'scripts')!r}); import _setup; print(_setup.fingerprint())"

    def fingerprint() -> str:
        return subprocess.run([sys.executable, "-I", "-c", ask], capture_output=True, text=True, check=True).stdout

    before = fingerprint()
    assert fingerprint() == before
    with (copy / changed).open("a", encoding="utf-8") as file:
        file.write("\n")
    assert fingerprint() != before


def test_a_set_up_that_cannot_write_says_where(copy: Path) -> None:
    (copy / ".venv").write_text("in the way", encoding="utf-8")
    finished = set_up(copy, "serve")
    assert finished.returncode == 1
    assert f"{copy} must be writable" in finished.stderr
    assert "Traceback" not in finished.stderr


def test_a_benchmark_puts_its_table_into_its_place(copy: Path) -> None:
    (copy / "benchmarks").mkdir()
    (copy / "benchmarks" / "__init__.py").touch()
    is_run = 'if __name__ == "__main__":\n    '
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    for name, code in {"speed": f"print({table!r})", "size": "print('5 MB')", "broken": "raise SystemExit(3)"}.items():
        (copy / "benchmarks" / f"{name}.py").write_text(is_run + code, encoding="utf-8")
    (copy / "benchmarks" / "helper.py").write_text("raise AssertionError", encoding="utf-8")
    (copy / "docs").mkdir()
    page = copy / "docs" / "benchmarks.md"
    page.write_text("# Speed\n\n<!-- benchmark: speed -->\nold\n<!-- end: speed -->\n\nAfter.\n", encoding="utf-8")

    def bench(*names: str) -> int:
        command = [sys.executable, str(copy / "scripts" / "_bench.py"), *names]
        return subprocess.run(command, capture_output=True, check=False).returncode

    assert bench("speed") == 0
    assert page.read_text(encoding="utf-8") == (
        f"# Speed\n\n<!-- benchmark: speed -->\n\n{table}\n\n<!-- end: speed -->\n\nAfter.\n"
    )
    assert bench() == 1  # the broken one
    assert page.read_text(encoding="utf-8").count("| 1 | 2 |") == 1
    assert "```text\n5 MB\n```" in page.read_text(encoding="utf-8")
    assert bench("nonsense") == 2


def test_what_a_step_leaves_running_is_named_ended_and_fails_the_run(tmp_path: Path) -> None:
    leave = "import subprocess; subprocess.Popen(['sleep', '987'], start_new_session=True)"
    program = f"""
import sys
sys.path.insert(0, {str(ROOT / "scripts")!r})
import _steps
_steps.SECONDS_TO_END = 0.1
_steps.adopt_orphans()
step = _steps.Step("leaves", [sys.executable, "-c", {leave!r}])
sys.exit(_steps.summarize([_steps.run(step)]))
"""
    finished = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=20 * SLACK
    )
    assert finished.returncode == 1
    assert "left running, now killed" in finished.stdout
    assert "sleep 987" in finished.stdout
