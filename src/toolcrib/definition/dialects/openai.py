"""OpenAI's forms: Chat Completions and Responses, strict where the tool allows it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolcrib.definition.dialects import lowering
from toolcrib.definition.dialects.alias import alias, shortened
from toolcrib.definition.dialects.lowering import Json
from toolcrib.definition.schema.references import followed

if TYPE_CHECKING:
    from toolcrib.definition.tool import ToolDefinition

_STRICT_FORMATS = frozenset(("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"))
_STRICT_KEYWORDS = frozenset((
    "type", "description", "enum", "const", "properties", "required", "additionalProperties", "items", "anyOf",
    "$ref", "$defs", "pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "minItems", "maxItems",
))  # fmt: skip
_MOST_DEPTH = 10
_MOST_PROPERTIES = 5000


def chat_completions(tool: ToolDefinition, *, strict: bool = False) -> dict[str, Any]:
    """The tool as Chat Completions takes it.

    Args:
        tool: the tool.
        strict: whether the model's output shall be held to the schema; a tool that cannot be is sent with ``strict``
            false, and `why_not_strict` tells the reason.
    """
    parameters, is_strict = _parameters(tool, strict)
    function: dict[str, Any] = {
        "name": alias(tool.name),
        "description": shortened(tool.description),
        "parameters": parameters,
    }
    if strict:
        function["strict"] = is_strict
    return {"type": "function", "function": function}


def responses(tool: ToolDefinition, *, strict: bool = False) -> dict[str, Any]:
    """The tool as the Responses API takes it; there ``strict`` has to be said, since its default is true."""
    parameters, is_strict = _parameters(tool, strict)
    name, description = alias(tool.name), shortened(tool.description)
    return {"type": "function", "name": name, "description": description, "parameters": parameters, "strict": is_strict}


def _parameters(tool: ToolDefinition, strict: bool) -> tuple[Json, bool]:
    if strict and why_not_strict(tool.parameters) is None:
        return strict_schema(tool.parameters), True
    return loose_schema(tool.parameters), False


def loose_schema(schema: Mapping[str, Any]) -> Json:
    """A schema that OpenAI accepts without strict mode."""
    result: Json = lowering.each_schema(lowering.object_root(schema), _loosened)
    return result


def _loosened(schema: Json) -> Json:
    return lowering.without_tuples(lowering.without_one_of(lowering.without_nullable(schema)))


def why_not_strict(schema: Mapping[str, Any]) -> str | None:
    """Why a tool with this schema cannot be sent in strict mode; None = it can."""
    if any(keyword in schema for keyword in ("anyOf", "oneOf", "allOf", "$ref")):
        return "the arguments as a whole are a choice between alternatives"
    count = 0

    def look(one: Any, path: str, depth: int) -> str | None:
        nonlocal count
        if not isinstance(one, Mapping) or not one:
            return f"{path} may be anything, and strict mode wants a type"
        for keyword in ("allOf", "not", "if", "patternProperties", "dependentSchemas", "dependentRequired"):
            if keyword in one:
                return f"{path} uses {keyword}"
        if "$ref" in one:
            followed(schema, one)
            return None
        branches = one.get("anyOf") or one.get("oneOf")
        if branches:
            return next((why for branch in branches if (why := look(branch, path, depth)) is not None), None)
        if "type" not in one and lowering.values_of(one) is None:
            return f"{path} has no type"
        kinds = one["type"] if isinstance(one.get("type"), list) else [one.get("type")]
        if "array" in kinds:
            heads = one.get("prefixItems") or [one.get("items")]
            return next((why for item in heads if (why := look(item, f"{path}[]", depth + 1)) is not None), None)
        if "object" not in kinds:
            return None
        if one.get("additionalProperties", False) is not False or ("properties" not in one and path != "the object"):
            return f"{path} takes members of any name"
        count += len(one.get("properties") or {})
        if depth > _MOST_DEPTH or count > _MOST_PROPERTIES:
            return f"{path} is too large or too deep"
        prefix = "" if path == "the object" else f"{path}."
        members = (one.get("properties") or {}).items()
        return next(
            (why for name, member in members if (why := look(member, f"{prefix}{name}", depth + 1)) is not None), None
        )

    parts = [("the object", {"type": "object", **schema})]
    parts += [(name, one) for key in ("$defs", "definitions") for name, one in (schema.get(key) or {}).items()]
    return next((why for path, one in parts if (why := look(one, path, 0)) is not None), None)


def strict_schema(schema: Mapping[str, Any]) -> Json:
    """The schema in strict mode's subset: all members required, the optional ones nullable; nothing else is allowed."""
    root = {key: value for key, value in schema.items() if key != "definitions"} | {"type": "object"}
    if "definitions" in schema:
        root["$defs"] = {**schema["definitions"], **schema.get("$defs", {})}
    root.setdefault("properties", {})
    result: Json = lowering.each_schema(root, _tightened)
    return result


def _tightened(schema: Json) -> Json:
    schema = _loosened(schema)
    if "default" in schema and schema["default"] is not None:
        schema = lowering.described(schema, f"Default: {json.dumps(schema['default'], ensure_ascii=False)}.")
    if isinstance(schema.get("$ref"), str):
        schema = {**schema, "$ref": schema["$ref"].replace("#/definitions/", "#/$defs/")}
        return (
            {"$ref": schema["$ref"]}
            if "description" not in schema
            else {"anyOf": [{"$ref": schema["$ref"]}], "description": schema["description"]}
        )
    kinds = schema["type"] if isinstance(schema.get("type"), list) else [schema.get("type")]
    if "object" in kinds:
        needed = schema.get("required") or ()
        members = {
            name: one if name in needed else lowering.allowing_null(one)
            for name, one in (schema.get("properties") or {}).items()
        }
        schema = {**schema, "properties": members, "required": list(members), "additionalProperties": False}
    if "type" not in schema and (values := lowering.values_of(schema)) is not None:
        schema = {"type": _types(values), **schema}
    kept = {key: value for key, value in schema.items() if key in _STRICT_KEYWORDS}
    if kept.get("format") not in _STRICT_FORMATS:
        kept.pop("format", None)
    return kept


def _types(values: list[Any]) -> str | list[str]:
    names = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    found = list(dict.fromkeys(names.get(type(value), "string") for value in values))
    return found[0] if len(found) == 1 else found
