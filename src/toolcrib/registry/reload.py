"""Brings a registry up to date with what a source lists now (contract T015)."""

from __future__ import annotations

from dataclasses import dataclass

from toolcrib.definition.ports import Listing
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import DefinitionError, SourceError
from toolcrib.registry.registry import ToolRegistry


@dataclass(frozen=True, slots=True)
class Changes:
    """What `apply` did, by names of tools.

    Attributes:
        added, replaced, removed: names, in the order of the listing.
        problems: tools that were refused.
    """

    added: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    problems: tuple[SourceError, ...] = ()

    @property
    def changed(self) -> frozenset[str]:
        """Every tool that is not what it was."""
        return frozenset((*self.added, *self.replaced, *self.removed))


def apply(registry: ToolRegistry, listing: Listing, owned: set[str]) -> Changes:
    """Register what ``listing`` has and take away what it has no longer; equal definitions are left alone.

    Groups are left to the caller, who knows those of all sources.

    Args:
        registry: to be changed.
        listing: what one source lists now.
        owned: names that this source has registered; it is brought up to date. A tool that somebody else registered
            is never replaced: the listing's tool of that name is refused.

    Example:
        >>> registry, owned = ToolRegistry(), set()
        >>> apply(registry, Listing((ToolDefinition("ping", "Answers pong.", {"type": "object"}),)), owned).added
        ('ping',)
        >>> apply(registry, Listing(), owned).removed
        ('ping',)
    """
    added: list[str] = []
    replaced: list[str] = []
    problems: list[SourceError] = []
    listed = {tool.name for tool in listing.tools}
    removed = [tool.name for tool in registry if tool.name in owned and tool.name not in listed]
    for name in removed:
        registry.unregister(name)
    owned &= listed
    for tool in listing.tools:
        present = registry.get(tool.name)
        if present == tool and tool.name in owned:
            continue
        if present is not None and (tool.name not in owned or _is_foreign(present, tool)):
            owned.discard(tool.name)
            problems.append(_taken(tool, present))
            continue
        try:
            registry.register(tool, replace=True)
        except DefinitionError as error:
            problems.append(SourceError(str(error), path=tool.source or tool.name, hint=error.hint))
            continue
        (added if present is None else replaced).append(tool.name)
        owned.add(tool.name)
    return Changes(tuple(added), tuple(replaced), tuple(removed), tuple(problems))


def _is_foreign(present: ToolDefinition, listed: ToolDefinition) -> bool:
    """Whether an in-process tool has taken the place of one that lives outside."""
    return present.deployment is None and listed.deployment is not None


def _taken(tool: ToolDefinition, present: ToolDefinition) -> SourceError:
    holder = f"an {present.runtime} tool" if present.runtime == "inprocess" else f"a {present.runtime} tool"
    where = f" from {present.source}" if present.source else ""
    return SourceError(
        f"tool {tool.name!r}: {holder}{where} has that name", path=tool.source or tool.name, hint="Rename one of them."
    )
