"""Makes modules of other names out of what toolcrib has."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from toolcrib.errors import ToolcribError

Document = Literal["nanoclaw", "weclaw"]


class CompatibilityError(ToolcribError):
    """The import paths of a document cannot be put into place."""

    code = "compatibility"


@dataclass(frozen=True, slots=True)
class Layout:
    """Which modules a document speaks of, and where toolcrib has what is in them.

    Attributes:
        modules: module → name in it → ``"module:attribute"`` of toolcrib; an attribute may be dotted, and a part of it
            called, as in ``"module:function().attribute"``.
        packages: package → package of toolcrib whose modules stand for its own, such as the built-in tools.
    """

    modules: Mapping[str, Mapping[str, str]]
    packages: Mapping[str, str] = field(default_factory=dict)

    def is_package(self, module: str) -> bool:
        """Whether there are modules below ``module``."""
        return module in self.packages or any(other.startswith(f"{module}.") for other in self.modules)


def install(document: Document, *, force: bool = False) -> None:
    """Make the modules that a document imports from importable; doing it twice is doing it once.

    What toolcrib does not have yet raises an `ImportError` that says so.

    Args:
        document: ``"nanoclaw"`` for ``backend.tools…``, ``"weclaw"`` for ``src.tools…`` and ``src.core…``.
        force: whether real modules of these names give way until `uninstall`.

    Raises:
        CompatibilityError: there is no such document, or a real module has one of the names.

    Example:
        >>> install("nanoclaw", force=True)
        >>> from backend.tools.factory import tool
        >>> uninstall("nanoclaw")
    """
    layout = _layout(document)
    if _finder(document) is not None:
        return
    finder = _Finder(document, layout, force=force)
    sys.meta_path.insert(0, finder)
    try:
        finder.import_all()
    except BaseException:
        uninstall(document)
        raise


def uninstall(document: Document) -> None:
    """Take the modules away again, and put back what gave way to them."""
    finder = _finder(document)
    if finder is not None:
        sys.meta_path.remove(finder)
        finder.withdraw()


def resolve(target: str, asked: str) -> Any:
    """What a `Layout` means by ``"module:attribute"``.

    Raises:
        ImportError: this version of toolcrib does not have it.
    """
    module, _, attribute = target.partition(":")
    try:
        value: Any = importlib.import_module(module)
        for part in attribute.split("."):
            value = getattr(value, part.removesuffix("()"))
            value = value() if part.endswith("()") else value
    except (AttributeError, ModuleNotFoundError) as error:
        if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("toolcrib"):
            raise
        raise ImportError(f"{asked} is not in this version of toolcrib yet") from error
    return value


def _layout(document: str) -> Layout:
    if document not in ("nanoclaw", "weclaw"):
        raise CompatibilityError(f"There is no document {document!r}", hint="It is 'nanoclaw' or 'weclaw'.")
    layout: Layout = importlib.import_module(f"toolcrib.compat.{document}").LAYOUT
    return layout


def _finder(document: str) -> _Finder | None:
    return next((each for each in sys.meta_path if isinstance(each, _Finder) and each.document == document), None)


class _CompatModule(ModuleType):
    """A module whose names are looked up in toolcrib when they are used."""

    _names: Mapping[str, str]

    def __getattr__(self, name: str) -> Any:
        target = self._names.get(name)
        if target is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return resolve(target, f"{self.__name__}.{name}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._names})


class _Finder(MetaPathFinder, Loader):
    """Finds the modules of one document."""

    def __init__(self, document: str, layout: Layout, *, force: bool) -> None:
        self.document = document
        self._layout = layout
        self._replaced: dict[str, ModuleType] = {}
        real = {name: spec for name in layout.modules if (spec := _real_spec(name)) is not None}
        # A real package may hold ours, as `src` or `backend` does in the repository of a project that moves here.
        self._kept = {name: spec for name, spec in real.items() if not layout.modules[name]}
        shadowed = [name for name in real if name not in self._kept]
        if shadowed and not force:
            raise CompatibilityError(
                f"{shadowed[0]} is a real module here: {real[shadowed[0]].origin or 'a package'}",
                hint="Remove it, or say force=True to have toolcrib's in its place.",
            )

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in self._layout.modules:
            if fullname in self._kept:
                return None
            return ModuleSpec(fullname, self, is_package=self._layout.is_package(fullname))
        package, _, name = fullname.rpartition(".")
        if package in self._layout.packages and _real_spec(fullname, path) is None:
            return ModuleSpec(fullname, self, origin=f"{self._layout.packages[package]}.{name}")
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        if spec.name not in self._layout.modules:
            return None
        module = _CompatModule(spec.name, f"{spec.name} of the document, on top of toolcrib.")
        module._names = self._layout.modules[spec.name]
        return module

    def exec_module(self, module: ModuleType) -> None:
        if isinstance(module, _CompatModule):
            return
        name = module.__name__
        target = module.__spec__.origin if module.__spec__ else None
        try:
            sys.modules[name] = importlib.import_module(target or "")
        except ModuleNotFoundError as error:
            if f"{target}.".startswith(f"{error.name}."):
                message = f"{name} is not in this version of toolcrib yet"
                raise ModuleNotFoundError(message, name=target) from error  # `from … import` hides one of its own name
            raise

    def import_all(self) -> None:
        """Import the modules, except those below a real package that has not run yet: it is not ours to run."""
        for name in self._layout.modules:
            if name in self._kept:
                continue
            if name in sys.modules:
                self._replaced[name] = sys.modules.pop(name)
            if not any(name.startswith(f"{parent}.") and self._would_run(parent) for parent in self._kept):
                importlib.import_module(name)

    def _would_run(self, package: str) -> bool:
        return package not in sys.modules and self._kept[package].origin is not None

    def withdraw(self) -> None:
        """Forget what was imported, and put back what had to give way."""
        for name, module in list(sys.modules.items()):
            package, _, attribute = name.rpartition(".")
            is_made = isinstance(module, _CompatModule) and module.__loader__ is self
            is_other_name = package in self._layout.packages and getattr(module, "__name__", name) != name
            if is_made or is_other_name:
                del sys.modules[name]
                parent = sys.modules.get(package)
                if parent is not None and vars(parent).get(attribute) is module:
                    delattr(parent, attribute)
        for name, module in self._replaced.items():
            sys.modules[name] = module
            package, _, attribute = name.rpartition(".")
            if package in sys.modules:
                setattr(sys.modules[package], attribute, module)


def _real_spec(name: str, path: Sequence[str] | None = None) -> ModuleSpec | None:
    """Where a module of that name comes from, or would come from without us; nothing is imported."""
    loaded = sys.modules.get(name)
    if loaded is not None and not isinstance(loaded, _CompatModule):
        return getattr(loaded, "__spec__", None) or ModuleSpec(name, None, is_package=hasattr(loaded, "__path__"))
    package = name.rpartition(".")[0]
    if package and path is None:
        parent = _real_spec(package)
        if parent is None or parent.submodule_search_locations is None:
            return None
        path = list(parent.submodule_search_locations)
    for finder in sys.meta_path:
        if isinstance(finder, _Finder) or not hasattr(finder, "find_spec"):
            continue
        try:
            found = finder.find_spec(name, path)
        except KeyError:  # a namespace package in one that has not been imported
            found = ModuleSpec(name, None, is_package=True)
            found.submodule_search_locations = [str(Path(each) / name.rpartition(".")[2]) for each in path or ()]
        if found is not None:
            return found
    return None
