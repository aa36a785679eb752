"""Calling a tool as the service would, from a test."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Mapping
from typing import Any

from toolcrib.adapters.running import blocking, crib_beside
from toolcrib.crib import Crib, default_crib
from toolcrib.definition.base_tool import BaseTool
from toolcrib.definition.context import Context
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.testing.temporary import definition_of


class CallOutcome(ToolResult):
    """The result of a call, which shows the whole call when an assertion fails, and is true where it succeeded.

    Attributes:
        tool: the tool's name.
        arguments: what it was called with.

    Example:
        >>> def half(x: int) -> int:
        ...     "Halves a number."
        ...     return x // 0
        >>> call(half, x=4)
        half(x=4) ended as error: ZeroDivisionError: integer division or modulo by zero [tool_error]
    """

    def __init__(self, tool: str, arguments: Mapping[str, Any], result: ToolResult) -> None:
        super().__init__(
            status=result.status,
            data=result.data,
            output=result.output,
            error=result.error,
            duration_ms=result.duration_ms,
            error_code=result.error_code,
            hint=result.hint,
        )
        self.tool = tool
        self.arguments = dict(arguments)

    def __bool__(self) -> bool:
        return self.success

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={reprlib.repr(value)}" for name, value in self.arguments.items())
        called = f"{self.tool}({given})"
        if self.success:
            return f"{called} gave {reprlib.repr(self.data if self.data is not None else self.output)}"
        hint = f" {self.hint}" if self.hint else ""
        return f"{called} ended as {self.status.value}: {self.error} [{self.error_code}]{hint}"


def call(
    tool: str | ToolDefinition | BaseTool | Callable[..., Any], action: str | None = None, /, **arguments: Any
) -> CallOutcome:
    """Call a tool through the whole pipeline: validation, deadline and shape of the result included.

    It blocks, also where an event loop runs; in asynchronous tests ``await crib.run(name, arguments)`` does the same.

    Args:
        tool: its name in the default crib, or the tool itself, registered or not: a definition, a function, or a tool
            of several actions.
        action: which one, for a tool of several actions.
        **arguments: by parameter.

    Returns:
        The one result; failures are results too.

    Example:
        >>> def add(a: int, b: int = 1) -> int:
        ...     "Adds two numbers."
        ...     return a + b
        >>> call(add, a=1).data
        2
        >>> call(add, a="x")
        add(a='x') ended as error: a: expected integer, got string "x" [invalid_params] add takes a (required), b.
        >>> assert not call(add, c=1)
    """
    return call_with(tool, arguments, action=action)


def call_with(
    tool: str | ToolDefinition | BaseTool | Callable[..., Any],
    arguments: Mapping[str, Any],
    *,
    action: str | None = None,
    context: Context | None = None,
    timeout: float | None = None,
) -> CallOutcome:
    """What `call` does, with a context or a deadline.

    Args:
        tool: as for `call`.
        arguments: by parameter.
        action: which one, for a tool of several actions.
        context: who calls; the tool's injected parameters are filled from it.
        timeout: seconds, in place of the tool's own.

    Example:
        >>> from toolcrib import Context
        >>> def whose(context: Context) -> str:
        ...     return f"of {context.user_id}"
        >>> call_with(whose, {}, context=Context(user_id="ada")).data
        'of ada'
    """
    name, crib = _found(tool, action)
    result = blocking(lambda: crib.run(name, arguments, context=context, timeout=timeout))
    return CallOutcome(name, arguments, result)


def _found(tool: str | ToolDefinition | BaseTool | Callable[..., Any], action: str | None) -> tuple[str, Crib]:
    """The name under which a crib knows the tool, and that crib: the default one where it is registered there."""
    default = default_crib()
    if isinstance(tool, str):
        return (f"{tool}.{action}" if action else tool), default
    if isinstance(tool, BaseTool):
        name = f"{tool.name}.{action}"
        if default.registry.get_tool(tool.name) is tool:
            return name, default
        alone = crib_beside(default)
        alone.registry.register_tool(tool)
        return name, alone
    definition = definition_of(tool)
    if default.registry.get(definition.name) is definition:
        return definition.name, default
    alone = crib_beside(default)
    alone.registry.register(definition)
    return definition.name, alone
