"""``scripts/serve`` as a person starts it: from anywhere, with nothing set up by hand."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from tests.house.tree import ROOT
from tests.journeys.service import SLACK, environment, free_port

SECONDS_TO_HEALTH = 5.0

pytestmark = [
    pytest.mark.journey,
    pytest.mark.skipif(Path(sys.prefix) != ROOT / ".venv", reason="would set up an environment other than this one"),
]


def seconds_until_ready(directory: Path) -> tuple[float, bytes, int]:
    """Start the script, ask for its health when it says that it is ready, and end it: seconds, answer, exit status."""
    variables = environment(
        directory / "home", TOOLCRIB_FIRST_TOOL_PORT=str(free_port()), TOOLCRIB_LAST_TOOL_PORT="65535"
    )
    started = time.monotonic()
    with subprocess.Popen(
        [ROOT / "scripts" / "serve", "--port", str(free_port())],
        cwd=directory,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        watchdog = threading.Timer(120 * SLACK, lambda: os.killpg(process.pid, 9))
        watchdog.start()
        try:
            line = next((line for line in process.stdout if "ready at http" in line), "")
            assert line, "the script ended before it was ready"
            seconds = time.monotonic() - started
            with urllib.request.urlopen(f"{line.split()[-1]}/health", timeout=5 * SLACK) as answer:
                health = answer.read()
        finally:
            process.terminate()
            status = process.wait(15 * SLACK)
            watchdog.cancel()
    return seconds, health, status


def test_T001_T002_serve_prepares_the_tools_and_answers_and_the_second_time_at_once(tmp_path: Path) -> None:
    seconds_until_ready(tmp_path)
    seconds, health, status = seconds_until_ready(tmp_path)
    assert health == b'{"status":"ok"}'
    assert seconds < SECONDS_TO_HEALTH * SLACK
    assert status == 0
