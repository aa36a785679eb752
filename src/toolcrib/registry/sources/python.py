"""Tools that Python modules and installed packages define, to run in this process (contract N050, N051)."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import FunctionType, ModuleType

from toolcrib.definition.ports import Listing
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import SettingsError, SourceError
from toolcrib.registry.collecting import Registrations
from toolcrib.registry.sources.python_import import LOAD_SECONDS, Attempt, import_problem
from toolcrib.registry.sources.python_tools import Found, tools_in, tools_of

ENTRY_POINT_GROUP = "toolcrib.tools"

_TOOLS = "__toolcrib_tools__"
"""Set in a module that has been imported, for the next crib of this process: importing runs a module only once."""


class PythonModules:
    """A `Source` of the tools in some modules; a module that cannot be imported becomes a problem, the others load.

    A module is imported once; one that failed is tried again at the next `load`.

    Args:
        names: of modules, importable from ``sys.path``.
        tools_of: finds the tools of a module that has been imported; None = everything in it that is a tool, and what
            it registers while it is imported.
        seconds: how long one import may take.

    Example:
        >>> [problem.path for problem in PythonModules(["no_such_module"]).load().problems]
        ['no_such_module']
    """

    def __init__(
        self,
        names: Sequence[str],
        tools_of: Callable[[ModuleType], Iterable[ToolDefinition]] | None = None,
        *,
        seconds: float = LOAD_SECONDS,
    ) -> None:
        self._names = tuple(names)
        self._tools_of = tools_of
        self._seconds = seconds
        self._loaded: dict[str, Listing] = {}
        self._stuck: dict[str, SourceError] = {}
        self._failed: tuple[Path, ...] = ()
        self._lock = threading.Lock()

    def paths(self) -> Iterable[Path]:
        """The files at which an import failed; what has been imported stays as it is until the next start."""
        return self._failed

    def load(self) -> Listing:
        """Import the modules and list their tools."""
        with self._lock:
            listings = {name: self._load(name) for name in self._names}
        failed = [
            problem for name, listing in listings.items() if name not in self._loaded for problem in listing.problems
        ]
        self._failed = tuple(path for problem in failed if (path := Path(problem.path)).is_file())
        return joined(listings)

    def _load(self, name: str) -> Listing:
        if name in self._loaded:
            return self._loaded[name]
        if name in self._stuck:
            return Listing(problems=(self._stuck[name],))
        importlib.invalidate_caches()
        attempt = Attempt(lambda: self._found(name), self._seconds)
        if attempt.value is None:
            problem = _module_problem(name, attempt)
            if attempt.abandoned:  # it holds the lock of its import, so that nobody else can try
                self._stuck[name] = problem
            return Listing(problems=(problem,))
        listing = _listing(attempt.value, name)
        self._loaded[name] = listing if listing.tools or listing.problems else Listing(problems=(_empty(name),))
        return self._loaded[name]

    def _found(self, name: str) -> Found:
        registrations = Registrations()
        with registrations.active():
            module = importlib.import_module(name)
        if self._tools_of is not None:
            found = Found()
            found.add(self._tools_of(module))
            return found
        registered: Sequence[ToolDefinition] = registrations.all() or getattr(module, _TOOLS, ())
        setattr(module, _TOOLS, tuple(registered))
        return tools_of(module, registered)


class EntryPoints:
    """A `Source` of the tools that installed packages offer as entry points of the group ``toolcrib.tools``.

    An entry point is a module with tools; or a tool, a list of tools, or a function that returns them. They are loaded
    once, and what cannot be loaded is a problem.

    Args:
        group: of the entry points.
        seconds: how long loading one may take.

    Example:
        >>> EntryPoints("no.such.group").load().tools
        ()
    """

    def __init__(self, group: str = ENTRY_POINT_GROUP, *, seconds: float = LOAD_SECONDS) -> None:
        self._group = group
        self._seconds = seconds
        self._listing: Listing | None = None
        self._lock = threading.Lock()

    def paths(self) -> Iterable[Path]:
        """None: packages are installed while the service is not running."""
        return ()

    def load(self) -> Listing:
        """Load the entry points, in the order of their names, and list their tools."""
        with self._lock:
            if self._listing is None:
                points = sorted(importlib.metadata.entry_points(group=self._group), key=lambda point: point.name)
                self._listing = joined({label_of(point): self._load(point) for point in dict.fromkeys(points)})
            return self._listing

    def _load(self, point: importlib.metadata.EntryPoint) -> Listing:
        attempt = Attempt(lambda: _tools_of_entry_point(point), self._seconds)
        if attempt.value is None:
            return Listing(problems=(_module_problem(label_of(point), attempt),))
        return _listing(attempt.value, label_of(point))


def label_of(point: importlib.metadata.EntryPoint) -> str:
    """An entry point as errors name it."""
    package = f" of {point.dist.name}" if point.dist is not None else ""
    return f"entry point {point.name}{package} ({point.value})"


def _tools_of_entry_point(point: importlib.metadata.EntryPoint) -> Found:
    registrations = Registrations()
    with registrations.active():
        value = point.load()
        if isinstance(value, ModuleType):
            registered: Sequence[ToolDefinition] = registrations.all() or getattr(value, _TOOLS, ())
            setattr(value, _TOOLS, tuple(registered))
            return tools_of(value, registered)
        own = [tool for tool in registrations.all() if tool.handler is value]
        if isinstance(value, FunctionType) and not own:
            value = value()
            own = registrations.all() if value is None else []
    return tools_in(own or value)


def joined(listings: dict[str, Listing]) -> Listing:
    """One listing of several, each with its label; of two tools of one name the first counts."""
    tools: dict[str, ToolDefinition] = {}
    problems: list[SourceError] = []
    for label, listing in listings.items():
        problems += listing.problems
        for tool in listing.tools:
            first = tools.setdefault(tool.name, tool)
            if first is not tool:
                message = f"tool {tool.name!r} is defined in {first.source} already"
                problems.append(SourceError(message, path=label, hint="Rename one of them."))
    return Listing(tuple(tools.values()), problems=tuple(problems))


def _listing(found: Found, label: str) -> Listing:
    for tool in found.tools:
        tool.source = tool.source or label
    problems = [SourceError(each.message, path=label, line=each.line, hint=each.hint) for each in found.refusals]
    return Listing(tuple(found.tools), problems=tuple(problems))


def _empty(name: str) -> SourceError:
    hint = "Decorate its functions with @tool, or name the module that has them."
    return SourceError("the module defines no tool", path=name, hint=hint)


def _module_problem(label: str, attempt: Attempt[Found]) -> SourceError:
    error = attempt.error
    if isinstance(error, ModuleNotFoundError) and error.name and f"{label}.".startswith(f"{error.name}."):
        hint = "Is its folder on PYTHONPATH, and is it spelled like this?"
        return SourceError(f"there is no module {error.name!r}", path=label, hint=hint)
    return import_problem(attempt, label)


def make_importable(project: Path) -> None:
    """Have Python look for modules in the project's folder first."""
    if str(project) not in sys.path:
        sys.path.insert(0, str(project))


def check_modules(names: Iterable[str], project: Path) -> None:
    """Make sure that the modules of a setting are there; what is wrong inside of them is found when they are imported.

    Raises:
        SettingsError: one is not there.
    """
    importlib.invalidate_caches()
    for name in names:
        if not _is_there(name):
            raise SettingsError(
                f"There is no module {name} in {project} or on Python's path",
                hint="Correct it, or name another with --module or TOOLCRIB_MODULES.",
            )


def _is_there(name: str) -> bool:
    try:
        return name in sys.modules or importlib.util.find_spec(name) is not None
    except ModuleNotFoundError as error:
        return not error.name or not f"{name}.".startswith(f"{error.name}.")
    except (Exception, SystemExit):  # of a package around it, which is reported when that is imported
        return True
