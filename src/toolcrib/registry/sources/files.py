"""The tools that files define: folders with a ``tool.toml`` each, and ``registry.json`` over them (contract T015)."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from toolcrib.definition.ports import Listing
from toolcrib.definition.tool import ToolDefinition, ToolGroup
from toolcrib.errors import SourceError
from toolcrib.registry.names import nearest
from toolcrib.registry.sources.absence import Said, absences
from toolcrib.registry.sources.folder import read_folder
from toolcrib.registry.sources.grouping import group_of, unknown_members, with_groups, with_members
from toolcrib.registry.sources.joining import Joined, JoinError
from toolcrib.registry.sources.layers import FileMemory, GroupLayer, Reading, ToolLayer, is_enabled
from toolcrib.registry.sources.manifest import ToolEntry
from toolcrib.registry.sources.registry_file import read_registry_file


class ToolFiles:
    """A `Source` of the tools that live in processes, containers and services of their own.

    What is wrong in a file becomes a problem with path and line, and the rest loads. A tool or a group whose entry has
    become wrong stays what it was until the file is mended, switched off included; so does everything in a file whose
    syntax is broken. So a broken edit never changes what is listed.

    Args:
        folders: each holds tools as ``<tool_id>/tool.toml``; of two tools of one name the later folder's counts.
        manifests: ``registry.json`` files; what they say of a tool wins, field by field, over its ``tool.toml`` and
            over earlier files.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as project:
        ...     listing = ToolFiles([Path(project, "tools/local")], [Path(project, "registry.json")]).load()
        >>> listing.tools, listing.problems
        ((), ())
    """

    def __init__(self, folders: Sequence[Path] = (), manifests: Sequence[Path] = ()) -> None:
        self._folders = tuple(path.absolute() for path in folders)
        self._manifests = tuple(path.absolute() for path in manifests)
        self._memory = FileMemory()
        self._tools: dict[str, ToolDefinition] = {}
        self._groups: dict[str, ToolGroup] = {}
        self._settled: dict[str, ToolDefinition | None] = {}
        self._absent: dict[str, str] = {}
        self._tools_said = Said(lambda reading: {layer.tool_id for layer in reading.tools} | reading.broken)
        self._groups_said = Said(
            lambda reading: {layer.entry.group_id for layer in reading.groups} | reading.broken_groups
        )
        self._lock = threading.Lock()

    def paths(self) -> Iterable[Path]:
        """The folders and files to watch, whether they exist yet or not."""
        deployments = [tool.deployment for tool in self._tools.values() if tool.deployment]
        elsewhere = {
            deployment.directory
            for deployment in deployments
            if deployment.directory and deployment.directory.parent not in self._folders
        }
        return (*self._folders, *self._manifests, *sorted(elsewhere))

    def load(self) -> Listing:
        """Read what has changed since the last time, and list everything.

        It reads files and hashes the tools' programs; call it in a thread where an event loop runs.
        """
        with self._lock:
            return self._load()

    def why_absent(self, tool_id: str) -> str | None:
        """Why the files, as last read, give no tool of that name though they mention it; None where they do not.

        Example:
            >>> ToolFiles().why_absent("anything") is None
            True
        """
        return self._absent.get(tool_id)

    def _load(self) -> Listing:
        folders = [read_folder(folder, self._memory) for folder in self._folders]
        manifests = [read_registry_file(path, self._memory) for path in self._manifests]
        readings = [*folders, *manifests]
        problems = [problem for reading in readings for problem in reading.problems]
        places = {name: path for reading in folders for name, path in reading.places.items()}
        layers = _layers_by_tool(folders, manifests)
        undefined = _undefined(folders, layers)
        problems += undefined.values()
        tools, found = self._join(layers, folders, manifests, places)
        problems += found
        groups, found = self._group(readings, tools, layers)
        problems += found + _false_claims(layers, groups, tools)
        self._tools, self._groups = tools, groups
        self._absent = absences(tools, layers, readings, undefined)
        self._forget(folders)
        present = {name: member for name, group in groups.items() if (member := with_members(group, tools))}
        return Listing(
            tools=tuple(with_groups(tool, present) for tool in tools.values()),
            groups=tuple(present.values()),
            problems=tuple(problems),
        )

    def _join(
        self,
        layers: dict[str, list[ToolLayer]],
        folders: list[Reading],
        manifests: list[Reading],
        places: dict[str, Path],
    ) -> tuple[dict[str, ToolDefinition], list[SourceError]]:
        tools: dict[str, ToolDefinition] = {}
        settled: dict[str, ToolDefinition | None] = {}
        problems: list[SourceError] = []
        broken = {tool_id for reading in [*folders, *manifests] for tool_id in reading.broken}
        lost = self._tools_said.lost([*folders, *manifests])
        doubtful = lost | {tool_id for reading in manifests for tool_id in reading.broken}
        off = {tool_id for reading in manifests for tool_id in reading.off}
        for tool_id in dict.fromkeys([*layers, *sorted(broken), *sorted(lost)]):
            known, own = self._tools.get(tool_id), layers.get(tool_id, [])
            if tool_id in doubtful and tool_id in self._settled:
                settled[tool_id] = self._settled[tool_id]
            elif tool_id in off or (own and not is_enabled(own)):
                settled[tool_id] = None
            elif (tool_id in broken or not own) and known is not None:
                settled[tool_id] = known
            elif own:
                try:
                    tool = Joined(own, places).definition()
                except JoinError as error:
                    problems += [] if tool_id in broken else error.problems
                    if tool_id not in broken or known is not None:
                        settled[tool_id] = known
                else:
                    settled[tool_id] = tool
            if (listed := settled.get(tool_id)) is not None:
                tools[tool_id] = listed
        self._settled = settled
        return tools, problems

    def _group(
        self, readings: list[Reading], tools: dict[str, ToolDefinition], layers: dict[str, list[ToolLayer]]
    ) -> tuple[dict[str, ToolGroup], list[SourceError]]:
        entries: dict[str, GroupLayer] = {}
        for reading in readings:
            entries.update({layer.entry.group_id: layer for layer in reading.groups})
        broken = {group_id for reading in readings for group_id in reading.broken_groups}
        broken |= self._groups_said.lost(readings)
        known = {group_id: group for group_id, group in self._groups.items() if group_id in broken}
        wrong = {tool_id for reading in readings for tool_id in reading.broken}
        problems = [
            problem for layer in entries.values() for problem in unknown_members(layer, {*tools, *layers, *wrong})
        ]
        return {**{group_id: group_of(layer) for group_id, layer in entries.items()}, **known}, problems

    def _forget(self, folders: list[Reading]) -> None:
        """Forget the files of folders that are gone."""
        manifests = {place / "tool.toml" for reading in folders for place in reading.places.values()}
        self._memory.forget_except({*self._manifests, *manifests})


def _layers_by_tool(folders: list[Reading], manifests: list[Reading]) -> dict[str, list[ToolLayer]]:
    """What is said of each tool, weakest first; a folder stands alone, so a later one replaces an earlier one."""
    layers: dict[str, list[ToolLayer]] = {}
    for reading in folders:
        for tool_id in reading.broken:  # it would be the tool; an earlier one of its name must not run in its place
            layers.pop(tool_id, None)
        layers.update({layer.tool_id: [layer] for layer in reading.tools})
    for reading in manifests:
        for layer in reading.tools:
            layers.setdefault(layer.tool_id, []).append(layer)
    return layers


def _undefined(folders: list[Reading], layers: dict[str, list[ToolLayer]]) -> dict[str, SourceError]:
    """Folders without a ``tool.toml``, unless a ``registry.json`` defines their tools."""
    used = {
        str((layer.document.path.parent / layer.facts.directory).resolve())
        for own in layers.values()
        for layer in own
        if isinstance(layer.facts, ToolEntry) and layer.facts.directory
    }
    return {
        name: problem
        for reading in folders
        for name, problem in reading.undefined.items()
        if name not in layers and str(reading.places[name].resolve()) not in used
    }


def _false_claims(
    layers: dict[str, list[ToolLayer]], groups: dict[str, ToolGroup], tools: dict[str, ToolDefinition]
) -> list[SourceError]:
    """Tools that claim a group that does not list them, or hide one that does."""
    problems = []
    for tool_id in tools:
        claim = Joined(layers[tool_id], {}).claimed_groups() if tool_id in layers else None
        if claim is None:
            continue
        layer, key, claimed = claim
        for index, group_id in enumerate(claimed):
            if group_id not in groups:
                close = nearest(group_id, groups, limit=1)
                hint = f"Did you mean {close[0]!r}?" if close else "Define it under groups in a registry.json."
                problems.append(layer.problem((key, index), f"there is no group {group_id!r}", hint=hint))
            elif tool_id not in groups[group_id].tool_ids:
                hint = f"Add {tool_id!r} to the group's tool_ids and usage_order, or take the group out here."
                problems.append(layer.problem((key, index), f"the group {group_id!r} does not list it", hint=hint))
        hidden = [
            group_id for group_id, group in groups.items() if tool_id in group.tool_ids and group_id not in claimed
        ]
        if hidden:
            hint = f"Add {hidden[0]!r} here, or leave the key out: it is derived from the groups."
            problems.append(
                layer.problem(key, f"the group {hidden[0]!r} lists it, and it does not name the group", hint=hint)
            )
    return problems
