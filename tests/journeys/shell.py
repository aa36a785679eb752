"""The command line in a project and with a home of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import psutil

from tests.journeys.service import SLACK, environment, free_port
from toolcrib.interfaces.cli.new import scaffold


class Shell:
    """Runs ``toolcrib`` in a project and with a home of its own."""

    def __init__(self, directory: Path) -> None:
        self.home = directory / "home"
        self.project = directory / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        self.variables = {"TOOLCRIB_FIRST_TOOL_PORT": str(free_port()), "TOOLCRIB_LAST_TOOL_PORT": "65535"}

    def __call__(self, *arguments: str, stdin: str | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "toolcrib", *arguments],
            cwd=self.project,
            env=environment(self.home, **self.variables, **variables),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=60 * SLACK,
            check=False,
        )

    def begin(self, *arguments: str, stdout: int | TextIO = subprocess.PIPE) -> subprocess.Popen[str]:
        """Begin a command and go on."""
        return subprocess.Popen(
            [sys.executable, "-m", "toolcrib", *arguments],
            cwd=self.project,
            env=environment(self.home, **self.variables, PYTHONUNBUFFERED="1"),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ok(self, *arguments: str, stdin: str | None = None, **variables: str) -> str:
        """Run a command that has to succeed; its standard output."""
        finished = self(*arguments, stdin=stdin, **variables)
        assert finished.returncode == 0, finished.stdout + finished.stderr
        return finished.stdout

    def scaffold(self, tool_id: str = "repeat", *, fastapi: bool = False) -> Path:
        return scaffold(tool_id, self.project / "tools" / "local", name_zh="重复", name_en="Repeat", fastapi=fastapi)


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for what a process does in its own time."""
    limit = time.monotonic() + seconds * SLACK
    while not condition():
        assert time.monotonic() < limit, "it did not happen in time"
        time.sleep(0.02)


def processes_below(folder: Path) -> list[psutil.Process]:
    """The processes that work in a folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()).is_relative_to(folder) and process.pid != os.getpid():
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found
