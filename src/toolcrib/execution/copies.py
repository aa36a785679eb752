"""Arguments that a tool may change without changing what it was sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

Arguments = TypeVar("Arguments", bound=Mapping[str, Any])


def unshared(arguments: Arguments) -> Arguments:
    """``arguments`` with lists and objects of their own, since a tool may change what it is given."""
    if type(arguments) is not dict:
        return arguments
    for value in arguments.values():
        kind = type(value)
        if kind is dict or kind is list:
            return {name: _unshared(value) for name, value in arguments.items()}  # type: ignore[return-value]
    return arguments


def _unshared(value: Any) -> Any:
    if type(value) is dict:
        return {key: _unshared(item) for key, item in value.items()}
    return [_unshared(item) for item in value] if type(value) is list else value
