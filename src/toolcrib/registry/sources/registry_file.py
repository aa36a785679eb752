"""Tools and groups that stand in a ``registry.json`` (contract T005, T006, T015)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from toolcrib.errors import SourceError
from toolcrib.registry.sources.document import Document
from toolcrib.registry.sources.layers import FileMemory, GroupLayer, Reading, ToolLayer, schema_problems
from toolcrib.registry.sources.manifest import GroupEntry, RegistryFile, ToolEntry
from toolcrib.registry.sources.positions import Location
from toolcrib.registry.sources.problems import shown, validation_problems

Entry = TypeVar("Entry", bound=BaseModel)


def read_registry_file(path: Path, memory: FileMemory) -> Reading:
    """What stands in the ``registry.json`` at ``path``; one that does not exist is empty."""
    return memory.read(path, _interpret)


def _interpret(document: Document) -> Reading:
    tools = _read_entries(document, "tools", ToolEntry, "tool_id", "tool")
    groups = _read_entries(document, "groups", GroupEntry, "group_id", "group")
    layers: list[ToolLayer] = []
    for tool_id, (location, entry) in tools.found.items():
        layer = ToolLayer(tool_id, entry, document, location)
        wrong = schema_problems(layer)
        if wrong:
            tools.problems += wrong
            tools.broken.add(tool_id)
        else:
            layers.append(layer)
    head = _head_problems(document)
    problems = [*head, *tools.problems, *groups.problems]
    return Reading(
        tools=tuple(layers),
        groups=tuple(GroupLayer(entry, document, location) for location, entry in groups.found.values()),
        problems=tuple(sorted(problems, key=lambda problem: problem.line or 0)),
        broken=frozenset(tools.broken),
        broken_groups=frozenset(groups.broken),
        off=frozenset(tools.off & tools.broken),
        nameless=bool(head) or tools.nameless or groups.nameless,  # a key with a slip in its name may hold the entries
    )


def _head_problems(document: Document) -> list[SourceError]:
    """What is wrong outside the entries."""
    head = {key: [] if isinstance(value, list) else value for key, value in document.data.items()}
    try:
        RegistryFile.model_validate(head)
    except ValidationError as error:
        return validation_problems(error, RegistryFile, document, (), "the file")
    return []


@dataclass(slots=True)
class _Entries(Generic[Entry]):
    found: dict[str, tuple[Location, Entry]] = field(default_factory=dict)
    problems: list[SourceError] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    off: set[str] = field(default_factory=set)
    nameless: bool = False


def _read_entries(document: Document, key: str, model: type[Entry], id_key: str, noun: str) -> _Entries[Entry]:
    """The entries of one list, each validated by itself so that a wrong one does not take the others with it."""
    entries: _Entries[Entry] = _Entries()
    values = document.data.get(key, [])
    if not isinstance(values, list):
        entries.nameless = True
        return entries
    for index, value in enumerate(values):
        location: Location = (key, index)
        name = value.get(id_key) if isinstance(value, dict) else None
        subject = f"{noun} {name!r}" if isinstance(name, str) and name else f"{noun} number {index + 1}"
        entry, problems = _validated(model, document, location, value, subject)
        if isinstance(name, str) and name in entries.found.keys() | entries.broken:
            hint = "Keep one of the entries."
            problems = [document.problem((*location, id_key), f"{subject}: it stands twice in this file", hint=hint)]
            entries.broken.add(name)
        elif entry is not None and isinstance(name, str):
            entries.found[name] = (location, entry)
        elif isinstance(name, str):
            entries.broken.add(name)
            if value.get("enabled") is False:
                entries.off.add(name)
        else:
            entries.nameless = True
        entries.problems += problems
    return entries


def _validated(
    model: type[Entry], document: Document, location: Location, value: Any, subject: str
) -> tuple[Entry | None, list[SourceError]]:
    if not isinstance(value, dict):
        return None, [document.problem(location, f"{subject}: it should be an object, got {shown(value)}")]
    try:
        return model.model_validate(value), []
    except ValidationError as error:
        return None, validation_problems(error, model, document, location, subject)
