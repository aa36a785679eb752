"""Tools that a ``tools.json`` names by module and class (contract W007-W012)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from toolcrib.definition.base_tool import action_of
from toolcrib.definition.ports import Listing
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import SourceError
from toolcrib.registry.names import nearest
from toolcrib.registry.sources.document import Document, parse_document
from toolcrib.registry.sources.positions import Location
from toolcrib.registry.sources.problems import shown, validation_problems
from toolcrib.registry.sources.tools_json_entry import EntryError, EntryReader
from toolcrib.registry.sources.tools_json_format import HEAD, GlobalSettings, ToolsFile, ToolsJsonEntry, entries

DOCUMENT_PACKAGES: Mapping[str, str] = {"src.tools": "toolcrib.builtin"}
"""Packages of S3 → packages of toolcrib that stand for them where they are not allowed themselves."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A tool as it was made from one entry."""

    fingerprint: str
    entry: ToolsJsonEntry
    definitions: tuple[ToolDefinition, ...]

    @property
    def actions(self) -> dict[str, ToolDefinition]:
        """Its definitions by action."""
        return {action.action: each for each in self.definitions if (action := action_of(each))}


class ToolsJson:
    """A `Source` of the tools that a ``tools.json`` names.

    What is wrong with an entry becomes a problem with path and line, and the others load; the tool stays what it was
    until the entry is mended, and all of them do while the file's syntax is broken. An entry that has not changed keeps
    its tool object. An object is made when its tool is first called where the class tells its actions without one
    (`get_actions` is a class method), else when the file is read.

    Args:
        path: the file; one that does not exist is empty.
        modules: modules and packages that the file may have imported; importing runs their code.

    Example:
        >>> ToolsJson(Path("no-such-tools.json")).load().tools
        ()
    """

    def __init__(self, path: Path, *, modules: Sequence[str] = ("toolcrib.builtin",)) -> None:
        self._path = path.absolute()
        self._modules = tuple(modules)
        self._loaded: dict[str, _Loaded] = {}
        self._head = ToolsFile.model_validate({})
        self._lock = threading.Lock()

    @property
    def entries(self) -> dict[str, ToolsJsonEntry]:
        """What the file says of each tool that is in force."""
        return {name: loaded.entry for name, loaded in self._loaded.items()}

    @property
    def global_settings(self) -> GlobalSettings:
        """What the file says of all tools."""
        return self._head.global_settings

    @property
    def categories(self) -> tuple[str, ...]:
        """The categories that the file lists."""
        return tuple(self._head.categories)

    def paths(self) -> Iterable[Path]:
        """The file."""
        return (self._path,)

    def load(self) -> Listing:
        """Read the file and list its tools; modules that it names are imported."""
        with self._lock:
            try:
                document = parse_document(self._path, self._path.read_bytes())
            except FileNotFoundError:
                self._loaded, self._head = {}, ToolsFile.model_validate({})
                return Listing()
            except OSError as error:
                wrong = SourceError(f"cannot be read: {error.strerror or error}", path=str(self._path))
                return Listing(tuple(_offered(self._loaded)), problems=(wrong,))
            except SourceError as error:
                return Listing(tuple(_offered(self._loaded)), problems=(error,))
            return self._list(document)

    def _list(self, document: Document) -> Listing:
        problems = self._read_head(document)
        known, self._loaded = self._loaded, {}
        for name, location, value in entries(document):
            try:
                loaded = self._entry(document, name, location, value, known.get(name))
            except EntryError as error:
                problems += error.problems
                loaded = known.get(name)
            if loaded is not None:
                problems += self._notices(document, location, name, loaded)
                self._loaded[name] = loaded
        tools, collisions = _without_collisions(document, self._loaded)
        return Listing(tuple(tools), problems=tuple(sorted(problems + collisions, key=lambda each: each.line or 0)))

    def _read_head(self, document: Document) -> list[SourceError]:
        head = {key: value for key, value in document.data.items() if key in HEAD and key != "tools"}
        try:
            self._head = ToolsFile.model_validate(head)
        except ValidationError as error:
            return validation_problems(error, ToolsFile, document, (), "the file")
        return []

    def _entry(
        self, document: Document, name: str, location: Location, value: Any, known: _Loaded | None
    ) -> _Loaded | None:
        """The tool of one entry; None where it is disabled."""
        subject = f"tool {name!r}"
        if not isinstance(value, dict):
            raise EntryError(document.problem(location, f"{subject}: it should be an object, got {shown(value)}"))
        try:
            entry = ToolsJsonEntry.model_validate(value)
        except ValidationError as error:
            raise EntryError(*validation_problems(error, ToolsJsonEntry, document, location, subject)) from error
        if not entry.enabled:
            return None
        fingerprint = json.dumps([value, self._head.global_settings.default_timeout], sort_keys=True)
        if known is not None and known.fingerprint == fingerprint:
            return known
        reader = EntryReader(document, location, name, entry)
        kind = reader.tool_class(self._allowed(reader))
        return _Loaded(fingerprint, entry, tuple(reader.definitions(kind, self._head.global_settings.default_timeout)))

    def _allowed(self, reader: EntryReader) -> str:
        """The module to import for the entry."""
        module = reader.entry.module
        if self._allows(module):
            return module
        for package, ours in DOCUMENT_PACKAGES.items():
            if module.startswith(f"{package}.") and self._allows(ours):
                return ours + module.removeprefix(package)
        raise reader.problem(
            ("module",),
            f"{module} may not be imported: only {', '.join(self._modules) or 'nothing'}",
            hint=f"Importing runs its code. If you trust it, allow it: ToolsJson(…, modules=[…, {module!r}]), "
            "or in TOOLCRIB_TOOLS_JSON_MODULES.",
        )

    def _allows(self, module: str) -> bool:
        return any(module == name or module.startswith(f"{name}.") for name in self._modules)

    def _notices(self, document: Document, location: Location, name: str, loaded: _Loaded) -> list[SourceError]:
        """What is wrong with an entry whose tool is of use nevertheless."""
        found = []
        category = loaded.entry.display.category
        if category and self.categories and category not in self.categories:
            close = nearest(category, self.categories, limit=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"Categories are {', '.join(self.categories)}."
            place = (*location, "display", "category")
            found.append(document.problem(place, f"tool {name!r}: there is no category {category!r}", hint=hint))
        declared = loaded.entry.actions
        if declared is None or set(declared) == loaded.actions.keys():
            return found
        for index, action in enumerate(declared):
            if action not in loaded.actions:
                close = nearest(action, loaded.actions, limit=1)
                hint = f"Did you mean {close[0]!r}?" if close else f"It has {', '.join(loaded.actions)}."
                place = (*location, "actions", index)
                found.append(document.problem(place, f"tool {name!r}: it has no action {action!r}", hint=hint))
        unlisted = [action for action in loaded.actions if action not in declared]
        if unlisted:
            message = f"tool {name!r}: {', '.join(unlisted)} is not among its actions here, and so is not offered"
            hint = "Add it, or leave actions out to offer all."
            found.append(document.problem((*location, "actions"), message, hint=hint))
        return found


def _offered(loaded: Mapping[str, _Loaded]) -> Iterable[ToolDefinition]:
    """The actions that the file lists, of those that the classes have."""
    for each in loaded.values():
        declared = each.entry.actions
        yield from (tool for action, tool in each.actions.items() if declared is None or action in declared)


def _without_collisions(
    document: Document, loaded: Mapping[str, _Loaded]
) -> tuple[list[ToolDefinition], list[SourceError]]:
    """The offered tools, each name once, and the ones whose name an earlier one has."""
    places = {name: location for name, location, _ in entries(document)}
    tools: dict[str, ToolDefinition] = {}
    problems = []
    for tool in _offered(loaded):
        first = tools.setdefault(tool.name, tool)
        ours, theirs = action_of(tool), action_of(first)
        if first is not tool and ours is not None and theirs is not None:
            message = f"its action {ours.action!r} and {theirs.action!r} of {theirs.tool.name!r} are both {tool.name!r}"
            place = places.get(ours.tool.name, ())
            problems.append(document.problem(place, f"tool {ours.tool.name!r}: {message}", hint="Rename one of them."))
    return list(tools.values()), problems
