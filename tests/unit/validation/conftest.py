"""A project for each test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.validation.world import World


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A project in which every check passes."""
    package = f"project_{abs(hash(tmp_path))}"
    monkeypatch.syspath_prepend(tmp_path)
    yield World(tmp_path, package)
    for module in [each for each in sys.modules if each.partition(".")[0] == package]:
        del sys.modules[module]
