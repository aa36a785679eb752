"""Making a value fit its schema where nothing is lost by it (contract N006, DESIGN §3.2).

Only values that do not fit are looked at; a string where the schema allows a string is never touched. Every change
has a note, so that the call's record can say what was done; the caller checks the result again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from toolcrib.definition.schema.check import Compiler
from toolcrib.definition.schema.keywords import heads_and_rest
from toolcrib.definition.schema.references import followed

_INTEGER = re.compile(r"\s*([+-]?[0-9]{1,4000})(?:\.0+)?\s*")
_NUMBER = re.compile(r"\s*[+-]?[0-9]{1,400}(\.[0-9]{1,400})?([eE][+-]?[0-9]{1,3})?\s*")
_WORDS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}
_UNCHANGED = object()
_DEEPEST = 100


class Coercion:
    """Repairs the values of one call.

    Args:
        compiler: knows the root in which references are looked up, and what fits.
        notes: where each change is noted, such as ``"coerced:limit"`` (the names of the call record).
    """

    def __init__(self, compiler: Compiler, notes: list[str]) -> None:
        self._compiler = compiler
        self._fits = compiler.fits
        self._root = compiler.root
        self._notes = notes
        self._depth = 0

    def repaired(self, schema: Any, value: Any, name: str) -> Any:
        """``value``, or what it was meant to be; ``name`` is the parameter that the notes name."""
        if self._depth > _DEEPEST or self._fits(schema, value):
            return value
        self._depth += 1
        try:
            return self._repaired(followed(self._root, schema), value, name)
        finally:
            self._depth -= 1

    def properties(
        self, schema: Mapping[str, Any], value: Mapping[str, Any], name: str | None = None
    ) -> dict[str, Any]:
        """The members of an object, each repaired; a null that an optional one does not allow means "not given".

        So does an empty text where no text is allowed at all.
        """
        declared = self._declared(schema)
        required = schema.get("required") or ()
        result: dict[str, Any] = {}
        for key, item in value.items():
            one = declared.get(key, schema.get("additionalProperties", True))
            parameter = name or str(key)
            if (
                (item is None or item == "")
                and key in declared
                and key not in required
                and not self._fits(one, item)
                and not (item == "" and self._takes_text(one))
            ):
                self._note("null_as_default", parameter)
                continue
            result[key] = self.repaired(one, item, parameter)
        return result

    def _declared(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        declared = dict(schema.get("properties") or {})
        for part in schema.get("allOf") or ():
            part = followed(self._root, part)
            if isinstance(part, Mapping):
                declared = {**self._declared(part), **declared}
        return declared

    def _takes_text(self, schema: Any) -> bool:
        """Whether some text fits the schema, if not this one."""
        schema = followed(self._root, schema)
        if not isinstance(schema, Mapping):
            return True
        branches = [*(schema.get("anyOf") or ()), *(schema.get("oneOf") or ())]
        if branches:
            return any(self._takes_text(branch) for branch in branches)
        values = [schema["const"]] if "const" in schema else schema.get("enum")
        if isinstance(values, list):
            return any(isinstance(one, str) for one in values)
        kinds = schema.get("type", "string")
        return "string" in ([kinds] if isinstance(kinds, str) else kinds)

    def _repaired(self, schema: Any, value: Any, name: str) -> Any:
        if not isinstance(schema, Mapping):
            return value
        branches = schema.get("anyOf") or schema.get("oneOf")
        if isinstance(branches, list):
            return self._first_fitting(branches, value, name)
        values = [schema["const"]] if "const" in schema else schema.get("enum")
        if isinstance(values, list):
            return self._of_values(values, value, name)
        kinds = schema.get("type")
        for kind in [kinds] if isinstance(kinds, str) else kinds or self._implied(schema):
            result = self._of_kind(kind, schema, value, name)
            if result is not _UNCHANGED:
                return result
        return value

    def _implied(self, schema: Mapping[str, Any]) -> list[str]:
        return ["object"] if "properties" in schema or "allOf" in schema else []

    def _first_fitting(self, branches: list[Any], value: Any, name: str) -> Any:
        """What the first branch makes of it that fits; with no such branch, what fits best is left to the error."""
        before = len(self._notes)
        closest = value
        for branch in sorted(branches, key=lambda one: one != {"type": "null"}):  # "null" is null, not ["null"]
            result = self.repaired(branch, value, name)
            if self._fits(branch, result):
                return result
            if isinstance(value, Mapping) and isinstance(result, Mapping) and len(branches) <= 2:
                closest = result
            del self._notes[before:]
        return closest

    def _of_values(self, values: list[Any], value: Any, name: str) -> Any:
        if not isinstance(value, str):
            return value
        folded = value.strip().casefold()
        fitting = [one for one in values if isinstance(one, str) and one.casefold() == folded]
        if len(fitting) == 1:
            self._note("enum_case", name)
            return fitting[0]
        other = [one for one in values if not isinstance(one, str) and json.dumps(one) == folded]
        if len(other) == 1 and not fitting:
            self._note("coerced", name)
            return other[0]
        return value

    def _of_kind(self, kind: str, schema: Mapping[str, Any], value: Any, name: str) -> Any:
        if kind == "array":
            return self._array(schema, value, name)
        if kind == "object":
            return self._object(schema, value, name)
        if kind == "integer" and isinstance(value, float) and value.is_integer():
            return int(value)
        result = scalar(kind, value)
        if result is not _UNCHANGED:
            self._note("coerced", name)
        return result

    def _object(self, schema: Mapping[str, Any], value: Any, name: str) -> Any:
        if isinstance(value, str):
            decoded = _decoded(value)
            if not isinstance(decoded, dict):
                return _UNCHANGED
            self._note("decoded", name)
            value = decoded
        return self.properties(schema, value, name) if isinstance(value, Mapping) else _UNCHANGED

    def _array(self, schema: Mapping[str, Any], value: Any, name: str) -> Any:
        if isinstance(value, str):
            decoded = _decoded(value)
            if isinstance(decoded, list):
                self._note("decoded", name)
                value = decoded
            elif isinstance(decoded, dict) or value.lstrip()[:1] in ("[", "{"):
                return _UNCHANGED
        if value is None:
            return _UNCHANGED
        if not isinstance(value, (list, tuple)):
            return self._wrapped(schema, value, name)
        heads, items = heads_and_rest(schema)
        return [self.repaired(heads[i] if i < len(heads) else items, item, name) for i, item in enumerate(value)]

    def _wrapped(self, schema: Mapping[str, Any], value: Any, name: str) -> Any:
        before = len(self._notes)
        heads, items = heads_and_rest(schema)
        wrapped = [self.repaired(heads[0] if heads else items, value, name)]
        check = self._compiler.compile(schema)
        if check is not None and check(wrapped):
            del self._notes[before:]
            return _UNCHANGED
        self._note("wrapped", name)
        return wrapped

    def _note(self, what: str, name: str) -> None:
        note = f"{what}:{name}"
        if note not in self._notes:
            self._notes.append(note)


def scalar(kind: str, value: Any) -> Any:
    """``value`` as a scalar of JSON type ``kind`` where its text says exactly that, else a marker for "unchanged"."""
    if kind == "string":
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else _UNCHANGED
    if kind == "boolean" and type(value) is int and value in (0, 1):
        return bool(value)
    if not isinstance(value, str):
        return _UNCHANGED
    if kind == "boolean":
        return _WORDS.get(value.strip().casefold(), _UNCHANGED)
    if kind == "null":
        return None if value.strip() in ("null", "None") else _UNCHANGED
    if kind in ("integer", "number") and (found := _INTEGER.fullmatch(value)):
        return int(found[1])
    if kind == "number" and _NUMBER.fullmatch(value):
        number = float(value)
        return number if number - number == 0 else _UNCHANGED
    return _UNCHANGED


def _decoded(text: str) -> Any:
    """The JSON value that a text is, or None; real newlines inside strings are allowed, NaN is not."""
    try:
        return json.loads(text, strict=False, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> None:
    raise ValueError(constant)
