"""Steps from our schema towards those of providers, shared by the dialects. Every step returns a new schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from toolcrib.definition.schema.keywords import same
from toolcrib.definition.schema.references import followed, resolve
from toolcrib.definition.schema.types import flat

Json = dict[str, Any]
_NAMED = ("properties", "$defs", "definitions", "patternProperties", "dependentSchemas")
_ONE = ("items", "additionalProperties", "additionalItems", "not", "contains", "propertyNames", "if", "then", "else")
_MANY = ("anyOf", "oneOf", "allOf", "prefixItems")
_UNIONS = ("anyOf", "oneOf")


def each_schema(schema: Any, change: Callable[[Json], Json]) -> Any:
    """``schema`` with ``change`` applied to every schema inside it and then to itself."""
    if not isinstance(schema, Mapping):
        return schema
    result: Json = dict(schema)
    for key, value in schema.items():
        if key in _NAMED and isinstance(value, Mapping):
            result[key] = {name: each_schema(one, change) for name, one in value.items()}
        elif key in _MANY or (key == "items" and isinstance(value, list)):
            result[key] = [each_schema(one, change) for one in value]
        elif key in _ONE:
            result[key] = each_schema(value, change)
    return change(result)


def inlined(root: Mapping[str, Any]) -> Json:
    """The schema without references: each is replaced by a copy of what it means.

    Where one leads back into itself, an object without properties stands for it.
    """

    def expand(schema: Any, above: tuple[str, ...]) -> Any:
        if isinstance(schema, list):
            return [expand(one, above) for one in schema]
        if not isinstance(schema, Mapping):
            return schema
        reference = schema.get("$ref")
        rest = {
            key: value
            for key, value in schema.items()
            if key not in ("$ref", "$defs", "definitions", "$anchor", "$id", "$schema")
        }
        if isinstance(reference, str):
            if reference in above:
                return {
                    "type": "object",
                    "description": f"Nested further in the same way ({reference.rsplit('/', 1)[-1]}).",
                }
            target = resolve(root, reference)
            target = target if isinstance(target, Mapping) else {}
            return expand(
                {**{k: v for k, v in target.items() if k not in ("$defs", "definitions")}, **rest}, (*above, reference)
            )
        result: Json = {}
        for key, value in rest.items():
            if key in _NAMED and isinstance(value, Mapping):
                result[key] = {name: expand(one, above) for name, one in value.items()}
            elif key in _MANY or key in _ONE:
                result[key] = expand(value, above)
            else:
                result[key] = value
        return result

    expanded = expand(root, ())
    return expanded if isinstance(expanded, dict) else {}


def object_root(schema: Mapping[str, Any]) -> Json:
    """A schema whose root is a plain object: alternatives become one object in which only what all demand is required.

    What the alternatives say beyond that is checked when the call comes.
    """
    result: Json = {
        key: value
        for key, value in schema.items()
        if key not in ("$schema", "$id", *_UNIONS, "allOf", "$ref", "not", "if", "then", "else", "enum", "const")
    }
    properties: dict[str, Any] = dict(schema.get("properties") or {})
    required: list[str] = list(schema.get("required") or ())
    whole = [{"$ref": schema["$ref"]}] if "$ref" in schema else []
    for part in _roots(schema, [*whole, *(schema.get("allOf") or ())]):
        _add(properties, part["properties"])
        required += part.get("required", ())
    for keyword in _UNIONS:
        branches = _roots(schema, schema.get(keyword) or ())
        for branch in branches:
            _add(properties, branch["properties"])
        demanded = [branch.get("required", ()) for branch in branches] or [()]
        required += [name for name in demanded[0] if all(name in one for one in demanded)]
    result["type"] = "object"
    result["properties"] = properties
    if "required" in result or required:
        result["required"] = list(dict.fromkeys(required))
    return result


def _roots(root: Mapping[str, Any], parts: Iterable[Any]) -> list[Json]:
    """The parts of ``root`` that are schemas, each as a plain object."""
    definitions = {key: root[key] for key in ("$defs", "definitions") if key in root}
    found = (followed(root, part) for part in parts)
    return [object_root({**definitions, **part}) for part in found if isinstance(part, Mapping)]


def _add(properties: dict[str, Any], more: Mapping[str, Any]) -> None:
    for name, one in more.items():
        properties[name] = merged(properties[name], one) if name in properties else one


def merged(left: Any, right: Any) -> Any:
    """One schema that allows what either of two allows; lists of values are joined."""
    if left == right or not isinstance(left, Mapping) or not isinstance(right, Mapping):
        return left
    left_values, right_values = values_of(left), values_of(right)
    if left_values is None or right_values is None:
        return {"anyOf": flat([dict(left), dict(right)])}
    joined = list(left_values) + [value for value in right_values if not any(same(value, one) for one in left_values)]
    rest = {key: value for key, value in left.items() if key not in ("const", "enum")}
    return {**rest, "enum": joined}


def values_of(schema: Mapping[str, Any]) -> list[Any] | None:
    """The values that a schema with ``enum`` or ``const`` allows."""
    if "const" in schema:
        return [schema["const"]]
    return list(schema["enum"]) if isinstance(schema.get("enum"), list) else None


def without_tuples(schema: Json) -> Json:
    """A tuple as an array of a fixed length whose items may be any of the tuple's; every array says what it holds."""
    heads = schema.get("prefixItems") or (schema["items"] if isinstance(schema.get("items"), list) else None)
    if heads is None:
        return {**schema, "items": {}} if schema.get("type") == "array" and "items" not in schema else schema
    result = {key: value for key, value in schema.items() if key not in ("prefixItems", "items", "additionalItems")}
    kinds = flat([dict(one) for one in heads if isinstance(one, Mapping)])
    result["items"] = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    return result


def without_one_of(schema: Json) -> Json:
    """``oneOf`` as ``anyOf``, without OpenAPI's discriminator."""
    if "oneOf" not in schema and "discriminator" not in schema:
        return schema
    result = {key: value for key, value in schema.items() if key not in ("oneOf", "discriminator")}
    if "oneOf" in schema:
        result["anyOf"] = [*schema.get("anyOf", ()), *schema["oneOf"]]
    return result


def without_nullable(schema: Json) -> Json:
    """OpenAPI's ``nullable`` as JSON Schema's null."""
    if "nullable" not in schema:
        return schema
    result = {key: value for key, value in schema.items() if key != "nullable"}
    return allowing_null(result) if schema["nullable"] is True else result


def allowing_null(schema: Json) -> Json:
    """A schema that also allows null; texts stay outside."""
    kinds = [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type")
    if isinstance(kinds, list) and "const" not in schema:
        result = {**schema, "type": kinds if "null" in kinds else [*kinds, "null"]}
        if isinstance(schema.get("enum"), list) and None not in schema["enum"]:
            result["enum"] = [*schema["enum"], None]
        return result
    if any(one.get("type") == "null" for one in schema.get("anyOf", ()) if isinstance(one, Mapping)):
        return schema
    outside: Json = {key: value for key, value in schema.items() if key in ("description", "title")}
    inside = {key: value for key, value in schema.items() if key not in outside}
    branches = inside["anyOf"] if inside.keys() == {"anyOf"} else [inside]
    return {**outside, "anyOf": [*branches, {"type": "null"}]}


def described(schema: Json, remark: str) -> Json:
    """A schema whose description ends with ``remark``."""
    text = schema.get("description")
    return {**schema, "description": f"{text} {remark}" if text else remark}
