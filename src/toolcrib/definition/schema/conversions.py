"""Python values of the types that JSON does not have; called by pydantic-core while it validates."""

from __future__ import annotations

import base64
import binascii
import enum
import re
from collections.abc import Callable, Iterable
from typing import Any

_TIMESTAMP = re.compile(r"\s*[+-]?[0-9]+(\.[0-9]+)?\s*")


_AS_THEY_ARE = frozenset((str, int, bool, type(None)))


def from_base64(value: Any) -> Any:
    """The bytes that a base64 text stands for."""
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("base64 text") from None


def no_boolean(value: Any) -> Any:
    """Refuse True and False where they would pass for 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("a number")
    return value


def no_timestamp(value: Any) -> Any:
    """Refuse a number where a date or a time belongs: nobody can tell seconds from milliseconds."""
    if isinstance(value, (int, float)) or (isinstance(value, str) and _TIMESTAMP.fullmatch(value)):
        raise ValueError("ISO 8601 text")
    return value


def to_path(kind: type[Any]) -> Callable[[Any], Any]:
    """A validator that makes paths of class ``kind`` of texts and of other paths."""

    def convert(value: Any) -> Any:
        if isinstance(value, str) or hasattr(value, "__fspath__"):
            return kind(value)
        raise ValueError("a path as text")

    return convert


def to_member(values: Iterable[Any]) -> Callable[[Any], Any]:
    """A validator that makes the members of enums among ``values`` of their values."""
    members = {(type(one.value), one.value): one for one in values if isinstance(one, enum.Enum)}

    def convert(value: Any) -> Any:
        return members.get((type(value), value), value) if isinstance(value, (str, int)) else value

    return convert


def build(kind: type[Any]) -> Callable[[Any, Callable[[Any], Any]], Any]:
    """A validator that calls the class with the validated fields; instances are kept."""

    def convert(value: Any, fields: Callable[[Any], Any]) -> Any:
        return value if isinstance(value, kind) else kind(**fields(value))

    return convert


def jsonable_default(value: Any) -> tuple[bool, Any]:
    """Whether a parameter's default can be shown in a schema, and as what."""
    if type(value) in _AS_THEY_ARE:
        return True, value
    import datetime
    import decimal
    import math
    import pathlib
    import uuid

    if value is None or isinstance(value, (bool, int, str)):
        return (True, value.value) if isinstance(value, enum.Enum) else (True, value)
    if isinstance(value, float):
        return math.isfinite(value), value
    if isinstance(value, enum.Enum):
        return jsonable_default(value.value)
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return True, value.isoformat()
    if isinstance(value, (decimal.Decimal, uuid.UUID, pathlib.PurePath)):
        return True, str(value)
    if isinstance(value, bytes):
        return True, base64.b64encode(value).decode()
    if isinstance(value, (list, tuple, set, frozenset)):
        items = [jsonable_default(item) for item in value]
        shown = [item for _, item in items]
        return all(good for good, _ in items), sorted(shown, key=repr) if isinstance(value, (set, frozenset)) else shown
    if isinstance(value, dict):
        members = {key: jsonable_default(item) for key, item in value.items()}
        good = all(isinstance(key, str) for key in value) and all(fits for fits, _ in members.values())
        return good, {key: item for key, (_, item) in members.items()}
    return _foreign_default(value)


def _foreign_default(value: Any) -> tuple[bool, Any]:
    """A dataclass or a model; by its members, because a set among them has to have one order."""
    from dataclasses import fields, is_dataclass

    if is_dataclass(value) and not isinstance(value, type):
        return jsonable_default({one.name: getattr(value, one.name) for one in fields(value) if one.init})
    if not hasattr(type(value), "__pydantic_serializer__"):
        return False, None
    shown, members = jsonable_default(value.model_dump(by_alias=True))
    if shown:
        return True, members
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    try:
        members = to_jsonable_python(value)
    except (PydanticSerializationError, ValueError, TypeError):
        return False, None
    return is_json(members), members


def is_json(value: Any) -> bool:
    """Whether a value is JSON as it is; NaN and Infinity are not."""
    import json

    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return True
