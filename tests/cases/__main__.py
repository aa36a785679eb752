"""Runs files of cases side by side, prints one line for each that fails, and how many passed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.cases.runners import Case
from tests.cases.workers import outcomes

SECONDS_FOR_ALL = 40.0


def cases_in(paths: list[str]) -> Iterator[tuple[str, Case]]:
    """Every case of the files, with its id."""
    for path in paths:
        for number, line in enumerate(Path(path).read_text("utf-8").splitlines(), 1):
            if line.strip():
                case = json.loads(line)
                yield str(case.get("id", f"{Path(path).name}:{number}")), case


def main(paths: list[str]) -> int:
    """Run all files; 1 where any case failed."""
    named = list(cases_in(paths))
    count = min(max(2, os.cpu_count() or 2), len(named))
    failed = 0
    for index, differences in outcomes([case for _, case in named], count, SECONDS_FOR_ALL):
        if differences:
            failed += 1
            print(f"{named[index][0]}: {'; '.join(differences)}".replace("\n", " ⏎ "), flush=True)
    print(f"{len(named) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
