"""What pydantic-core says about arguments, in our words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from toolcrib.definition.schema.describe import Path, Problem, got

_PREFIXES = (
    "Value error, ",
    "Assertion failed, ",
    "Input should be a valid ",
    "Input should be an ",
    "Input should be a ",
    "Input should be ",
)


def problems(error: Exception, arguments: Mapping[str, Any], known: Collection[Path] = ()) -> list[Problem]:
    """A validation error as problems with their paths; any other exception as one problem of all the arguments.

    What lies at, above or below one of the ``known`` paths is left out.
    """
    from pydantic_core import ValidationError

    if not isinstance(error, ValidationError):
        return [
            Problem(
                (), f"arguments that the tool's own types accept ({type(error).__name__}: {error})", "others", "python"
            )
        ]
    found: dict[tuple[Any, ...], Problem] = {}
    for detail in error.errors(include_url=False, include_context=False):
        path = path_in(arguments, detail["loc"], missing=detail["type"] == "missing")
        if any(_overlap(path, one) for one in known):
            continue
        if detail["type"] == "missing":
            problem = Problem(path, "a value", "nothing (it is required)", "required")
        elif detail["type"] == "extra_forbidden":
            problem = Problem(path, "only keys that it has", "an unknown key", "additionalProperties")
        else:
            problem = Problem(path, expected_text(detail["msg"]), got(detail["input"]), "python")
        found.setdefault(path, problem)
    return list(found.values())


def _overlap(left: Path, right: Path) -> bool:
    """Whether one path leads to or through the other."""
    shorter = min(len(left), len(right))
    return left[:shorter] == right[:shorter]


def expected_text(message: str) -> str:
    """pydantic's sentence without its beginning."""
    for prefix in _PREFIXES:
        if message.startswith(prefix):
            return message[len(prefix) :]
    return message[:1].lower() + message[1:]


def path_in(arguments: Any, location: Sequence[str | int], *, missing: bool = False) -> Path:
    """The steps of a location that are steps in the value; pydantic also names the branches of unions there."""
    value: Any = arguments
    path: list[str | int] = []
    for number, step in enumerate(location):
        here = isinstance(value, (list, tuple)) and isinstance(step, int) and step < len(value)
        if here or (isinstance(value, Mapping) and step in value):
            value = value[step]
        elif not (missing and number == len(location) - 1):
            continue
        path.append(step)
    return tuple(path)
