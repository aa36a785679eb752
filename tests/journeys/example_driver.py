"""Runs one example beside a real service on the documented port; started by the tests inside a network of its own.

Usage: example_driver.py (python|bash) FILE — writes tools.json (GET /tools afterwards) into the working directory.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROUTER = "http://127.0.0.1:8001"


def wait_until_healthy(process: subprocess.Popen[bytes], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            sys.exit(f"toolcrib serve ended with {process.returncode}")
        try:
            with urllib.request.urlopen(f"{ROUTER}/health", timeout=2) as answer:
                if answer.read() == b'{"status":"ok"}':
                    return
        except OSError:
            time.sleep(0.05)
    sys.exit("toolcrib serve did not become healthy")


def run_python(source: str) -> None:
    """Run a snippet with `async with` at its top level, as a notebook does."""
    code = compile(source, "<example>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    names: dict[str, object] = {"__name__": "__example__"}
    value = eval(code, names)
    if inspect.iscoroutine(value):
        asyncio.run(value)


def main() -> None:
    kind, file = sys.argv[1], Path(sys.argv[2])
    service = subprocess.Popen([sys.executable, "-m", "toolcrib", "serve"])
    try:
        wait_until_healthy(service)
        if kind == "python":
            run_python(file.read_text(encoding="utf-8"))
        else:
            subprocess.run(["bash", "-euo", "pipefail", str(file)], check=True)
        with urllib.request.urlopen(f"{ROUTER}/tools", timeout=5) as answer:
            Path("tools.json").write_text(json.dumps(json.load(answer)), encoding="utf-8")
    finally:
        service.terminate()
        service.wait(20)


if __name__ == "__main__":
    main()
