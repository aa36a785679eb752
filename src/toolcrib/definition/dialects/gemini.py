"""Gemini's form of a function: a subset of OpenAPI's schemas, without references."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolcrib.definition.dialects import lowering
from toolcrib.definition.dialects.alias import alias
from toolcrib.definition.dialects.lowering import Json

if TYPE_CHECKING:
    from toolcrib.definition.tool import ToolDefinition

_KEPT = frozenset((
    "type", "format", "description", "nullable", "enum", "items", "minItems", "maxItems", "properties", "required",
    "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "anyOf", "minimum", "maximum",
))  # fmt: skip
_FORMATS = frozenset(("date-time", "enum", "float", "double", "int32", "int64"))
_ANYTHING: Json = {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}, {"type": "object"}]}


def gemini(tool: ToolDefinition) -> dict[str, Any]:
    """The tool as a ``functionDeclaration``; a tool without parameters has no ``parameters``."""
    entry: dict[str, Any] = {"name": alias(tool.name), "description": tool.description or tool.name}
    parameters = gemini_schema(tool.parameters)
    if parameters.get("properties"):
        entry["parameters"] = parameters
    return entry


def gemini_schema(schema: Mapping[str, Any]) -> Json:
    """The schema in Gemini's subset: no references, one type each, null as ``nullable``, values as text."""
    result: Json = lowering.each_schema(lowering.object_root(lowering.inlined(schema)), _lowered)
    return result


def _lowered(schema: Json) -> Json:
    schema = _without_all_of(lowering.without_one_of(schema))
    schema = _one_type(lowering.without_tuples(schema))
    schema = _without_null_branch(schema)
    schema = _values(schema)
    if schema.get("default") is not None:
        schema = lowering.described(schema, f"Default: {json.dumps(schema['default'], ensure_ascii=False)}.")
    schema = _limits(schema)
    kept = {key: value for key, value in schema.items() if key in _KEPT}
    if kept.get("format") not in _FORMATS:
        kept.pop("format", None)
    if kept.get("type") == "object" and not kept.get("properties"):
        kept.pop("properties", None)
        kept.pop("required", None)
    elif "required" in kept:
        kept["required"] = [name for name in kept["required"] if name in kept.get("properties", {})]
        if not kept["required"]:
            del kept["required"]
    if "type" not in kept and "anyOf" not in kept:
        kept = {**_ANYTHING, **kept}
    return kept


def _without_all_of(schema: Json) -> Json:
    parts = schema.get("allOf")
    if not parts:
        return schema
    result: Json = {key: value for key, value in schema.items() if key != "allOf"}
    for part in parts:
        for key, value in part.items():
            if key == "properties":
                result[key] = {**value, **result.get(key, {})}
            elif key == "required":
                result[key] = list(dict.fromkeys([*result.get(key, ()), *value]))
            else:
                result.setdefault(key, value)
    return result


def _one_type(schema: Json) -> Json:
    kinds = schema.get("type")
    if not isinstance(kinds, list):
        return schema
    others = [kind for kind in kinds if kind != "null"]
    nullable = {"nullable": True} if "null" in kinds else {}
    if len(others) == 1:
        return {**schema, "type": others[0], **nullable}
    outside = {key: schema[key] for key in ("description",) if key in schema}
    inside = {key: value for key, value in schema.items() if key not in ("type", "description")}
    return {**outside, "anyOf": [{**inside, "type": kind} for kind in others], **nullable}


def _without_null_branch(schema: Json) -> Json:
    branches = schema.get("anyOf")
    if not branches:
        return schema
    others = [one for one in branches if one.get("type") != "null"]
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    if len(others) < len(branches) or any(one.get("nullable") for one in others):
        rest["nullable"] = True
    if len(others) == 1:
        return {**others[0], **rest}
    return {**rest, "anyOf": others}


def _values(schema: Json) -> Json:
    """Values are only for strings, and none may be empty; numbers to choose from become a remark and limits."""
    values = lowering.values_of(schema)
    if values is None:
        return schema
    rest = {key: value for key, value in schema.items() if key not in ("const", "enum")}
    if None in values:
        rest["nullable"] = True
    shown = [value for value in values if value is not None]
    if all(isinstance(value, str) for value in shown):
        texts = [value for value in shown if value]
        return {**rest, "type": "string", **({"enum": texts} if texts else {})}
    rest = lowering.described(rest, f"One of {', '.join(json.dumps(value, ensure_ascii=False) for value in shown)}.")
    if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in shown):
        kind = "integer" if all(isinstance(value, int) for value in shown) else "number"
        return {**rest, "type": rest.get("type", kind), "minimum": min(shown), "maximum": max(shown)}
    return rest


def _limits(schema: Json) -> Json:
    """Exclusive limits as inclusive ones, which the check of the call makes exact."""
    whole = 1 if schema.get("type") == "integer" else 0
    result = dict(schema)
    for exclusive, inclusive, step in (("exclusiveMinimum", "minimum", whole), ("exclusiveMaximum", "maximum", -whole)):
        limit = schema.get(exclusive)
        if isinstance(limit, (int, float)) and not isinstance(limit, bool) and inclusive not in schema:
            result[inclusive] = limit + step
    return result
