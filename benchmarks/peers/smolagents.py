"""smolagents: tools of a ``ToolCallingAgent``. Coroutine functions are not tools there."""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from smolagents import ToolCallingAgent, tool
from smolagents.models import Model, get_tool_json_schema
from smolagents.monitoring import LogLevel


class Peer:
    """``ToolCallingAgent.execute_tool_call``."""

    asynchronous = False

    def __init__(self) -> None:
        self.tools: list[Any] = []

    def define(self, functions: Sequence[Callable[..., Any]]) -> None:
        self.tools += [tool(function) for function in functions]

    def schemas(self) -> list[dict[str, Any]]:
        return [get_tool_json_schema(each) for each in self.tools]

    async def open(self) -> None:
        self.agent: Any = ToolCallingAgent(tools=self.tools, model=Model(), verbosity_level=LogLevel.OFF)

    async def call(self, name: str, arguments: str) -> str:
        return str(self.agent.execute_tool_call(name, json.loads(arguments)))
