"""Tools that Python modules define, to run in this process."""

from __future__ import annotations

import importlib
import traceback
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import ModuleType

from toolcrib.definition.ports import Listing
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import SourceError


def module_level_tools(module: ModuleType) -> list[ToolDefinition]:
    """The `ToolDefinition` objects that are names of ``module``, each once, in the order of their definition."""
    tools: list[ToolDefinition] = []
    for value in vars(module).values():
        if isinstance(value, ToolDefinition) and not any(value is tool for tool in tools):
            tools.append(value)
    return tools


class PythonModules:
    """A `Source` of the tools in some modules; a module that cannot be imported becomes a problem, the others load.

    A module is imported once; one that failed is tried again at the next `load`.

    Args:
        names: of modules, importable from ``sys.path``.
        tools_of: finds the tools of a module that has been imported.

    Example:
        >>> [problem.path for problem in PythonModules(["no_such_module"]).load().problems]
        ['no_such_module']
    """

    def __init__(
        self, names: Sequence[str], tools_of: Callable[[ModuleType], Iterable[ToolDefinition]] = module_level_tools
    ) -> None:
        self._names = tuple(names)
        self._tools_of = tools_of
        self._failed: tuple[Path, ...] = ()

    def paths(self) -> Iterable[Path]:
        """The files at which an import failed; what has been imported stays as it is until the next start."""
        return self._failed

    def load(self) -> Listing:
        """Import the modules and list their tools."""
        tools: dict[str, ToolDefinition] = {}
        problems: list[SourceError] = []
        for name in self._names:
            try:
                found = list(self._tools_of(importlib.import_module(name)))
            except (Exception, SystemExit) as error:
                problems.append(_import_problem(name, error))
                continue
            for tool in found:
                tool.source = tool.source or name
                if tools.setdefault(tool.name, tool) is not tool:
                    taken = tools[tool.name].source
                    problems.append(
                        SourceError(
                            f"tool {tool.name!r} is defined in {taken} already", path=name, hint="Rename one of them."
                        )
                    )
        self._failed = tuple(path for problem in problems if (path := Path(problem.path)).is_file())
        return Listing(tuple(tools.values()), problems=tuple(problems))


def _import_problem(name: str, error: BaseException) -> SourceError:
    if isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}."):
        hint = "Is its folder on PYTHONPATH, and is it spelled like this?"
        return SourceError(f"there is no module {error.name!r}", path=name, hint=hint)
    message = f"importing {name} failed: {type(error).__name__}: {error}"
    if isinstance(error, SyntaxError) and error.filename:
        return SourceError(message, path=error.filename, line=error.lineno)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<frozen ")]
    frames = [frame for frame in frames if frame.filename not in (__file__, importlib.__file__)]
    if not frames:
        return SourceError(message, path=name)
    return SourceError(message, path=frames[-1].filename, line=frames[-1].lineno)
