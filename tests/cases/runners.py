"""Which runner a case belongs to; told apart by the fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.cases import arguments, schemas

Case = Mapping[str, Any]
RUNNERS: tuple[tuple[Callable[[Case], bool], Callable[[Case], list[str]]], ...] = (
    (schemas.is_case, schemas.run),
    (arguments.is_case, arguments.run),
)
"""What tells a form by its fields, and what runs a case of it: the differences between expected and got."""


SCENARIOS = ("C.", "D.", "E.")
"""Areas whose cases are told in words, for a person: execution, builtins, service."""


def is_scenario(case: Case) -> bool:
    """Whether a case is told in words, so that only a test written for it can play it."""
    return str(case.get("area", "")).startswith(SCENARIOS) and not any(is_case(case) for is_case, _ in RUNNERS)


def run(case: Case) -> list[str]:
    """The differences of one case; empty = it passed."""
    for is_case, runner in RUNNERS:
        if is_case(case):
            try:
                return runner(case)
            except Exception as error:  # one broken case is one line
                return [f"an outcome, {type(error).__name__}: {error}"]
    return ["a known form of case, no runner knows this one"]
