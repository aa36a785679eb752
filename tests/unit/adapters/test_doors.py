"""The doors on ``Tool`` for tools of other frameworks (contract M02)."""

from __future__ import annotations

from typing import Any

import pytest

from toolcrib import Crib, Tool


async def test_M02_a_langchain_tool_becomes_a_tool() -> None:
    tools = pytest.importorskip("langchain_core.tools")

    @tools.tool  # type: ignore[untyped-decorator,unused-ignore]
    def shout(text: str) -> str:
        """Shouts."""
        return text.upper()

    crib = Crib()
    crib.registry.register(Tool.from_langchain(shout, effects="none"))
    assert (await crib.run("shout", {"text": "hi"})).data == "HI"


async def test_M02_an_mcp_tool_becomes_a_tool() -> None:
    types = pytest.importorskip("mcp_types")

    class Session:
        async def call_tool(self, name: str, arguments: dict[str, Any] | None = None, **extra: Any) -> Any:
            text = types.TextContent(type="text", text=f"{name} {arguments}")
            return types.CallToolResult(content=[text])

    listed = types.Tool(name="echo", description="Echoes.", input_schema={"type": "object"})
    crib = Crib()
    crib.registry.register(Tool.from_mcp(Session(), listed, prefix="far."))
    assert "echo" in str((await crib.run("far.echo", {})).data)
