"""Which tool a model meant: never guessed by likeness (DESIGN §3.1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from toolcrib.definition.dialects.alias import alias
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import UnknownToolError
from toolcrib.registry.names import nearest
from toolcrib.registry.registry import ToolRegistry

Tools = ToolRegistry | Mapping[str, ToolDefinition] | Iterable[ToolDefinition]

_PREFIX = re.compile(r"(?:(?:functions?|tools?|default_api|multi_tool_use)[.:/]+)+", re.IGNORECASE)
_SPECIAL_TOKEN = re.compile(r"<[|｜][^<>]{1,60}?[|｜]>")
_AROUND = " \t\r\n\"'`"
_BEHIND = re.compile(r"(?:\(\)|:\d{1,6})$")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SEPARATOR = re.compile(r"[-_./ ]")
_LONGEST = 4096
_MOST_SHOWN = 20


class Named(NamedTuple):
    """The tool that a name stands for, and what was done to the name."""

    tool: ToolDefinition
    repairs: tuple[str, ...] = ()


class _Known(NamedTuple):
    """The tools of one generation, by name, and their names by what these are without case and separators."""

    generation: int
    tools: Mapping[str, ToolDefinition]
    folded: Mapping[str, list[str]]

    def fitting(self, name: str) -> list[str]:
        """The names of the tools that ``name`` may stand for, the surest rule that finds any deciding."""
        rest = _cleaned(name)
        bare = _PREFIX.sub("", rest, count=1) if _PREFIX.match(rest) else rest
        for candidate in dict.fromkeys((rest, bare)):
            if candidate in self.tools:
                return [candidate]
        for candidate in dict.fromkeys((rest, bare)):
            found = list(dict.fromkeys(tool for key in _keys(candidate) for tool in self.folded.get(key, ())))
            if found:
                return found
        return []


class ToolNames:
    """Finds tools by the names that models use.

    Args:
        tools: those that may be called.

    Attributes:
        exact: the tool of exactly that name, or None.

    Example:
        >>> names = ToolNames([ToolDefinition("search_docs", "Searches.", {"type": "object"})])
        >>> names.find("functions.SearchDocs").repairs
        ('name_prefix', 'name_normalised')
        >>> names.find("search_dogs") is None
        True
    """

    def __init__(self, tools: Tools) -> None:
        self._registry = tools if isinstance(tools, ToolRegistry) else None
        self._given: Mapping[str, ToolDefinition] = {}
        if isinstance(tools, Mapping):
            self._given = tools
        elif self._registry is None:
            self._given = {tool.name: tool for tool in tools}
        self._known: _Known | None = None
        self.exact = self._registry.find if self._registry is not None else self._given.get

    def find(self, name: str) -> Named | None:
        """The tool of that name; None where there is none, or more than one would fit."""
        tool = self.exact(name)
        return Named(tool) if tool is not None else self._normalised(name)

    def split(self, name: str, count: int) -> list[Named] | None:
        """The tools whose names, glued together, are ``name``, where they are ``count`` and there is one way only.

        One name repeated, with a single object, is that tool.
        """
        tools = self._index().tools
        name = _cleaned(name)
        ways = _decompositions(name, tools)
        if len(ways) != 1 or len(ways[0]) < 2:
            return None
        (names,) = ways
        if count == 1 and len(set(names)) == 1:
            return [Named(tools[names[0]], ("name_normalised",))]
        return [Named(tools[one], ("split_names",)) for one in names] if len(names) == count else None

    def unknown(self, name: str) -> UnknownToolError:
        """The error for a name that `find` does not find."""
        known = self._index()
        shown = name if len(name) <= 100 else f"{name[:100]}…"
        if self._registry is not None and (reason := self._registry.why_absent(name)) is not None:
            return UnknownToolError(f"Tool not found: {shown}", hint=f"It is not listed: {reason}.")
        fitting = known.fitting(name[:_LONGEST])
        if len(fitting) > 1:
            listed = " or ".join(map(repr, fitting))
            return UnknownToolError(f"{shown!r} may be {listed}", hint="Send one of these names exactly.")
        close = nearest(_PREFIX.sub("", _cleaned(name))[:128], known.tools)
        meant = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
        names = list(known.tools)
        more = f" and {len(names) - _MOST_SHOWN} more" if len(names) > _MOST_SHOWN else ""
        hint = f"There are: {', '.join(names[:_MOST_SHOWN])}{more}." if names else "There are no tools in this turn."
        text = f"Tool not found: {shown}" if name.strip() else "Tool not found: the call names none"
        return UnknownToolError(f"{text}.{meant}" if meant else text, hint=hint)

    def _normalised(self, name: str) -> Named | None:
        if len(name) > _LONGEST:
            return None
        known = self._index()
        if name in known.tools:
            return Named(known.tools[name])
        fitting = known.fitting(name)
        if len(fitting) != 1:
            return None
        (found,) = fitting
        rest = _cleaned(name)
        bare = _PREFIX.sub("", rest, count=1) if found != rest else rest
        repairs = ["name_prefix"] if bare != rest and _PREFIX.match(rest) else []
        if bare not in (found, alias(found)) or (rest != name and not repairs):
            repairs.append("name_normalised")
        return Named(known.tools[found], tuple(repairs))

    def _index(self) -> _Known:
        known = self._known
        generation = self._registry.generation if self._registry is not None else 0
        if known is None or known.generation != generation:
            given = self._given if self._registry is None else {tool.name: tool for tool in self._registry}
            known = self._known = _Known(generation, given, _folded(given))
        return known


def _folded(names: Iterable[str]) -> dict[str, list[str]]:
    folded: dict[str, list[str]] = {}
    for name in names:
        for key in {*_keys(name), *_keys(alias(name))}:
            folded.setdefault(key, []).append(name)
    return folded


def _cleaned(name: str) -> str:
    """A name without what a template or a habit put around it."""
    return _BEHIND.sub("", _SPECIAL_TOKEN.split(name.strip(_AROUND), maxsplit=1)[0].strip(_AROUND))


def _keys(name: str) -> set[str]:
    """What a name is without regard to case, separators and CamelCase."""
    return {_SEPARATOR.sub("_", name).casefold(), _SEPARATOR.sub("_", _HUMP.sub("_", name)).casefold()}


def _decompositions(name: str, known: Mapping[str, ToolDefinition]) -> list[list[str]]:
    """The ways, two at most, in which ``name`` is a sequence of known names."""
    if not name or len(name) > _LONGEST:
        return []
    lengths = sorted({len(one) for one in known})
    ways: list[list[list[str]]] = [[] for _ in range(len(name) + 1)]
    ways[0] = [[]]
    for end in range(1, len(name) + 1):
        for length in lengths:
            if length > end:
                break
            part = name[end - length : end]
            if ways[end - length] and part in known:
                ways[end].extend([*way, part] for way in ways[end - length])
        del ways[end][2:]
    return ways[-1]
