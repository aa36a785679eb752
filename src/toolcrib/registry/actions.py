"""Which function is which action of which tool: an exact map, never a guess (contract W019, W020)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolcrib.definition.base_tool import BaseTool, action_of
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import DuplicateToolError


class ActionMap:
    """The actions of all registered tools.

    Each goes by two names: its function's, ``{tool}_{action}``, and ``{tool}.{action}``.
    """

    def __init__(self) -> None:
        self._pairs: dict[str, tuple[str, str]] = {}
        self._functions: dict[str, str] = {}
        self._tools: dict[str, BaseTool] = {}

    def check(self, tool: ToolDefinition, taken: ToolDefinition | None, *, replace: bool) -> None:
        """See that ``tool`` takes no name that belongs to another action or tool.

        Args:
            tool: to be registered.
            taken: what has its name now.
            replace: whether that, and a tool object of the same name, give way.

        Raises:
            DuplicateToolError: with both by name.
        """
        action = action_of(tool)
        pair = action.pair if action else None
        for name in (tool.name, ".".join(pair)) if pair else (tool.name,):
            other = self._pairs.get(name)
            if other is not None and other != pair and not (replace and name == tool.name):
                raise DuplicateToolError(
                    f"The {_words(pair, tool)} and the {_words(other, tool)} are both called {name!r}",
                    hint="Rename one of the tools or actions.",
                )
        if taken is not None and not replace and pair is not None and action_of(taken) is None:
            raise DuplicateToolError(
                f"The {_words(pair, tool)} and the tool {taken.name!r}"
                f"{f' of {taken.source}' if taken.source else ''} are both called {tool.name!r}",
                hint="Rename one of them, or register with replace=True.",
            )
        owner = self._tools.get(action.tool.name) if action else None
        if action is not None and owner is not None and owner is not action.tool and not replace:
            raise DuplicateToolError(
                f"Two tools are named {owner.name!r}: {_class(owner)} and {_class(action.tool)}",
                hint="Rename one of them, or register with replace=True.",
            )

    def add(self, tool: ToolDefinition) -> BaseTool | None:
        """Note the action that ``tool`` runs, and return the tool object that gives way, if another did it before."""
        action = action_of(tool)
        if action is None:
            return None
        dotted = ".".join(action.pair)
        self._pairs[tool.name] = self._pairs[dotted] = action.pair
        self._functions[dotted] = tool.name
        previous = self._tools.get(action.tool.name)
        self._tools[action.tool.name] = action.tool
        return previous if previous is not action.tool else None

    def give_way(self, old: ToolDefinition, new: ToolDefinition) -> None:
        """Forget what the function of ``old`` was, unless ``new`` is the same action of the same tool."""
        before, after = action_of(old), action_of(new)
        if before is not None and (after is None or before.pair != after.pair):
            self.remove(old)

    def remove(self, tool: ToolDefinition) -> BaseTool | None:
        """Forget the action that ``tool`` ran, and return its tool object if that was its last."""
        action = action_of(tool)
        if action is None:
            return None
        name = action.tool.name
        dotted = ".".join(action.pair)
        self._pairs.pop(tool.name, None)
        self._pairs.pop(dotted, None)
        self._functions.pop(dotted, None)
        return self._tools.pop(name, None) if not any(self.functions_of(name)) else None

    def pair(self, name: str) -> tuple[str, str] | None:
        """Tool and action of a name in either form; None where there is no such action."""
        return self._pairs.get(name)

    def function(self, name: str) -> str | None:
        """The function of ``{tool}.{action}``; None where there is no such action."""
        return self._functions.get(name)

    def functions_of(self, tool: str) -> Iterator[str]:
        """The names of the functions of a tool."""
        return (function for dotted, function in self._functions.items() if self._pairs[dotted][0] == tool)

    def names(self) -> Iterable[str]:
        """Every name in either form."""
        return self._pairs

    def tool_names(self) -> list[str]:
        """The names of the tool objects."""
        return list(self._tools)

    def get(self, name: str) -> BaseTool | None:
        """The tool object of that name, made now where it was not yet; None where there is none."""
        from toolcrib.definition.lazy_tool import LazyTool

        tool = self._tools.get(name)
        return tool.made() if isinstance(tool, LazyTool) else tool


def _words(pair: tuple[str, str] | None, tool: ToolDefinition) -> str:
    if pair is not None:
        return f"action {pair[1]!r} of the tool {pair[0]!r}"
    return f"tool {tool.name!r}"


def _class(tool: BaseTool) -> str:
    return f"{tool.tool_class.__module__}.{tool.tool_class.__qualname__}"
