"""Words of schemas in several languages: ``description = {zh = "…", en = "…"}`` (contract M09; DESIGN §11.15)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from toolcrib.registry.sources.positions import Location
from toolcrib.registry.sources.problems import shown

LANGUAGES = ("zh", "en")
"""The first that a text is given in is the document's own."""

_WORDS = ("title", "description")
_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_NESTED = frozenset(
    {
        *("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains", "propertyNames"),
        *("additionalProperties", "unevaluatedProperties", "contentSchema"),
        *("allOf", "anyOf", "oneOf", "not", "if", "then", "else"),
    }
)

Schema = Mapping[str, Any]


def in_language(schema: Schema, language: str | None = None) -> dict[str, Any]:
    """The schema with its words in one language, and the document's own where there are none; None = all its own.

    Example:
        >>> in_language({"title": {"zh": "宽", "en": "Width"}, "type": "integer"}, "en")
        {'title': 'Width', 'type': 'integer'}
    """

    def chosen(value: Any) -> Any:
        if not _is_table(value):
            return value
        own = next(value[each] for each in LANGUAGES if each in value)
        return value.get(language, own)

    return {key: chosen(value) if key in _WORDS else _below(key, value, language) for key, value in schema.items()}


def languages_of(schema: Schema) -> frozenset[str]:
    """The languages in which a schema has words, apart from the document's own.

    Example:
        >>> sorted(languages_of({"properties": {"a": {"description": {"zh": "甲", "en": "A"}}}}))
        ['en', 'zh']
    """
    return frozenset(each for _, value in _tables(schema, ()) if _is_table(value) for each in value)


def word_mistakes(schema: Schema) -> Iterator[tuple[Location, str]]:
    """Where words are neither a text nor a table of texts in the languages there are, and what stands there."""
    yield from ((place, shown(value)) for place, value in _tables(schema, ()) if not _is_table(value))


def _is_table(value: Any) -> bool:
    if not isinstance(value, Mapping) or not value or not value.keys() <= set(LANGUAGES):
        return False
    return all(isinstance(text, str) and text.strip() for text in value.values())


def _below(key: str, value: Any, language: str | None) -> Any:
    if key in _BY_NAME and isinstance(value, Mapping):
        return {name: _turned(each, lambda part: in_language(part, language)) for name, each in value.items()}
    return _turned(value, lambda part: in_language(part, language)) if key in _NESTED else value


def _turned(value: Any, change: Callable[[Schema], Any]) -> Any:
    if isinstance(value, Mapping):
        return change(value)
    return [_turned(each, change) for each in value] if isinstance(value, list) else value


def _tables(schema: Schema, location: Location) -> Iterator[tuple[Location, Any]]:
    """Every title and description in a schema that is no text."""
    for key, value in schema.items():
        place = (*location, key)
        if key in _WORDS and not isinstance(value, str):
            yield place, value
        elif key in _BY_NAME and isinstance(value, Mapping):
            for name, each in value.items():
                yield from _tables_in(each, (*place, name))
        elif key in _NESTED:
            yield from _tables_in(value, place)


def _tables_in(value: Any, location: Location) -> Iterator[tuple[Location, Any]]:
    if isinstance(value, Mapping):
        yield from _tables(value, location)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _tables_in(each, (*location, index))
