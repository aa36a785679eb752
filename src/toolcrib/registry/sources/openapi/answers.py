"""What an operation answers with when all went well."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from toolcrib.registry.sources.openapi.bodies import kind_of
from toolcrib.registry.sources.openapi.document import ApiDocument
from toolcrib.registry.sources.openapi.schemas import Schemas
from toolcrib.registry.sources.positions import Location

FILE: Mapping[str, Any] = {
    "type": "object",
    "properties": {"content": {"type": "string", "contentEncoding": "base64"}, "mime_type": {"type": "string"}},
    "required": ["content", "mime_type"],
}
"""The result of an answer that is neither JSON nor text."""

HEAD: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "status": {"type": "integer"},
        "headers": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "required": ["status", "headers"],
}
"""The result of a HEAD request."""

_SUCCESS = re.compile(r"2(?:\d\d|XX)", re.IGNORECASE)


def read_answers(
    document: ApiDocument, schemas: Schemas, method: str, responses: Any, at: Location
) -> tuple[dict[str, Any] | None, str]:
    """The schema of what a call returns (None = not known), and the value of the ``Accept`` header.

    Raises:
        ApiProblem: a reference points nowhere, or a schema is none.
    """
    found: list[Any] = []
    accept: dict[str, None] = {}
    for status, value in responses.items() if isinstance(responses, Mapping) else ():
        if not _SUCCESS.fullmatch(str(status)):
            continue
        response, place = document.object_at(value, (*at, status), "a response")
        content = response.get("content")
        if not isinstance(content, Mapping) or not content or status in ("204", "205"):
            found.append({"type": "null"})
            continue
        media_type = next((name for name in content if kind_of(name) == "json"), next(iter(content)))
        accept[media_type.split(";")[0].strip()] = None
        kind = kind_of(media_type)
        if kind == "json":
            media, where = document.object_at(content[media_type], (*place, "content", media_type), "a media type")
            found.append(schemas.translate(media["schema"], (*where, "schema")) if "schema" in media else True)
        else:
            found.append(dict(FILE) if kind in ("binary", "multipart") else {"type": "string"})
    return _schema(schemas, method, found), _accept(list(accept))


def _schema(schemas: Schemas, method: str, found: list[Any]) -> dict[str, Any] | None:
    if method == "HEAD":
        return dict(HEAD)
    different = [one for index, one in enumerate(found) if one not in found[:index]]
    if not different or any(not one or one is True for one in different):
        return None
    return schemas.closed(different[0] if len(different) == 1 else {"anyOf": different})


def _accept(media_types: list[str]) -> str:
    named = [one for one in media_types if re.fullmatch(r"[\w.+-]+/[\w.+*-]+", one)]
    return ", ".join([*(named or ["application/json"]), "*/*;q=0.1"])
