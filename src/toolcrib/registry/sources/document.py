"""A JSON or TOML file that has been read, and errors that name its lines."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from toolcrib.errors import SourceError
from toolcrib.registry.sources.positions import Location, json_duplicate, json_lines, nearest_line, toml_lines


class Document:
    """The content of one file.

    Args:
        path: the file.
        text: what stands in it.
        data: what it means.
        lines: finds the lines of keys and elements, when an error needs them.
    """

    def __init__(
        self, path: Path, text: str, data: dict[str, Any], lines: Callable[[str], dict[Location, int]]
    ) -> None:
        self.path = path
        self.data = data
        self._text = text
        self._find_lines = lines

    @cached_property
    def _lines(self) -> dict[Location, int]:
        return self._find_lines(self._text)

    def problem(self, location: Location, message: str, *, hint: str | None = None) -> SourceError:
        """An error at a key or value of this file; one that is missing is reported where it should stand."""
        return SourceError(message, path=str(self.path), line=nearest_line(self._lines, location), hint=hint)


def parse_document(path: Path, content: bytes) -> Document:
    """Parse a file whose name ends in ``.toml``, or else JSON.

    Raises:
        SourceError: it is not UTF-8, not of that syntax, or not an object.
    """
    text = _decode(path, content)
    return _parse_toml(path, text) if path.suffix == ".toml" else _parse_json(path, text)


def _decode(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SourceError("the file is not UTF-8", path=str(path), line=line, hint="Save it as UTF-8.") from error


def _parse_toml(path: Path, text: str) -> Document:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        message = re.sub(r" \(at .*\)$", "", str(error))
        raise SourceError(f"not valid TOML: {message}", path=str(path), line=line, hint=_toml_hint(message)) from error
    except RecursionError as error:
        raise SourceError("the tables are nested too deeply", path=str(path), hint="Nest them less.") from error
    return Document(path, text, data, toml_lines)


def _parse_json(path: Path, text: str) -> Document:
    try:
        data = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        message = f"not valid JSON: {error.msg}"
        raise SourceError(message, path=str(path), line=_line_of(error), hint=_json_hint(error)) from error
    except _DuplicateKeyError as error:
        location, line = json_duplicate(text) or ((str(error),), 1)
        raise SourceError(
            f'the key "{location[-1]}" stands twice', path=str(path), line=line, hint="Keep one of them."
        ) from error
    except _ConstantError as error:
        line = text.count("\n", 0, max(text.find(str(error)), 0)) + 1
        raise SourceError(
            f"not valid JSON: {error} is no number", path=str(path), line=line, hint="Write null, or leave it out."
        ) from error
    except RecursionError as error:
        raise SourceError("the objects are nested too deeply", path=str(path), hint="Nest them less.") from error
    if not isinstance(data, dict):
        raise SourceError(
            "the file must hold one object", path=str(path), line=1, hint="Begin it with { and end it with }."
        )
    return Document(path, text, data, json_lines)


def _json_hint(error: json.JSONDecodeError) -> str:
    """What to look for: the parser says what it expected, an author wants to know what is there."""
    rest = error.doc[error.pos :].lstrip()
    before = error.doc[: error.pos].rstrip()
    if not error.doc.strip():
        return "The file is empty; begin it with { and end it with }."
    if not rest:
        return "The file ends too early: a closing bracket, brace or quotation mark is missing."
    if rest.startswith(("//", "/*", "#")):
        return "JSON has no comments; take it out."
    if rest[0] in "'\u201c\u201d\u2018\u2019":
        return 'Use straight double quotation marks, "…".'
    if error.msg.startswith("Illegal trailing comma") or (rest[0] in "]}" and before.endswith(",")):
        return "Take out the comma before the closing bracket."
    if "delimiter" in error.msg:
        mark = ":" if "':'" in error.msg else ","
        return f"Put a {mark!r} between the two, or close what is still open."
    if rest.startswith(("True", "False", "None")):
        return "JSON writes true, false and null."
    if "control character" in error.msg or "Unterminated" in error.msg:
        return 'A text ends on its own line, with "; a line break inside is written \\n.'
    if error.msg == "Extra data":
        return "The file holds one object; nothing may follow its closing brace."
    if "escape" in error.msg:
        return "A backslash is written twice, \\\\."
    return "Names and texts stand in double quotation marks; look at this line and the one before it."


def _toml_hint(message: str) -> str:
    if "overwrite" in message or "twice" in message or "mutable" in message or "Cannot declare" in message:
        return "Keep one of the two: a key or table stands once."
    if "value" in message.lower():
        return 'A text stands in quotation marks, and true and false are small: key = "text".'
    return 'Each line is key = value, a [table] or a # comment; texts stand in "quotation marks".'


def _line_of(error: json.JSONDecodeError) -> int:
    """Where an author has to look: a missing comma is missing behind what stands before it, not on the next line."""
    if "delimiter" not in error.msg:
        return error.lineno
    return error.doc.count("\n", 0, len(error.doc[: error.pos].rstrip())) + 1


class _DuplicateKeyError(ValueError):
    """A key stands twice in one object."""


class _ConstantError(ValueError):
    """NaN or an infinity, which JSON does not have."""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _DuplicateKeyError
    return found


def _no_constant(name: str) -> Any:
    raise _ConstantError(name)
