"""A tool in the form that each provider or protocol wants it (contract M01, M02)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from toolcrib.definition.tool import ToolDefinition

Dialect = Literal["openai", "openai_strict", "openai_responses", "anthropic", "gemini", "mcp"]


def to_dialect(tool: ToolDefinition, dialect: Dialect) -> dict[str, Any]:
    """The tool as an entry of a provider's or a protocol's list of tools.

    Args:
        tool: the tool.
        dialect: ``openai`` (Chat Completions), ``openai_strict`` (the same, strict where the tool allows it),
            ``openai_responses``, ``anthropic``, ``gemini`` or ``mcp``.

    Example:
        >>> from toolcrib.definition.tool import ToolDefinition
        >>> to_dialect(ToolDefinition("ping", "Answers pong.", {"type": "object"}), "anthropic")["input_schema"]
        {'type': 'object', 'properties': {}}
    """
    if dialect == "mcp":
        from toolcrib.definition.dialects.mcp import mcp

        return mcp(tool)
    if dialect == "gemini":
        from toolcrib.definition.dialects.gemini import gemini

        return gemini(tool)
    if dialect == "anthropic":
        from toolcrib.definition.dialects.anthropic import anthropic

        return anthropic(tool)
    from toolcrib.definition.dialects import openai

    if dialect == "openai_responses":
        return openai.responses(tool)
    if dialect not in ("openai", "openai_strict"):
        raise ValueError(f"There is no dialect {dialect!r}")
    return openai.chat_completions(tool, strict=dialect == "openai_strict")
