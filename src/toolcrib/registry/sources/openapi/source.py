"""An OpenAPI document as a source of tools."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from toolcrib.definition.ports import Listing
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import DefinitionError, SourceError
from toolcrib.registry.names import nearest
from toolcrib.registry.sources.openapi.document import ApiDocument, ApiProblem, pointer_of
from toolcrib.registry.sources.openapi.operations import (
    Operation,
    OperationReader,
    each_operation,
    names_of,
    prefixed,
)
from toolcrib.registry.sources.openapi.security import References, check_references
from toolcrib.registry.sources.openapi.servers import url_mistake
from toolcrib.registry.sources.positions import Location

MOST_NAMES = 3


class OpenApiDocument:
    """A `Source` of the operations that an OpenAPI document describes, each a tool that calls the API.

    What is wrong in the document becomes a problem with its line and JSON pointer, and the other operations load. An
    operation that has become wrong stays what it was until the document is mended; so do all of a document that cannot
    be read.

    Args:
        location: the file, or its URL.
        base_url: where the API answers, in place of the document's servers. Where it has no path of its own, the path
            of a relative server is appended.
        auth: by security scheme a reference to the secret (``"env:PETSTORE_TOKEN"``), or one each for ``username`` and
            ``password``.
        include: patterns of the operations to take, by name (``get*``) or by method and path (``GET /pets/*``); None =
            all.
        exclude: patterns of operations to leave out.
        prefix: put before every name.

    Raises:
        DefinitionError: ``auth`` holds something else than references, or a URL cannot be used.

    Example:
        >>> import json
        >>> from tempfile import TemporaryDirectory
        >>> api = {"openapi": "3.1.0", "paths": {"/pets": {"get": {"operationId": "listPets", "responses": {}}}}}
        >>> with TemporaryDirectory() as folder:
        ...     _ = Path(folder, "api.json").write_text(json.dumps(api))
        ...     source = OpenApiDocument(Path(folder, "api.json"), base_url="https://api.example.com", prefix="pet_")
        ...     [tool.name for tool in source.load().tools]
        ['pet_listPets']
    """

    def __init__(
        self,
        location: Path | str,
        *,
        base_url: str | None = None,
        auth: References | None = None,
        include: Sequence[str] | None = None,
        exclude: Sequence[str] | None = None,
        prefix: str = "",
    ) -> None:
        is_url = isinstance(location, str) and location.startswith(("http://", "https://"))
        self._url = str(location) if is_url else None
        self._path = None if is_url else Path(location).absolute()
        self._base_url = base_url
        self._auth: References = dict(auth or {})
        self._include = None if include is None else tuple(include)
        self._exclude = tuple(exclude or ())
        self._prefix = prefix
        self._content: bytes | None = None
        self._listing = Listing()
        self._tools: dict[tuple[str, str], ToolDefinition] = {}
        self._lock = threading.Lock()
        check_references(self._auth)
        if self._url and (mistake := url_mistake(self._url.partition("?")[0])):
            raise DefinitionError(f"the OpenAPI document {mistake}", hint="Save the document as a file.")
        if base_url is not None and (mistake := url_mistake(base_url)):
            raise DefinitionError(f"base_url {mistake}", hint='Write it like "https://api.example.com/v1".')

    @property
    def label(self) -> str:
        """The file or URL, as errors name it."""
        return self._url.partition("?")[0] if self._url else str(self._path)

    def paths(self) -> Iterable[Path]:
        """The file to watch; a URL has none."""
        return () if self._path is None else (self._path,)

    def load(self) -> Listing:
        """Read the document if it has changed, and list its tools.

        It reads a file or asks a server; call it in a thread where an event loop runs.
        """
        with self._lock:
            try:
                content = self._read()
                if content == self._content:
                    return self._listing
                document = ApiDocument(self.label, content)
            except SourceError as error:
                return Listing(tools=tuple(self._tools.values()), problems=(error,))
            self._listing = self._interpret(document)
            self._content = content
            return self._listing

    def _read(self) -> bytes:
        if self._url is not None:
            from toolcrib.registry.sources.openapi.fetch import fetch

            return fetch(self._url)
        assert self._path is not None
        try:
            return self._path.read_bytes()
        except FileNotFoundError:
            hint = "Correct the path of the OpenAPI document; it counts from where it is named."
            raise SourceError("there is no such file", path=self.label, hint=hint) from None
        except OSError as error:
            raise SourceError(f"cannot be read: {error.strerror or error}", path=self.label) from error

    def _interpret(self, document: ApiDocument) -> Listing:
        reader = OperationReader(document, base_url=self._base_url, document_url=self._url, references=self._auth)
        problems = _Problems()
        for problem in reader.security.unknown():
            problems.add(problem, None)
        operations: list[Operation] = []
        for found in each_operation(document):
            if isinstance(found, Operation):
                operations.append(found)
            else:
                problems.add(found, None)
        named = list(zip(operations, names_of(operations), strict=True))
        for problem in self._unmatched(named):
            problems.add(problem, None)
        tools: dict[tuple[str, str], ToolDefinition] = {}
        for operation, name in named:
            if not self._is_wanted(operation, name):
                continue
            key = (operation.method, operation.path)
            try:
                tools[key] = reader.tool(operation, prefixed(self._prefix, name))
            except ApiProblem as problem:
                problems.add(problem, operation)
                if key in self._tools:
                    tools[key] = self._tools[key]
        self._tools = tools
        return Listing(tools=tuple(tools.values()), problems=problems.of(document))

    def _is_wanted(self, operation: Operation, name: str) -> bool:
        if self._include is not None and not any(_matches(pattern, operation, name) for pattern in self._include):
            return False
        return not any(_matches(pattern, operation, name) for pattern in self._exclude)

    def _unmatched(self, named: list[tuple[Operation, str]]) -> list[ApiProblem]:
        """Patterns that name no operation, most likely misspelled."""
        problems = []
        for option, patterns in (("include", self._include or ()), ("exclude", self._exclude)):
            for pattern in patterns:
                if not any(_matches(pattern, operation, name) for operation, name in named):
                    close = nearest(pattern, [name for _, name in named], limit=1)
                    hint = f"Did you mean {close[0]!r}?" if close else None
                    problems.append(ApiProblem(("paths",), f"{option} has {pattern!r}, which fits no operation", hint))
        return problems


def _matches(pattern: str, operation: Operation, name: str) -> bool:
    return fnmatchcase(operation.label if " " in pattern else name, pattern)


class _Problems:
    """Problems by what is wrong: a schema that many operations use is reported once."""

    def __init__(self) -> None:
        self._found: dict[tuple[Location, str], tuple[ApiProblem, list[Operation]]] = {}

    def add(self, problem: ApiProblem, operation: Operation | None) -> None:
        """Add one, and the operation that it makes unusable."""
        _, operations = self._found.setdefault((problem.location, problem.message), (problem, []))
        if operation is not None:
            operations.append(operation)

    def of(self, document: ApiDocument) -> tuple[SourceError, ...]:
        """All of them as errors of the document."""
        errors = []
        for problem, operations in self._found.values():
            subject = f"{_listed(operations)}: " if operations else ""
            message = f"{subject}{problem.message} (at {pointer_of(problem.location)})"
            errors.append(document.problem(problem.location, message, problem.hint))
        return tuple(sorted(errors, key=lambda error: error.line or 0))


def _listed(operations: list[Operation]) -> str:
    labels = [operation.label for operation in operations[:MOST_NAMES]]
    if len(operations) > MOST_NAMES:
        labels.append(f"{len(operations) - MOST_NAMES} more")
    return ", ".join(labels)
