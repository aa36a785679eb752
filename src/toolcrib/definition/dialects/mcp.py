"""The Model Context Protocol's form of a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolcrib.definition.dialects import lowering

if TYPE_CHECKING:
    from toolcrib.definition.tool import ToolDefinition


def mcp(tool: ToolDefinition) -> dict[str, Any]:
    """The tool as an entry of ``tools/list``, under its own name; its annotations follow from what it declares."""
    entry: dict[str, Any] = {"name": tool.name}
    if tool.title:
        entry["title"] = tool.title
    entry["description"] = tool.description
    entry["inputSchema"] = {"type": "object", **lowering.each_schema(tool.parameters, lowering.without_nullable)}
    output = tool.output_schema
    if output is not None and output.get("type") == "object":
        entry["outputSchema"] = lowering.each_schema(output, lowering.without_nullable)
    if hints := hints_of(tool):
        entry["annotations"] = hints
    return entry


def hints_of(tool: ToolDefinition) -> dict[str, Any]:
    """MCP's hints, from effects and idempotence; what was not declared is not claimed.

    Example:
        >>> from toolcrib.definition.tool import ToolDefinition
        >>> hints_of(ToolDefinition("clock", "", {}, effects="none"))
        {'readOnlyHint': True, 'openWorldHint': False}
    """
    hints: dict[str, Any] = {"title": tool.title} if tool.title else {}
    if tool.effects is None:
        return {**hints, "idempotentHint": True} if tool.idempotent else hints
    hints["readOnlyHint"] = tool.effects in ("none", "read")
    if not hints["readOnlyHint"]:
        hints["idempotentHint"] = tool.idempotent
    if tool.effects != "read":
        hints["openWorldHint"] = tool.effects == "external"
    return hints
