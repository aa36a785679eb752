"""A desk for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.execution.executing import Desk


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setenv("TOOLCRIB_HOME", str(tmp_path))
    desk = Desk()
    yield desk
    desk.executor.close()
