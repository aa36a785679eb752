"""Which tools exist."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from toolcrib.definition.base_tool import BaseTool, action_of, definitions_of
from toolcrib.definition.tool import ToolDefinition, ToolGroup
from toolcrib.errors import DuplicateToolError, UnknownToolError
from toolcrib.registry.actions import ActionMap
from toolcrib.registry.names import check_name, nearest
from toolcrib.registry.services import Services


class ToolRegistry:
    """Tools and groups by name, in the order of their registration (contract N003-N006, T016).

    Args:
        services: handed to tool objects that take them; None = its own.

    Attributes:
        services: as given.
        actions: which function is which action of which tool object.

    Example:
        >>> registry = ToolRegistry()
        >>> registry.register(ToolDefinition("ping", "Answers pong.", {"type": "object"}, lambda arguments: "pong"))
        >>> registry.execute("ping", {})
        {'success': True, 'data': 'pong', 'error': None}
        >>> registry.get("pong") is None
        True
    """

    def __init__(self, services: Services | None = None) -> None:
        self.services = services if services is not None else Services()
        self._tools: dict[str, ToolDefinition] = {}
        self.actions = ActionMap()
        self._groups: Mapping[str, ToolGroup] = {}
        self._lock = threading.Lock()
        self.generation = 0
        self._why_absent: Callable[[str], str | None] = lambda name: None

    def register(self, tool: ToolDefinition, *, replace: bool = False) -> None:
        """Add ``tool``.

        Args:
            tool: the tool.
            replace: whether a tool of the same name gives way, keeping its place in the order.

        Raises:
            InvalidNameError: a tool cannot have that name.
            DuplicateToolError: the name is taken and ``replace`` is false.
        """
        with self._lock:
            self._check(tool, replace)
            previous = self._add(tool)
        self._connect(tool, previous)

    def register_tool(self, tool: BaseTool, *, replace: bool = False) -> None:
        """Add a tool of several actions: one function for each, all or none (contract W001, W019).

        Args:
            tool: the tool object; services it has setters for are handed to it, now or when they arrive.
            replace: whether a tool object of the same name gives way; what was set in it by hand is handed on.

        Raises:
            DefinitionError: it is defined wrongly, or one of its names belongs to another tool.
        """
        definitions = definitions_of(tool)
        with self._lock:
            for definition in definitions:
                self._check(definition, replace)
            names = {definition.name for definition in definitions}
            obsolete = [name for name in self.actions.functions_of(tool.name) if name not in names] if replace else []
            previous = [self._add(definition) for definition in definitions]
        self._connect(definitions[0], next(filter(None, previous), None))
        for name in obsolete:
            self.unregister(name)

    def _check(self, tool: ToolDefinition, replace: bool) -> None:
        check_name(tool.name)
        taken = self._tools.get(tool.name)
        self.actions.check(tool, taken, replace=replace)
        if taken is not None and not replace:
            raise DuplicateToolError(
                f"A tool named {tool.name!r} is registered already" + (f" by {taken.source}" if taken.source else ""),
                hint="Give one of them another name, or register with replace=True.",
            )

    def _add(self, tool: ToolDefinition) -> BaseTool | None:
        """Note ``tool``, and return the tool object that it takes the place of."""
        taken = self._tools.get(tool.name)
        if taken is not None:
            self.actions.give_way(taken, tool)
        self._tools[tool.name] = tool
        self.generation += 1
        return self.actions.add(tool)

    def _connect(self, tool: ToolDefinition, previous: BaseTool | None) -> None:
        """Bring services to the object of ``tool``; outside the lock, since its setters run."""
        action = action_of(tool)
        if action is None:
            return
        self.services.attach(action.tool)
        if previous is not None:
            self.services.hand_over(previous, action.tool)
            self.services.detach(previous)

    def unregister(self, name: str) -> None:
        """Remove the tool of that name; nothing happens where there is none."""
        with self._lock:
            tool = self._tools.pop(name, None)
            gone = self.actions.remove(tool) if tool is not None else None
            self.generation += 1
        if gone is not None:
            self.services.detach(gone)

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
        """The tool of that name; an action is also found as ``{tool}.{action}``.

        Raises:
            UnknownToolError: there is none; the hint names those most like it.
        """
        tool = self.find(name)
        if tool is not None:
            return tool
        close = nearest(name, self._tools)
        hint = f"Did you mean {' or '.join(map(repr, close))}?" if close else "GET /tools lists what there is."
        if (reason := self.why_absent(name)) is not None:
            hint = f"It is not listed: {reason}."
        raise UnknownToolError(f"Tool not found: {name}", hint=hint)

    def explain_absence(self, why_absent: Callable[[str], str | None]) -> None:
        """Ask ``why_absent`` for the reason when somebody names a tool that is not there, such as one switched off."""
        self._why_absent = why_absent

    def why_absent(self, name: str) -> str | None:
        """Why there is no tool of that name, where that is known."""
        return self._why_absent(name)

    def find(self, name: str) -> ToolDefinition | None:
        """As `resolve`, with None in place of the error."""
        return self._tools.get(name) or self._tools.get(self.actions.function(name) or "")

    def get_tool(self, name: str) -> BaseTool | None:
        """The object of a tool of several actions, such as ``remote_file_share``; None where there is none."""
        return self.actions.get(name)

    def resolve_action(self, name: str) -> tuple[str, str]:
        """The tool and the action that a function's name stands for, as registered (contract W019, W020).

        Args:
            name: ``{tool}_{action}`` or ``{tool}.{action}``.

        Raises:
            UnknownToolError: no tool registered such an action; nothing is guessed.
        """
        pair = self.actions.pair(name)
        if pair is not None:
            return pair
        close = nearest(name, self.actions.names())
        hint = f"Did you mean {' or '.join(map(repr, close))}?" if close else None
        if name in self._tools:
            hint = f"{name!r} is a tool without actions."
        raise UnknownToolError(f"No tool has the action {name!r}", hint=hint)

    def list_all(self) -> list[dict[str, Any]]:
        """All tools in OpenAI's form, in the order of registration."""
        tools = list(self)
        for tool in tools:
            _ = tool.description  # all docstrings first: a fifth faster than docstring and schema by turns
        return [tool.to_openai_format() for tool in tools]

    def execute(self, name: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """Run an in-process tool and return S1's view of its result; no exception escapes.

        Example:
            >>> ToolRegistry().execute("nothing", {})
            {'success': False, 'data': None, 'error': 'Tool not found: nothing'}
        """
        from toolcrib.definition.context import Context
        from toolcrib.definition.invoke import invoke
        from toolcrib.definition.result import ToolResult

        tool = self.find(name)
        if tool is None:
            return ToolResult.from_error(UnknownToolError(f"Tool not found: {name}")).to_dict()
        return invoke(tool, args, Context(services=self.services)).to_dict()

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[ToolDefinition]:
        return iter(list(self._tools.values()))

    def __len__(self) -> int:
        return len(self._tools)
