"""The MCP SDK: ``MCPServer.call_tool``, without a wire."""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

from mcp.server.mcpserver import MCPServer

from benchmarks.peers.mcp_form import entry


class Peer:
    """A server that is asked in its own process."""

    asynchronous = True

    def __init__(self) -> None:
        self.server: Any = MCPServer("benchmark")

    def define(self, functions: Sequence[Callable[..., Any]]) -> None:
        for function in functions:
            self.server.add_tool(function)

    def schemas(self) -> list[dict[str, Any]]:
        return [entry(tool) for tool in asyncio.run(self.server.list_tools())]

    async def open(self) -> None:
        pass

    async def call(self, name: str, arguments: str) -> str:
        answer = await self.server.call_tool(name, json.loads(arguments))
        assert not answer.is_error, answer
        return str(answer.content[0].text)
