"""What a model sees of a tool, and assertions about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from toolcrib.crib import default_crib
from toolcrib.definition.tool import ToolDefinition
from toolcrib.testing.temporary import definition_of


def schema_of(tool: str | ToolDefinition | Callable[..., Any]) -> dict[str, Any]:
    """The parameters of a tool as JSON Schema, as a model sees them; injected ones are not among them.

    Args:
        tool: its name in the default crib, a definition, or a function.

    Raises:
        UnknownToolError: no tool has the name.

    Example:
        >>> def greet(name: str = "you") -> str:
        ...     "Greets."
        ...     return f"Hello {name}"
        >>> schema_of(greet)["properties"]
        {'name': {'type': 'string', 'default': 'you'}}
    """
    definition = default_crib().registry.resolve(tool) if isinstance(tool, str) else definition_of(tool)
    return dict(definition.parameters)


def assert_schema(
    tool: str | ToolDefinition | Callable[..., Any], expected: Mapping[str, Any], *, exact: bool = False
) -> None:
    """Assert what a model sees of a tool's parameters, and that it is a schema at all.

    Args:
        tool: as for `schema_of`.
        expected: JSON Schema; of an object only the keys that stand here are compared, so a test says what matters.
        exact: whether there may be nothing else.

    Raises:
        AssertionError: one line for each difference, with its path.

    Example:
        >>> def greet(name: str, times: int = 1) -> str:
        ...     "Greets."
        ...     return f"Hello {name}" * times
        >>> assert_schema(greet, {"required": ["name"], "properties": {"times": {"default": 1}}})
        >>> assert_schema(greet, {"properties": {"times": {"type": "string"}}})
        Traceback (most recent call last):
        ...
        AssertionError: The schema of greet is not as expected:
          properties.times.type: expected 'string', is 'integer'
    """
    from toolcrib.registry.sources.schemas import schema_mistakes

    schema = schema_of(tool)
    name = tool if isinstance(tool, str) else definition_of(tool).name
    problems = [
        f"{'.'.join(map(str, each.location)) or 'schema'}: {each.message}"
        for each in schema_mistakes(schema, of_object=True)
    ]
    problems += _differences(expected, schema, "", exact=exact)
    if problems:
        raise AssertionError(f"The schema of {name} is not as expected:\n  " + "\n  ".join(problems))


def _differences(expected: Any, actual: Any, path: str, *, exact: bool) -> Iterator[str]:
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        for key, value in expected.items():
            inner = f"{path}.{key}" if path else str(key)
            if key not in actual:
                yield f"{inner}: expected {value!r}, is missing"
            else:
                yield from _differences(value, actual[key], inner, exact=exact)
        if exact:
            yield from (f"{path}.{key}".lstrip(".") + ": is not expected" for key in actual if key not in expected)
    elif expected != actual or isinstance(expected, bool) is not isinstance(actual, bool):
        yield f"{path or 'schema'}: expected {expected!r}, is {actual!r}"
