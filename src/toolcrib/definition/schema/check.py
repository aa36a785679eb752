"""Checking a JSON value against a JSON Schema, compiled once into plain functions.

Draft 2020-12 and the older spellings that tools still send (``definitions``, ``items`` as a list, boolean
``exclusiveMinimum``, OpenAPI's ``nullable``). ``format`` and ``contentEncoding`` are annotations, as the standard says.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolcrib.definition.schema import keywords
from toolcrib.definition.schema.describe import Problem, expected, got
from toolcrib.definition.schema.references import resolve

Check = Callable[[Any], "list[Problem] | None"]


def compile_check(schema: Any, *, root: Mapping[str, Any] | None = None, exact: bool = False) -> Check:
    """A function that tells what is wrong with a value, or None.

    Args:
        schema: the schema; True, False and mappings.
        root: where its references are looked up, if not in itself.
        exact: whether ``5.0`` is refused as an integer, so that the caller can make it ``5``.

    Raises:
        DefinitionError: a reference points nowhere.

    Example:
        >>> check = compile_check({"type": "integer", "minimum": 0})
        >>> check(3) is None, str(check(-1)[0])
        (True, 'arguments: expected integer >= 0, got -1')
    """
    return Compiler(schema if root is None else root, exact=exact).compile(schema) or _anything


class Compiler:
    """Compiles the subschemas of one root; references are compiled once, when first used."""

    def __init__(self, root: Any, *, exact: bool = False) -> None:
        self.root = root
        self.exact = exact
        self._references: dict[str, Check | None] = {}
        self._kept: dict[int, tuple[Any, Check | None]] = {}

    def fits(self, schema: Any, value: Any) -> bool:
        """Whether ``value`` is valid; ``schema`` is a part of the root, and its check is kept."""
        kept = self._kept.get(id(schema))
        if kept is None:
            kept = self._kept[id(schema)] = (schema, self.compile(schema))
        return kept[1] is None or not kept[1](value)

    def compile(self, schema: Any) -> Check | None:
        """The check of one subschema; None where everything fits."""
        if not isinstance(schema, Mapping):
            return None if schema is not False else _nothing
        parts = [check for make in (Compiler._type, *keywords.PARTS) if (check := make(self, schema)) is not None]
        if "$ref" in schema:
            parts.append(self._reference(schema["$ref"]))
        return _joined(parts)

    def _reference(self, reference: str) -> Check:
        target: Check | None = None
        if reference not in self._references:
            resolve(self.root, reference)

        def check(value: Any) -> list[Problem] | None:
            nonlocal target
            if target is None:
                if reference not in self._references:
                    self._references[reference] = self.compile(resolve(self.root, reference))
                target = self._references[reference] or _anything
            return target(value)

        return check

    def _type(self, schema: Mapping[str, Any]) -> Check | None:
        kinds = schema.get("type")
        if kinds is None:
            return None
        names = [kinds] if isinstance(kinds, str) else list(kinds)
        if schema.get("nullable") is True:
            names.append("null")
        tests = [_is_whole if name == "integer" and self.exact else TESTS.get(name) for name in names]
        usual = _USUAL.get(names[0]) if len(names) == 1 else None
        wanted = ""

        def check(value: Any) -> list[Problem] | None:
            nonlocal wanted
            if type(value) is usual or any(test(value) for test in tests if test is not None):
                return None
            wanted = wanted or expected(schema)
            return [Problem((), wanted, got(value), "type")]

        return check


def _joined(parts: Sequence[Check]) -> Check | None:
    """One check of several: what the first finds that finds anything."""
    if len(parts) < 2:
        return parts[0] if parts else None
    first, *others = parts
    if len(others) == 1:
        (second,) = others
        return lambda value: first(value) or second(value)

    def check(value: Any) -> list[Problem] | None:
        for part in parts:
            found = part(value)
            if found:
                return found
        return None

    return check


def _anything(value: Any) -> None:
    return None


def _nothing(value: Any) -> list[Problem]:
    return [Problem((), "nothing", got(value), "false")]


def _is_number(value: Any) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))


def _is_integer(value: Any) -> bool:
    return _is_whole(value) or (isinstance(value, float) and value.is_integer())


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


TESTS: Mapping[str, Callable[[Any], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": _is_number,
    "integer": _is_integer,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, (list, tuple)),
    "object": lambda value: isinstance(value, Mapping),
    "null": lambda value: value is None,
}

_USUAL: Mapping[str, type[Any]] = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}
