"""Whatever is in a batch, certain things hold; a part of the ten thousand that ``random_batches`` runs."""

from __future__ import annotations

import logging

import pytest

from tests.unit.execution.random_batches import run


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_N009_N025_random_batches_keep_the_invariants(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    await run(150, seed)
