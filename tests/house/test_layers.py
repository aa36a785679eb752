"""A module imports only from its own layer and those above it: errors at the top, the doors at the bottom."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.house.tree import module_paths

LAYERS = [
    "errors",
    "settings",
    "secrets",
    "locale",
    "definition",
    "sandbox",
    "registry",
    "storage",
    "exposure",
    "execution",
    "devices",
    "runtime",
    "agent",
    "validation",
    "builtin",
    "crib",
    "interfaces",
    "adapters",
    "compat",
    "testing",
]
"""From the first to the last; each may use those before it."""

DOORS = {("toolcrib.definition.tool", "adapters")}
"""Class methods that a user looks for on ``Tool``, which import what carries them out when they are called."""

PUBLIC = "toolcrib"
"""The public names. They reach down to `crib`, so only what is written as a user would write it imports them."""

MAY_USE_PUBLIC = {"builtin", "interfaces", "compat", "testing"}
BUILTIN_MAY_USE = {PUBLIC, "errors", "locale", "definition", "sandbox", "builtin"}
ALONE = {"toolcrib", "toolcrib.tool_server"}
"""The lazy table of public names, and the file that is copied beside a tool and knows the standard library only."""


def layer_of(module: str) -> str:
    """The layer of a module: the name below the package."""
    return module.split(".")[1] if "." in module else PUBLIC


def imports_of(module: str, source: str, modules: Mapping[str, Path]) -> Iterator[tuple[int, str]]:
    """Each module of the package that ``source`` imports anywhere, with the line; type-checking imports count too."""
    is_package = module in modules and modules[module].name == "__init__.py"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                above = module.split(".")[: len(module.split(".")) - node.level + is_package]
                origin = ".".join([*above, *([origin] if origin else [])])
            for alias in node.names:
                full = f"{origin}.{alias.name}"
                yield node.lineno, full if full in modules else origin
        elif isinstance(node, ast.Call) and _calls_import_module(node):
            (name, *_) = node.args
            if isinstance(name, ast.Constant):
                yield node.lineno, str(name.value)


def _calls_import_module(node: ast.Call) -> bool:
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
    return name in ("import_module", "__import__") and bool(node.args)


def violations(module: str, source: str, modules: Mapping[str, Path]) -> list[str]:
    """The imports of ``source`` that go against the direction, each as a sentence."""
    own = layer_of(module)
    found = []
    for line, imported in imports_of(module, source, modules):
        if imported.split(".")[0] != "toolcrib" or imported == "toolcrib.tool_server":
            continue
        used = layer_of(imported)
        if used == PUBLIC:
            allowed = own in MAY_USE_PUBLIC
        elif own == "builtin":
            allowed = used in BUILTIN_MAY_USE
        else:
            allowed = used in LAYERS[: LAYERS.index(own) + 1] or (module, used) in DOORS
        if not allowed:
            found.append(f"{module}:{line} imports {imported}, but {own} may not use {used}")
    return found


@pytest.mark.parametrize("module", sorted(set(module_paths()) - ALONE))
def test_a_module_imports_only_from_layers_above_it(module: str) -> None:
    modules = module_paths()
    own = layer_of(module)
    assert own in LAYERS or own == "__main__", f"{module} lies in no layer; give {own} its place in LAYERS"
    own_module = module if own != "__main__" else "toolcrib.interfaces.__main__"
    assert violations(own_module, modules[module].read_text(encoding="utf-8"), modules) == []


def test_the_tool_server_uses_the_standard_library_alone() -> None:
    import sys

    modules = module_paths()
    source = modules["toolcrib.tool_server"].read_text(encoding="utf-8")
    used = {name.split(".")[0] for _, name in imports_of("toolcrib.tool_server", source, modules)}
    assert used - sys.stdlib_module_names == set()


@pytest.mark.parametrize(
    ("module", "source", "is_refused"),
    [
        ("toolcrib.definition.tool", "from toolcrib.errors import ToolcribError", False),
        ("toolcrib.definition.tool", "from toolcrib.registry import names", True),
        ("toolcrib.definition.tool", "from ..registry import names", True),
        ("toolcrib.definition.tool", "from . import call", False),
        ("toolcrib.definition.tool", "def f():\n    import toolcrib.runtime.status", True),
        ("toolcrib.definition.tool", "if TYPE_CHECKING:\n    from toolcrib.crib import Crib", True),
        ("toolcrib.execution.pipeline", "import importlib\nimportlib.import_module('toolcrib.runtime')", True),
        ("toolcrib.runtime.local", "from toolcrib import Crib", True),
        ("toolcrib.runtime.local", "from toolcrib import errors", False),
        ("toolcrib.builtin.files", "from toolcrib import tool", False),
        ("toolcrib.builtin.files", "from toolcrib.storage import artifacts", True),
        ("toolcrib.errors", "import json", False),
    ],
)
def test_the_check_tells_right_from_wrong(module: str, source: str, is_refused: bool) -> None:
    assert bool(violations(module, source, module_paths())) is is_refused
