"""Operations of an API as tools."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from toolcrib.definition.deployment import Deployment
from toolcrib.definition.tool import Effects, ToolDefinition
from toolcrib.registry.sources.openapi.answers import read_answers
from toolcrib.registry.sources.openapi.bodies import read_body
from toolcrib.registry.sources.openapi.document import ApiDocument, ApiProblem
from toolcrib.registry.sources.openapi.parameters import Arguments, read_parameters
from toolcrib.registry.sources.openapi.schemas import Schemas
from toolcrib.registry.sources.openapi.security import References, Security
from toolcrib.registry.sources.openapi.servers import server_url
from toolcrib.registry.sources.openapi.wire import HttpOperation
from toolcrib.registry.sources.positions import Location
from toolcrib.registry.sources.problems import shown

METHODS = frozenset({"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"})
_READING = frozenset({"get", "head", "options", "trace", "query"})
_IDEMPOTENT = _READING | {"put", "delete"}
_LONGEST_NAME = 128


@dataclass(frozen=True)
class Operation:
    """One operation, where it stands, and the item of the path around it."""

    method: str
    path: str
    data: Mapping[str, Any]
    location: Location
    item: Mapping[str, Any]
    item_location: Location

    @property
    def label(self) -> str:
        """How people write it."""
        return f"{self.method.upper()} {self.path}"


def each_operation(document: ApiDocument) -> Iterator[Operation | ApiProblem]:
    """Every operation of a document in its order, and what cannot be one."""
    paths = document.data.get("paths", {})
    if not isinstance(paths, Mapping):
        yield ApiProblem(("paths",), f'"paths" should be an object, got {shown(paths)}')
        return
    for path, value in paths.items():
        if path.startswith("x-"):
            continue
        at: Location = ("paths", path)
        if not path.startswith("/"):
            yield ApiProblem(at, f"the path {shown(path)} does not begin with /")
            continue
        try:
            item, place = document.object_at(value, at, "a path")
        except ApiProblem as problem:
            yield problem
            continue
        for method in item:
            if method not in METHODS:
                continue
            location = (*place, method)
            if isinstance(item[method], Mapping):
                yield Operation(method, path, item[method], location, item, place)
            else:
                yield ApiProblem(location, f"an operation should be an object, got {shown(item[method])}")


def own_name(operation: Operation) -> str:
    """The name an operation has in its document, as a tool may have it, or else its method and path.

    Example:
        >>> own_name(Operation("get", "/pets/{petId}", {}, (), {}, ()))
        'get_pets_petId'
    """
    said = operation.data.get("operationId")
    cleaned = _cleaned(said) if isinstance(said, str) else ""
    return cleaned or _cleaned(f"{operation.method}_{operation.path.strip('/') or 'root'}".replace("/", "_"))


def names_of(operations: list[Operation]) -> list[str]:
    """A name for each, all different: of those with one ``operationId`` the later ones get their method and path."""
    taken: set[str] = set()
    names = []
    for operation in operations:
        name = own_name(operation)
        if name in taken:
            name = own_name(Operation(operation.method, operation.path, {}, (), {}, ()))
        base, number = name, 1
        while name in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name)
        names.append(name)
    return names


def prefixed(prefix: str, name: str) -> str:
    """``prefix`` and ``name``, cut to the length that a tool's name may have."""
    full = prefix + name
    if len(full) <= _LONGEST_NAME:
        return full
    return f"{full[: _LONGEST_NAME - 9]}_{hashlib.sha256(full.encode()).hexdigest()[:8]}"


class OperationReader:
    """Makes tools of the operations of one document.

    Args:
        document: the document.
        base_url: takes the place of its servers; None = they count.
        document_url: where it came from, for relative servers; None = from a file.
        references: of secrets, by security scheme.
    """

    def __init__(
        self, document: ApiDocument, *, base_url: str | None, document_url: str | None, references: References
    ) -> None:
        self._document = document
        self._base_url = base_url
        self._document_url = document_url
        self._requests = Schemas(document, "request")
        self._answers = Schemas(document, "answer")
        self.security = Security(document, references)
        info = document.data.get("info")
        version = info.get("version") if isinstance(info, Mapping) else None
        self._version = str(version) if version else None

    def tool(self, operation: Operation, name: str) -> ToolDefinition:
        """The tool of that name that carries out ``operation``.

        Raises:
            ApiProblem: something that it needs cannot be used.
        """
        try:
            return self._tool(operation, name)
        except RecursionError:
            raise ApiProblem(operation.location, "its schemas are nested too deeply") from None

    def _tool(self, operation: Operation, name: str) -> ToolDefinition:
        data, method = operation.data, operation.method.upper()
        arguments = Arguments()
        groups = [
            (operation.item.get("parameters"), (*operation.item_location, "parameters")),
            (data.get("parameters"), (*operation.location, "parameters")),
        ]
        parameters = read_parameters(self._document, self._requests, operation.path, groups, arguments)
        at = (*operation.location, "requestBody")
        body, further = read_body(self._document, self._requests, data.get("requestBody"), at, arguments)
        responses = data.get("responses")
        at = (*operation.location, "responses")
        output, accept = read_answers(self._document, self._answers, method, responses, at)
        wire: HttpOperation = {
            "method": method,
            "path": operation.path,
            "accept": accept,
            "parameters": parameters,
            "body": body,
            "credentials": self._credentials(operation),
        }
        schema: dict[str, Any] = {"type": "object", "properties": arguments.properties}
        if arguments.required:
            schema["required"] = arguments.required
        summary = _text(data.get("summary")) or _text(operation.item.get("summary"))
        effects: Effects = "read" if operation.method in _READING else "external"
        return ToolDefinition(
            name=name,
            description=_description(operation, summary, arguments.notes),
            parameters=self._requests.closed({**schema, **further}),
            category=_category(data.get("tags")),
            title=summary or None,
            effects=effects,
            idempotent=operation.method in _IDEMPOTENT,
            risk="medium" if operation.method == "delete" else "low",
            output_schema=output,
            deployment=Deployment(
                runtime="remote",
                endpoint=operation.path.removeprefix("/"),
                method="GET" if method == "GET" else "POST",
                url=self._server(operation),
                options={"openapi": wire},
            ),
            version=self._version,
            source=self._document.label,
        )

    def _server(self, operation: Operation) -> str:
        servers, at = self._document.data.get("servers"), cast("Location", ("servers",))
        for data, location in (
            (operation.data, operation.location),
            (operation.item, operation.item_location),
        ):
            if data.get("servers"):
                servers, at = data["servers"], (*location, "servers")
                break
        return server_url(servers, at, base_url=self._base_url, document_url=self._document_url)

    def _credentials(self, operation: Operation) -> list[Any]:
        if "security" in operation.data:
            return [*self.security.credentials(operation.data["security"], (*operation.location, "security"))]
        return [*self.security.credentials(self._document.data.get("security"), ("security",))]


def _description(operation: Operation, summary: str, notes: list[str]) -> str:
    words = _text(operation.data.get("description")) or _text(operation.item.get("description")) or summary
    parts = [words or operation.label]
    if operation.data.get("deprecated") is True:
        parts.append("Deprecated.")
    return "\n\n".join([*parts, " ".join(notes)] if notes else parts)


def _category(tags: Any) -> str:
    first = tags[0] if isinstance(tags, list) and tags else None
    return _text(first) or "general"


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _cleaned(text: str) -> str:
    return re.sub(r"_{2,}", "_", re.sub(r"[^A-Za-z0-9._/-]+", "_", text)).strip("_")[:_LONGEST_NAME]
