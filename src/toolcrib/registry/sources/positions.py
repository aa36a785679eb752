"""Line numbers of keys and values in JSON and TOML, so that an error can name its line (contract T015).

Both scanners expect text that the real parser has accepted; they only find out where things stand.
"""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

Location = tuple[str | int, ...]

_JSON_SYMBOL = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+')
_TOML_SPACE = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)+")
_TOML_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}' r"|'''.*?'{3,5}" r'|"(?:\\.|[^"\\\n])*"' r"|'[^'\n]*'",
    re.DOTALL,
)
_TOML_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_TOML_SCALAR = re.compile(r"[^,\]}#\n]+")


def json_lines(text: str) -> dict[Location, int]:
    """The line, counted from 1, of every key and element of a JSON document.

    Example:
        >>> json_lines('{"tools": [\\n  {"tool_id": "x"}\\n]}')[("tools", 0, "tool_id")]
        2
    """
    return {(): 1, **dict(_json_places(text))}


def json_duplicate(text: str) -> tuple[Location, int] | None:
    """The first key that stands twice in one JSON object, with the line of its second place."""
    seen: set[Location] = set()
    for location, line in _json_places(text):
        if location in seen:
            return location, line
        seen.add(location)
    return None


def toml_lines(text: str) -> dict[Location, int]:
    """The line, counted from 1, of every table, key and element of a TOML document.

    Example:
        >>> toml_lines('id = "x"\\n[name]\\nzh = "名"')[("name", "zh")]
        3
    """
    lines: dict[Location, int] = {(): 1}
    for location, line in _TomlScanner(text).places():
        lines.setdefault(location, line)
    return lines


def nearest_line(lines: Mapping[Location, int], location: Location) -> int:
    """The line of ``location``, or of what surrounds it where it is not in the file."""
    while location and location not in lines:
        location = location[:-1]
    return lines.get(location, 1)


class _Lines:
    """Offsets to line numbers."""

    def __init__(self, text: str) -> None:
        self._ends = [match.start() for match in re.finditer("\n", text)]

    def at(self, offset: int) -> int:
        return bisect_right(self._ends, offset - 1) + 1


@dataclass(slots=True)
class _Container:
    location: Location
    is_object: bool
    key: str | None = None
    index: int = 0

    def child(self) -> Location:
        return (*self.location, self.key if self.is_object and self.key is not None else self.index)


def _json_places(text: str) -> Iterator[tuple[Location, int]]:
    lines = _Lines(text)
    stack: list[_Container] = []
    for match in _JSON_SYMBOL.finditer(text):
        symbol = match[0]
        top = stack[-1] if stack else None
        if symbol == ":":
            continue
        if symbol == ",":
            if top is not None:
                top.key = None
                top.index += 1
        elif symbol in "}]":
            stack.pop()
        elif top is not None and top.is_object and top.key is None:
            top.key = json.loads(symbol, strict=False)
            yield top.child(), lines.at(match.start())
        else:
            location = top.child() if top is not None else ()
            if top is not None and not top.is_object:
                yield location, lines.at(match.start())
            if symbol in "{[":
                stack.append(_Container(location, symbol == "{"))


class _TomlScanner:
    """Walks a valid TOML document and tells where each key and element begins."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.offset = 0
        self._lines = _Lines(text)
        self._tables: dict[Location, int] = {}

    def places(self) -> Iterator[tuple[Location, int]]:
        table: Location = ()
        self._skip_space()
        while self.offset < len(self.text):
            line = self._lines.at(self.offset)
            if self._peek("["):
                table = self._header()
                yield table, line
            else:
                yield from self._pair(table)
            self._skip_space()

    def _header(self) -> Location:
        is_array = self._peek("[[")
        self.offset += 2 if is_array else 1
        keys = self._keys()
        self.offset += 2 if is_array else 1
        location = self._resolve(keys[:-1])
        location = (*location, keys[-1])
        if is_array:
            self._tables[location] = self._tables.get(location, 0) + 1
        return self._resolve(keys)

    def _resolve(self, keys: list[str]) -> Location:
        """The location of dotted keys, through the latest element of each array of tables."""
        location: Location = ()
        for key in keys:
            location = (*location, key)
            if location in self._tables:
                location = (*location, self._tables[location] - 1)
        return location

    def _pair(self, table: Location) -> Iterator[tuple[Location, int]]:
        line = self._lines.at(self.offset)
        location = table
        for key in self._keys():
            location = (*location, key)
            yield location, line
        self._skip_space()
        self.offset += 1  # the equals sign
        self._skip_space()
        yield from self._value(location)

    def _value(self, location: Location) -> Iterator[tuple[Location, int]]:
        if self._peek("["):
            yield from self._members(location, "]")
        elif self._peek("{"):
            yield from self._members(location, "}")
        else:
            match = _TOML_STRING.match(self.text, self.offset) or _TOML_SCALAR.match(self.text, self.offset)
            self.offset = match.end() if match else len(self.text)

    def _members(self, location: Location, closer: str) -> Iterator[tuple[Location, int]]:
        self.offset += 1
        self._skip_space()
        index = 0
        while not self._peek(closer) and self.offset < len(self.text):
            if closer == "}":
                yield from self._pair(location)
            else:
                yield (*location, index), self._lines.at(self.offset)
                yield from self._value((*location, index))
            index += 1
            self._skip_space()
            if self._peek(","):
                self.offset += 1
                self._skip_space()
        self.offset += 1

    def _keys(self) -> list[str]:
        keys: list[str] = []
        while True:
            self._skip_space()
            match = _TOML_STRING.match(self.text, self.offset) or _TOML_BARE_KEY.match(self.text, self.offset)
            if match is None:
                self.offset = len(self.text)
                return keys or [""]
            token = match[0]
            keys.append(tomllib.loads(f"key={token}")["key"] if token[0] in "\"'" else token)
            self.offset = match.end()
            self._skip_space()
            if not self._peek("."):
                return keys
            self.offset += 1

    def _peek(self, text: str) -> bool:
        return self.text.startswith(text, self.offset)

    def _skip_space(self) -> None:
        match = _TOML_SPACE.match(self.text, self.offset)
        if match:
            self.offset = match.end()
