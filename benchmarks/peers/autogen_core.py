"""AutoGen core: ``FunctionTool``s in a ``StaticWorkbench``."""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from autogen_core.tools import FunctionTool, StaticWorkbench


class Peer:
    """``StaticWorkbench.call_tool``."""

    asynchronous = True

    def __init__(self) -> None:
        self.tools: list[Any] = []

    def define(self, functions: Sequence[Callable[..., Any]]) -> None:
        self.tools += [FunctionTool(function, description=function.__doc__ or "") for function in functions]

    def schemas(self) -> list[dict[str, Any]]:
        return [{"type": "function", "function": tool.schema} for tool in self.tools]

    async def open(self) -> None:
        self.workbench: Any = StaticWorkbench(self.tools)

    async def call(self, name: str, arguments: str) -> str:
        result = await self.workbench.call_tool(name, json.loads(arguments), call_id="1")
        assert not result.is_error, result
        return str(result.to_text())
