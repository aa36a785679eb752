"""Tools that lie in a folder of Python files: a new file is a new tool (contract N050, N051, W028)."""

from __future__ import annotations

import importlib
import sys
import threading
import uuid
import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import FunctionType, ModuleType

from toolcrib.definition.base_tool import action_of
from toolcrib.definition.ports import Listing
from toolcrib.definition.schema.callables import inner_function
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import SourceError
from toolcrib.registry.collecting import Registrations
from toolcrib.registry.sources.python_import import LOAD_SECONDS, Attempt, FolderFinder, import_problem
from toolcrib.registry.sources.python_text import PythonText
from toolcrib.registry.sources.python_tools import Found, line_of, tools_of
from toolcrib.registry.sources.python_units import Unit, Units, read_units

_COMPARED = tuple(each.name for each in fields(ToolDefinition) if each.compare and each.name != "handler")


@dataclass(frozen=True, slots=True)
class _State:
    """What a unit was when it was last loaded.

    Attributes:
        digest: the unit's.
        tools: in force; where loading failed, those of the last time that it did not.
        marks: by tool, equal where what it does is.
        lines: where each is defined.
        problems: what is wrong with the unit now.
    """

    digest: str = ""
    tools: tuple[ToolDefinition, ...] = ()
    marks: Mapping[str, str] = field(default_factory=dict)
    lines: Mapping[str, int | None] = field(default_factory=dict)
    problems: tuple[SourceError, ...] = ()


class PythonFolder:
    """A `Source` of the tools that the Python files and packages of a folder define.

    Everything in a file that is a tool is one: functions with ``@tool``, `ToolDefinition` and `BaseTool` objects, and
    classes of tools, which are made without arguments. A file whose name begins with ``_`` defines none; the others may
    use it, as in ``from ._shared import something``.

    A changed file is loaded afresh, and those of its tools are replaced of which something has changed. Where it cannot
    be loaded, or is empty, its tools stay what they were; the error is a problem with file and line. Whatever a file
    does while it is loaded, loading it ends.

    Args:
        folder: the files' place; it need not exist.
        seconds: how long one file may take to be loaded.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     text = "from toolcrib import tool\\n@tool\\ndef ping() -> str:\\n    'Answers.'\\n    return 'pong'"
        ...     _ = Path(folder, "network.py").write_text(text)
        ...     [tool.name for tool in PythonFolder(Path(folder)).load().tools]
        ['ping']
    """

    def __init__(self, folder: Path, *, seconds: float = LOAD_SECONDS) -> None:
        self._folder = folder.absolute()
        self._seconds = seconds
        self._packages = [_new_package()]
        self._states: dict[str, _State] = {}
        self._owners: dict[str, str] = {}
        self._shared = ""
        self._lock = threading.Lock()
        weakref.finalize(self, _drop_packages, self._packages)

    def paths(self) -> Iterable[Path]:
        """The folder."""
        return (self._folder,)

    def load(self) -> Listing:
        """Load what has changed since the last time, and list everything; it runs the files' code."""
        with self._lock:
            try:
                found = read_units(self._folder)
            except SourceError as error:
                return self._listing((error,))
            self._update(found)
            return self._listing(found.problems)

    def _update(self, found: Units) -> None:
        before = self._states
        names = {unit.name for unit in found.units}
        changed = [unit for unit in found.units if before.get(unit.name, _State()).digest != unit.digest]
        obsolete = {unit.name for unit in changed} | (before.keys() - names - found.unread)
        modules = self._take_modules(obsolete, found.shared != self._shared)
        self._shared = found.shared
        registrations = Registrations()
        loaded = {unit.name: self._load(unit, registrations, modules) for unit in changed}
        kept = {name: state for name, state in before.items() if name in found.unread}
        self._states = kept | {unit.name: loaded.get(unit.name) or before[unit.name] for unit in found.units}

    def _load(self, unit: Unit, registrations: Registrations, modules: Mapping[str, ModuleType]) -> _State:
        known = self._states.get(unit.name, _State())
        if not unit.text.strip() and known.tools and not unit.is_package:  # as an editor leaves it while it writes
            return known
        package = self._packages[-1]
        with registrations.active(), FolderFinder(package, self._folder):
            attempt = Attempt(lambda: _tools_of_module(f"{package}.{unit.name}", registrations), self._seconds)
        if attempt.value is None:
            _put_back(f"{package}.{unit.name}", modules)
            if attempt.abandoned:  # it holds the lock of its import
                self._packages.append(_new_package())
            problem = import_problem(attempt, str(unit.path), within=self._folder)
            return replace(known, digest=unit.digest, problems=(problem,))
        return _state_of(unit, attempt.value, known)

    def _take_modules(self, names: Iterable[str], shared: bool) -> dict[str, ModuleType]:
        """Take modules of these units out of ``sys.modules``, and those that no unit is where ``shared`` is true."""
        package = self._packages[-1]
        units = self._states.keys() - set(names)
        taken = {}
        for name in [name for name in sys.modules if name.startswith(f"{package}.")]:
            first = name.removeprefix(f"{package}.").partition(".")[0]
            if first in names or (shared and first not in units):
                taken[name] = sys.modules.pop(name)
        return taken

    def _listing(self, problems: tuple[SourceError, ...]) -> Listing:
        """All tools, each name once: who had a name keeps it, and of new ones the first file gets it."""
        found = [*problems]
        owners = {
            name: unit
            for name, unit in self._owners.items()
            if unit in self._states and any(tool.name == name for tool in self._states[unit].tools)
        }
        tools = []
        for unit, state in self._states.items():
            found += state.problems
            for tool in state.tools:
                owner = owners.setdefault(tool.name, unit)
                if owner == unit:
                    tools.append(tool)
                    continue
                other = next(each for each in self._states[owner].tools if each.name == tool.name)
                message = f"tool {tool.name!r} is defined in {other.source} already"
                found.append(
                    SourceError(
                        message, path=str(tool.source), line=state.lines.get(tool.name), hint="Rename one of them."
                    )
                )
        self._owners = owners
        unique = {str(problem): problem for problem in found}
        return Listing(tuple(tools), problems=tuple(unique.values()))


def _tools_of_module(name: str, registrations: Registrations) -> Found:
    importlib.invalidate_caches()
    module = importlib.import_module(name)
    return tools_of(module, registrations.by(name))


def _state_of(unit: Unit, found: Found, known: _State) -> _State:
    source = str(unit.path)
    for tool in found.tools:
        tool.source = source
    text = None if unit.is_package else PythonText(unit.text)
    marks = {
        tool.name: unit.digest if text is None else f"{unit.outside} {text.mark(_definition_of(tool))}"
        for tool in found.tools
    }
    tools = _without_change(found.tools, marks, known)
    lines = {tool.name: line_of(tool) for tool in found.tools}
    broken = {each.subject for each in found.refusals}
    stay = [
        tool
        for tool in known.tools
        if tool.name not in marks and not broken.isdisjoint((tool.name, _definition_of(tool)))
    ]
    problems = tuple(SourceError(each.message, path=source, line=each.line, hint=each.hint) for each in found.refusals)
    return _State(unit.digest, (*tools, *stay), marks, lines, problems)


def _definition_of(tool: ToolDefinition) -> str:
    """The name, at the top of its file, of the function or class that a tool is made of; empty where there is none."""
    action = action_of(tool)
    if action is not None:
        return action.tool.tool_class.__qualname__.partition(".")[0]
    function = inner_function(tool.handler) if tool.handler is not None else None
    return function.__qualname__.partition(".")[0] if isinstance(function, FunctionType) else ""


def _without_change(tools: list[ToolDefinition], marks: Mapping[str, str], known: _State) -> list[ToolDefinition]:
    """``tools``, with what is known already in place of those that are the same; the actions of one object together."""
    before = {tool.name: tool for tool in known.tools}

    def is_same(tool: ToolDefinition) -> bool:
        old = before.get(tool.name)
        return (
            old is not None
            and known.marks.get(tool.name) == marks[tool.name]
            and all(getattr(tool, name) == getattr(old, name) for name in _COMPARED)
        )

    changed = {_object_of(tool) for tool in tools if not is_same(tool)}
    return [tool if _object_of(tool) in changed else before[tool.name] for tool in tools]


def _object_of(tool: ToolDefinition) -> int:
    action = action_of(tool)
    return id(tool if action is None else action.tool)


def _put_back(name: str, modules: Mapping[str, ModuleType]) -> None:
    """Leave the modules of a unit as they were before it was loaded; its last good tools may need them."""
    for each in [each for each in sys.modules if f"{each}.".startswith(f"{name}.")]:
        del sys.modules[each]
    sys.modules.update({each: module for each, module in modules.items() if f"{each}.".startswith(f"{name}.")})


def _new_package() -> str:
    return f"toolcrib_tools_{uuid.uuid4().hex[:12]}"


def _drop_packages(packages: list[str]) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
        sys.modules.pop(name, None)
