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
FILES = ("schemas.jsonl", "schemas_own.jsonl")
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
    endless = {
        "id": "W3",
        "input": {"python": "import os\ndef f() -> int:\n    os._exit(3)", "calls": [{}]},
        "expected": {"call_results": [1]},
    }
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
    path.write_text(json.dumps(endless), "utf-8")
    assert command(path).stdout.splitlines()[-1] == "0 passed, 1 failed"
    path.write_text(json.dumps(good), "utf-8")
    assert command(path).returncode == 0
