"""LlamaIndex core: ``FunctionTool``s, called by the function that its agents use."""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.tools import FunctionTool, ToolSelection
from llama_index.core.tools.calling import acall_tool_with_selection


class Peer:
    """``acall_tool_with_selection``."""

    asynchronous = True

    def __init__(self) -> None:
        self.tools: list[Any] = []

    def define(self, functions: Sequence[Callable[..., Any]]) -> None:
        for function in functions:
            how = "async_fn" if inspect.iscoroutinefunction(function) else "fn"
            self.tools.append(FunctionTool.from_defaults(**{how: function}))

    def schemas(self) -> list[dict[str, Any]]:
        return [tool.metadata.to_openai_tool() for tool in self.tools]

    async def open(self) -> None:
        pass

    async def call(self, name: str, arguments: str) -> str:
        selection = ToolSelection(tool_id="1", tool_name=name, tool_kwargs=json.loads(arguments))
        output = await acall_tool_with_selection(selection, self.tools)
        assert not output.is_error, output
        return str(output.content)
