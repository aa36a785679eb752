"""What a crib logs while its files stay wrong (contract T015)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.registry.project import Project, remote
from toolcrib.crib import Crib


async def test_T015_a_problem_that_stays_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    project = Project(tmp_path)
    crib = Crib(sources=[project.source])

    async def logged() -> list[str]:
        caplog.clear()
        await crib.reload()
        return [record.getMessage() for record in caplog.records]

    project.write_registry(remote("far", timout=3))
    (message,) = await logged()
    assert 'unknown key "timout"' in message
    assert 'Did you mean "timeout"?' in message
    assert await logged() == []
    assert len(crib.problems) == 1
    project.write_registry(remote("far", timout=3), remote("near", urll="x"))
    assert len(await logged()) == 1
    project.write_registry(remote("far"))
    assert await logged() == []
    project.write_registry(remote("far", timout=3))
    assert len(await logged()) == 1
