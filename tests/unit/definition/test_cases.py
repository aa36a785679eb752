"""The cases of hard schemas, and that the command which runs them tells right from wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cases.runners import run

CASES = Path(__file__).parents[2] / "cases"
FILES = ("schemas.jsonl", "schemas_own.jsonl", "schemas_hard.jsonl")
SCHEMAS = [json.loads(line) for name in FILES for line in (CASES / name).read_text("utf-8").splitlines()]


@pytest.mark.parametrize("case", SCHEMAS, ids=lambda case: str(case["id"]))
def test_N048_hard_schemas(case: dict[str, Any]) -> None:
    assert run(case) == []


def command(*paths: Path) -> subprocess.CompletedProcess[str]:
    """Run the command on files."""
    arguments = [sys.executable, "-m", "tests.cases", *map(str, paths)]
    return subprocess.run(arguments, capture_output=True, text=True, cwd=CASES.parents[1], check=False)


def test_the_command_names_each_failing_case_and_counts_last(tmp_path: Path) -> None:
    good = {
        "id": "G1",
        "input": {"python": "def f(x: int) -> int:\n    return x", "calls": [{"x": 1}]},
        "expected": {"call_results": [1]},
    }
    wrong = {
        **good,
        "id": "W1",
        "expected": {"facts": [["properties.x.type", "eq", "string"]], "call_results": ["ERROR: x"]},
    }
    broken = {"id": "W2", "input": {"python": "def f("}, "expected": {}}
    unknown = {"id": "W4", "input": {"what": 1}, "expected": {}}
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(json.dumps(case) for case in (good, wrong, broken, unknown)), "utf-8")

    done = command(path)

    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert lines[-1] == "1 passed, 3 failed"
    assert lines[0].startswith("W1: properties.x.type eq: expected 'string', got \"integer\"; call ")
    assert lines[1].startswith("W2: ")
    assert lines[2].startswith("W4: ")
    path.write_text(json.dumps(good), "utf-8")
    assert command(path).returncode == 0


def test_a_case_that_ends_its_process_fails_alone(tmp_path: Path) -> None:
    fatal = [
        {"id": f"F{number}", "input": {"python": f"import os\nos.{act}\ndef f() -> int:\n    return 1"}, "expected": {}}
        for number, act in enumerate(("_exit(3)", "kill(os.getpid(), 9)"), 1)
    ]
    good = [
        {
            "id": f"G{number}",
            "input": {"python": "def f(x: int) -> int:\n    print('noise')\n    return x", "calls": [{"x": 1}]},
            "expected": {"call_results": [1]},
        }
        for number in range(4)
    ]
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(json.dumps(case) for case in (good[0], fatal[0], good[1], fatal[1], *good[2:])), "utf-8")

    assert command(path).stdout.splitlines() == [
        "F1: an outcome, the process of the case died (exit 3)",
        "F2: an outcome, the process of the case died (exit -9)",
        "4 passed, 2 failed",
    ]


def test_annotations_of_a_case_are_postponed_only_where_it_says_so() -> None:
    source = "def f(x: int) -> int:\n    return x\nassert f.__annotations__ == {'x': int, 'return': int}"

    assert run({"id": "P1", "input": {"python": source}, "expected": {"facts": []}}) == []
