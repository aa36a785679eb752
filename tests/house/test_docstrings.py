"""Every public thing says what it is for, and every example in a docstring is true."""

from __future__ import annotations

import ast
import doctest
import importlib
from pathlib import Path

import pytest

from tests.house.tree import module_paths

MODULES = module_paths()


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_true(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLCRIB_HOME", str(tmp_path / "home"))
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_every_public_class_and_function_has_a_docstring(name: str) -> None:
    module = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    bare = [node.name for node in public_definitions(module) if not ast.get_docstring(node)]
    assert bare == []


def public_definitions(module: ast.Module) -> list[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """The classes and functions at the top of a module, and the methods of its classes, that are not private."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [node for node in module.body if isinstance(node, kinds) and not node.name.startswith("_")]
    for node in [*found]:
        if isinstance(node, ast.ClassDef) and not _inherits(node):
            found += [each for each in node.body if isinstance(each, kinds[1:]) and not each.name.startswith("_")]
    return found


def _inherits(node: ast.ClassDef) -> bool:
    """Whether its methods may have their docstrings from a base class."""
    names = {base.id if isinstance(base, ast.Name) else getattr(base, "attr", "") for base in node.bases}
    return bool(names - {"Protocol", "Enum", "object"})


@pytest.mark.parametrize("name", [name for name in MODULES if MODULES[name].stat().st_size])
def test_every_module_with_content_says_what_it_is(name: str) -> None:
    assert ast.get_docstring(ast.parse(MODULES[name].read_text(encoding="utf-8")))
