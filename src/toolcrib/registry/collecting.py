"""Catches what a module registers while it is imported, so that a source can list it (contract N048, N051)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from toolcrib.definition.base_tool import BaseTool, definitions_of
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import DuplicateToolError
from toolcrib.registry.names import check_name
from toolcrib.registry.registry import ToolRegistry

_current: ContextVar[Registrations | None] = ContextVar("toolcrib_registrations", default=None)


class Registrations(ToolRegistry):
    """Stands in for a crib's registry while a source imports modules, and notes which module registered what.

    Example:
        >>> registrations = Registrations()
        >>> with registrations.active():
        ...     current_registrations().register(ToolDefinition("ping", "Answers pong.", {"type": "object"}))
        >>> [tool.name for tool in registrations.all()]
        ['ping']
        >>> current_registrations() is None
        True
    """

    def __init__(self) -> None:
        super().__init__()
        self._found: list[tuple[str | None, ToolDefinition]] = []

    @contextmanager
    def active(self) -> Iterator[Registrations]:
        """Let ``@tool`` register here inside the ``with`` block, in this thread or task only."""
        token = _current.set(self)
        try:
            yield self
        finally:
            _current.reset(token)

    def register(self, tool: ToolDefinition, *, replace: bool = False) -> None:
        """Note ``tool``; one name may be taken once by a module.

        Raises:
            InvalidNameError: a tool cannot have that name.
            DuplicateToolError: the module has registered that name before and ``replace`` is false.
        """
        check_name(tool.name)
        module = _module_being_imported()
        taken = [each for each in self._found if each[0] == module and each[1].name == tool.name]
        if taken and not replace:
            raise DuplicateToolError(
                f"Two tools are named {tool.name!r} here", hint="Give one of them another name, as in @tool(name=…)."
            )
        self._found = [each for each in self._found if not any(each is one for one in taken)]
        self._found.append((module, tool))
        self._tools[tool.name] = tool

    def register_tool(self, tool: BaseTool, *, replace: bool = False) -> None:
        """Note the actions of ``tool``; services reach it when the source's tools are registered.

        Raises:
            DefinitionError: it is defined wrongly.
        """
        for definition in definitions_of(tool):
            self.register(definition, replace=replace)

    def unregister(self, name: str) -> None:
        """Forget the tool of that name."""
        self._found = [each for each in self._found if each[1].name != name]
        self._tools.pop(name, None)

    def all(self) -> list[ToolDefinition]:
        """Everything that was registered, in that order."""
        return [tool for _, tool in self._found]

    def by(self, module: str) -> list[ToolDefinition]:
        """What the module of that name, or one inside that package, registered."""
        return [tool for name, tool in self._found if name is not None and f"{name}.".startswith(f"{module}.")]


def current_registrations() -> Registrations | None:
    """The registrations that are active in this thread or task."""
    return _current.get()


def _module_being_imported() -> str | None:
    """The module whose top level is running: the innermost, where one imports another."""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            name = frame.f_globals.get("__name__")
            return name if isinstance(name, str) else None
        if frame.f_back is None:
            break
        frame = frame.f_back
    return None
