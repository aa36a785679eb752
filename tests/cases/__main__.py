"""Runs files of cases side by side, prints one line for each that fails, and how many passed.

    python -m tests.cases FILE...

Exit status: 0 where all passed, 1 where one failed, 2 where a file cannot be read.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.cases.runners import Case, is_scenario
from tests.cases.workers import outcomes

SECONDS_FOR_ALL = 40.0
USAGE = "usage: python -m tests.cases FILE...   files of cases, one JSON object a line"


class UnreadableError(Exception):
    """A file of cases is not there, or is none; the text says which and where."""


def cases_in(paths: list[str]) -> Iterator[tuple[str, Case]]:
    """Every case of the files, with its id.

    Raises:
        UnreadableError: a file cannot be read.
    """
    for path in paths:
        try:
            text = Path(path).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UnreadableError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip():
                continue
            try:
                case = json.loads(line)
            except ValueError as error:
                raise UnreadableError(f"{path}:{number} is not JSON: {error}") from None
            if not isinstance(case, dict):
                raise UnreadableError(f"{path}:{number} is no case: it should be a JSON object")
            yield str(case.get("id", f"{Path(path).name}:{number}")), case


def main(paths: list[str]) -> int:
    """Run all files; 1 where any case failed, 2 where there is nothing that can be run."""
    if not paths or any(path.startswith("-") for path in paths):
        print(USAGE, file=sys.stderr)
        return 0 if paths in (["-h"], ["--help"]) else 2
    try:
        named = list(cases_in(paths))
    except UnreadableError as error:
        print(f"{error}\n{USAGE}", file=sys.stderr)
        return 2
    told = [name for name, case in named if is_scenario(case)]
    named = [(name, case) for name, case in named if not is_scenario(case)]
    failed = 0
    count = min(max(2, os.cpu_count() or 2), len(named))
    for index, differences in outcomes([case for _, case in named], count, SECONDS_FOR_ALL) if named else ():
        if differences:
            failed += 1
            print(f"{named[index][0]}: {'; '.join(differences)}".replace("\n", " ⏎ "), flush=True)
    if told:
        print(
            f"{len(told)} are scenarios told in words ({told[0]} to {told[-1]}), which are not run here: "
            "a test that plays one carries its id in its name"
        )
    print(f"{len(named) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
