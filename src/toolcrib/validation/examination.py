"""Examines one tool's folder from its manifest to the end of its process."""

from __future__ import annotations

import asyncio
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import SourceError, ToolcribError
from toolcrib.validation import conformance
from toolcrib.validation.conformance import CPU_SECONDS, Subject
from toolcrib.validation.findings import Finding, failed, passed, warned
from toolcrib.validation.manifest import check_header, check_manifest

if TYPE_CHECKING:
    import psutil

    from toolcrib.runtime.supervisor import Supervisor
    from toolcrib.settings import Settings

CALL_SECONDS = 120.0
WRITTEN_BY_US = ("last_run.log", "__pycache__", ".pytest_cache", ".venv")

Report = Callable[[Finding], None]
