"""The objects in a text that a model wrote as the arguments of a call (DESIGN §3.2)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from toolcrib.execution.arguments import strict
from toolcrib.execution.arguments.lenient import SPECIAL_TOKEN, rewrite
from toolcrib.execution.arguments.strict import CutOff, Malformed

_NOTHING = ("", "null", "None")
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_ESCAPED_OBJECT = re.compile(r'[{\[]\s*(?:\{\s*)?\\+"')
_BETWEEN = re.compile(
    rf"(?P<space>[\s;]+)|(?P<fence>```[\w-]*)|(?P<special_tokens>{SPECIAL_TOKEN.pattern})|(?P<bom>[\ufeff\u200b]+)"
    r"|(?P<escaped_whitespace>(?:\\[nrt])+)|(?P<comments>//[^\n]*|/\*.*?\*/)|(?P<extra_closer>[}\]]+)|(?P<comma>,)",
    re.DOTALL,
)
_LEADING = re.compile(
    rf"(?P<space>\s+)|(?P<fence>```[\w-]*)|(?P<special_tokens>{SPECIAL_TOKEN.pattern})|(?P<bom>[\ufeff\u200b]+)"
)
_DEEPEST = 3
_MOST_OBJECTS = 1000


class Objects(NamedTuple):
    """What a text held.

    Attributes:
        values: the objects, in order; most often one.
        repairs: what was mended, by the names of the call record.
        cut: whether another object followed that was cut off.
    """

    values: list[dict[str, Any]]
    repairs: list[str]
    cut: bool = False


def read(sent: Any) -> Objects:
    """The objects in what a provider sent as arguments: text, or a value that is decoded already.

    Raises:
        CutOff: the text ends before the first object does.
        Malformed: there is no object, or what is meant can only be guessed.

    Example:
        >>> read('{"a": 1}{"a": 2}')
        Objects(values=[{'a': 1}, {'a': 2}], repairs=['split'], cut=False)
    """
    if isinstance(sent, str):
        try:
            value = strict.decode(sent)
        except json.JSONDecodeError:
            return _read_text(sent, 0)
        if type(value) is dict:
            return Objects([value], [])
        return _objects_of(value, [], 0)
    return _objects_of(sent, [], 0)


def _objects_of(value: Any, repairs: list[str], depth: int, cut: bool = False) -> Objects:
    """The objects that a decoded value stands for."""
    if isinstance(value, Mapping):
        return Objects([value if isinstance(value, dict) else dict(value)], repairs, cut)
    if value is None or value == []:
        return Objects([{}], repairs, cut)
    if isinstance(value, str):
        if depth >= _DEEPEST:
            raise Malformed("it is text in text in text where one JSON object belongs")
        if value.strip() in _NOTHING:
            return Objects([{}], repairs, cut)
        inner = _read_text(value, depth + 1)
        return Objects(inner.values, _joined([*repairs, "double_encoded"], inner.repairs), inner.cut)
    if isinstance(value, list) and all(isinstance(one, dict) for one in value):
        return Objects(value, _joined(repairs, ["split"]), cut)
    kind = {list: "an array", bool: "a boolean", int: "a number", float: "a number"}.get(type(value), "no JSON value")
    raise Malformed(f"they are no object but {kind}")


def _read_text(text: str, depth: int) -> Objects:
    stripped = text.strip()
    if stripped in _NOTHING:
        return Objects([{}], [])
    if stripped[0] == '"':
        return _read_string(stripped, depth)
    if depth < _DEEPEST and _ESCAPED_OBJECT.match(stripped):
        inner = _unescaped(stripped)
        if inner is not None:
            return _objects_of(inner, [], depth)
    return _read_embedded(stripped, depth)


def _read_string(text: str, depth: int) -> Objects:
    """The objects in a text that is a JSON string, for the most part one that was encoded twice."""
    match = _STRING.match(text)
    if match is None:
        raise CutOff
    repairs, end = _between(text, match.end())
    if end < len(text):
        raise Malformed(f"one object belongs there, and it begins with {match[0][:40]}")
    inner = _unescaped(match[0][1:-1])
    if inner is None:
        raise Malformed("it is text that is no JSON, where one JSON object belongs")
    return _objects_of(inner, repairs, depth)


def _unescaped(body: str) -> str | None:
    try:
        value = json.loads(f'"{body}"', strict=False)
    except ValueError:
        return None
    return value if isinstance(value, str) else None


def _read_embedded(text: str, depth: int) -> Objects:
    """The objects in a text, whatever stands before and after them."""
    at = 0
    while mark := _LEADING.match(text, at):
        at = mark.end()
    starts = sorted({text.find("{", at), text.find("[", at)} - {-1})
    if not starts:
        if text in "```json":
            raise CutOff
        raise Malformed("there is no JSON object in it")
    for start in starts[:-1]:
        try:
            return _read_from(text, start, depth)
        except Malformed:
            continue
    return _read_from(text, starts[-1], depth)


def _read_from(text: str, start: int, depth: int) -> Objects:
    repairs = _leading(text[:start])
    value, end, mended = value_at(text, start)
    objects = _objects_of(value, _joined(repairs, mended), depth)
    return _following(text, end, objects)


def value_at(text: str, start: int) -> tuple[Any, int, list[str]]:
    """The object or array that begins at ``start``, where it ends, and what was mended in it.

    Raises:
        CutOff: the text ends inside it.
        Malformed: what is meant can only be guessed.
    """
    try:
        value, end = strict.decode_at(text, start)
    except json.JSONDecodeError:
        mended, end, repairs = rewrite(text, start)
        try:
            return strict.decode(mended), end, repairs
        except json.JSONDecodeError as error:
            raise Malformed(str(error)) from None
    return value, end, []


def _leading(lead: str) -> list[str]:
    if '"' in lead or "}" in lead:
        raise Malformed(f"it begins with {lead[:40]!r}, and not with one JSON object")
    repairs = _kinds([found.lastgroup or "" for found in _LEADING.finditer(lead)])
    return [*repairs, "leading_text"] if _LEADING.sub("", lead) else repairs


def _kinds(repairs: list[str]) -> list[str]:
    return [one for one in dict.fromkeys(repairs) if one not in ("", "space", "comma")]


def _between(text: str, at: int) -> tuple[list[str], int]:
    """Go past what may stand behind a value and means nothing."""
    kinds: list[str] = []
    while match := _BETWEEN.match(text, at):
        kinds.append(match.lastgroup or "")
        at = match.end()
    if "comma" in kinds:
        kinds.append("trailing_comma")
    return kinds, at


def _following(text: str, end: int, objects: Objects) -> Objects:
    """What comes after the first value: nothing, more objects glued to it, or prose."""
    values, repairs = list(objects.values), list(objects.repairs)
    while True:
        kinds, at = _between(text, end)
        if at == len(text):
            return Objects(values, _joined(repairs, _kinds(kinds)), objects.cut)
        if text[at] != "{":
            _check_prose(text[at:], kinds)
            return Objects(values, _joined(repairs, [*_kinds(kinds), "trailing_text"]), objects.cut)
        repairs = _joined(repairs, [kind for kind in _kinds(kinds) if kind != "trailing_comma"], ["split"])
        try:
            value, end, mended = value_at(text, at)
        except CutOff:
            return Objects(values, repairs, True)
        values.append(value)
        if len(values) > _MOST_OBJECTS:
            raise Malformed(f"over {_MOST_OBJECTS} objects are glued together")
        repairs = _joined(repairs, mended)


def _check_prose(rest: str, kinds: list[str]) -> None:
    """See that nothing of the arguments is in what follows them."""
    if "comma" in kinds or rest[0] in ":\"'" or "{" in rest or "}" in rest:
        raise Malformed(f"{rest[:40]!r} follows the object, and may be a part of it")


def _joined(*lists: list[str]) -> list[str]:
    return list(dict.fromkeys(one for names in lists for one in names))
