"""What makes two calls the same: tool, validated arguments with their types and defaults, and on whose behalf."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import hashlib
import json
import math
import pathlib
import uuid
from collections.abc import Mapping
from typing import Any

from toolcrib.definition.call import ToolCall
from toolcrib.definition.context import Context
from toolcrib.definition.injection import SERVICE, WHOLE_CONTEXT, injections
from toolcrib.definition.tool import ToolDefinition

_quoted = json.encoder.encode_basestring_ascii
_BY_TEXT = (
    datetime.datetime,
    datetime.date,
    datetime.time,
    datetime.timedelta,
    decimal.Decimal,
    uuid.UUID,
    pathlib.PurePath,
)


class UnkeyableError(Exception):
    """A value that cannot be told from others of its kind by what it holds."""


def call_key(call: ToolCall) -> str | None:
    """The key of a validated call; None where it has none and is neither remembered nor taken for another.

    Example:
        >>> from toolcrib.definition.call import ToolCall
        >>> from toolcrib.definition.tool import ToolDefinition
        >>> look = ToolDefinition("look", "", {"type": "object"}, lambda arguments: 1)
        >>> call_key(ToolCall(look, {"a": 1, "b": 2})) == call_key(ToolCall(look, {"b": 2, "a": 1}))
        True
        >>> call_key(ToolCall(look, {"a": [1, 2]})) == call_key(ToolCall(look, {"a": [2, 1]}))
        False
    """
    tool = call.tool
    try:
        if tool.dedup_key is not None:
            what = canonical(tool.dedup_key(dict(call.arguments)))
        else:
            what = canonical(_with_defaults(call))
        text = f"{what}\n{_scope(tool, call.context)}"
    except Exception:  # unkeyable, nested too deeply, or the author's dedup_key failed
        return None
    return f"{tool.name}:{hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}"


def _with_defaults(call: ToolCall) -> Mapping[str, Any]:
    tool = call.tool
    signature = tool.signature
    if signature is not None and signature.typed and call.values is not None:
        missing = signature.compile().defaults
        if missing.keys() <= call.values.keys():
            return call.values
        return {**{name: _default(value) for name, value in missing.items()}, **call.values}
    arguments = dict(call.arguments)
    for name, schema in (tool.parameters.get("properties") or {}).items():
        if not isinstance(schema, Mapping):
            continue
        if name not in arguments:
            if "default" in schema:
                arguments[name] = schema["default"]
            else:
                continue
        value = arguments[name]
        if schema.get("type") == "number" and type(value) is int:
            arguments[name] = float(value) if abs(value) <= 2**53 else value
        elif schema.get("type") == "integer" and type(value) is float and value.is_integer():
            arguments[name] = int(value)
    return arguments


def _default(value: Any) -> Any:
    """A default that cannot be in a key is always the same one, which no caller can send."""
    try:
        canonical(value)
    except UnkeyableError:
        return ("default", type(value).__qualname__)
    return value


def _scope(tool: ToolDefinition, context: Context) -> str:
    scope: list[Any] = [context.project_id, context.user_id, list(context.groups)]
    injected = injections(tool)
    if injected:
        for parameter, attribute in sorted(injected.items()):
            if attribute == WHOLE_CONTEXT:
                scope.append([context.chat_id, context.model, dict(context.extra)])
            elif not attribute.startswith(SERVICE):
                scope.append([parameter, getattr(context, attribute, None) or context.extra.get(attribute)])
    return canonical(scope)


def canonical(value: Any) -> str:
    """One text for equal values of one type, another for any other value; the order of an object's members is none.

    Raises:
        UnkeyableError: the value is not told by what it holds, such as an open file or NaN.

    Example:
        >>> canonical({"b": 1.0, "a": [True, "x"]})
        '{"a":[true,"x",],"b":1.0,}'
    """
    parts: list[str] = []
    try:
        _write(value, parts.append)
    except RecursionError:
        raise UnkeyableError("nested too deeply") from None
    return "".join(parts)


def _write(value: Any, add: Any) -> None:
    kind = type(value)
    if kind is str:
        add(_quoted(value))
    elif kind is int:
        add(str(value) if -(2**63) < value < 2**64 else hex(value))
    elif value is None:
        add("null")
    elif kind is bool:
        add("true" if value else "false")
    elif kind is float:
        if math.isnan(value):
            raise UnkeyableError("NaN")
        add(repr(value))
    elif kind is dict:
        _write_members(value, add)
    elif kind is list:
        add("[")
        for item in value:
            _write(item, add)
            add(",")
        add("]")
    else:
        _write_other(value, kind, add)


def _write_members(value: Mapping[Any, Any], add: Any) -> None:
    if all(type(key) is str for key in value):
        members = [(_quoted(key), value[key]) for key in sorted(value)]
    else:
        members = sorted(((canonical(key), item) for key, item in value.items()), key=lambda member: member[0])
    add("{")
    for key, item in members:
        add(key)
        add(":")
        _write(item, add)
        add(",")
    add("}")


def _write_other(value: Any, kind: type, add: Any) -> None:
    add(f"<{kind.__module__}.{kind.__qualname__} ")
    if isinstance(value, enum.Enum):
        add(value.name)
    elif kind is tuple or hasattr(kind, "_fields"):
        _write(list(value), add)
    elif kind in (set, frozenset):
        add(",".join(sorted(canonical(item) for item in value)))
    elif kind in (bytes, bytearray):
        add(value.hex())
    elif isinstance(value, _BY_TEXT):
        add(_quoted(repr(value)))
    elif dataclasses.is_dataclass(value):
        _write({field.name: getattr(value, field.name) for field in dataclasses.fields(value)}, add)
    elif hasattr(kind, "model_fields"):
        _write({**value.__dict__, **(getattr(value, "__pydantic_extra__", None) or {})}, add)
    else:
        raise UnkeyableError(kind.__qualname__)
    add(">")
