"""LangChain core: ``StructuredTool.ainvoke`` alone, without an agent around it."""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.output_parsers.openai_tools import parse_tool_call
from langchain_core.tools import StructuredTool
from langchain_core.utils.function_calling import convert_to_openai_tool


class Peer:
    """A tool call in, a ``ToolMessage`` out."""

    asynchronous = True

    def __init__(self) -> None:
        self.tools: dict[str, StructuredTool] = {}

    def define(self, functions: Sequence[Callable[..., Any]]) -> None:
        for function in functions:
            named: dict[str, Any] = {"coroutine" if inspect.iscoroutinefunction(function) else "func": function}
            tool = StructuredTool.from_function(**named, parse_docstring=True)
            self.tools[tool.name] = tool

    def schemas(self) -> list[dict[str, Any]]:
        return [convert_to_openai_tool(tool) for tool in self.tools.values()]

    async def open(self) -> None:
        pass

    async def call(self, name: str, arguments: str) -> str:
        message = await self.tools[name].ainvoke(tool_call(name, arguments))
        return str(message.content)


def tool_call(name: str, arguments: str) -> dict[str, Any]:
    """What a chat model of LangChain makes of a provider's tool call."""
    function = {"name": name, "arguments": arguments}
    parsed = parse_tool_call({"id": "1", "function": function}, return_id=True)
    assert parsed is not None
    return parsed
