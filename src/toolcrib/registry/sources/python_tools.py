"""Which tools a module that has been imported defines."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

from pydantic import ValidationError

from toolcrib.definition.base_tool import BaseTool, action_of, definitions_of
from toolcrib.definition.schema.callables import inner_function
from toolcrib.definition.tool import ToolDefinition
from toolcrib.registry.sources.constructor import constructor_of
from toolcrib.registry.sources.schemas import schema_mistakes


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that was meant to be a tool and cannot be one.

    Attributes:
        message: what is wrong.
        line: where it is defined, if that is known.
        hint: what to do about it.
        subject: the name of the tool, or of the class.
    """

    message: str
    line: int | None = None
    hint: str | None = None
    subject: str | None = None


@dataclass(slots=True)
class Found:
    """The tools of a module, each name once, and what was refused."""

    tools: list[ToolDefinition] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)

    def add(self, tools: Iterable[ToolDefinition], line: int | None = None) -> None:
        """Add what can be used."""
        for tool in tools:
            where = line_of(tool) or line
            if any(each is tool for each in self.tools):
                continue
            if any(each.name == tool.name for each in self.tools):
                message, hint = f"two tools are named {tool.name!r}", "Rename one of them."
                self.refusals.append(Refusal(message, where, hint, tool.name))
            elif (mistake := _mistake(tool)) is not None:
                self.refusals.append(Refusal(f"tool {tool.name!r}: {mistake[0]}", where, mistake[1], tool.name))
            else:
                self.tools.append(tool)


def tools_of(module: ModuleType, registered: Sequence[ToolDefinition]) -> Found:
    """The tools that a module defines.

    They are what it registered, its `ToolDefinition` objects, its `BaseTool` objects, and an object of each class of
    tools in it that can be made without arguments.

    Args:
        module: as imported.
        registered: what it registered meanwhile, with ``@tool`` or otherwise.
    """
    found = Found()
    found.add(registered)
    classes: list[type[BaseTool]] = []
    for name, value in list(vars(module).items()):
        if isinstance(value, ToolDefinition):
            found.add([value])
        elif isinstance(value, BaseTool) and _is_of(value.tool_class, module):
            _add_object(found, value)
        elif _is_own_class(name, value, module) and value not in classes:
            classes.append(value)
    for kind in classes:
        if not any((action := action_of(tool)) and action.tool.tool_class is kind for tool in found.tools):
            _add_class(found, kind)
    return found


def tools_in(value: Any) -> Found:
    """The tools that an object stands for: a definition, a `BaseTool` or its class, a function, or several of them."""
    from toolcrib.definition.decorator import define

    found = Found()
    for each in [value] if not isinstance(value, Iterable) or isinstance(value, str | type) else value:
        if isinstance(each, ToolDefinition):
            found.add([each])
        elif isinstance(each, BaseTool):
            _add_object(found, each)
        elif isinstance(each, type) and issubclass(each, BaseTool):
            _add_class(found, each)
        elif callable(each):
            found.add([define(each)])
        else:
            found.refusals.append(
                Refusal(f"{each!r} is no tool", hint="Give ToolDefinitions, BaseTools or functions, one or a list.")
            )
    return found


def line_of(tool: ToolDefinition) -> int | None:
    """The line at which the function or the class of a tool begins, if Python knows it."""
    action = action_of(tool)
    if action is not None:
        return _line_of_class(action.tool.tool_class)
    function = inner_function(tool.handler) if tool.handler is not None else None
    return function.__code__.co_firstlineno if isinstance(function, FunctionType) else None


def _line_of_class(kind: type) -> int | None:
    try:
        return inspect.getsourcelines(kind)[1]
    except (OSError, TypeError):
        return None


def _is_of(kind: type, module: ModuleType) -> bool:
    return f"{kind.__module__}.".startswith(f"{module.__name__}.")


def _is_own_class(name: str, value: Any, module: ModuleType) -> bool:
    if not isinstance(value, type) or not issubclass(value, BaseTool) or name.startswith("_"):
        return False
    return _is_of(value, module) and not inspect.isabstract(value)


def _add_class(found: Found, kind: type[BaseTool]) -> None:
    line = _line_of_class(kind)
    try:
        tool = kind(**constructor_of(kind).arguments({}))
    except (Exception, SystemExit) as error:
        if isinstance(error, ValidationError):
            names = ", ".join(str(part) for each in error.errors() for part in each["loc"][:1])
            reason = f"it needs {names}"
        else:
            reason = f"{type(error).__name__}: {error}"
        hint = "Give its parameters defaults, or make the object in the file: my_tool = MyTool(…)."
        found.refusals.append(Refusal(f"{kind.__name__} could not be made: {reason}", line, hint, kind.__name__))
        return
    _add_object(found, tool, line)


def _add_object(found: Found, tool: BaseTool, line: int | None = None) -> None:
    line = line or _line_of_class(tool.tool_class)
    if any((action := action_of(each)) and action.tool is tool for each in found.tools):
        return
    try:
        definitions = definitions_of(tool)
    except (Exception, SystemExit) as error:
        message = f"{tool.tool_class.__name__} is no usable tool: {error}"
        hint = getattr(error, "hint", None)
        found.refusals.append(Refusal(message, line, hint, tool.tool_class.__name__))
        return
    found.add(definitions, line)


def _mistake(tool: ToolDefinition) -> tuple[str, str | None] | None:
    """What keeps a tool from being listed; its schemas are read now, so that nobody meets a wrong one later."""
    try:
        schemas = {"parameters": tool.parameters, "output_schema": tool.output_schema or {}}
        json.dumps([tool.description, schemas, tool.examples], allow_nan=False)
    except Exception as error:
        return str(error), getattr(error, "hint", None)
    if tool.signature is not None and tool.signature.typed:
        return None
    for name, schema in schemas.items():
        for mistake in schema_mistakes(schema, of_object=name == "parameters") if schema else ():
            return f"{name}: {mistake.message}", mistake.hint
    return None
