"""Makes the repository's .venv and keeps it up to date. Needs Python 3.11 and nothing else.

    python scripts/_setup.py serve    what the service needs
    python scripts/_setup.py test     everything, and the programs that tests call

What was installed is remembered in .venv/.toolcrib, so that the next run does nothing and works without a network.
Several runs at once wait for each other.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
PYTHON = ENVIRONMENT / "bin" / "python"
RECORD = ENVIRONMENT / ".toolcrib"
CONSTRAINTS = ROOT / "constraints.txt"
SYSTEM_PROGRAMS = {"curl": "curl", "jq": "jq"}
"""Programs that tests call, and the Debian package that brings each."""

OF_ANOTHER_PYTHON = {
    *("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME", "PYTHONPATH"),
    *("UV_PROJECT_ENVIRONMENT", "PIP_TARGET", "PIP_PREFIX", "PIP_USER"),
}
"""Variables that would send the installers to the caller's own environment."""


class SetupError(Exception):
    """The environment cannot be made; the text says what to do."""


def main(purpose: str) -> None:
    """Bring the environment up to date for ``purpose``: "serve" or "test"."""
    with only_one_at_a_time():
        wanted = fingerprint()
        if not is_ready(purpose, wanted):
            started = time.monotonic()
            if must_be_made():
                make_environment()
            install_uv()
            install_packages(purpose)
            remember(purpose, wanted)
            say(f"The environment is ready ({time.monotonic() - started:.0f} s).")
        if purpose == "test":
            install_system_programs()


# What is there already


def fingerprint() -> str:
    """What the installed packages follow from; another fingerprint means that they must be installed again."""
    digest = hashlib.sha256()
    for path in (ROOT / "pyproject.toml", CONSTRAINTS, Path(__file__)):
        digest.update(path.read_bytes())
    digest.update(f"{sys.version} {os.uname().machine}".encode())
    return digest.hexdigest()


def record() -> dict[str, str]:
    """What earlier runs installed: the root, and a fingerprint for each purpose."""
    try:
        found = json.loads(RECORD.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def is_ready(purpose: str, wanted: str) -> bool:
    """Whether nothing is to be done; what the tests need includes what the service needs."""
    known = record()
    purposes = ("serve", "test") if purpose == "serve" else ("test",)
    return not must_be_made() and any(known.get(each) == wanted for each in purposes)


def must_be_made() -> bool:
    """Whether there is no environment, or one that was made elsewhere or for another Python."""
    if not os.access(PYTHON, os.X_OK) or record().get("root", str(ROOT)) != str(ROOT):
        return True
    return not (ENVIRONMENT / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}").is_dir()


def remember(purpose: str, wanted: str) -> None:
    """Write down what was installed, whole or not at all."""
    known = {"root": str(ROOT), **record(), purpose: wanted}
    fresh = RECORD.with_suffix(".new")
    fresh.write_text(json.dumps(known, indent=1))
    fresh.replace(RECORD)


@contextlib.contextmanager
def only_one_at_a_time() -> Iterator[None]:
    """Hold a lock that ends with this process; a file that is there anyway carries it."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Waiting for another set-up to end …")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


# What is made


def make_environment() -> None:
    """Make .venv anew with the Python that runs this."""
    say(f"Making {ENVIRONMENT} with Python {sys.version.split()[0]} …")
    base = base_python()
    if ENVIRONMENT.exists():
        shutil.rmtree(ENVIRONMENT)
    with_pip = ensure_pip_can_be_brought()
    run([base, "-I", "-m", "venv", *([] if with_pip else ["--without-pip"]), str(ENVIRONMENT)])


def base_python() -> str:
    """The Python outside any virtual environment."""
    return str(getattr(sys, "_base_executable", None) or sys.executable)


def ensure_pip_can_be_brought() -> bool:
    """Whether ``venv`` can put pip into an environment; False where the machine's own pip will do it instead."""
    if importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip"):
        return True
    if importlib.util.find_spec("venv") and succeeds([base_python(), "-I", "-m", "pip", "--version"]):
        return False
    package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
    if install_debian_packages([package]):
        return True
    raise SetupError(
        "This Python can make no virtual environment (ensurepip is missing).\n"
        f"Debian, Ubuntu: apt-get install {package}   Elsewhere: install Python's venv and pip."
    )


def install_uv() -> None:
    """Put uv into the environment, by whichever pip there is."""
    if (ENVIRONMENT / "bin" / "uv").exists():
        return
    say("Installing uv …")
    run([*pip(), "install", "--quiet", "--constraint", str(CONSTRAINTS), "uv"])


def pip() -> list[str]:
    """How to call a pip that installs into the environment."""
    if succeeds([str(PYTHON), "-I", "-m", "pip", "--version"]):
        return [str(PYTHON), "-I", "-m", "pip"]
    return [base_python(), "-I", "-m", "pip", "--python", str(PYTHON)]


def install_packages(purpose: str) -> None:
    """Install toolcrib as an editable package and what it needs: by uv, or by pip where uv cannot."""
    extras, others = ("serve", []) if purpose == "serve" else ("all", development_requirements())
    wanted = ["--constraint", str(CONSTRAINTS), "--editable", f".[{extras}]", *others]
    say(f"Installing toolcrib[{extras}]{' and what its tests need' if others else ''} …")
    uv = str(ENVIRONMENT / "bin" / "uv")
    try:
        run([uv, "pip", "install", "--python", str(PYTHON), "--compile-bytecode", *wanted], **index_of_pip())
    except SetupError:
        say("uv could not; trying pip …")
        run([*pip(), "install", *wanted])


def index_of_pip() -> dict[str, str]:
    """Tell uv of the package index that pip is configured with, unless uv has an index of its own."""
    files = (Path("/etc/uv/uv.toml"), Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "uv/uv.toml")
    if any(name.startswith("UV_") and "INDEX" in name for name in os.environ) or any(map(Path.exists, files)):
        return {}
    command = [*pip(), "config", "get", "global.index-url"]
    asked = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, check=False)
    index = os.environ.get("PIP_INDEX_URL") or asked.stdout.strip()
    return {"UV_DEFAULT_INDEX": index} if index else {}


def development_requirements(group: str = "dev") -> list[str]:
    """The requirements of a dependency group of pyproject.toml, those of included groups too."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    found: list[str] = []
    for entry in groups[group]:
        found += development_requirements(entry["include-group"]) if isinstance(entry, dict) else [entry]
    return found


def install_system_programs() -> None:
    """Bring the programs that tests call; where that cannot be, say so, and their tests skip by name."""
    missing = {program: package for program, package in SYSTEM_PROGRAMS.items() if not shutil.which(program)}
    if missing and not install_debian_packages(sorted(missing.values())):
        say(f"Not installed: {', '.join(missing)}. The tests that need them will be skipped.")


def install_debian_packages(packages: Sequence[str]) -> bool:
    """Install Debian packages where that is allowed; False where it is not or failed."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    say(f"Installing {', '.join(packages)} by apt-get …")
    apt = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=120"]
    return succeeds([*apt, "update"]) and succeeds([*apt, "install", "--yes", "--no-install-recommends", *packages])


# How programs are called


def run(command: Sequence[str], **variables: str) -> None:
    """Run a program and show what it prints; raise SetupError where it fails."""
    environment = clean_environment() | variables
    try:
        subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, check=True)
    except OSError as error:
        raise SetupError(f"{command[0]} could not be started: {error}") from error
    except subprocess.CalledProcessError as error:
        raise SetupError(f"This failed (exit {error.returncode}): {' '.join(command)}") from error


def succeeds(command: Sequence[str]) -> bool:
    """Whether a program runs and ends well; what it prints is not shown."""
    try:
        finished = subprocess.run(
            command, cwd=ROOT, env=clean_environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    except OSError:
        return False
    return finished.returncode == 0


def clean_environment() -> dict[str, str]:
    """The caller's environment variables without those that point at the caller's own Python environment."""
    environment = {name: value for name, value in os.environ.items() if name not in OF_ANOTHER_PYTHON}
    return environment | {
        "DEBIAN_FRONTEND": "noninteractive",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "UV_PYTHON_DOWNLOADS": "never",
    }


def say(text: str) -> None:
    """Tell the person what happens; standard output stays free for the script that called."""
    print(f"[set-up] {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    if sys.argv[1:] not in (["serve"], ["test"]):
        sys.exit(__doc__)
    try:
        main(sys.argv[1])
    except SetupError as error:
        say(str(error))
        sys.exit(1)
    except OSError as error:
        say(f"{ROOT} must be writable for the set-up: {error}")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
