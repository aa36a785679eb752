"""The OpenAPI documents that ``registry.json`` files name."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from toolcrib.definition.ports import Listing
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import DefinitionError, SourceError
from toolcrib.registry.sources.document import Document, parse_document
from toolcrib.registry.sources.manifest import OpenApiEntry
from toolcrib.registry.sources.openapi.source import OpenApiDocument
from toolcrib.registry.sources.problems import shown, validation_problems


@dataclass(slots=True)
class _Api:
    """One entry that is in force.

    Attributes:
        entry: what it says.
        source: reads its document.
        tools: those of the document when it could last be used.
        problems: what is wrong with the document now.
    """

    entry: OpenApiEntry
    source: OpenApiDocument
    tools: tuple[ToolDefinition, ...] = ()
    problems: tuple[SourceError, ...] = ()


@dataclass(slots=True)
class _File:
    """One ``registry.json`` as it was when its syntax was last right."""

    apis: list[_Api] = field(default_factory=list)
    problems: list[SourceError] = field(default_factory=list)


class OpenApiEntries:
    """A `Source` of the operations of all OpenAPI documents that ``registry.json`` files name under ``openapi``.

    An entry or a document that has become wrong leaves its tools as they were until it is mended. What is wrong with
    the file as a whole is reported by `ToolFiles`, which reads it too.

    Args:
        manifests: the files.

    Example:
        >>> OpenApiEntries([Path("no-such-registry.json")]).load().tools
        ()
    """

    def __init__(self, manifests: Sequence[Path]) -> None:
        self._files = {path.absolute(): _File() for path in manifests}
        self._lock = threading.Lock()

    def paths(self) -> Iterable[Path]:
        """The files, and the documents that they name."""
        apis = [api for file in self._files.values() for api in file.apis]
        return (*self._files, *(path for api in apis for path in api.source.paths()))

    def load(self) -> Listing:
        """Read the files and their documents; call it in a thread where an event loop runs."""
        with self._lock:
            tools: dict[str, ToolDefinition] = {}
            problems: list[SourceError] = []
            for path in self._files:
                self._read(path)
                problems += self._files[path].problems
                for api in self._files[path].apis:
                    _load(api)
                    problems += api.problems
                    for tool in api.tools:
                        first = tools.setdefault(tool.name, tool)
                        if first is not tool:
                            message = f"tool {tool.name!r} is defined in {first.source} already"
                            hint = f'Give one of them a "prefix", or exclude it, in {path}.'
                            problems.append(SourceError(message, path=api.source.label, hint=hint))
            return Listing(tuple(tools.values()), problems=tuple(problems))

    def _read(self, path: Path) -> None:
        try:
            document = parse_document(path, path.read_bytes())
        except FileNotFoundError:
            self._files[path] = _File()
            return
        except (OSError, SourceError):
            return
        values = document.data.get("openapi", [])
        if isinstance(values, list):
            self._files[path] = _interpret(document, values, self._files[path].apis)


def _interpret(document: Document, values: list[Any], known: list[_Api]) -> _File:
    file = _File()
    nameless = False
    for index, value in enumerate(values):
        try:
            file.apis.append(_api(document, index, value, known))
        except _EntryError as error:
            file.problems += error.problems
            name = value.get("document") if isinstance(value, dict) else None
            same = [api for api in known if api.entry.document == name]
            nameless = nameless or not same
            file.apis += [api for api in same if not any(api is each for each in file.apis)]
    if nameless:  # nobody knows which of those that are missing it is
        named = [api.entry.document for api in file.apis]
        file.apis += [api for api in known if api.entry.document not in named]
    return file


class _EntryError(Exception):
    def __init__(self, problems: list[SourceError]) -> None:
        super().__init__(f"{len(problems)} problems")
        self.problems = problems


def _api(document: Document, index: int, value: Any, known: list[_Api]) -> _Api:
    location = ("openapi", index)
    name = value.get("document") if isinstance(value, dict) else None
    subject = f"API {name!r}" if isinstance(name, str) and name else f"API number {index + 1}"
    if not isinstance(value, dict):
        message = f"{subject}: it should be an object, got {shown(value)}"
        raise _EntryError([document.problem(location, message)])
    try:
        entry = OpenApiEntry.model_validate(value)
    except ValidationError as error:
        raise _EntryError(validation_problems(error, OpenApiEntry, document, location, subject)) from error
    for api in known:
        if api.entry == entry:
            return api
    before = next((api for api in known if api.entry.document == entry.document), None)
    try:
        source = _source(entry, document.path.parent)
    except DefinitionError as error:
        raise _EntryError([document.problem(location, f"{subject}: {error}", hint=error.hint)]) from error
    return _Api(entry, source, before.tools if before else ())


def _source(entry: OpenApiEntry, folder: Path) -> OpenApiDocument:
    is_url = entry.document.startswith(("http://", "https://"))
    return OpenApiDocument(
        entry.document if is_url else folder / Path(entry.document).expanduser(),
        base_url=entry.base_url or None,
        auth={name: each if isinstance(each, str) else each.model_dump() for name, each in entry.auth.items()},
        include=entry.include,
        exclude=entry.exclude,
        prefix=entry.prefix,
    )


def _load(api: _Api) -> None:
    listing = api.source.load()
    api.problems = listing.problems
    if listing.tools or not listing.problems:
        api.tools = listing.tools
