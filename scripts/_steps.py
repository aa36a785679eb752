"""Runs the steps of scripts/test and scripts/check and prints one summary.

    python scripts/_steps.py check             ruff and mypy
    python scripts/_steps.py test              those, the tools' own tests and all of pytest
    python scripts/_steps.py test ARGUMENT …   pytest alone, with these arguments

Every process that a step started must have ended with it; one that has not is named, ended, and fails the run.
"""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parent.parent
PYTHON_FILES = ("src", "tests", "tools", "benchmarks", "scripts")
SECONDS_TO_END = 3.0
"""How long what a step started may take to end after it."""

LONG = 300
PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Step:
    """One command, and where it runs."""

    name: str
    command: Sequence[str]
    directory: Path = ROOT
    variables: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """How a step ended: its exit code, its seconds, and what it left running."""

    step: Step
    code: int
    seconds: float
    left_running: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Whether it ended well and left nothing behind."""
        return self.code == 0 and not self.left_running


def check_steps() -> Iterator[Step]:
    """Style and types."""
    places = [place for place in PYTHON_FILES if (ROOT / place).is_dir()]
    yield Step("ruff check", [tool("ruff"), "check", "--quiet", "--output-format=concise", *places])
    yield Step("ruff format", [tool("ruff"), "format", "--check", "--quiet", "--output-format=concise", *places])
    yield Step("mypy", [tool("mypy"), "--strict", "src", "tests", *map(str, sorted((ROOT / "scripts").glob("*.py")))])


def tool_steps() -> Iterator[Step]:
    """The tests that lie beside the local tools, each in an environment with that tool's own packages."""
    for tests in sorted((ROOT / "tools" / "local").glob("*/tests")):
        folder = tests.parent
        if not any(tests.glob("test_*.py")):
            continue
        command = ["-m", "pytest", "--quiet", "-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={folder}"]
        options = ["-W", "error", "--import-mode=importlib", "-o", "pythonpath=.", "tests"]
        try:
            python = str(tool_python(folder))
        except subprocess.CalledProcessError as error:
            print(f"The environment of {folder.name} could not be made: {error}", file=sys.stderr)
            python = "false"
        yield Step(f"tools/local/{folder.name}", [python, *command, *options], directory=folder)


def pytest_step(arguments: Sequence[str] = ()) -> Step:
    """All of the suite on two processes, or pytest with ``arguments``."""
    return Step("pytest", [sys.executable, "-m", "pytest", *(arguments or ["-n", "2"])])


def tool(name: str) -> str:
    """A program of the environment that this runs in."""
    return str(Path(sys.executable).with_name(name))


def tool_python(folder: Path) -> Path:
    """The Python of an environment with a local tool's packages and pytest; made where it is missing or outdated."""
    requirements = sorted(["pytest>=9,<10", *tool_requirements(folder)])
    environment = Path(sys.prefix) / "tool-tests" / folder.name
    python = environment / "bin" / "python"
    wanted = hashlib.sha256("\n".join([sys.version, *requirements]).encode()).hexdigest()
    record = environment / ".toolcrib"
    if python.exists() and record.is_file() and record.read_text() == wanted:
        return python
    uv = tool("uv")
    subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(environment)], check=True)
    command = [uv, "pip", "install", "--quiet", "--python", str(python), *requirements]
    if subprocess.run(command, check=False).returncode != 0:
        pip = [sys.executable, "-m", "pip", "--quiet", "--python", str(python)]
        subprocess.run([*pip, "install", *requirements], check=True)
    record.write_text(wanted)
    return python


def tool_requirements(folder: Path) -> list[str]:
    """What a tool needs: the PEP 723 header of its main.py, else its pyproject.toml."""
    main, project = folder / "main.py", folder / "pyproject.toml"
    lines = main.read_text(encoding="utf-8").splitlines() if main.is_file() else []
    if "# /// script" in lines:
        start = lines.index("# /// script") + 1
        header = lines[start : lines.index("# ///", start)]
        found = tomllib.loads("\n".join(line[1:].removeprefix(" ") for line in header)).get("dependencies", [])
    elif project.is_file():
        found = tomllib.loads(project.read_text(encoding="utf-8"))["project"].get("dependencies", [])
    else:
        found = []
    return [str(requirement) for requirement in found]


# Running


def run(step: Step) -> Outcome:
    """Run a step to its end, then end what it left running."""
    print(f"\n=== {step.name} ===", flush=True)
    started = time.monotonic()
    process = subprocess.Popen(
        step.command, cwd=step.directory, env=os.environ | step.variables, stdin=subprocess.DEVNULL
    )
    code = wait_for(process.pid)
    process.returncode = code
    return Outcome(step, code, time.monotonic() - started, tuple(end_leftovers()))


def wait_for(pid: int) -> int:
    """The exit code of a child; other children that end meanwhile, orphans handed to us, are buried."""
    while True:
        ended, status = os.waitpid(-1, 0)
        if ended == pid:
            return os.waitstatus_to_exitcode(status)


def end_leftovers() -> Iterator[str]:
    """Name and kill the descendants that are still there after a short while."""
    deadline = time.monotonic() + SECONDS_TO_END
    while (found := living_descendants()) and time.monotonic() < deadline:
        time.sleep(0.05)
    for process in found:
        try:
            name = " ".join(process.cmdline()) or process.name()
            process.kill()
        except psutil.Error:
            continue
        yield f"{process.pid} {name}"
    bury()


def living_descendants() -> list[psutil.Process]:
    """Every process that descends from this one, orphans too, since they are handed to us."""
    bury()
    return [each for each in psutil.Process().children(recursive=True) if each.status() != psutil.STATUS_ZOMBIE]


def bury() -> None:
    """Collect the exit codes of children that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def adopt_orphans() -> None:
    """Have the orphans among our descendants handed to us instead of to the first process (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def summarize(outcomes: Sequence[Outcome]) -> int:
    """Print how each step ended; 0 where all ended well."""
    print("\n=== summary ===")
    for outcome in outcomes:
        print(f"{'ok    ' if outcome.good else 'FAILED'} {outcome.seconds:7.1f} s  {outcome.step.name}")
        for left in outcome.left_running:
            print(f"                  left running, now killed: {left}")
    for name, lines in long_modules() if len(outcomes) > 1 else ():
        print(f"note: {name} has {lines} lines; {LONG} are enough for most modules")
    failed = [outcome.step.name for outcome in outcomes if not outcome.good]
    seconds = sum(outcome.seconds for outcome in outcomes)
    print(f"{'Failed: ' + ', '.join(failed) if failed else 'All steps are good'} ({seconds:.0f} s)", flush=True)
    return 1 if failed else 0


def long_modules() -> Iterator[tuple[str, int]]:
    """The modules that are longer than they should be; a test refuses those that are longer than they may be."""
    for path in sorted(path for place in ("src", "tools") for path in (ROOT / place).rglob("*.py")):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > LONG and ".venv" not in path.parts:
            yield str(path.relative_to(ROOT)), lines


def prepare_variables(home: str) -> None:
    """Give the steps a clean place and nothing of the user's own environment or settings."""
    for name in [*os.environ]:
        if name.startswith("TOOLCRIB_") and not name.startswith("TOOLCRIB_TEST_"):
            del os.environ[name]
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONHOME", "UV_PROJECT_ENVIRONMENT"):
        os.environ.pop(name, None)
    os.environ.setdefault("TOOLCRIB_TEST_SLACK", "2")
    os.environ["TOOLCRIB_HOME"] = home
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for; the exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    adopt_orphans()
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory(prefix="toolcrib-test-") as home:
        prepare_variables(home)
        try:
            match arguments:
                case ["check"]:
                    return summarize([run(step) for step in check_steps()])
                case ["test"]:
                    steps = itertools.chain(check_steps(), tool_steps(), [pytest_step()])
                    return summarize([run(step) for step in steps])
                case ["test", *given]:
                    return summarize([run(pytest_step(given))])
                case _:
                    print(__doc__, file=sys.stderr)
                    return 2
        finally:
            for left in end_leftovers():
                print(f"left running, now killed: {left}", file=sys.stderr)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
