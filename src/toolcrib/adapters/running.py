"""What the adapters share: running a tool through a crib, from code that may or may not be asynchronous."""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from types import ModuleType
from typing import Any

from toolcrib.crib import Crib, default_crib
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import DependencyMissingError
from toolcrib.registry.registry import ToolRegistry

Run = Callable[[Mapping[str, Any]], Coroutine[Any, Any, ToolResult]]


def runner_of(tool: ToolDefinition, crib: Crib | None = None) -> Run:
    """A function that runs ``tool`` through the whole pipeline and gives its one result.

    Args:
        tool: registered in the crib, or not: then it has one of its own with the same services.
        crib: None = the default one.
    """
    home = crib if crib is not None else default_crib()
    if home.registry.get(tool.name) is not tool:
        home = crib_beside(home)
        home.registry.register(tool)
    return lambda arguments: home.run(tool.name, arguments)


def crib_beside(crib: Crib) -> Crib:
    """A crib without tools, and with the settings and services of the other."""
    return Crib(crib.__dict__.get("settings"), registry=ToolRegistry(crib.services), sources=())


def blocking(start: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
    """The outcome of something asynchronous, from code that cannot await.

    Where a loop runs in this thread, another thread does the work.

    Example:
        >>> async def answer() -> ToolResult:
        ...     return ToolResult.ok(42)
        >>> blocking(answer).data
        42
    """

    async def finish() -> ToolResult:
        return await start()

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(finish())
    outcome: list[ToolResult] = []
    context = contextvars.copy_context()
    thread = threading.Thread(
        target=lambda: outcome.append(context.run(asyncio.run, finish())), name="toolcrib-blocking"
    )
    thread.start()
    thread.join()
    return outcome[0]


def content_of(result: ToolResult) -> Any:
    """What a model reads of a success."""
    return result.output if result.output is not None else result.data


def failure_text(result: ToolResult) -> str:
    """What a model reads of a failure: the error, and what can be done about it."""
    error = result.error or f"The call ended as {result.status.value}"
    return f"{error}\n{result.hint}" if result.hint else error


def library(module: str, package: str) -> ModuleType:
    """A module of another library.

    Args:
        module: its dotted name.
        package: what has to be installed for it.

    Raises:
        DependencyMissingError: it is not installed.

    Example:
        >>> library("no_such_library.tools", "no-such-library")
        Traceback (most recent call last):
        ...
        toolcrib.errors.DependencyMissingError: This adapter needs the package no-such-library, which is not installed
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise
        raise DependencyMissingError(
            f"This adapter needs the package {package}, which is not installed", hint=f"pip install {package}"
        ) from error
