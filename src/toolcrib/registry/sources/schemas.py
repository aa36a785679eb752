"""Whether what an author gave as a JSON Schema is one (contract T026)."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, time
from typing import Any

from toolcrib.registry.sources.positions import Location
from toolcrib.registry.sources.problems import shown
from toolcrib.registry.sources.schema_words import LANGUAGES, in_language, word_mistakes

_DATA_KEYWORDS = frozenset({"const", "default", "enum", "examples"})
_TYPES = "array, boolean, integer, null, number, object or string"


@dataclass(frozen=True, slots=True)
class SchemaMistake:
    """What is wrong with a schema.

    Attributes:
        location: where in the schema.
        message: what is wrong.
        hint: what to do.
    """

    location: Location
    message: str
    hint: str | None = None


def schema_mistakes(schema: Mapping[str, Any], *, of_object: bool) -> list[SchemaMistake]:
    """What keeps ``schema`` from being a JSON Schema that can be used; empty where it is one.

    Args:
        schema: Draft 2020-12, or the draft that its ``$schema`` names; titles and descriptions may be tables of texts
            by language.
        of_object: whether it must describe an object, as parameters do.

    Example:
        >>> schema_mistakes({"type": "objekt"}, of_object=False)[0].location
        ('type',)
    """
    mistakes = [*_foreign_values(schema, ()), *_foreign_references(schema, ()), *_foreign_words(schema)]
    if of_object and schema.get("type") != "object":
        mistakes.append(
            SchemaMistake(
                ("type",), "the parameters must be an object", hint='Put type = "object" at the root of the schema.'
            )
        )
    if mistakes or importlib.util.find_spec("jsonschema_rs") is None:
        return mistakes
    return _meta_schema_mistakes(in_language(schema))


def _meta_schema_mistakes(schema: dict[str, Any]) -> list[SchemaMistake]:
    import jsonschema_rs

    try:
        jsonschema_rs.meta.validate(schema)
        jsonschema_rs.validator_for(schema)
    except jsonschema_rs.ReferencingError as error:
        return [SchemaMistake((), str(error), hint="$ref points into the same schema; $schema names a known draft.")]
    except jsonschema_rs.ValidationError as error:
        location = tuple(error.instance_path)
        if location and location[-1] == "type":
            return [SchemaMistake(location, f"there is no type {shown(error.instance)}", hint=f"Types are {_TYPES}.")]
        return [SchemaMistake(location, error.message)]
    except ValueError as error:
        return [SchemaMistake((), str(error))]
    return []


def _foreign_values(value: Any, location: Location) -> Iterator[SchemaMistake]:
    """What TOML has and JSON has not."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _foreign_values(item, (*location, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _foreign_values(item, (*location, index))
    elif isinstance(value, date | time):
        yield SchemaMistake(location, "JSON has no dates and times", hint="Write it as a text, in quotes.")
    elif isinstance(value, float) and not math.isfinite(value):
        yield SchemaMistake(location, "JSON has no infinite numbers", hint="Leave the bound out.")


def _foreign_words(schema: Mapping[str, Any]) -> Iterator[SchemaMistake]:
    for location, found in word_mistakes(schema):
        message = f"{location[-1]} should be a text, or a table with texts in {' and '.join(LANGUAGES)}, got {found}"
        yield SchemaMistake(location, message, hint='Write "…", or {zh = "…", en = "…"} ({"zh": "…"} in JSON).')


def _foreign_references(value: Any, location: Location) -> Iterator[SchemaMistake]:
    """References to other documents: following them would reach out to the network."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _foreign_references(item, (*location, index))
    if not isinstance(value, dict):
        return
    for key, item in value.items():
        if key in ("$ref", "$dynamicRef") and isinstance(item, str) and not item.startswith("#"):
            yield SchemaMistake(
                (*location, key), f"{shown(item)} is another document", hint="Put it under $defs and refer to #/$defs/…"
            )
        elif key not in _DATA_KEYWORDS:
            yield from _foreign_references(item, (*location, key))
