"""Runs files of cases side by side, prints one line for each that fails, and how many passed."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

from tests.cases.runners import Case, run

SECONDS_FOR_ALL = 40.0


def cases_in(paths: list[str]) -> Iterator[tuple[str, Case]]:
    """Every case of the files, with its id."""
    for path in paths:
        for number, line in enumerate(Path(path).read_text("utf-8").splitlines(), 1):
            if line.strip():
                case = json.loads(line)
                yield str(case.get("id", f"{Path(path).name}:{number}")), case


def outcome(future: Future[list[str]], seconds: float) -> list[str]:
    """What a case gave, also where its process died or never answered."""
    try:
        return future.result(timeout=seconds)
    except BrokenProcessPool:
        return ["an outcome, the process of the cases died"]
    except TimeoutError:
        return ["an outcome in time, none came"]


def main(paths: list[str]) -> int:
    """Run all files; 1 where any case failed."""
    ends = time.monotonic() + SECONDS_FOR_ALL
    failed = 0
    cases = list(cases_in(paths))
    pool = ProcessPoolExecutor(max_workers=max(2, os.cpu_count() or 2), mp_context=get_context("spawn"))
    try:
        futures = [(name, pool.submit(run, case)) for name, case in cases]
        for name, future in futures:
            differences = outcome(future, max(0.1, ends - time.monotonic()))
            if differences:
                failed += 1
                print(f"{name}: {'; '.join(differences)}".replace("\n", " ⏎ "), flush=True)
    finally:
        for process in list((pool._processes or {}).values()) if time.monotonic() >= ends else []:
            process.kill()
        pool.shutdown(wait=True, cancel_futures=True)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
