"""Validation errors as errors of a file, with the line, what was expected and what stands there (contract T015)."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from toolcrib.errors import SourceError
from toolcrib.registry.names import nearest
from toolcrib.registry.sources.document import Document
from toolcrib.registry.sources.positions import Location


def validation_problems(
    error: ValidationError, model: type[BaseModel], document: Document, root: Location, subject: str
) -> list[SourceError]:
    """Every mistake that ``error`` found, as errors of ``document``, in the order of their lines.

    Args:
        error: raised while ``model`` validated what stands at ``root``.
        model: of what stands at ``root``; it knows the keys that are allowed.
        document: the file.
        root: where in it the validated value stands.
        subject: what the value is, such as ``tool 'x'``; every message begins with it.
    """
    problems = [_problem(details, model, document, root, subject) for details in error.errors(include_url=False)]
    return sorted(problems, key=lambda problem: problem.line or 0)


def shown(value: Any) -> str:
    """``value`` as it may stand in an error: short, and in the notation of the files."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = str(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _problem(
    details: ErrorDetails, model: type[BaseModel], document: Document, root: Location, subject: str
) -> SourceError:
    location = _real_location(details["loc"], document.data, root)
    context = details.get("ctx", {})
    kind = details["type"]
    key = _quoted(location[len(root) :])
    hint = context.get("hint")
    if kind == "extra_forbidden":
        allowed = sorted(_keys_allowed(model, location[len(root) : -1]))
        close = nearest(str(location[-1]), allowed, limit=1)
        message = f'unknown key "{location[-1]}"'
        hint = f'Did you mean "{close[0]}"?' if close else f"Allowed are {', '.join(allowed)}."
    elif kind == "missing":
        message = f'"{details["loc"][-1]}" is missing'
        hint = _described(model, details["loc"])
    elif "at" in context:
        message = details["msg"]
        location = (*location, context["at"])
    else:
        message = _expectation(details, key, hide="auth" in location)
    return document.problem(location, f"{subject}: {message}", hint=hint)


def _expectation(details: ErrorDetails, key: str, *, hide: bool) -> str:
    text = details["msg"]
    if not text.startswith("Input should"):
        message = f"{key}: {text}" if key else text
        return message if hide or details["type"] in ("name", "auth") else f"{message}, got {shown(details['input'])}"
    message = f"{key or 'it'} {text.removeprefix('Input ')}"
    for technical, plain in (("valid dictionary", "object"), ("valid ", "")):
        message = message.replace(technical, plain)
    message = message.replace("a object", "an object").replace("a integer", "an integer")
    return message if hide else f"{message}, got {shown(details['input'])}"


def _quoted(location: Location) -> str:
    return f'"{".".join(map(str, location))}"' if location else ""


def _real_location(path: tuple[str | int, ...], data: Any, root: Location) -> Location:
    """``path`` without the tags of unions, which stand in no file."""
    location = root
    for part in root:
        data = data[part]
    for part in path:
        try:
            data = data[part]
        except (LookupError, TypeError):
            continue
        location = (*location, part)
    return location


def _keys_allowed(model: type[BaseModel], location: Location) -> set[str]:
    for part in location:
        field = next((field for name, field in model.model_fields.items() if (field.alias or name) == part), None)
        inner = next(_models(field.annotation), None) if field else None
        if inner is not None:
            model = inner
    return {field.alias or name for name, field in model.model_fields.items()}


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _models(argument)


def _described(model: type[BaseModel], path: tuple[str | int, ...]) -> str | None:
    field = model.model_fields.get(str(path[-1])) if len(path) == 1 else None
    return field.description if field else None
