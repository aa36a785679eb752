"""What a schema expects and what came instead, in words that a model can act on."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from json.encoder import encode_basestring
from typing import Any, NamedTuple

Path = tuple[str | int, ...]
_SHOWN = 60
_MOST_NAMES = 20


class Problem(NamedTuple):
    """One reason why a value does not fit a schema.

    Attributes:
        path: where in the value.
        expected: what belongs there.
        got: what is there, in words.
        keyword: the schema's keyword that says so.
    """

    path: Path
    expected: str
    got: str
    keyword: str

    def under(self, key: str | int) -> Problem:
        """The same problem, seen from the value that holds this one under ``key``."""
        return Problem((key, *self.path), self.expected, self.got, self.keyword)

    def __str__(self) -> str:
        return f"{path_text(self.path)}: expected {self.expected}, got {self.got}"


def path_text(path: Path) -> str:
    """``("who", "names", 0)`` as ``who.names[0]``; the root is ``arguments``."""
    text = ""
    for key in path:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else str(key)
    return text or "arguments"


def got(value: Any) -> str:
    """A value in at most some sixty characters, with its JSON type where the text alone does not tell."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if type(value) is str and len(value) < _SHOWN:
        return f"string {encode_basestring(value)}"
    text = ""
    try:
        for piece in json.JSONEncoder(ensure_ascii=False).iterencode(value[:200] if isinstance(value, str) else value):
            text += piece
            if len(text) > _SHOWN:
                break
    except (TypeError, ValueError, RecursionError):
        return f"a Python {type(value).__name__}"
    kinds: dict[type, str] = {str: "string", list: "array", tuple: "array", dict: "object"}
    kind = kinds.get(type(value))
    if len(text) > _SHOWN:
        text = text[:_SHOWN] + "…"
    return f"{kind} {text}" if kind else text


def expected(schema: Any) -> str:
    """What ``schema`` asks for, such as ``integer >= 0`` or ``one of "a", "b"``."""
    if not isinstance(schema, Mapping):
        return "anything" if schema else "nothing"
    if "const" in schema:
        return _literal(schema["const"])
    if isinstance(schema.get("enum"), Sequence):
        return f"one of {listed([_literal(value) for value in schema['enum']])}"
    for keyword in ("anyOf", "oneOf"):
        if isinstance(schema.get(keyword), Sequence):
            return " or ".join(dict.fromkeys(expected(branch) for branch in schema[keyword]))
    kinds = schema.get("type")
    words = [kinds] if isinstance(kinds, str) else list(kinds or ())
    if not words:
        reference = schema.get("$ref")
        return reference.rsplit("/", 1)[-1] if isinstance(reference, str) else _implied(schema)
    return " or ".join(_with_limits(kind, schema) for kind in words)


def _implied(schema: Mapping[str, Any]) -> str:
    return "object" if "properties" in schema else "array" if "items" in schema else "another value"


def _with_limits(kind: str, schema: Mapping[str, Any]) -> str:
    if kind in ("integer", "number"):
        signs = (("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<="), ("exclusiveMaximum", "<"))
        limits = [f"{sign} {schema[keyword]}" for keyword, sign in signs if keyword in schema]
        return " ".join([kind, " and ".join(limits)]) if limits else kind
    if kind == "array" and isinstance(schema.get("items"), Mapping):
        inner = schema["items"].get("type")
        return f"array of {inner}" if isinstance(inner, str) else kind
    return kind


def listed(words: Iterable[str]) -> str:
    """Words with commas; the twenty-first and later ones are only counted."""
    names = list(words)
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def unknown_key(key: str, allowed: Sequence[str], missing: Sequence[str] = ()) -> Problem:
    """The problem of a key that the schema does not have.

    Args:
        key: what was sent.
        allowed: the keys there are.
        missing: required keys that were not sent; the only one is what was meant.
    """
    meant = closest(key, allowed) or (missing[0] if len(missing) == 1 else None)
    keys = f"one of the keys {listed(allowed)}" if allowed else "no keys"
    return Problem(
        (key,), keys, "an unknown key" + (f"; did you mean {meant!r}?" if meant else ""), "additionalProperties"
    )


def closest(word: str, words: Iterable[str]) -> str | None:
    """The one of ``words`` that was probably meant, for an error text; never to act on it."""
    import difflib

    folded = {one.casefold(): one for one in words}
    close = difflib.get_close_matches(str(word).casefold(), folded, n=1)
    return folded[close[0]] if close else None


def missing_key(key: str, schema: Any) -> Problem:
    """The problem of a required key that was not sent."""
    return Problem((key,), expected(schema), "nothing (it is required)", "required")


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
