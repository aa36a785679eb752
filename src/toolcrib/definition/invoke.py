"""The one way to call a handler, and the synchronous door to a tool of this process."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from toolcrib.definition.context import Context
from toolcrib.definition.injection import injected_values
from toolcrib.definition.result import ToolResult
from toolcrib.definition.validation import validator_of
from toolcrib.errors import CallError, NotRunningError

if TYPE_CHECKING:
    from toolcrib.definition.tool import ToolDefinition

InThread = Callable[[Callable[[], Any]], Awaitable[Any]]


def is_sync(tool: ToolDefinition) -> bool:
    """Whether calling the handler blocks until it is done, so that an event loop calls it in a thread."""
    return not calls_async(tool.handler)


def calls_async(handler: Any) -> bool:
    """Whether calling ``handler`` gives a coroutine or an asynchronous generator; sees through partials and objects."""
    for candidate in (handler, getattr(handler, "func", None), getattr(type(handler), "__call__", None)):
        while hasattr(candidate, "func"):
            candidate = candidate.func
        if inspect.iscoroutinefunction(candidate) or inspect.isasyncgenfunction(candidate):
            return True
    return False


def bind(
    tool: ToolDefinition, arguments: Mapping[str, Any] | None, context: Context | None = None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What the handler is called with: positional and keyword arguments, injected ones included.

    Args:
        tool: a tool of this process.
        arguments: its arguments; they are validated again, and typed parameters get instances.
        context: where injected parameters come from.

    Raises:
        InvalidParamsError: the arguments do not fit.
        DependencyMissingError: the context lacks what the tool needs.
    """
    return _placed(tool, validator_of(tool).prepare(arguments)[1], Context() if context is None else context)


def _placed(tool: ToolDefinition, values: dict[str, Any], context: Context) -> tuple[tuple[Any, ...], dict[str, Any]]:
    injected = injected_values(tool, context)
    if injected:
        values.update(injected)
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
    call = _prepared(tool, arguments, context)
    value = await in_thread(call) if in_thread is not None and is_sync(tool) else call()
    return await settled(value)


async def settled(value: Any) -> Any:
    """What a handler meant to return: an awaitable is awaited, an asynchronous generator collected into a list."""
    while inspect.isawaitable(value):
        value = await value
    if inspect.isasyncgen(value):
        return [item async for item in value]
    return value


def _prepared(tool: ToolDefinition, arguments: Mapping[str, Any] | None, context: Context | None) -> Callable[[], Any]:
    handler = tool.handler
    if handler is None:
        raise NotRunningError(
            f"The tool {tool.name} lives outside this process (runtime {tool.runtime})",
            hint="Call it through a Crib or the service, which knows where it runs.",
        )
    positional, keywords = bind(tool, arguments, context)

    def call() -> Any:
        value = handler(*positional, **keywords)
        return _collected(value) if inspect.isgenerator(value) else value

    return call


def _collected(generator: Any) -> Any:
    """A generator's returned value where it returns one, else the list of what it yields."""
    items = []
    try:
        while True:
            items.append(next(generator))
    except StopIteration as stop:
        return items if stop.value is None else stop.value


def invoke(tool: ToolDefinition, arguments: Mapping[str, Any] | None, context: Context | None = None) -> ToolResult:
    """Run a tool of this process and return its one result; works with and without a running event loop (contract N006).

    Only `KeyboardInterrupt` passes through: it is the person at the keyboard, not the tool.

    Example:
        >>> from toolcrib.definition.tool import ToolDefinition
        >>> shout = ToolDefinition("shout", "", {"type": "object"}, lambda arguments: arguments["text"].upper())
        >>> invoke(shout, {"text": "hi"}).data
        'HI'
    """
    try:
        value = _prepared(tool, arguments, context)()
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
