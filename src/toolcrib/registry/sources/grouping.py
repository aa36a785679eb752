"""Groups of tools, checked against the tools that there are (contract T005)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from toolcrib.definition.tool import Texts, ToolDefinition, ToolGroup
from toolcrib.errors import SourceError
from toolcrib.registry.names import nearest
from toolcrib.registry.sources.layers import GroupLayer
from toolcrib.registry.sources.manifest import words


def group_of(layer: GroupLayer) -> ToolGroup:
    """The group that an entry describes, as it stands there."""
    entry = layer.entry
    name, names = words(entry.name)
    description, descriptions = words(entry.description)
    return ToolGroup(
        group_id=entry.group_id,
        name=name,
        description=description,
        backend_runtime=entry.backend_runtime,
        tool_ids=tuple(entry.tool_ids),
        usage_order=tuple(entry.usage_order or entry.tool_ids),
        translations={
            language: Texts(names.get(language), descriptions.get(language))
            for language in ("zh", "en")
            if language in names or language in descriptions
        },
    )


def unknown_members(layer: GroupLayer, known: Iterable[str]) -> list[SourceError]:
    """An error for each member that no file defines."""
    known = set(known)
    problems = []
    for index, tool_id in enumerate(layer.entry.tool_ids):
        if tool_id not in known:
            close = nearest(tool_id, known, limit=1)
            hint = f"Did you mean {close[0]!r}?" if close else "Define the tool, or take it out of the group."
            problems.append(layer.problem(("tool_ids", index), f"there is no tool {tool_id!r}", hint=hint))
    return problems


def with_members(group: ToolGroup, tools: Mapping[str, ToolDefinition]) -> ToolGroup | None:
    """``group`` with the members that exist, so that every reference is valid; None where none is left."""
    members = tuple(tool_id for tool_id in group.tool_ids if tool_id in tools)
    if not members:
        return None
    return replace(group, tool_ids=members, usage_order=tuple(name for name in group.usage_order if name in members))


def with_groups(tool: ToolDefinition, groups: Mapping[str, ToolGroup]) -> ToolDefinition:
    """``tool`` with the groups that list it."""
    group_ids = tuple(group_id for group_id, group in groups.items() if tool.name in group.tool_ids)
    return replace(tool, group_ids=group_ids) if group_ids else tool
