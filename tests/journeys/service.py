"""A real `toolcrib serve` for tests: its own process, home and port."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

SLACK = float(os.environ.get("TOOLCRIB_TEST_SLACK", "2"))


def free_port() -> int:
    """A port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Service:
    """A running service and a client for it."""

    process: subprocess.Popen[str]
    url: str
    home: Path
    project: Path
    log: Path
    client: httpx2.Client

    def kill(self) -> None:
        """End the router the hard way, as a crash would."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(10)

    def tool(self, tool_id: str) -> dict[str, object]:
        """The tool's item in GET /tools."""
        items = self.client.get("/tools").json()["tools"]
        return next(item for item in items if item["tool_id"] == tool_id)


def environment(home: Path, **extra: str) -> dict[str, str]:
    """The test's environment with a home of its own."""
    return {**os.environ, "TOOLCRIB_HOME": str(home), "NO_PROXY": "*", **extra}


@contextmanager
def running_service(
    directory: Path, *, extra: Mapping[str, str] | None = None, arguments: tuple[str, ...] = ()
) -> Iterator[Service]:
    """Start a service in ``directory`` (home and project below it) and end it afterwards."""
    home, project, port = directory / "home", directory / "project", free_port()
    project.mkdir(parents=True, exist_ok=True)
    home.mkdir(parents=True, exist_ok=True)
    log = directory / "serve.log"
    ports = {"TOOLCRIB_FIRST_TOOL_PORT": str(free_port()), "TOOLCRIB_LAST_TOOL_PORT": "65535"}
    with log.open("a", encoding="utf-8") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "toolcrib", "serve", "--port", str(port), *arguments],
            cwd=project,
            env=environment(home, **{**ports, **(extra or {})}),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
    url = f"http://127.0.0.1:{port}"
    with httpx2.Client(base_url=url, timeout=60 * SLACK, trust_env=False) as client:
        service = Service(process, url, home, project, log, client)
        try:
            wait_until_healthy(service)
            yield service
        finally:
            if process.poll() is None:
                process.terminate()
            try:
                process.wait(15 * SLACK)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise AssertionError(f"the service did not end when asked:\n{log.read_text()}") from None


def wait_until_healthy(service: Service, seconds: float = 15.0) -> None:
    """Wait for GET /health; fails with the service's output."""
    deadline = time.monotonic() + seconds * SLACK
    while time.monotonic() < deadline:
        if service.process.poll() is not None:
            break
        try:
            if service.client.get("/health").status_code == 200:
                return
        except httpx2.TransportError:
            time.sleep(0.05)
    raise AssertionError(f"the service did not become healthy:\n{service.log.read_text()}")
