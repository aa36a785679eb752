"""The repository as the house rules see it: its files, and the modules of the package."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
GENERATED = {"__pycache__", "build", "dist", "node_modules"}


def repository_files() -> list[Path]:
    """Every file that is, or would be, under version control."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, capture_output=True, text=True, check=False)
        if listed.returncode == 0:
            return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]
    return sorted(path for path in ROOT.rglob("*") if path.is_file() and not _is_generated(path.relative_to(ROOT)))


def _is_generated(path: Path) -> bool:
    folders = path.parts[:-1]
    hidden = any(part.startswith(".") and part != ".ci" for part in folders)
    generated = any(part in GENERATED or part.endswith(".egg-info") for part in folders)
    return hidden or generated or path.suffix == ".pyc" or path.name == "last_run.log"


def module_paths() -> dict[str, Path]:
    """The modules of the package by name; a package stands for its ``__init__.py``."""
    found = {}
    for path in sorted((SOURCE / "toolcrib").rglob("*.py")):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found
