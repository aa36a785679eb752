"""A supervisor with tools that the tests write: folders, small servers of the standard library, no network."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from toolcrib.definition.call import Deadline, ToolCall
from toolcrib.definition.deployment import Deployment
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.runtime.dispatch import Dispatcher
from toolcrib.runtime.local import LocalRunner
from toolcrib.runtime.supervisor import Supervisor
from toolcrib.settings import Settings

SLACK = float(os.environ.get("TOOLCRIB_TEST_SLACK", "2"))

HEADER = """\
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""

SERVER = """\
import argparse, json, os, signal, subprocess, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, required=True)
port = parser.parse_args().port
health = {"status": "ok"}
seen = []

@BEFORE@


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, body, status=200, headers=()):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/health":
            self.answer(health)
        else:
            self.answer({"path": self.path, "headers": {key.lower(): value for key, value in self.headers.items()}})

    def do_POST(self):
        params = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        seen.append(params)
        if "print" in params:
            print(params["print"])
        if "sleep" in params:
            time.sleep(params["sleep"])
        if "exit" in params:
            os._exit(params["exit"])
        if "kill" in params:
            os.kill(os.getpid(), signal.SIGKILL)
        if "shout" in params:
            sys.stderr.write("x" * params["shout"])
            sys.stderr.flush()
        if "child" in params:
            child = subprocess.Popen(["sleep", "300"], start_new_session=params["child"] == "own session")
            self.answer({"pid": os.getpid(), "child": child.pid})
        elif "environment" in params:
            self.answer(dict(os.environ))
        elif "descriptors" in params:
            self.answer({name: os.readlink("/proc/self/fd/" + name) for name in os.listdir("/proc/self/fd")
                         if os.path.exists("/proc/self/fd/" + name)})
        elif "text" in params:
            self.answer({"text": "y" * params["text"]})
        elif "length" in params:
            self.answer({"length": len(params["length"])})
        else:
            self.answer({"pid": os.getpid(), "port": port, "path": self.path, "params": params, "calls": len(seen),
                         "directory": os.getcwd(), "argv": sys.argv,
                         "headers": {key.lower(): value for key, value in self.headers.items()}})


class Server(ThreadingHTTPServer):
    daemon_threads = True


Server(("127.0.0.1", port), Handler).serve_forever()
"""


def free_port() -> int:
    """A port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def write_main(directory: Path, *, before: str = "", header: str = HEADER, program: str | None = None) -> Path:
    """Write a tool's folder; ``before`` runs before it listens, ``program`` replaces the whole server."""
    directory.mkdir(parents=True, exist_ok=True)
    text = SERVER.replace("@BEFORE@", textwrap.dedent(before)) if program is None else textwrap.dedent(program)
    (directory / "main.py").write_text(header + text)
    return directory


def make_settings(home: Path, **changes: Any) -> Settings:
    """Settings with a home and a range of ports of their own."""
    first = changes.get("first_tool_port") or min(free_port(), 65000)
    given: dict[str, Any] = {"home": home, "port": free_port(), "stop_grace": 2}
    given |= {"first_tool_port": first, "last_tool_port": first + 400}
    return Settings(**(given | changes))


def define(directory: Path, **deployment: Any) -> ToolDefinition:
    """The definition of the tool in a folder."""
    return ToolDefinition(
        directory.name, "For a test.", {"type": "object"}, deployment=Deployment("local", directory, **deployment)
    )


class Workshop:
    """A supervisor, a dispatcher and a runner over one home, and the tools written so far."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self.settings = settings
        self.supervisor = Supervisor(settings)
        self.dispatcher = Dispatcher(settings)
        self.runner = LocalRunner(self.supervisor, self.dispatcher)
        self.tools: dict[str, ToolDefinition] = {}

    async def open(self) -> Workshop:
        """Open the supervisor."""
        await self.supervisor.open()
        return self

    async def close(self) -> None:
        """Close what was opened."""
        await self.dispatcher.close()
        await self.supervisor.close()

    def add(self, name: str, *, before: str = "", program: str | None = None, **deployment: Any) -> ToolDefinition:
        """Write a tool and tell the supervisor."""
        directory = write_main(self.folder / name, before=before, program=program)
        return self.define(name, directory, **deployment)

    def define(self, name: str, directory: Path, **deployment: Any) -> ToolDefinition:
        """Tell the supervisor of a tool whose folder exists."""
        self.tools[name] = define(directory, **deployment)
        self.supervisor.update(self.tools.values())
        return self.tools[name]

    async def run(self, name: str, *, timeout: float = 60.0, **params: Any) -> ToolResult:
        """Call a tool."""
        return await self.runner.run(ToolCall(self.tools[name], params), Deadline(timeout))

    async def call(self, name: str, *, timeout: float = 60.0, **params: Any) -> Any:
        """Call a tool and return its data."""
        result = await self.run(name, timeout=timeout, **params)
        assert result.success, result
        return result.data


async def until(condition: Callable[[], object], seconds: float = 5.0) -> None:
    """Wait for something that no event announces, ``seconds`` × slack at most."""
    limit = time.monotonic() + seconds * SLACK
    while not condition():
        assert time.monotonic() < limit, "it did not happen in time"
        await asyncio.sleep(0.02)


def begin(*argv: str | Path, **options: Any) -> subprocess.Popen[bytes]:
    """Start a process of the test's own."""
    return subprocess.Popen(argv, **options)


def lives(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@contextmanager
def by_hand(directory: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A tool that a person started: ``cd directory; python main.py --port N``."""
    process = subprocess.Popen([sys.executable, "main.py", "--port", str(port)], cwd=directory, start_new_session=True)
    try:
        limit = time.monotonic() + 10 * SLACK
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                assert time.monotonic() < limit
                time.sleep(0.02)
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
