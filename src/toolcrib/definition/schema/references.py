"""Following ``$ref`` inside one schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from toolcrib.errors import DefinitionError


def resolve(root: Mapping[str, Any], reference: str) -> Any:
    """The subschema of ``root`` that ``reference`` (``#``, ``#/$defs/Name`` or ``#name``) points to.

    Raises:
        DefinitionError: it points nowhere, or outside of this schema.
    """
    if not reference.startswith("#"):
        raise DefinitionError(
            f"The schema refers to {reference!r}, outside of itself", hint="Copy what it refers to into $defs."
        )
    pointer = unquote(reference[1:])
    if pointer and not pointer.startswith("/"):
        return _anchored(root, pointer, reference)
    found: Any = root
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        try:
            found = found[int(key)] if isinstance(found, list) else found[key]
        except (KeyError, IndexError, TypeError, ValueError):
            raise DefinitionError(f"The schema refers to {reference!r}, which it does not have") from None
    return found


def followed(root: Mapping[str, Any], schema: Any) -> Any:
    """``schema`` itself, or what its chain of bare references ends in.

    Raises:
        DefinitionError: the chain leads back to itself.
    """
    if type(schema) is dict and "$ref" not in schema:
        return schema
    seen: set[str] = set()
    while isinstance(schema, Mapping) and isinstance(schema.get("$ref"), str):
        reference = schema["$ref"]
        if reference in seen:
            raise DefinitionError(f"The schema's reference {reference!r} leads back to itself")
        seen.add(reference)
        target = resolve(root, reference)
        siblings = {key: value for key, value in schema.items() if key not in ("$ref", "$defs", "definitions")}
        schema = {**target, **siblings} if siblings and isinstance(target, Mapping) else target
    return schema


def _anchored(root: Any, anchor: str, reference: str) -> Any:
    waiting = [root]
    while waiting:
        schema = waiting.pop()
        if isinstance(schema, Mapping):
            if schema.get("$anchor") == anchor:
                return schema
            waiting.extend(schema.values())
        elif isinstance(schema, list):
            waiting.extend(schema)
    raise DefinitionError(f"The schema refers to {reference!r}, which it does not have")
