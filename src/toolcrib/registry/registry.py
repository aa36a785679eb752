"""Which tools exist."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition, ToolGroup
from toolcrib.errors import DuplicateToolError, UnknownToolError
from toolcrib.registry.names import check_name, nearest


class ToolRegistry:
    """Tools and groups by name, in the order of their registration (contract N003-N006, T016).

    Example:
        >>> registry = ToolRegistry()
        >>> registry.register(ToolDefinition("ping", "Answers pong.", {"type": "object"}, lambda arguments: "pong"))
        >>> registry.execute("ping", {})
        {'success': True, 'data': 'pong', 'error': None}
        >>> registry.get("pong") is None
        True
    """

    def __init__(self) -> None:
        self._tools: dict[str, ToolDefinition] = {}
        self._groups: Mapping[str, ToolGroup] = {}
        self._lock = threading.Lock()
        self.generation = 0

    def register(self, tool: ToolDefinition, *, replace: bool = False) -> None:
        """Add ``tool``.

        Args:
            tool: the tool.
            replace: whether a tool of the same name gives way, keeping its place in the order.

        Raises:
            InvalidNameError: a tool cannot have that name.
            DuplicateToolError: the name is taken and ``replace`` is false.
        """
        check_name(tool.name)
        with self._lock:
            taken = self._tools.get(tool.name)
            if taken is not None and not replace:
                raise DuplicateToolError(
                    f"A tool named {tool.name!r} is registered already" + (f" by {taken.source}" if taken.source else ""),
                    hint="Give one of them another name, or register with replace=True.",
                )
            self._tools[tool.name] = tool
            self.generation += 1

    def unregister(self, name: str) -> None:
        """Remove the tool of that name; nothing happens where there is none."""
        with self._lock:
            self._tools.pop(name, None)
            self.generation += 1

    def set_groups(self, groups: Mapping[str, ToolGroup]) -> None:
        """Replace all groups."""
        with self._lock:
            self._groups = dict(groups)
            self.generation += 1

    @property
    def groups(self) -> Mapping[str, ToolGroup]:
        """Groups by id."""
        return self._groups

    def get(self, name: str) -> ToolDefinition | None:
        """The tool of that name, or None."""
        return self._tools.get(name)

    def resolve(self, name: str) -> ToolDefinition:
        """The tool of that name.

        Raises:
            UnknownToolError: there is none; the hint names those most like it.
        """
        tool = self._tools.get(name)
        if tool is not None:
            return tool
        close = nearest(name, self._tools)
        hint = f"Did you mean {' or '.join(map(repr, close))}?" if close else "GET /tools lists what there is."
        raise UnknownToolError(f"Tool not found: {name}", hint=hint)

    def list_all(self) -> list[dict[str, Any]]:
        """All tools in OpenAI's form, in the order of registration."""
        return [tool.to_openai_format() for tool in self]

    def execute(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Run an in-process tool and return S1's view of its result; no exception escapes.

        Example:
            >>> ToolRegistry().execute("nothing", {})
            {'success': False, 'data': None, 'error': 'Tool not found: nothing'}
        """
        from toolcrib.definition.invoke import invoke

        tool = self._tools.get(name)
        if tool is None:
            return ToolResult.from_error(UnknownToolError(f"Tool not found: {name}")).to_dict()
        return invoke(tool, args).to_dict()

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[ToolDefinition]:
        return iter(list(self._tools.values()))

    def __len__(self) -> int:
        return len(self._tools)
