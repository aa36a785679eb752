"""Tools of servers that speak the Model Context Protocol, and tools for one."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol

from toolcrib.adapters.running import content_of, failure_text, library
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import Effects, ToolDefinition

Call = Callable[[str, dict[str, Any]], Awaitable[Any]]


class Session(Protocol):
    """What calls the tools of a server: ``mcp.Client``, ``mcp.ClientSession`` or FastMCP's client."""

    def call_tool(self, name: str, arguments: dict[str, Any], /) -> Awaitable[Any]:
        """The server's answer."""
        ...


def from_mcp(session: Session, tool: Any, *, prefix: str = "", trusted: bool = False) -> ToolDefinition:
    """One tool of a server as a definition, to be registered; it runs while the session is open.

    Args:
        session: calls it.
        tool: an item of what ``list_tools`` gave.
        prefix: put before its name, such as ``"github."``, so that two servers do not clash.
        trusted: whether the server is believed when it says that a tool only reads or may be repeated; what makes a
            tool look more dangerous is always believed.
    """
    return _definition(session.call_tool, tool, prefix, trusted)


def definitions_from_mcp(listing: Any, call: Call, *, prefix: str = "", trusted: bool = False) -> list[ToolDefinition]:
    """All tools of a listing as definitions.

    Args:
        listing: what ``list_tools`` gave: a result with ``tools``, or the tools themselves.
        call: runs one by name, such as ``session.call_tool``.
        prefix, trusted: as for `from_mcp`.

    Example:
        >>> async def call_tool(name: str, arguments: dict) -> dict:
        ...     return {"content": [{"type": "text", "text": f"{name}: {arguments['city']}"}]}
        >>> listing = [{"name": "weather", "inputSchema": {"properties": {"city": {"type": "string"}}}}]
        >>> (weather,) = definitions_from_mcp(listing, call_tool, prefix="met.")
        >>> weather.name, weather.effects
        ('met.weather', None)
        >>> from toolcrib.testing import call
        >>> call(weather, city="Oslo").data
        'weather: Oslo'
    """
    return [_definition(call, tool, prefix, trusted) for tool in getattr(listing, "tools", listing)]


async def list_mcp(client: Any, *, prefix: str = "", trusted: bool = False) -> list[ToolDefinition]:
    """All tools of a server, page by page.

    Args:
        client: an open ``mcp.Client``.
        prefix, trusted: as for `from_mcp`.

    Example:
        ::

            async with mcp.Client("http://localhost:9000/mcp") as client:
                for tool in await list_mcp(client):
                    crib.registry.register(tool)
    """
    definitions: list[ToolDefinition] = []
    cursor = None
    while True:
        page = await client.list_tools(cursor=cursor)
        definitions += definitions_from_mcp(page, client.call_tool, prefix=prefix, trusted=trusted)
        if not page.next_cursor or page.next_cursor == cursor:
            return definitions
        cursor = page.next_cursor


def to_mcp_types(tools: Iterable[ToolDefinition]) -> list[Any]:
    """Tools as a server lists them: ``mcp_types.Tool``.

    Raises:
        DependencyMissingError: the package mcp, version 2 or newer, is not installed.
    """
    from toolcrib.definition.dialects import to_dialect

    types = library("mcp_types", "mcp")
    return [types.Tool.model_validate(to_dialect(tool, "mcp")) for tool in tools]


def to_mcp_result(result: ToolResult) -> Any:
    """A result as a server answers, a ``CallToolResult``.

    A failure has ``is_error``, so that the model reads it and can correct itself.

    Raises:
        DependencyMissingError: the package mcp, version 2 or newer, is not installed.
    """
    types = library("mcp_types", "mcp")
    content = content_of(result) if result.success else failure_text(result)
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)
    return types.CallToolResult(
        content=[types.TextContent(text=text)],
        structured_content=result.data if result.success and isinstance(result.data, dict) else None,
        is_error=not result.success,
    )


def _definition(call: Call, tool: Any, prefix: str, trusted: bool) -> ToolDefinition:
    entry = _entry(tool)
    name = entry["name"]
    hints = entry.get("annotations") or {}

    async def handler(arguments: dict[str, Any]) -> ToolResult:
        return _result(_entry(await call(name, arguments)))

    return ToolDefinition(
        f"{prefix}{name}",
        entry.get("description") or "",
        {"type": "object", **(entry.get("inputSchema") or {})},
        handler,
        title=entry.get("title") or hints.get("title"),
        effects=_effects(hints, trusted),
        idempotent=trusted and hints.get("idempotentHint") is True,
        risk="high" if hints.get("destructiveHint") is True else "low",
        output_schema=entry.get("outputSchema"),
        source="mcp",
    )


def _entry(value: Any) -> dict[str, Any]:
    """What a server sent, with the protocol's own names, whichever version of the library read it."""
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "model_dump"):
        dumped: dict[str, Any] = value.model_dump(by_alias=True, exclude_none=True, mode="json")
        return dumped
    # FastMCP's client gives a dataclass of its own.
    names = {"content": "content", "structured_content": "structuredContent", "is_error": "isError"}
    return {alias: getattr(value, name) for name, alias in names.items() if hasattr(value, name)}


def _effects(hints: Mapping[str, Any], trusted: bool) -> Effects | None:
    read_only, open_world = hints.get("readOnlyHint"), hints.get("openWorldHint")
    if read_only is True and trusted:
        return "none" if open_world is False else "read"
    if read_only is False:
        return "write" if open_world is False else "external"
    return None


def _result(answer: Mapping[str, Any]) -> ToolResult:
    blocks = [_entry(block) for block in answer.get("content") or ()]
    texts = [block["text"] for block in blocks if block.get("type") == "text"]
    if answer.get("isError"):
        return ToolResult.fail("\n".join(texts) or "The server gave no reason")
    data = answer.get("structuredContent")
    if data is None:
        data = texts[0] if len(blocks) == len(texts) == 1 else blocks
    return ToolResult(True, data)
