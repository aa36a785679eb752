"""The same case in processes with different hash seeds: what a provider's prompt cache needs to be identical."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any


def fingerprints(case: Mapping[str, Any]) -> list[str]:
    """The serialised list of tools, from two fresh processes."""
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.cases.processes"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        for seed in ("1", "4242")
    ]
    return [process.communicate(json.dumps(case))[0] for process in running]


def main() -> None:
    """Print the list of tools of the case on standard input."""
    from tests.cases import schemas

    case = json.load(sys.stdin)
    tools = schemas.register(case["input"], str(case.get("id", "case")))
    print(json.dumps(schemas.subject_of(tools, case["input"].get("dialect")).listed))


if __name__ == "__main__":
    main()
