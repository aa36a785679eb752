"""In which line of which file a fact of a tool stands."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from toolcrib.definition.base_tool import action_of
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import SourceError
from toolcrib.registry.sources.document import Document, parse_document
from toolcrib.registry.sources.positions import Location
from toolcrib.validation.chain_findings import Place


class Places:
    """Finds places; every file is read once.

    Args:
        registry_files: the ``registry.json`` files, weakest first.
    """

    def __init__(self, registry_files: Iterable[Path] = ()) -> None:
        self._registry_files = tuple(registry_files)
        self._documents: dict[Path, Document | None] = {}

    def document(self, path: Path) -> Document | None:
        """The file, or None where it is not there or its syntax is wrong."""
        if path not in self._documents:
            try:
                self._documents[path] = parse_document(path, path.read_bytes())
            except (OSError, SourceError):
                self._documents[path] = None
        return self._documents[path]

    def in_file(self, path: Path, location: Location) -> Place:
        """The line of a key or value, or of what surrounds it."""
        document = self.document(path)
        return place_of(document.problem(location, "")) if document else Place(str(path))

    def of(self, tool: ToolDefinition, *key: str | int) -> Place | None:
        """Where a fact of the tool stands: in the last file that says it, else in the code of its class or function."""
        if tool.deployment is None or tool.source is None:
            return code_place(tool)
        found = [(path, location) for path, location in self.entries(tool) if self._says(path, (*location, *key[:1]))]
        path, location = (found or [*self.entries(tool), (Path(tool.source), ())])[-1 if found else 0]
        return self.in_file(path, (*location, *key))

    def says(self, tool: ToolDefinition, key: str) -> bool:
        """Whether a file says the fact outright."""
        return any(self._says(path, (*location, key)) for path, location in self.entries(tool))

    def entries(self, tool: ToolDefinition) -> list[tuple[Path, Location]]:
        """Where files describe the tool, weakest first."""
        own = Path(tool.source or "")
        found: list[tuple[Path, Location]] = [(own, ())] if own.suffix == ".toml" else []
        for path in dict.fromkeys((*self._registry_files, *([own] if own.suffix == ".json" else []))):
            document = self.document(path)
            listed = document.data.get("tools") if document else None
            for index, entry in enumerate(listed if isinstance(listed, list) else ()):
                if isinstance(entry, dict) and entry.get("tool_id") == tool.name:
                    found.append((path, ("tools", index)))
        return found

    def _says(self, path: Path, location: Location) -> bool:
        document = self.document(path)
        value: Any = document.data if document else None
        for part in location:
            try:
                value = value[part]
            except (LookupError, TypeError):
                return False
        return value is not None


def place_of(error: SourceError) -> Place:
    """The place that an error names."""
    return Place(error.path, error.line)


def words_of(error: SourceError) -> str:
    """What an error says, without the place."""
    return str(error).removeprefix(f"{place_of(error)}: ")


def code_place(tool: ToolDefinition) -> Place | None:
    """The class or function that the tool is made of; None where it has no source."""
    action = action_of(tool)
    if action is None:
        return _function_place(tool.signature.function if tool.signature else tool.handler)
    return class_place(action.tool.tool_class)


def class_place(kind: type) -> Place | None:
    """Where a class begins; None where it has no source."""
    try:
        path = inspect.getsourcefile(kind)
        return Place(path, inspect.getsourcelines(kind)[1]) if path else None
    except (OSError, TypeError):
        return None


def _function_place(function: Any) -> Place | None:
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    return Place(code.co_filename, code.co_firstlineno) if code is not None else None
