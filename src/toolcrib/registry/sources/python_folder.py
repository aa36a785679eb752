"""Tools that lie in a folder of Python files: a new file is a new tool (contract N050, N051, W028)."""

from __future__ import annotations

import hashlib
import importlib
import re
import sys
import threading
import uuid
import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import FunctionType, ModuleType

from toolcrib.definition.base_tool import action_of
from toolcrib.definition.ports import Listing
from toolcrib.definition.schema.callables import inner_function
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import SourceError
from toolcrib.registry.collecting import Registrations
from toolcrib.registry.sources.folder import IGNORED_DIRECTORIES
from toolcrib.registry.sources.python_import import Attempt, FolderFinder, import_problem
from toolcrib.registry.sources.python_text import PythonText
from toolcrib.registry.sources.python_tools import Found, line_of, tools_of

LOAD_SECONDS = 30.0

_COMPARED = tuple(each.name for each in fields(ToolDefinition) if each.compare and each.name != "handler")
_USES_SIBLINGS = re.compile(rb"^\s*from\s+\.", re.MULTILINE)
_USES_SIBLINGS_OF_PACKAGE = re.compile(rb"^\s*from\s+\.\.", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Unit:
    """One file, or one package, whose tools are listed.

    Attributes:
        name: of its module, in the folder's package.
        path: the file; a package's ``__init__.py``.
        digest: of everything that it is made of.
        outside: of what it uses from other files of the folder.
    """

    name: str
    path: Path
    text: bytes
    digest: str
    outside: str


@dataclass(frozen=True, slots=True)
class _State:
    """What a unit was when it was last loaded.

    Attributes:
        digest: the unit's.
        tools: in force; where loading failed, those of the last time that it did not.
        marks: by tool, equal where what it does is.
        problems: what is wrong with it now.
    """

    digest: str
    tools: tuple[ToolDefinition, ...] = ()
    marks: Mapping[str, str] | None = None
    problems: tuple[SourceError, ...] = ()


class PythonFolder:
    """A `Source` of the tools that the Python files and packages of a folder define.

    Everything in a file that is a tool is one: functions with ``@tool``, `ToolDefinition` and `BaseTool` objects, and
    classes of tools, which are made without arguments. A file whose name begins with ``_`` or ``.`` is none; the others
    may use it, as in ``from ._shared import something``.

    A changed file is loaded afresh, and those of its tools are replaced of which something has changed. Where it cannot
    be loaded, its tools stay what they were, and the error is a problem with file and line. Whatever a file does while
    it is loaded, loading it ends.

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
        self._shared = ""
        self._owners: dict[str, str] = {}
        self._lock = threading.Lock()
        weakref.finalize(self, _forget_modules, self._packages)

    def paths(self) -> Iterable[Path]:
        """The folder."""
        return (self._folder,)

    def load(self) -> Listing:
        """Load what has changed since the last time, and list everything; it runs the files' code."""
        with self._lock:
            try:
                texts = dict(_read(self._folder))
            except OSError as error:
                problem = SourceError(f"cannot be read: {error.strerror or error}", path=str(self._folder))
                return self._list(self._units({}), (problem,))
            return self._list(*self._update(texts))

    def _update(self, texts: dict[Path, bytes]) -> tuple[list[_Unit], tuple[SourceError, ...]]:
        units = self._units(texts)
        problems = tuple(
            SourceError("the name of a file of tools has no dot", path=str(unit.path), hint="Rename it.")
            for unit in units
            if "." in unit.name
        )
        units = [unit for unit in units if "." not in unit.name]
        changed = [unit for unit in units if self._is_changed(unit)]
        before = {name: self._states[name] for unit in changed if (name := unit.name) in self._states}
        self._states = {unit.name: self._states[unit.name] for unit in units if unit.name in self._states}
        shared = _digest(texts, [path for path in texts if not any(path in _files(unit, texts) for unit in units)])
        self._forget([unit.name for unit in units if unit not in changed], keep_shared=shared == self._shared)
        self._shared = shared
        registrations = Registrations()
        for unit in changed:
            self._states[unit.name] = self._load(unit, before.get(unit.name, _State("")), registrations)
        return units, problems
