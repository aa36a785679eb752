"""Haystack: tools of its ``Agent``. There is no public entry for one call; this is what the agent calls."""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from haystack.components.agents.state.state import State
from haystack.components.agents.tool_calling import _run_tool_async
from haystack.dataclasses import ChatMessage, ToolCall
from haystack.tools import create_tool_from_function


class Peer:
    """One step of the agent: a message with one tool call."""

    asynchronous = True

    def __init__(self) -> None:
        self.tools: list[Any] = []

    def define(self, functions: Sequence[Callable[..., Any]]) -> None:
        self.tools += [create_tool_from_function(function) for function in functions]

    def schemas(self) -> list[dict[str, Any]]:
        return [{"type": "function", "function": tool.tool_spec} for tool in self.tools]

    async def open(self) -> None:
        self.state: Any = State(schema={})

    async def call(self, name: str, arguments: str) -> str:
        request = ToolCall(id="1", tool_name=name, arguments=json.loads(arguments))
        message = ChatMessage.from_assistant(tool_calls=[request])
        answers, _ = await _run_tool_async(messages=[message], state=self.state, tools=self.tools)
        return str(answers[0].tool_call_result.result)
