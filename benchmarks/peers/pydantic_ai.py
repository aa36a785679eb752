"""Pydantic AI: a ``FunctionToolset`` behind a ``ToolManager``, as its agent has it."""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.messages import ToolCallPart, ToolReturnPart
from pydantic_ai.models.test import TestModel
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai.usage import RunUsage


class Peer:
    """``ToolManager.handle_call`` in one step of a run."""

    asynchronous = True

    def __init__(self) -> None:
        self.toolset: Any = FunctionToolset()
        self.context: Any = RunContext(deps=None, model=TestModel(), usage=RunUsage())

    def define(self, functions: Sequence[Callable[..., Any]]) -> None:
        for function in functions:
            self.toolset.add_function(function, takes_ctx=False)

    def schemas(self) -> list[dict[str, Any]]:
        tools = asyncio.run(self.toolset.get_tools(self.context))
        return [entry(tool.tool_def) for tool in tools.values()]

    async def open(self) -> None:
        self.manager: Any = await ToolManager(toolset=self.toolset).for_run_step(self.context)

    async def call(self, name: str, arguments: str) -> str:
        value = await self.manager.handle_call(ToolCallPart(tool_name=name, args=arguments, tool_call_id="1"))
        return str(ToolReturnPart(tool_name=name, content=value, tool_call_id="1").model_response_str())


def entry(definition: Any) -> dict[str, Any]:
    """A tool in the form of Chat Completions."""
    return {
        "type": "function",
        "function": {
            "name": definition.name,
            "description": definition.description,
            "parameters": definition.parameters_json_schema,
        },
    }
