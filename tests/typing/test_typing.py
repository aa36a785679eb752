"""Decorating a function does not change what a type checker knows of it (contract N048)."""

from __future__ import annotations

import sys
from pathlib import Path

from mypy import api


def test_N048_the_decorator_preserves_types(tmp_path: Path) -> None:
    sample = Path(__file__).with_name("tool_decorator.py")
    config = Path(__file__).parents[2] / "pyproject.toml"

    output, errors, status = api.run(
        ["--config-file", str(config), "--cache-dir", str(tmp_path), "--python-executable", sys.executable, str(sample)]
    )

    assert status == 0, output + errors
