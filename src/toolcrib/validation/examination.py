"""Examines one tool's folder from its manifest to the end of its process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from toolcrib.validation.findings import Finding

if TYPE_CHECKING:
    pass

CALL_SECONDS = 120.0
WRITTEN_BY_US = ("last_run.log", "__pycache__", ".pytest_cache", ".venv")

Report = Callable[[Finding], None]
