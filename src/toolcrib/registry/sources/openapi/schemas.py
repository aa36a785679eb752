"""OpenAPI's schemas as JSON Schema, Draft 2020-12, with ``$defs`` of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from toolcrib.registry.sources.openapi.document import ApiDocument, ApiProblem
from toolcrib.registry.sources.positions import Location
from toolcrib.registry.sources.problems import shown

View = Literal["request", "answer"]
HIDDEN: Mapping[View, str] = {"request": "readOnly", "answer": "writeOnly"}

_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_SCHEMA = frozenset(
    {"items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else", "contentSchema"}
    | {"unevaluatedItems", "unevaluatedProperties"}
)
_SCHEMAS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED_SCHEMAS = frozenset({"properties", "patternProperties", "dependentSchemas"})
_COMBINING = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "$ref"})
_DROPPED = frozenset(
    {"discriminator", "xml", "externalDocs", "nullable", "example", "readOnly", "writeOnly", "$schema", "$id"}
    | {
        "$anchor",
        "$dynamicAnchor",
        "$recursiveAnchor",
        "$comment",
        "$defs",
        "definitions",
        "$vocabulary",
        "additionalItems",
        "id",
    }
)
_ANNOTATIONS = frozenset({"title", "description", "deprecated", "default", "example", "examples"})
_WORDS = ("title", "description", "deprecated", "default")
_FLAGS = frozenset({"nullable", "readOnly", "writeOnly"})
_DESCRIBING: Mapping[str, type] = {
    **dict.fromkeys(("title", "description", "format", "contentEncoding", "contentMediaType"), str),
    **dict.fromkeys(("deprecated", "uniqueItems"), bool),
}
_COUNTS = frozenset(
    {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"}
)
_NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_OF_OBJECTS = frozenset(
    {"type", "properties", "required", "allOf", "additionalProperties", "minProperties", "maxProperties", "$ref"}
)
_OF_TEXTS = frozenset({"pattern", "minLength", "maxLength"})


@dataclass
class ObjectShape:
    """An object's fields, those of its ``allOf`` among them.

    Attributes:
        properties: the schema of each field, and where it stands.
        required: names of fields.
        extra: the schema of further fields, and where it stands; None = there are none.
        through: the places of the references that were followed.
    """

    properties: dict[str, tuple[Any, Location]] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    extra: tuple[Any, Location] | None = None
    through: set[Location] = field(default_factory=set)


class Schemas:
    """Translates the schemas of one document; each that has a name is translated once.

    Args:
        document: where references point.
        view: ``request`` leaves out fields that are readOnly, ``answer`` those that are writeOnly.
    """

    def __init__(self, document: ApiDocument, view: View) -> None:
        self.document = document
        self._hiding = HIDDEN[view]
        self._names: dict[Location, str] = {}
        self._places: dict[str, tuple[Any, Location]] = {}
        self._definitions: dict[str, Any] = {}
        self._mentions: dict[str, list[str]] = {}
        self._inlined: frozenset[Location] = frozenset()

    def translate(self, schema: Any, at: Location) -> Any:
        """The schema that stands at ``at``; its references point to ``#/$defs/…``, which `closed` adds.

        Raises:
            ApiProblem: it is no schema.
        """
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, Mapping):
            raise ApiProblem(at, f"a schema should be an object, got {shown(schema)}")
        schema = _unwrapped(schema)
        if "$ref" in schema:
            return self._reference(schema, at)
        if "allOf" in schema:
            shape = self.shape(schema, at)
            if shape is not None and not shape.through & self._inlined:
                return self._merged(schema, shape, at)
        return _with_null(schema, _older_forms(schema, self._keywords(schema, at)))

    def closed(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """A translated schema with the definitions that it needs; a bare reference becomes what it refers to."""
        seen: set[str] = set()
        while schema.keys() == {"$ref"} and schema["$ref"] not in seen:
            seen.add(schema["$ref"])
            name = schema["$ref"].removeprefix("#/$defs/")
            self._define(name)
            if not isinstance(self._definitions[name], dict):
                break
            schema = self._definitions[name]
        names: dict[str, None] = {}
        waiting = list(dict.fromkeys(_mentioned(schema)))
        while waiting:
            name = waiting.pop(0)
            if name not in names:
                names[name] = None
                self._define(name)
                waiting.extend(self._mentions[name])
        return {**schema, "$defs": {name: self._definitions[name] for name in names}} if names else dict(schema)

    def shape(self, schema: Any, at: Location) -> ObjectShape | None:
        """The fields of a schema that is nothing but an object with fields; None for any other."""
        shape = ObjectShape()
        return shape if self._gather(schema, at, shape, frozenset()) and shape.properties else None

    def is_hidden(self, schema: Any, at: Location) -> bool:
        """Whether a field of this schema has no place in this view."""
        seen = 0
        while isinstance(schema, Mapping) and seen < 100:
            if schema.get(self._hiding) is True:
                return True
            schema = _unwrapped(schema)
            if "$ref" not in schema:
                return schema.get(self._hiding) is True
            schema, at = self.document.resolve(schema["$ref"], (*at, "$ref"))
            seen += 1
        return False

    def fields(self, shape: ObjectShape) -> tuple[dict[str, tuple[Any, Location]], list[str]]:
        """The fields that have a place in this view, and which of them are required."""
        kept = {name: found for name, found in shape.properties.items() if not self.is_hidden(*found)}
        gone = shape.properties.keys() - kept.keys()
        return kept, [name for name in dict.fromkeys(shape.required) if name not in gone]

    def _define(self, name: str) -> None:
        if name in self._definitions:
            return
        definition = self.translate(*self._places[name])
        self._mentions[name] = list(dict.fromkeys(_mentioned(definition)))
        self._definitions[name] = definition

    def _keywords(self, schema: Mapping[str, Any], at: Location) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in schema.items():
            if key in _DROPPED or key.startswith("x-"):
                continue
            where = (*at, key)
            if key in ("$dynamicRef", "$recursiveRef"):
                raise ApiProblem(where, f'"{key}" is not supported', "Use $ref.")
            if key in _SCHEMAS or (key == "items" and isinstance(value, list)):
                parts = self._list(key, value, where)
                if parts:
                    result["prefixItems" if key == "items" else key] = parts
            elif key in _SCHEMA:
                result[key] = self.translate(value, where)
            elif key in _NAMED_SCHEMAS:
                result[key] = self._named(key, value, where)
            elif key == "required":
                if isinstance(value, list):  # a bool there is an old mistake that means nothing here
                    result[key] = [name for name in value if isinstance(name, str)]
            elif key == "type":
                result[key] = _type(value, where)
            elif key == "enum" and not isinstance(value, list):
                raise ApiProblem(where, f'"enum" should be a list, got {shown(value)}')
            elif _is_usable(key, value, where):
                result[key] = value
        if "required" in result and isinstance(schema.get("properties"), Mapping):
            gone = schema["properties"].keys() - result["properties"].keys()
            result["required"] = [name for name in result["required"] if name not in gone]
        return result

    def _list(self, key: str, value: Any, at: Location) -> list[Any]:
        if not isinstance(value, list):
            raise ApiProblem(at, f'"{key}" should be a list, got {shown(value)}')
        return [self.translate(one, (*at, index)) for index, one in enumerate(value)]

    def _named(self, key: str, value: Any, at: Location) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise ApiProblem(at, f'"{key}" should be an object, got {shown(value)}')
        return {
            name: self.translate(one, (*at, name))
            for name, one in value.items()
            if key != "properties" or not self.is_hidden(one, (*at, name))
        }

    def _reference(self, schema: Mapping[str, Any], at: Location) -> Any:
        target, place = self.document.follow({"$ref": schema["$ref"]}, at)
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        if self.document.minor == 0:  # other siblings of a reference mean nothing there
            beside = {key: value for key, value in beside.items() if key in _ANNOTATIONS | _FLAGS}
        own = _older_forms(beside, self._keywords(beside, at))
        is_annotated = own.keys() <= _ANNOTATIONS
        if _is_scalar(target) and is_annotated:
            found = {**self.translate(target, place), **own}
        else:
            found = {"$ref": f"#/$defs/{self._name(target, place)}", **own}
        return _with_null(schema, found)

    def _name(self, target: Any, place: Location) -> str:
        name = self._names.get(place)
        if name is None:
            base = re.sub(r"[^\w.-]+", "_", str(place[-1])).strip("_") or "schema"
            name, number = base, 1
            while name in self._places:
                number += 1
                name = f"{base}_{number}"
            self._names[place], self._places[name] = name, (target, place)
        return name

    def _merged(self, schema: Mapping[str, Any], shape: ObjectShape, at: Location) -> Any:
        """One object for an ``allOf`` of objects, in which a field one part hides may be required by another."""
        before, self._inlined = self._inlined, self._inlined | shape.through
        try:
            kept, required = self.fields(shape)
            result: dict[str, Any] = {
                key: schema[key] for key in _WORDS if key in schema and _is_usable(key, schema[key], (*at, key))
            }
            result["type"] = "object"
            result["properties"] = {name: self.translate(*found) for name, found in kept.items()}
            if required:
                result["required"] = required
            if shape.extra is not None:
                result["additionalProperties"] = self.translate(*shape.extra)
        finally:
            self._inlined = before
        return _older_forms({key: schema[key] for key in ("example", "examples") if key in schema}, result)

    def _gather(self, schema: Any, at: Location, shape: ObjectShape, within: frozenset[Location]) -> bool:
        """Add the fields of ``schema`` to ``shape``; False where it is more than an object with fields."""
        if not isinstance(schema, Mapping) or schema.get("nullable") is True or not _is_plain_object(schema):
            return False
        if "$ref" in schema:
            target, place = self.document.resolve(schema["$ref"], (*at, "$ref"))
            if place in within:
                return False
            shape.through.add(place)
            if not self._gather(target, place, shape, within | {place}):
                return False
        parts = schema.get("allOf") or []
        if not isinstance(parts, list):
            raise ApiProblem((*at, "allOf"), f'"allOf" should be a list, got {shown(parts)}')
        for index, part in enumerate(parts):
            if not self._gather(part, (*at, "allOf", index), shape, within):
                return False
        properties = schema.get("properties") or {}
        if not isinstance(properties, Mapping):
            raise ApiProblem((*at, "properties"), f'"properties" should be an object, got {shown(properties)}')
        for name, one in properties.items():
            known = shape.properties.get(name)
            if known is not None and known[0] != one:
                one = {"allOf": [known[0], one]}
            shape.properties[name] = (one, (*at, "properties", name))
        if isinstance(schema.get("required"), list):
            shape.required += [name for name in schema["required"] if isinstance(name, str)]
        if schema.get("additionalProperties", False) is not False:
            shape.extra = (schema["additionalProperties"], (*at, "additionalProperties"))
        return True


def is_binary(schema: Mapping[str, Any]) -> bool:
    """Whether a schema means raw bytes, which travel as base64 on this side of the API."""
    return schema.get("format") == "binary" and schema.get("type", "string") in ("string", ["string"])


def _is_plain_object(schema: Mapping[str, Any]) -> bool:
    return schema.get("type", "object") in ("object", ["object"]) and all(
        key in _OF_OBJECTS or key in _ANNOTATIONS or key in _DROPPED or key.startswith("x-") for key in schema
    )


def _is_scalar(schema: Any) -> bool:
    """Whether a schema is a text, a number or a truth value, best written out where it is used."""
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    kinds = kind if isinstance(kind, list) else [kind]
    return all(one in ("string", "number", "integer", "boolean", "null") for one in kinds) and not (
        _COMBINING & schema.keys()
    )


def _unwrapped(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """``allOf`` of one reference, which 3.0 needs to say a word about it, as the reference with the words beside it."""
    parts = schema.get("allOf")
    if not (isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], Mapping) and "$ref" in parts[0]):
        return schema
    rest = {key: value for key, value in schema.items() if key != "allOf" and not key.startswith("x-")}
    if rest.get("type") == "object":
        del rest["type"]
    return {**parts[0], **rest} if rest.keys() <= _ANNOTATIONS | _FLAGS else schema


def _older_forms(schema: Mapping[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """Put what OpenAPI says in its own way into the words of Draft 2020-12."""
    for exclusive, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(result.get(exclusive), bool) and result.pop(exclusive) and bound in result:
            result[exclusive] = result.pop(bound)
    if not isinstance(result.get("examples", []), list):
        del result["examples"]
    if "example" in schema and "examples" not in result:
        result["examples"] = [schema["example"]]
    if is_binary(schema) or schema.get("format") == "byte":
        result.pop("format", None)
        result["contentEncoding"] = "base64"
    if result.get("contentEncoding") == "base64":  # else a reference to an artifact would not fit
        result = {key: value for key, value in result.items() if key not in _OF_TEXTS}
    return result


def _with_null(schema: Mapping[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """``result``, which allows null where ``schema`` is nullable."""
    if schema.get("nullable") is not True:
        return result
    kinds = result.get("type")
    if kinds is None or _COMBINING & result.keys():
        words: dict[str, Any] = {key: result.pop(key) for key in _WORDS if key in result}
        return {"anyOf": [result, {"type": "null"}], **words} if result else words
    kinds = [kinds] if isinstance(kinds, str) else kinds
    result["type"] = kinds if "null" in kinds else [*kinds, "null"]
    if "enum" in result and None not in result["enum"]:
        result["enum"] = [*result["enum"], None]
    return result


def _is_usable(key: str, value: Any, at: Location) -> bool:
    """Whether a keyword has a value of its kind; one that only describes is left out where it has not."""
    if key in _DESCRIBING:
        return isinstance(value, _DESCRIBING[key])
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if key in _COUNTS and not (is_number and value >= 0 and value == int(value)):
        raise ApiProblem(at, f'"{key}" should be a count, got {shown(value)}')
    if key in _NUMBERS and not is_number and not (key.startswith("exclusive") and isinstance(value, bool)):
        raise ApiProblem(at, f'"{key}" should be a number, got {shown(value)}')
    if key == "multipleOf" and value <= 0:
        raise ApiProblem(at, f'"{key}" should be more than 0, got {shown(value)}')
    if key == "pattern" and not isinstance(value, str):
        raise ApiProblem(at, f'"{key}" should be a text, got {shown(value)}')
    return True


def _type(value: Any, at: Location) -> Any:
    kinds = value if isinstance(value, list) else [value]
    for kind in kinds:
        if not isinstance(kind, str) or kind not in _TYPES:
            raise ApiProblem(at, f"there is no type {shown(kind)}", f"Types are {', '.join(sorted(_TYPES))}.")
    if not kinds:
        raise ApiProblem(at, '"type" names no type')
    return value


def _mentioned(schema: Any) -> Iterator[str]:
    """The names of the definitions that a translated schema refers to."""
    if isinstance(schema, list):
        for one in schema:
            yield from _mentioned(one)
    elif isinstance(schema, Mapping):
        for key, value in schema.items():
            if key == "$ref" and isinstance(value, str):
                yield value.removeprefix("#/$defs/")
            elif key in _NAMED_SCHEMAS:
                for one in value.values():
                    yield from _mentioned(one)
            elif key in _SCHEMA or key in _SCHEMAS:
                yield from _mentioned(value)
