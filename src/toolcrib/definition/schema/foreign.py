"""Types that only pydantic knows: models, discriminated unions, custom validators.

pydantic is imported when the first of them is met.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Union

from toolcrib.definition.schema.conversions import is_json
from toolcrib.errors import DefinitionError


@dataclass(slots=True)
class ForeignSchemas:
    """What pydantic makes of some parameters.

    Attributes:
        properties: JSON Schema by the name that the model sees.
        fields: pydantic-core's fields by parameter.
        definitions: named JSON Schemas.
        core_definitions: pydantic-core's definitions that the fields refer to.
    """

    properties: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    definitions: dict[str, Any] = field(default_factory=dict)
    core_definitions: list[Any] = field(default_factory=list)


def convert(parameters: Mapping[str, Any], taken: Mapping[str, Any]) -> ForeignSchemas:
    """The schemas of parameters, made by pydantic.

    Args:
        parameters: annotations by parameter.
        taken: names of definitions that are in use already.

    Raises:
        DefinitionError: pydantic does not know one of the types either; the message begins with the parameter.
    """
    try:
        core, json = _schemas(parameters)
    except Exception:
        for name, annotation in parameters.items():
            try:
                _schemas({name: annotation})
            except Exception as error:
                reason = str(error).split("\n")[0]
                raise DefinitionError(
                    f"the parameter {name!r} has a type that no schema can be made of: {reason}"
                ) from error
        raise
    found = ForeignSchemas(core_definitions=list(core["definitions"]) if core["type"] == "definitions" else [])
    root = core["schema"] if core["type"] == "definitions" else core
    if root["type"] == "definition-ref":
        root = next(one for one in found.core_definitions if one.get("ref") == root["schema_ref"])
    found.fields = dict(root["fields"])
    definitions = json.get("$defs", {})
    renamed = {name: _free(name, taken, definitions) for name in definitions if name in taken}
    json = _renamed(json, renamed) if renamed else json
    found.properties = json["properties"]
    found.definitions = {renamed.get(name, name): one for name, one in json.get("$defs", {}).items()}
    return found


def output_schema(kind: Any) -> dict[str, Any]:
    """What a value of a type looks like as JSON, made by pydantic."""
    from pydantic import TypeAdapter

    schema: dict[str, Any] = untitled(TypeAdapter(portable(kind)).json_schema(mode="serialization"))
    return schema


def _schemas(parameters: Mapping[str, Any]) -> tuple[Any, Any]:
    """pydantic-core's schema and JSON Schema of the parameters as one object."""
    from pydantic import ConfigDict, TypeAdapter
    from typing_extensions import TypedDict

    make: Any = TypedDict
    shape = make("Arguments", {name: portable(one) for name, one in parameters.items()})
    shape.__pydantic_config__ = ConfigDict(val_json_bytes="base64", ser_json_bytes="base64")
    adapter: TypeAdapter[Any] = TypeAdapter(shape)
    return adapter.core_schema, untitled(adapter.json_schema())


def portable(kind: Any, seen: dict[Any, Any] | None = None) -> Any:
    """A type with typing_extensions' ``TypedDict`` in place of typing's, which pydantic refuses before Python 3.12."""
    from typing_extensions import TypedDict

    from toolcrib.definition.schema.structures import hints_of, is_typed_dict

    make: Any = TypedDict
    seen = {} if seen is None else seen
    if is_typed_dict(kind) and type(kind).__module__ == "typing":
        if kind not in seen:
            seen[kind] = kind
            hints = {name: portable(hint, seen) for name, hint in hints_of(kind).items()}
            seen[kind] = make(kind.__name__, hints, total=kind.__total__)
            seen[kind].__doc__ = kind.__doc__
        return seen[kind]
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is None or origin is typing.Literal:
        return kind
    if origin is typing.Annotated:
        inner = portable(arguments[0], seen)
        return kind if inner is arguments[0] else typing.Annotated[(inner, *arguments[1:])]
    replaced = tuple(portable(one, seen) if not isinstance(one, list) else one for one in arguments)
    if replaced == arguments:
        return kind
    if origin in (Union, types.UnionType):
        return Union[replaced]  # noqa: UP007
    return kind.copy_with(replaced) if hasattr(kind, "copy_with") else origin[replaced]


def untitled(schema: Any) -> Any:
    """A schema without the titles that pydantic derives from names, and without defaults that JSON cannot show.

    A property called ``title`` stays.
    """
    if isinstance(schema, list):
        return [untitled(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    result: dict[str, Any] = {}
    for key, value in schema.items():
        if key in ("properties", "$defs", "patternProperties") and isinstance(value, dict):
            result[key] = {name: untitled(one) for name, one in value.items()}
        elif key in ("default", "const", "enum", "examples"):
            if key != "default" or is_json(value):
                result[key] = value
        elif key != "title" or not isinstance(value, str):
            result[key] = untitled(value)
    return result


def _free(name: str, *taken: Mapping[str, Any]) -> str:
    number = 2
    while any(f"{name}{number}" in names for names in taken):
        number += 1
    return f"{name}{number}"


def _renamed(schema: Any, names: Mapping[str, str]) -> Any:
    if isinstance(schema, list):
        return [_renamed(one, names) for one in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: _renamed(value, names) for key, value in schema.items()}
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.removeprefix("#/$defs/") in names:
        result["$ref"] = f"#/$defs/{names[reference.removeprefix('#/$defs/')]}"
    if isinstance(mapping := schema.get("mapping"), dict) and "propertyName" in schema:
        result["mapping"] = {key: _renamed({"$ref": value}, names)["$ref"] for key, value in mapping.items()}
    return result
