"""A tool as an MCP server lists it, in the form of Chat Completions."""

from __future__ import annotations

from typing import Any


def entry(tool: Any) -> dict[str, Any]:
    """A tool of a listing in the form of Chat Completions."""
    listed = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {
        "type": "function",
        "function": {
            "name": listed["name"],
            "description": listed["description"],
            "parameters": listed["inputSchema"],
        },
    }
