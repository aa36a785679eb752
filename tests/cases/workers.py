"""Processes that run cases, one case each at a time: what a case does to its process harms no other case."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait

from tests.cases.runners import Case, run

SECONDS_FOR_ONE = 15.0


class Worker:
    """One process and the case it is busy with."""

    def __init__(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self.pipe, inner = spawn.Pipe()
        self.process = spawn.Process(target=serve, args=(inner,), daemon=False)
        self.process.start()
        inner.close()
        self.index = -1
        self.ends = 0.0

    def begin(self, index: int, case: Case, ends: float) -> None:
        """Run a case; it has to be finished by ``ends`` on the monotonic clock."""
        self.index, self.ends = index, ends
        try:
            self.pipe.send(case)
        except BrokenPipeError:
            return  # it died between two cases; `finish` says so

    def finish(self) -> list[str]:
        """What the case gave, also where the process is dead."""
        try:
            found: list[str] = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            return [f"an outcome, the process of the case died (exit {self.process.exitcode})"]
        return found

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def serve(pipe: Connection) -> None:
    """Run what comes through the pipe until it is closed; what cases print goes to standard error."""
    os.dup2(2, 1)
    while True:
        try:
            case = pipe.recv()
        except EOFError:
            return
        pipe.send(run(case))


def outcomes(cases: Sequence[Case], count: int, seconds: float) -> Iterator[tuple[int, list[str]]]:
    """The differences of each case, in order, run by ``count`` processes within ``seconds`` in all."""
    ends = time.monotonic() + seconds
    waiting = list(range(len(cases)))[::-1]
    found: dict[int, list[str]] = {}
    busy: list[Worker] = []
    shown = 0
    try:
        while shown < len(cases):
            while waiting and len(busy) < count:
                worker = Worker()
                _next(worker, waiting, cases, ends)
                busy.append(worker)
            _collect(busy, waiting, cases, found, ends)
            while shown in found:
                yield shown, found[shown]
                shown += 1
    finally:
        for worker in busy:
            worker.end()


def _next(worker: Worker, waiting: list[int], cases: Sequence[Case], ends: float) -> None:
    index = waiting.pop()
    worker.begin(index, cases[index], min(ends, time.monotonic() + SECONDS_FOR_ONE))


def _collect(
    busy: list[Worker], waiting: list[int], cases: Sequence[Case], found: dict[int, list[str]], ends: float
) -> None:
    """Take what has come, end who is late or dead, and hand out the next cases."""
    first = min(worker.ends for worker in busy)
    ready = set(wait([worker.pipe for worker in busy], timeout=max(0.0, first - time.monotonic())))
    for worker in list(busy):
        if worker.pipe in ready:
            found[worker.index] = worker.finish()
        elif time.monotonic() >= worker.ends:
            found[worker.index] = ["an outcome in time, none came"]
        else:
            continue
        alive = worker.pipe in ready and worker.process.exitcode is None
        if alive and waiting:
            _next(worker, waiting, cases, ends)
        else:
            worker.end()
            busy.remove(worker)
