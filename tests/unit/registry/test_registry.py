"""The registry's surface of S1 (contract N003-N006) and the names of actions (W020)."""

from __future__ import annotations

import pytest

from toolcrib import ActionDef, BaseTool, ToolDefinition, ToolRegistry, ToolResult
from toolcrib.errors import DuplicateToolError, InvalidNameError

OBJECT = {"type": "object", "properties": {}}


def ping(name: str = "ping") -> ToolDefinition:
    return ToolDefinition(name, "Answers pong.", OBJECT, lambda arguments: "pong")


def test_N003_a_name_is_taken_once_unless_it_is_to_be_replaced() -> None:
    registry = ToolRegistry()
    registry.register(ping())
    with pytest.raises(DuplicateToolError):
        registry.register(ping())
    registry.register(ping(), replace=True)
    with pytest.raises(InvalidNameError):
        registry.register(ping("no spaces"))
    assert len(registry) == 1


def test_N004_get_gives_the_definition_or_none() -> None:
    registry = ToolRegistry()
    registry.register(ping())
    found = registry.get("ping")
    assert found is not None
    assert (found.name, found.description) == ("ping", "Answers pong.")
    assert registry.get("pong") is None


def test_N005_all_are_listed_in_openais_form_in_the_order_of_registration() -> None:
    registry = ToolRegistry()
    for name in ("zeta", "alpha", "mid"):
        registry.register(ping(name))
    registry.register(ping("alpha"), replace=True)
    assert registry.list_all() == [
        {"type": "function", "function": {"name": name, "description": "Answers pong.", "parameters": OBJECT}}
        for name in ("zeta", "alpha", "mid")
    ]


class RemoteFileShareTool(BaseTool):
    """The article's tool, in short."""

    name = "remote_file_share"
    description = "Sends files."

    def get_actions(self) -> list[ActionDef]:
        return [ActionDef("send_file", "Sends one."), ActionDef("send_files", "Sends several.")]

    async def execute(self, action: str, params: dict[str, object]) -> ToolResult:
        return ToolResult.ok(action)


def test_W020_no_list_of_prefixes_is_kept_by_hand() -> None:
    registry = ToolRegistry()
    registry.register_tool(RemoteFileShareTool())
    assert registry.resolve_action("remote_file_share_send_files") == ("remote_file_share", "send_files")
    assert registry.execute("remote_file_share_send_file", {})["data"] == "send_file"
    registry.unregister("remote_file_share_send_file")
    assert [entry["function"]["name"] for entry in registry.list_all()] == ["remote_file_share_send_files"]
