"""Makes a tool of one entry of a ``tools.json`` (contract W008-W011)."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from toolcrib.definition.base_tool import BaseTool, definitions_of
from toolcrib.definition.lazy_tool import LazyTool
from toolcrib.definition.tool import Risk, ToolDefinition
from toolcrib.errors import DefinitionError, SourceError
from toolcrib.registry.names import nearest
from toolcrib.registry.sources.constructor import constructor_of
from toolcrib.registry.sources.document import Document
from toolcrib.registry.sources.positions import Location
from toolcrib.registry.sources.problems import validation_problems
from toolcrib.registry.sources.tools_json_format import ToolsJsonEntry

_RISKS: tuple[Risk, ...] = ("low", "medium", "high")


class EntryError(Exception):
    """An entry cannot be used; ``problems`` says why."""

    def __init__(self, *problems: SourceError) -> None:
        super().__init__(f"{len(problems)} problems")
        self.problems = list(problems)


class EntryReader:
    """Makes a tool of one entry whose form is right."""

    def __init__(self, document: Document, location: Location, name: str, entry: ToolsJsonEntry) -> None:
        self.entry = entry
        self._document = document
        self._location = location
        self._name = name
        self._subject = f"tool {name!r}"

    def problem(self, key: Location, message: str, *, hint: str | None = None) -> EntryError:
        """An error at one key of the entry."""
        return EntryError(self._document.problem((*self._location, *key), f"{self._subject}: {message}", hint=hint))

    def tool_class(self, module_name: str) -> type[BaseTool]:
        """The class that the entry names."""
        try:
            module = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            if not f"{module_name}.".startswith(f"{error.name}."):
                raise self.problem(("module",), f"importing {module_name} failed: {error}") from error
            hint = "Is its folder on PYTHONPATH, and is it spelled like this?"
            raise self.problem(("module",), f"there is no module {module_name}", hint=hint) from error
        except (Exception, SystemExit) as error:
            message = f"importing {module_name} failed: {type(error).__name__}: {error}"
            raise self.problem(("module",), message) from error
        found = getattr(module, self.entry.class_, None)
        if isinstance(found, type) and issubclass(found, BaseTool) and not inspect.isabstract(found):
            return found
        if isinstance(found, type) and issubclass(found, BaseTool):
            missing = " and ".join(sorted(found.__abstractmethods__))
            raise self.problem(("class",), f"{self.entry.class_} lacks {missing}")
        if found is not None:
            raise self.problem(
                ("class",), f"{self.entry.class_} is no tool class", hint="Derive it from toolcrib.BaseTool."
            )
        classes = [
            name for name, value in vars(module).items() if isinstance(value, type) and issubclass(value, BaseTool)
        ]
        close = nearest(self.entry.class_, classes, limit=1)
        raise self.problem(
            ("class",),
            f"{module_name} has no {self.entry.class_}",
            hint=f"Did you mean {close[0]!r}?" if close else None,
        )

    def definitions(self, kind: type[BaseTool], default_timeout: float | None) -> Iterable[ToolDefinition]:
        """The tool's definitions, with what the entry says of it."""
        tool = self._tool(kind)
        if tool.name != self._name:
            hint = f"Call the entry {tool.name!r}, or write name = {self._name!r} in the class."
            raise self.problem((), f"{kind.__name__} calls itself {tool.name!r}", hint=hint)
        tool.require_confirmation = tool.require_confirmation or self.entry.security.require_confirmation
        try:
            definitions = definitions_of(tool)
        except DefinitionError as error:
            raise self.problem(("class",), str(error), hint=error.hint) from error
        except Exception as error:
            raise self.problem(("class",), f"get_actions() failed: {type(error).__name__}: {error}") from error
        timeout = tool.timeout if default_timeout is None or _says_timeout(tool) else default_timeout
        return [self._with_facts(definition, timeout) for definition in definitions]

    def _tool(self, kind: type[BaseTool]) -> BaseTool:
        where = (*self._location, "config") if "config" in self._written() else self._location
        constructor = constructor_of(kind)
        try:
            arguments = constructor.arguments(self.entry.config)
            is_lazy = isinstance(inspect.getattr_static(kind, "get_actions"), classmethod | staticmethod)
            if is_lazy and isinstance(kind.name, str):
                return LazyTool(kind, lambda: kind(**arguments))
            return kind(**arguments)
        except ValidationError as error:
            problems = validation_problems(error, constructor.model, self._document, where, self._subject)
            raise EntryError(*problems) from error
        except Exception as error:
            message = f"{kind.__name__} could not be made: {type(error).__name__}: {error}"
            raise self.problem(("config",), message) from error

    def _written(self) -> Mapping[str, Any]:
        value: Any = self._document.data
        for key in self._location:
            value = value[key]
        return dict(value)

    def _with_facts(self, definition: ToolDefinition, timeout: float | None) -> ToolDefinition:
        display, security = self.entry.display, self.entry.security
        return replace(
            definition,
            title=display.name or definition.title,
            emoji=display.emoji or definition.emoji,
            category=display.category or definition.category,
            risk=max(definition.risk, security.risk_level, key=_RISKS.index),
            timeout=timeout,
            source=str(self._document.path),
        )


def _says_timeout(tool: BaseTool) -> bool:
    """Whether class or object has a timeout of its own."""
    classes = tool.tool_class.__mro__[: tool.tool_class.__mro__.index(BaseTool)]
    own = not isinstance(tool, LazyTool) and "timeout" in vars(tool)
    return own or any("timeout" in vars(each) for each in classes)
