"""The body of a request: which arguments it has, and how they are sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from toolcrib.registry.sources.openapi.document import ApiDocument, ApiProblem
from toolcrib.registry.sources.openapi.parameters import Arguments, described
from toolcrib.registry.sources.openapi.schemas import ObjectShape, Schemas, is_binary
from toolcrib.registry.sources.openapi.wire import BodyKind, HttpBody, HttpField
from toolcrib.registry.sources.positions import Location
from toolcrib.registry.sources.problems import shown

_JSON = re.compile(r"application/(?:[^;]+\+)?json\b.*|text/json\b.*", re.IGNORECASE)
_TEXT = re.compile(
    r"(?:text/[^;]*|application/(?:[^;]+\+)?(?:xml|yaml)|application/(?:x-yaml|x-ndjson|jsonl|graphql|sql))\b.*",
    re.IGNORECASE,
)
_PREFERENCE: tuple[BodyKind, ...] = ("json", "multipart", "form", "text", "binary")
_FILE: Mapping[str, Any] = {"type": "string", "contentEncoding": "base64"}
_WORDS = ("title", "description", "deprecated", "contentMediaType")
_OPTIONAL = "The request body may be left out; if any of {fields} is given, {required} must be given too."


def kind_of(media_type: str) -> BodyKind:
    """How a body of this media type is written.

    Example:
        >>> kind_of("application/merge-patch+json"), kind_of("text/csv"), kind_of("image/png")
        ('json', 'text', 'binary')
    """
    essence = media_type.split(";")[0].strip().lower()
    if _JSON.fullmatch(media_type) or essence == "*/*":
        return "json"
    if essence == "multipart/form-data":
        return "multipart"
    if essence == "application/x-www-form-urlencoded":
        return "form"
    return "text" if _TEXT.fullmatch(media_type) else "binary"


def read_body(
    document: ApiDocument, schemas: Schemas, value: Any, at: Location, arguments: Arguments
) -> tuple[HttpBody | None, dict[str, Any]]:
    """Add the fields of a request's body to the arguments.

    Args:
        document: where references point.
        schemas: translates their schemas.
        value: the ``requestBody``; None = there is none.
        at: where it stands.
        arguments: receives the fields, or one argument ``body`` where the body is no object with fields.

    Returns:
        How the body is sent, and further keywords for the schema of all arguments.

    Raises:
        ApiProblem: it cannot be used.
    """
    if value is None:
        return None, {}
    body, at = document.object_at(value, at, "a requestBody")
    content = body.get("content")
    if not isinstance(content, Mapping):
        raise ApiProblem((*at, "content"), f'"content" should be an object, got {shown(content)}')
    if not content:
        return None, {}
    media_type = min(content, key=lambda name: _PREFERENCE.index(kind_of(name)))
    media, where = document.object_at(content[media_type], (*at, "content", media_type), "a media type")
    kind = kind_of(media_type)
    sent: HttpBody = {
        "kind": kind,
        "media_type": _sent_as(media_type, kind),
        "required": body.get("required") is True,
        "whole": None,
        "fields": [],
        "open": False,
    }
    schema, where = media.get("schema", {}), (*where, "schema")
    shape = schemas.shape(schema, where) if kind in ("json", "form", "multipart") else None
    if shape is not None:
        return sent, _add_fields(document, schemas, shape, media.get("encoding"), sent, arguments)
    if kind in ("form", "multipart"):
        sent["open"] = True
        return sent, _free_form(document, schema, where)
    _add_whole(schemas, body, schema, where, sent, arguments)
    return sent, {}


def _sent_as(media_type: str, kind: BodyKind) -> str:
    if "*" not in media_type:
        return media_type
    return {"json": "application/json", "text": "text/plain"}.get(kind, "application/octet-stream")


def _add_fields(
    document: ApiDocument, schemas: Schemas, shape: ObjectShape, encoding: Any, sent: HttpBody, arguments: Arguments
) -> dict[str, Any]:
    kept, required = schemas.fields(shape)
    names: dict[str, str] = {}
    for name, (schema, at) in kept.items():
        said = encoding.get(name) if isinstance(encoding, Mapping) else None
        found = _field(document, name, schema, at, said if isinstance(said, Mapping) else {}, sent["kind"])
        translated = _as_files(schemas.translate(schema, at)) if found["is_file"] else schemas.translate(schema, at)
        is_required = sent["required"] and name in required
        names[name] = found["argument"] = arguments.add(
            name, translated, suffix="body", what="field of the request body", required=is_required
        )
        sent["fields"].append(found)
    further: dict[str, Any] = {}
    if shape.extra is not None:
        sent["open"] = True
        further["additionalProperties"] = schemas.translate(*shape.extra)
    needed = [names[name] for name in required if name in names]
    if needed and not sent["required"]:
        further["dependentRequired"] = {
            argument: others for argument in names.values() if (others := [one for one in needed if one != argument])
        }
        if not further["dependentRequired"]:
            del further["dependentRequired"]
        else:
            listed = [", ".join(f"`{one}`" for one in group) for group in (names.values(), needed)]
            arguments.notes.append(_OPTIONAL.format(fields=listed[0], required=listed[1]))
    return further


def _field(
    document: ApiDocument, name: str, schema: Any, at: Location, said: Mapping[str, Any], kind: BodyKind
) -> HttpField:
    content_type = said.get("contentType")
    content_type = content_type.split(",")[0].strip() if isinstance(content_type, str) and content_type else None
    has_style = any(key in said for key in ("style", "explode", "allowReserved"))
    style = said.get("style", "form") if has_style else None
    explode = said.get("explode")
    return {
        "argument": name,
        "name": name,
        "is_file": kind == "multipart" and _is_file(document, schema, at, content_type),
        "content_type": content_type,
        "style": style if isinstance(style, str) else None,
        "explode": explode if isinstance(explode, bool) else style in (None, "form"),
        "allow_reserved": said.get("allowReserved") is True,
    }


def _is_file(document: ApiDocument, schema: Any, at: Location, content_type: str | None) -> bool:
    """Whether a part of a form holds bytes: 3.0 says so by format, 3.1 by media type or by saying nothing else."""
    schema, at = document.follow(schema, at)
    if not isinstance(schema, Mapping):
        return False
    if schema.get("type") == "array":
        return _is_file(document, schema.get("items", {}), (*at, "items"), content_type)
    if schema.get("type", "string") not in ("string", ["string"], ["string", "null"]) or "contentEncoding" in schema:
        return False
    media_type = schema.get("contentMediaType", content_type)
    is_bytes = isinstance(media_type, str) and kind_of(media_type) == "binary"
    return is_binary(schema) or (is_bytes and not {"enum", "const", "anyOf", "oneOf", "allOf"} & schema.keys())


def _as_files(schema: Any) -> dict[str, Any]:
    """A schema of bytes, or of a list of them, as one of base64."""
    if isinstance(schema, dict) and schema.get("type") == "array":
        return {**schema, "items": _as_files(schema.get("items"))}
    kept = schema if isinstance(schema, dict) and "$ref" not in schema else {}
    words = {key: value for key, value in kept.items() if key in _WORDS}
    return {**_FILE, **({"type": kept["type"]} if "type" in kept else {}), **words}


def _free_form(document: ApiDocument, schema: Any, at: Location) -> dict[str, Any]:
    schema, at = document.follow(schema, at)
    if isinstance(schema, Mapping) and schema.get("type", "object") != "object":
        raise ApiProblem(at, "the body of a form must be an object")
    return {"additionalProperties": True}


def _add_whole(
    schemas: Schemas, body: Mapping[str, Any], schema: Any, at: Location, sent: HttpBody, arguments: Arguments
) -> None:
    if sent["kind"] == "json":
        translated = schemas.translate(schema, at)
    elif sent["kind"] == "text":
        translated = schemas.translate(schema, at) or {}
        if not isinstance(translated, dict) or translated.get("type") != "string":
            translated = {"type": "string"}
    else:
        translated = dict(_FILE)
    words = body.get("description")
    if not words and sent["kind"] != "json":
        words = f"The request body ({sent['media_type']})."
    argument = arguments.add(
        "body", described(translated, words), suffix="request", what="request body", required=sent["required"]
    )
    sent["whole"] = argument
