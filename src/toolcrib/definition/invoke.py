"""The one way to call a handler, and the synchronous door to a tool of this process."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolcrib.definition.context import Context
from toolcrib.definition.injection import injected_values, injections
from toolcrib.definition.result import ToolResult
from toolcrib.definition.schema.callables import call_method
from toolcrib.definition.validation import validator_of
from toolcrib.errors import CallError, NotRunningError

if TYPE_CHECKING:
    from toolcrib.definition.tool import ToolDefinition

_PLAIN = frozenset((dict, list, str, int, float, bool, type(None), ToolResult))

InThread = Callable[[Callable[[], Any]], Awaitable[Any]]


def is_sync(tool: ToolDefinition) -> bool:
    """Whether calling the handler blocks until it is done, so that an event loop calls it in a thread."""
    return not calls_async(tool.handler)


def calls_async(handler: Any) -> bool:
    """Whether calling ``handler`` gives a coroutine or an asynchronous generator; sees through partials and objects."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    for candidate in (handler, call_method(handler)):
        if inspect.iscoroutinefunction(candidate) or inspect.isasyncgenfunction(candidate):
            return True
    return False


def bind(
    tool: ToolDefinition,
    arguments: Mapping[str, Any] | None,
    context: Context | None = None,
    values: dict[str, Any] | None = None,
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What the handler is called with: positional and keyword arguments, injected ones included.

    Args:
        tool: a tool of this process.
        arguments: its arguments; they are validated again, and typed parameters get instances.
        context: where injected parameters come from.
        values: what `Validator.prepare` made of the arguments, where it has run already; it is used up.

    Raises:
        InvalidParamsError: the arguments do not fit.
        DependencyMissingError: the context lacks what the tool needs.
    """
    if values is None:
        values = validator_of(tool).values(arguments)
    if context is not None and context.services is not None:
        for name in tool.requires:
            context.services.require(name, needed_by=tool.name)
    if injections(tool):
        values.update(injected_values(tool, Context() if context is None else context))
    if tool.signature is None:
        return (values,), {}
    return tool.signature.placed(values)


async def call_handler(
    tool: ToolDefinition,
    arguments: Mapping[str, Any] | None,
    context: Context | None = None,
    *,
    in_thread: InThread | None = None,
) -> Any:
    """Call the tool's handler and return what it returned; generators are collected.

    Args:
        tool: a tool of this process.
        arguments: validated arguments.
        context: where injected parameters come from.
        in_thread: how a synchronous handler is run, such as ``asyncio.to_thread``; None = at once, on this thread.

    Raises:
        CallError: the arguments or the context do not fit, or the tool lives elsewhere.
        BaseException: whatever the handler raised.
    """
    handler, positional, keywords = _prepared(tool, arguments, context)
    if in_thread is not None and is_sync(tool):
        value = await in_thread(lambda: collected(handler(*positional, **keywords)))
    else:
        value = collected(handler(*positional, **keywords))
    return await settled(value)


async def settled(value: Any) -> Any:
    """What a handler meant to return: an awaitable is awaited, an asynchronous generator collected into a list."""
    if type(value) is types.CoroutineType:
        value = await value
        if type(value) in _PLAIN:
            return value
    while inspect.isawaitable(value):
        value = await value
    if inspect.isasyncgen(value):
        return [item async for item in value]
    return value


def _prepared(
    tool: ToolDefinition, arguments: Mapping[str, Any] | None, context: Context | None
) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    handler = tool.handler
    if handler is None:
        raise NotRunningError(
            f"The tool {tool.name} lives outside this process (runtime {tool.runtime})",
            hint="Call it through a Crib or the service, which knows where it runs.",
        )
    return handler, *bind(tool, arguments, context)


def collected(value: Any) -> Any:
    """A generator's returned value where it returns one, else the list of what it yields; anything else as it is."""
    if type(value) is not types.GeneratorType:
        return value
    items = []
    try:
        while True:
            items.append(next(value))
    except StopIteration as stop:
        return items if stop.value is None else stop.value


def invoke(tool: ToolDefinition, arguments: Mapping[str, Any] | None, context: Context | None = None) -> ToolResult:
    """Run a tool of this process and return its one result, with or without a running event loop (contract N006).

    Only `KeyboardInterrupt` passes through: it is the person at the keyboard, not the tool.

    Example:
        >>> from toolcrib.definition.tool import ToolDefinition
        >>> shout = ToolDefinition("shout", "", {"type": "object"}, lambda arguments: arguments["text"].upper())
        >>> invoke(shout, {"text": "hi"}).data
        'HI'
    """
    try:
        handler, positional, keywords = _prepared(tool, arguments, context)
        value = handler(*positional, **keywords)
        if type(value) not in _PLAIN:
            value = collected(value)
            if inspect.isawaitable(value) or inspect.isasyncgen(value):
                value = _finished(value)
        return ToolResult.of(value)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return failure(error)


def failure(error: BaseException) -> ToolResult:
    """The result that an exception of a tool stands for, also where the exception cannot even say its text."""
    if isinstance(error, SystemExit):
        return ToolResult.fail(f"The tool ended itself: exit {error.code}", code=CallError.code)
    try:
        return ToolResult.from_error(error)
    except Exception:  # its __str__ failed
        return ToolResult.fail(type(error).__name__, code=CallError.code)


def _finished(value: Any) -> Any:
    """The outcome of an awaitable, from synchronous code; in a thread of its own where a loop runs in this one."""
    import asyncio
    import contextvars
    import threading

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(settled(value))
    outcome: list[Any] = []

    def run() -> None:
        try:
            outcome.extend((True, asyncio.run(settled(value))))
        except BaseException as error:
            outcome.extend((False, error))

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(run,), name="toolcrib-invoke")
    thread.start()
    thread.join()
    done, result = outcome
    if not done:
        raise result
    return result
