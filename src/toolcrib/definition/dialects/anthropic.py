"""Anthropic's form of a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolcrib.definition.dialects import lowering
from toolcrib.definition.dialects.alias import alias

if TYPE_CHECKING:
    from toolcrib.definition.tool import ToolDefinition


def anthropic(tool: ToolDefinition, *, defer_loading: bool = False) -> dict[str, Any]:
    """The tool as the Messages API takes it.

    Args:
        tool: the tool.
        defer_loading: whether the model sees it only after it has searched for it.
    """
    schema = lowering.each_schema(lowering.object_root(tool.parameters), lowering.without_nullable)
    entry: dict[str, Any] = {"name": alias(tool.name), "description": tool.description, "input_schema": schema}
    if defer_loading:
        entry["defer_loading"] = True
    return entry
