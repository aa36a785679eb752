"""One OpenAPI document: its version, its references, and errors that name the place."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from toolcrib.errors import SourceError
from toolcrib.registry.sources.document import Document, parse_document
from toolcrib.registry.sources.positions import Location
from toolcrib.registry.sources.problems import shown

_VERSION = re.compile(r"3\.([012])(\.\d+)?(-.*)?")


class ApiProblem(Exception):
    """Something in the document that cannot be used.

    Attributes:
        location: where it stands.
        message: what is wrong.
        hint: what to do about it.
    """

    def __init__(self, location: Location, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.location = location
        self.message = message
        self.hint = hint


class ApiDocument:
    """An OpenAPI document of version 3.0, 3.1 or 3.2.

    Args:
        label: the file or URL, for errors.
        content: its bytes, JSON or (with PyYAML installed) YAML.

    Raises:
        SourceError: it cannot be read as such a document.
    """

    def __init__(self, label: str, content: bytes) -> None:
        self.label = label
        self._document = _parse(label, content)
        self.data = self._document.data
        self.minor = self._version()

    def _version(self) -> int:
        version = self.data.get("openapi")
        if isinstance(version, str) and (found := _VERSION.fullmatch(version)):
            return int(found[1])
        if "swagger" in self.data:
            hint = "Convert it to OpenAPI 3; most editors of API documents can."
            raise self.problem(("swagger",), f"this is Swagger {self.data['swagger']}, not OpenAPI 3", hint)
        if version is None:
            hint = 'It begins with "openapi": "3.1.0".'
            raise self.problem((), 'this is no OpenAPI document: "openapi" is missing', hint)
        raise self.problem(("openapi",), f"OpenAPI {shown(version)} is not supported", "3.0, 3.1 and 3.2 are.")

    def problem(self, location: Location, message: str, hint: str | None = None) -> SourceError:
        """An error at a place of this document."""
        line = self._document.problem(location, message).line
        return SourceError(message, path=self.label, line=line, hint=hint)

    def resolve(self, reference: Any, at: Location) -> tuple[Any, Location]:
        """What ``reference``, which stands at ``at``, points to, and where that stands.

        Raises:
            ApiProblem: it points nowhere, or to another document.
        """
        if not isinstance(reference, str):
            raise ApiProblem(at, f'"$ref" should be a text, got {shown(reference)}')
        if not reference.startswith("#"):
            hint = "Bundle the documents into one; references to files and the network are not followed."
            raise ApiProblem(at, f"{shown(reference)} is in another document", hint)
        pointer = unquote(reference[1:])
        if not pointer.startswith("/"):
            raise ApiProblem(at, f"{shown(reference)} is no place in this document", 'Write it as "#/components/…".')
        found: Any = self.data
        location: Location = ()
        for part in pointer[1:].split("/"):
            key: str | int = part.replace("~1", "/").replace("~0", "~")
            try:
                key = int(key) if isinstance(found, list) else key
                found = found[key]
            except (LookupError, TypeError, ValueError):
                raise ApiProblem(at, f"{shown(reference)} is not in the document") from None
            location = (*location, key)
        return found, location

    def follow(self, value: Any, at: Location) -> tuple[Any, Location]:
        """``value``, or what its chain of references ends in, and where that stands.

        Raises:
            ApiProblem: a reference points nowhere or leads back to itself.
        """
        seen = set()
        while isinstance(value, Mapping) and "$ref" in value:
            start = (*at, "$ref")
            value, at = self.resolve(value["$ref"], start)
            if at in seen:
                raise ApiProblem(start, "this reference leads back to itself")
            seen.add(at)
        return value, at

    def object_at(self, value: Any, at: Location, what: str) -> tuple[Mapping[str, Any], Location]:
        """Like `follow`, for what must be an object.

        Raises:
            ApiProblem: it is none.
        """
        value, at = self.follow(value, at)
        if not isinstance(value, Mapping):
            raise ApiProblem(at, f"{what} should be an object, got {shown(value)}")
        return value, at


def pointer_of(location: Location) -> str:
    """A location as a JSON pointer.

    Example:
        >>> pointer_of(("paths", "/pets", "get"))
        '#/paths/~1pets/get'
    """
    return "#" + "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in location)


def _parse(label: str, content: bytes) -> Document:
    suffix = Path(label).suffix.lower()
    begins_as_json = content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[", b"")
    try:
        if suffix in (".yaml", ".yml") or (suffix != ".json" and not begins_as_json):
            from toolcrib.registry.sources.openapi.yaml_text import parse_yaml

            return parse_yaml(Path(label), content)
        return parse_document(Path("document.json"), content)
    except SourceError as error:
        prefix = error.path if error.line is None else f"{error.path}:{error.line}"
        message = str(error).removeprefix(f"{prefix}: ")
        raise SourceError(message, path=label, line=error.line, hint=error.hint) from error
