"""JSON exactly as the standard has it: what is read here is what was sent, and nothing else (DESIGN §3.2)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

MOST_LEVELS = 200
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_STRUCTURE = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{]|[\]}]', re.DOTALL)


class Malformed(Exception):
    """The text is not JSON that can be read without guessing; the message says why."""


class CutOff(Exception):
    """The text ends before the JSON does."""


def decode(text: str) -> Any:
    """The value of a whole text.

    Raises:
        json.JSONDecodeError: it is not JSON; a lenient reading may help.
        Malformed: it is JSON, but nobody can say what is meant: a key twice, NaN, half a surrogate pair, a number
            beyond all bounds, over 200 levels.
    """
    value = _read(_DECODER.decode, text)
    check(text, value)
    return value


def decode_at(text: str, start: int) -> tuple[Any, int]:
    """The value that begins at ``start``, and where it ends; raises as `decode`."""
    value: Any
    value, end = _read(_DECODER.raw_decode, text, start)
    check(text[start:end], value)
    return value, end


def decode_object(text: str) -> dict[str, Any] | None:
    """The object that a whole text is, or None where it is anything else: the quick way for what is in order."""
    try:
        value, end = _scan(text, 0)
    except (ValueError, StopIteration, RecursionError, Malformed):
        return None
    if type(value) is not dict or end != len(text):
        return None
    check(text, value)
    return value


def _read(read: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return read(*arguments)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise _too_deep() from None
    except ValueError:
        raise Malformed("a number has more digits than can be read") from None


def check(text: str, value: Any) -> None:
    """See that ``value``, which is what ``text`` says, can be kept and sent on.

    Raises:
        Malformed: it is nested too deeply, or holds half a character.
    """
    if len(text) > MOST_LEVELS and text.count("[") + text.count("{") > MOST_LEVELS:
        _check_depth(text)
    if not text.isascii() or ("\\u" in text and _SURROGATE.search(text)):
        _check_text(value)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise Malformed(f"the key {twice!r} stands twice in one object, and only one of its values can be meant")
    return members


def _constant(name: str) -> Any:
    raise Malformed(f"{name} is no JSON value")


def _number(text: str) -> float:
    number = float(text)
    if number - number != 0:
        raise Malformed("a number is too large, it would become Infinity")
    return number


_DECODER = json.JSONDecoder(object_pairs_hook=_members, parse_constant=_constant, parse_float=_number)
_scan: Callable[[str, int], tuple[Any, int]] = _DECODER.scan_once  # type: ignore[attr-defined]


def _check_depth(text: str) -> None:
    depth = 0
    for match in _STRUCTURE.finditer(text):
        token = match[0]
        if token in ("[", "{"):
            depth += 1
            if depth > MOST_LEVELS:
                raise _too_deep()
        elif token in ("]", "}"):
            depth -= 1


def _too_deep() -> Malformed:
    return Malformed(f"it is nested too deeply, over {MOST_LEVELS} levels")


def _check_text(value: Any) -> None:
    try:
        for one in _scalars(value):
            if isinstance(one, str):
                one.encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise Malformed(f"{half} is half of a surrogate pair: no character, and no Unicode text can hold it") from None


def _scalars(value: Any) -> Iterator[Any]:
    """Every scalar and key inside a value."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield from one
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
        else:
            yield one
