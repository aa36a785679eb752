"""OpenAI Agents SDK: a ``FunctionTool``, invoked as its runner does; without tracing."""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agents import function_tool, set_tracing_disabled
from agents.models.chatcmpl_converter import Converter
from agents.tool import invoke_function_tool
from agents.tool_context import ToolContext


class Peer:
    """``invoke_function_tool`` with a context for each call."""

    asynchronous = True

    def __init__(self) -> None:
        set_tracing_disabled(True)
        self.tools: dict[str, Any] = {}

    def define(self, functions: Sequence[Callable[..., Any]]) -> None:
        for function in functions:
            tool: Any = function_tool(function)
            self.tools[tool.name] = tool

    def schemas(self) -> list[dict[str, Any]]:
        return [dict(Converter.tool_to_openai(tool)) for tool in self.tools.values()]

    async def open(self) -> None:
        pass

    async def call(self, name: str, arguments: str) -> str:
        context: Any = ToolContext(context=None, tool_name=name, tool_call_id="1", tool_arguments=arguments)
        return str(await invoke_function_tool(function_tool=self.tools[name], context=context, arguments=arguments))
