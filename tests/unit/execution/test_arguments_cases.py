"""The cases of damaged calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases.runners import run

CASES = Path(__file__).parents[2] / "cases"
FILES = ("arguments.jsonl", "arguments_own.jsonl")
ARGUMENTS = [json.loads(line) for name in FILES for line in (CASES / name).read_text("utf-8").splitlines()]


@pytest.mark.parametrize("case", ARGUMENTS, ids=lambda case: str(case["id"]))
def test_N006_calls_as_providers_send_them(case: dict[str, Any]) -> None:
    assert run(case) == []


@pytest.mark.parametrize(
    "expected",
    [
        {"calls": []},
        {"calls": [{"tool": "echo", "arguments": {"a": 2}}]},
        {"calls": [{"tool": "other", "arguments": {"a": 1}}]},
        {"calls": [{"tool": "echo", "arguments": {"a": True}}]},
        {"calls": [{"tool": "echo", "arguments_json_equal": '{"a": 1.0}'}]},
        {"calls": [{"tool": "echo", "arguments": {"a": 1}, "id": "x"}]},
        {"errors": [{"kind": "truncated"}]},
        {"repairs": []},
        {"repairs": ["trailing_comma", "fence"]},
        {"visible_text": "more"},
    ],
)
def test_another_outcome_than_the_expected_one_fails(expected: dict[str, Any]) -> None:
    sent = {"id": "c1", "function": {"name": "echo", "arguments": '{"a": 1,}'}}
    tool = {"name": "echo", "effects": "read", "parameters": {"type": "object", "properties": {"a": {}}}}
    given = {"tools": [tool], "tool_calls": [sent], "content": ""}
    right = {"calls": [{"tool": "echo", "arguments": {"a": 1}}], "errors": [], "repairs": ["trailing_comma"]}

    assert run({"input": given, "expected": right}) == []
    assert run({"input": given, "expected": expected}) != []
    assert run({"input": given, "expected": expected, "allowed": [right]}) == []
