"""Calls the tools of OpenAPI documents the way a service does."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.execution.pipeline import Pipeline
from toolcrib.registry.registry import ToolRegistry
from toolcrib.registry.sources.openapi.source import OpenApiDocument
from toolcrib.runtime.http_api import HttpApiRunner
from toolcrib.storage.artifacts import FileArtifactStore

DATA = Path(__file__).parents[1] / "data" / "openapi"
SLACK = float(os.environ.get("TOOLCRIB_TEST_SLACK", "2"))
SECRET = "s3cr3t/+ value&more".replace(" ", "~")
AUTH: dict[str, str | Mapping[str, str]] = {
    "api_key": "env:SHOP_KEY",
    "query_key": "env:SHOP_KEY",
    "session_cookie": "env:SHOP_KEY",
    "shop_login": {"username": "env:SHOP_USER", "password": "env:SHOP_KEY"},
}
PNG = b"\x89PNG\r\n\x1a\nreally"


class Caller:
    """Calls tools by name, and keeps files as a service does."""

    def __init__(self, tools: Iterable[ToolDefinition], store: FileArtifactStore, *, limit: int = 100_000) -> None:
        self.store = store
        self.registry = ToolRegistry()
        for tool in tools:
            self.registry.register(tool)
        self.runner = HttpApiRunner(response_limit=limit)
        self._pipeline = Pipeline(self.registry, {"remote": self.runner}, lambda: store, output_validation="error")

    async def __call__(self, tool: str, /, **arguments: Any) -> ToolResult:
        return await self.within(10 * SLACK, tool, arguments)

    async def within(self, timeout: float, tool: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Call with a limit of ``timeout`` seconds."""
        return await self._pipeline.run(tool, arguments, timeout=timeout)


@asynccontextmanager
async def calling(source: OpenApiDocument, folder: Path) -> AsyncIterator[Caller]:
    """A caller of the tools of one document."""
    caller = Caller(source.load().tools, FileArtifactStore(folder / "artifacts"))
    try:
        yield caller
    finally:
        await caller.runner.close()
