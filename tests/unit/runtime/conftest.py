"""A workshop for each test, and uv's cache away from the person's own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.unit.runtime.workshop import Workshop, make_settings


@pytest.fixture(scope="module", autouse=True)
def uv_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """What uv builds for the tests' folders is thrown away with them; only these modules see that cache."""
    cache = tmp_path_factory.getbasetemp() / "uv-cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UV_CACHE_DIR", str(cache))
        patch.delenv("UV_PROJECT_ENVIRONMENT", raising=False)
        yield cache


@pytest.fixture
async def workshop(tmp_path: Path) -> AsyncIterator[Workshop]:
    """An open supervisor over an empty home; afterwards nothing of it runs."""
    workshop = await Workshop(tmp_path / "tools", make_settings(tmp_path / "home")).open()
    yield workshop
    await workshop.close()
