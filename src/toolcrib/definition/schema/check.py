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
        parts = [check for make in keywords.PARTS if (check := make(self, schema)) is not None]
        if "$ref" in schema:
            parts.append(self._reference(schema["$ref"]))
        type_check = self._type(schema)
        if type_check is None:
            return _joined(parts)
        return _typed(type_check, parts)

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
        tests = [_exact_integer if name == "integer" and self.exact else TESTS.get(name, _never) for name in names]
        usual = _USUAL.get(names[0]) if len(names) == 1 else None
        test = tests[0] if len(tests) == 1 else _any_of(tests)

        wanted = ""

        def check(value: Any) -> list[Problem] | None:
            nonlocal wanted
            if type(value) is usual or test(value):
                return None
            wanted = wanted or expected(schema)
            return [Problem((), wanted, got(value), "type")]

        return check


def _any_of(tests: Sequence[Callable[[Any], bool]]) -> Callable[[Any], bool]:
    return lambda value: any(test(value) for test in tests)


def _typed(type_check: Check, parts: Sequence[Check]) -> Check:
    if not parts:
        return type_check
    if len(parts) == 1:
        part = parts[0]
        return lambda value: type_check(value) or part(value)

    def check(value: Any) -> list[Problem] | None:
        found = type_check(value)
        if found:
            return found
        for part in parts:
            found = part(value)
            if found:
                return found
        return None

    return check


def _joined(parts: Sequence[Check]) -> Check | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    return _typed(parts[0], parts[1:])


def _anything(value: Any) -> None:
    return None


def _nothing(value: Any) -> list[Problem]:
    return [Problem((), "nothing", got(value), "false")]


def _never(value: Any) -> bool:
    return False


def _is_string(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, float) and math.isfinite(value)
    )


def _is_integer(value: Any) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())


def _exact_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_array(value: Any) -> bool:
    return isinstance(value, (list, tuple))


TESTS: Mapping[str, Callable[[Any], bool]] = {
    "string": _is_string,
    "number": _is_number,
    "integer": _is_integer,
    "boolean": lambda value: isinstance(value, bool),
    "array": _is_array,
    "object": lambda value: isinstance(value, Mapping),
    "null": lambda value: value is None,
}

_USUAL: Mapping[str, type[Any]] = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}
