"""From a Python type to JSON Schema and pydantic-core's schema at once."""

from __future__ import annotations

import collections.abc
import datetime
import decimal
import enum
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, ForwardRef, Literal, Union

from toolcrib.definition.schema import conversions
from toolcrib.definition.schema.constraints import Facts, read_metadata

Json = dict[str, Any]
Core = dict[str, Any]
Pair = tuple[Json, Core]


def _before(function: Callable[[Any], Any], schema: Core) -> Core:
    return {"type": "function-before", "function": {"type": "no-info", "function": function}, "schema": schema}


_TEXT: Pair = {"type": "string"}, {"type": "str", "strict": True}
_NULL: Pair = {"type": "null"}, {"type": "none"}
_ANYTHING: Pair = {}, {"type": "any"}
_DECIMAL = r"^\s*[+-]?[0-9]*\.?[0-9]+([eE][+-]?[0-9]+)?\s*$"
_SCALARS: Mapping[Any, Pair] = {
    str: _TEXT,
    typing.LiteralString: _TEXT,
    int: ({"type": "integer"}, {"type": "int", "strict": True}),
    float: ({"type": "number"}, {"type": "float", "strict": True, "allow_inf_nan": False}),
    bool: ({"type": "boolean"}, {"type": "bool", "strict": True}),
    None: _NULL,
    type(None): _NULL,
    Any: _ANYTHING,
    object: _ANYTHING,
    bytes: (
        {"type": "string", "contentEncoding": "base64"},
        _before(conversions.from_base64, {"type": "bytes", "strict": True}),
    ),
    datetime.datetime: (
        {"type": "string", "format": "date-time"},
        _before(conversions.no_timestamp, {"type": "datetime"}),
    ),
    datetime.date: ({"type": "string", "format": "date"}, _before(conversions.no_timestamp, {"type": "date"})),
    datetime.time: ({"type": "string", "format": "time"}, _before(conversions.no_timestamp, {"type": "time"})),
    datetime.timedelta: (
        {"type": "string", "format": "duration"},
        _before(conversions.no_timestamp, {"type": "timedelta"}),
    ),
    decimal.Decimal: ({"anyOf": [{"type": "number"}, {"type": "string", "pattern": _DECIMAL}]}, {"type": "decimal"}),
}
_LISTS = (
    list,
    collections.abc.Sequence,
    collections.abc.MutableSequence,
    collections.abc.Collection,
    collections.abc.Iterable,
)
_SETS = {set: "set", collections.abc.Set: "set", collections.abc.MutableSet: "set", frozenset: "frozenset"}
_DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_KEYS: Mapping[Any, Core] = {str: {"type": "str"}, int: {"type": "int"}, float: {"type": "float"}, Any: {"type": "any"}}
_NO_ITEM = object()


class UnknownTypeError(Exception):
    """A type that only pydantic knows."""


class Types:
    """Converts the types of one tool.

    Args:
        resolve: evaluates an annotation that is text.
        closed: whether objects refuse members that they do not have.

    Attributes:
        closed: as given.
        definitions: JSON Schemas of named types, by the name that ``#/$defs/`` refers to.
        core_definitions: pydantic-core's schemas of the same.
    """

    def __init__(self, resolve: Callable[[str], Any], *, closed: bool = False) -> None:
        self._resolve = resolve
        self.closed = closed
        self._names: dict[Any, str] = {}
        self.definitions: dict[str, Json] = {}
        self.core_definitions: list[Core] = []

    def convert(self, kind: Any) -> Pair:
        """The two schemas of a type.

        Raises:
            UnknownTypeError: pydantic may know it.
            UnresolvedNameError: it contains a name that means nothing.
        """
        try:
            scalar = _SCALARS.get(kind)
        except TypeError:
            scalar = None
        if scalar is not None:
            return dict(scalar[0]), scalar[1]
        if isinstance(kind, (str, ForwardRef)):
            return self.convert(self.resolve(kind))
        origin = typing.get_origin(kind)
        if origin is not None:
            return self._generic(origin, typing.get_args(kind), kind)
        if isinstance(kind, type):
            return self._class(kind)
        if isinstance(kind, typing.TypeVar):
            return self.convert(kind.__bound__ if kind.__bound__ is not None else Any)
        if isinstance(kind, typing.NewType):
            return self.convert(kind.__supertype__)
        raise UnknownTypeError(kind)

    def convert_whole(self, kind: Any) -> Pair:
        """As `convert`; where it fails, no definitions of what it had understood remain."""
        before = len(self.definitions), len(self.core_definitions)
        try:
            return self.convert(kind)
        except UnknownTypeError:
            gone = list(self.definitions)[before[0] :]
            self.definitions = {name: one for name, one in self.definitions.items() if name not in gone}
            self._names = {one: name for one, name in self._names.items() if name not in gone}
            del self.core_definitions[before[1] :]
            raise

    def resolve(self, annotation: str | ForwardRef) -> Any:
        """What an annotation that is text means."""
        return self._resolve(annotation if isinstance(annotation, str) else annotation.__forward_arg__)

    def annotated(self, kind: Any) -> tuple[Any, Facts]:
        """A type without its ``Annotated``, and what that says."""
        if isinstance(kind, (str, ForwardRef)):
            kind = self.resolve(kind)
        facts = Facts()
        if type(kind) is type:
            return kind, facts
        while typing.get_origin(kind) is typing.Annotated:
            kind, *metadata = typing.get_args(kind)
            read_metadata(facts, metadata)
        return kind, facts

    def _generic(self, origin: Any, arguments: tuple[Any, ...], kind: Any) -> Pair:
        if origin is Union or origin is types.UnionType:
            return self._union(arguments)
        if origin is Literal:
            return literal(arguments)
        if origin is typing.Annotated:
            inner, facts = self.annotated(kind)
            return facts.applied(*self.convert(inner))
        if origin in _LISTS:
            return self._array("list", arguments[0])
        if origin in _SETS:
            json, core = self._array(_SETS[origin], arguments[0])
            return {**json, "uniqueItems": True}, core
        if origin is tuple:
            return self._tuple(arguments)
        if origin in _DICTS:
            return self._dict(*arguments)
        raise UnknownTypeError(kind)

    def _class(self, kind: type[Any]) -> Pair:
        import pathlib

        if issubclass(kind, enum.Enum):
            return _enum(kind)
        if issubclass(kind, pathlib.PurePath):
            convert = conversions.to_path(kind)
            return {"type": "string", "format": "path"}, {"type": "function-plain", "function": _no_info(convert)}
        if kind in _LISTS:
            return self._array("list", Any)
        if kind in _SETS:
            json, core = self._array(_SETS[kind], Any)
            return {**json, "uniqueItems": True}, core
        if kind is tuple:
            return self._tuple((Any, ...))
        if kind in _DICTS:
            return self._dict(str, Any)
        if kind.__module__ == "uuid" and kind.__name__ == "UUID":
            return {"type": "string", "format": "uuid"}, {"type": "uuid"}
        from toolcrib.definition.schema import structures

        return structures.convert(self, kind)

    def reference(self, kind: type[Any], make: Callable[[], Pair]) -> Pair:
        """A reference to a named type, whose schemas are made at its first use; it may contain itself."""
        name = self._names.get(kind)
        if name is None:
            name, number = kind.__name__, 2
            while name in self.definitions:
                name, number = f"{kind.__name__}{number}", number + 1
            self._names[kind] = name
            self.definitions[name] = {}
            json, core = make()
            self.definitions[name].update(json)
            self.core_definitions.append({**core, "ref": _reference_name(name)})
        return {"$ref": f"#/$defs/{name}"}, {"type": "definition-ref", "schema_ref": _reference_name(name)}

    def _union(self, branches: tuple[Any, ...]) -> Pair:
        nullable = type(None) in branches
        pairs = [self.convert(branch) for branch in branches if branch is not type(None)]
        if len(pairs) == 1:
            json, core = pairs[0]
            return {"anyOf": [*flat([json]), {"type": "null"}]}, {"type": "nullable", "schema": core}
        core = {"type": "union", "choices": [core for _, core in pairs]}
        jsons = flat([json for json, _ in pairs])
        if nullable:
            return {"anyOf": [*jsons, {"type": "null"}]}, {"type": "nullable", "schema": core}
        return {"anyOf": jsons}, core

    def _array(self, core_type: str, item: Any) -> Pair:
        json, core = self.convert(item)
        return {"type": "array", "items": json}, {"type": core_type, "items_schema": core}

    def _tuple(self, arguments: tuple[Any, ...]) -> Pair:
        if len(arguments) == 2 and arguments[1] is ...:
            json, core = self.convert(arguments[0])
            return {"type": "array", "items": json}, {"type": "tuple", "items_schema": [core], "variadic_item_index": 0}
        pairs = [self.convert(argument) for argument in arguments]
        size = {"minItems": len(pairs), "maxItems": len(pairs)}
        prefix = {"prefixItems": [json for json, _ in pairs]} if pairs else {}
        return {"type": "array", **prefix, **size}, {"type": "tuple", "items_schema": [core for _, core in pairs]}

    def _dict(self, key: Any, value: Any) -> Pair:
        key, _ = self.annotated(key)
        json, core = self.convert(value)
        if key in _KEYS:
            keys: Core = _KEYS[key]
            names: Json = {}
        elif typing.get_origin(key) is Literal or (isinstance(key, type) and issubclass(key, enum.Enum)):
            key_json, keys = self.convert(key)
            names = {"propertyNames": key_json}
        else:
            raise UnknownTypeError(key)
        members = {"additionalProperties": json or True}
        return {"type": "object", **members, **names}, {"type": "dict", "keys_schema": keys, "values_schema": core}


def flat(schemas: list[Json]) -> list[Json]:
    """Schemas with those that are nothing but ``anyOf`` dissolved, each once."""
    result: list[Json] = []
    for schema in schemas:
        for one in schema["anyOf"] if schema.keys() == {"anyOf"} else [schema]:
            if one not in result:
                result.append(one)
    return result


def literal(values: tuple[Any, ...]) -> Pair:
    """The schemas of ``Literal``: an enum of each JSON type that occurs."""
    shown = [value.value if isinstance(value, enum.Enum) else value for value in values]
    if not all(isinstance(value, (str, int, type(None))) for value in shown):
        raise UnknownTypeError(values)
    groups: dict[str, list[Any]] = {}
    for value in shown:
        groups.setdefault(_json_type(value), []).append(value)
    branches: list[Json] = [
        {"type": name} if name == "null" else {"type": name, "enum": members} for name, members in groups.items()
    ]
    core: Core = {"type": "literal", "expected": list(values)}
    if shown != list(values):
        core = _before(conversions.to_member(values), core)
    if "integer" in groups and "boolean" not in groups:
        core = _before(conversions.no_boolean, core)
    return (branches[0] if len(branches) == 1 else {"anyOf": branches}), core


def _enum(kind: type[enum.Enum]) -> Pair:
    members = list(kind)
    values = [member.value for member in members]
    if (
        not members
        or issubclass(kind, enum.Flag)
        or any(not isinstance(v, (str, int, float, bool, type(None))) for v in values)
    ):
        raise UnknownTypeError(kind)
    names = {_json_type(value) for value in values}
    json: Json = {"enum": values}
    if len(names) == 1:
        json = {"type": names.pop(), "enum": values}
    elif names == {"integer", "number"}:
        json = {"type": "number", "enum": values}
    core: Core = {"type": "enum", "cls": kind, "members": members}
    if any(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        core = _before(conversions.no_boolean, core)
    return json, core


def _json_type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return "string" if isinstance(value, str) else "integer" if isinstance(value, int) else "number"


def _no_info(function: Callable[..., Any]) -> dict[str, Any]:
    return {"type": "no-info", "function": function}


def _reference_name(name: str) -> str:
    return f"toolcrib:{name}"
