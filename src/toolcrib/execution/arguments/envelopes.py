"""Calls written as JSON that names the tool: ``{"name": …, "arguments": …}`` and its kin."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

NAMES = ("name", "tool", "tool_name", "function", "function_name", "action", "recipient_name")
ARGUMENTS = ("arguments", "parameters", "args", "input", "tool_input", "action_input", "kwargs", "params")
_BESIDE = {"id", "type", "call_id", "index"}
_ABSENT = object()


def calls_in(value: Any, *, whole: bool) -> list[tuple[str, Any]] | None:
    """The calls, as name and arguments, that a JSON value is; None where it is something else.

    Args:
        value: an object, or an array of them.
        whole: whether the arguments must be there; a marked call without any may leave them out.

    Example:
        >>> calls_in({"name": "add", "arguments": {"a": 1}}, whole=True)
        [('add', {'a': 1})]
        >>> calls_in({"name": "Ada", "born": 1815}, whole=True) is None
        True
    """
    if isinstance(value, list):
        found = [calls_in(one, whole=whole) if isinstance(one, dict) else None for one in value]
        if not found or None in found:
            return None
        return [call for calls in found if calls for call in calls]
    if not isinstance(value, dict):
        return None
    if value.keys() <= {"tool_calls", "content", "role"} and isinstance(value.get("tool_calls"), list):
        return calls_in(value["tool_calls"], whole=whole)
    if isinstance(value.get("function"), dict) and value.keys() <= {"function", *_BESIDE}:
        return calls_in(value["function"], whole=whole)
    call = _call(value)
    return None if call is None or (whole and call[1] is _ABSENT) else [(call[0], _given(call[1]))]


def _given(arguments: Any) -> Any:
    return {} if arguments is _ABSENT else arguments


def _call(value: Mapping[str, Any]) -> tuple[str, Any] | None:
    """Name and arguments of an object that has nothing else."""
    name = next((key for key in NAMES if isinstance(value.get(key), str)), None)
    if name is None:
        return None
    arguments = next((key for key in ARGUMENTS if key in value), None)
    if value.keys() - {name, arguments, *_BESIDE}:
        return None
    return value[name], _ABSENT if arguments is None else value[arguments]


def inner(value: Mapping[str, Any], declared: Collection[str] | None) -> tuple[str, str, Any] | None:
    """Tool, key and arguments of an envelope that was sent as the arguments of its own call.

    Args:
        value: what was sent as arguments.
        declared: the tool's parameters; an object with one of these names is taken as it is.
    """
    if declared is None or len(value) < 2 or any(key in declared for key in value):
        return None
    call = _call(value)
    if call is None or call[1] is _ABSENT:
        return None
    return call[0], next(key for key in ARGUMENTS if key in value), call[1]
