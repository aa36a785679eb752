"""Strands Agents: an agent's tool executor. It has no public entry for one call; this is what its loop calls."""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from strands import Agent, tool
from strands.models import Model
from strands.telemetry.metrics import Trace


class Peer:
    """The executor that an ``Agent`` has."""

    asynchronous = True

    def __init__(self) -> None:
        self.tools: list[Any] = []

    def define(self, functions: Sequence[Callable[..., Any]]) -> None:
        self.tools += [tool(function) for function in functions]

    def schemas(self) -> list[dict[str, Any]]:
        return [entry(each.tool_spec) for each in self.tools]

    async def open(self) -> None:
        silent = type("Silent", (Model,), dict.fromkeys(Model.__abstractmethods__, lambda *_, **__: None))
        self.agent: Any = Agent(model=silent(), tools=self.tools, callback_handler=None)

    async def call(self, name: str, arguments: str) -> str:
        results: list[Any] = []
        uses = [{"toolUseId": "1", "name": name, "input": json.loads(arguments)}]
        async for _ in self.agent.tool_executor._execute(self.agent, uses, results, Trace("call"), None, {}):
            pass
        assert results[0]["status"] == "success", results
        return str(results[0]["content"][0]["text"])


def entry(spec: Any) -> dict[str, Any]:
    """A tool in the form of Chat Completions."""
    return {
        "type": "function",
        "function": {
            "name": spec["name"],
            "description": spec["description"],
            "parameters": spec["inputSchema"]["json"],
        },
    }
