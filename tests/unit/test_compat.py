"""The import paths of the documents."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import toolcrib
from toolcrib import compat
from toolcrib.compat.install import CompatibilityError, Document
from toolcrib.compat.nanoclaw import LAYOUT as NANOCLAW
from toolcrib.compat.weclaw import LAYOUT as WECLAW
from toolcrib.compat.weclaw import extract_tool_name
from toolcrib.crib import Crib, use
from toolcrib.definition.base_tool import ActionDef, BaseTool
from toolcrib.definition.result import ToolResult


@pytest.fixture(autouse=True)
def _clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No ``src`` or ``backend`` folder of where the tests run, and nothing left afterwards."""
    monkeypatch.chdir(tmp_path)
    root = str(Path(__file__).resolve().parents[2])
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path not in ("", ".", root)])
    importlib.invalidate_caches()
    yield
    compat.uninstall("nanoclaw")
    compat.uninstall("weclaw")
    left = [
        name
        for name in sys.modules
        if name.partition(".")[0] == "backend" or name.startswith(("src.core", "src.tools"))
    ]
    for name in left:
        del sys.modules[name]
    sys.modules.pop("src", None)
    assert left == []


def attribute(module: str, name: str) -> Any:
    """What ``from module import name`` gives."""
    namespace: dict[str, Any] = {}
    exec(f"from {module} import {name}", namespace)
    return namespace[name]


class FileShareTool(BaseTool):
    def get_actions(self) -> list[ActionDef]:
        return [ActionDef("send", "Sends.")]

    async def execute(self, action: str, params: dict[str, Any]) -> ToolResult:
        return ToolResult(True)


@pytest.mark.parametrize("module", NANOCLAW.modules)
def test_N053_the_modules_of_s1_are_there(module: str) -> None:
    compat.install("nanoclaw")
    assert module in sys.modules
    assert importlib.import_module(module) is sys.modules[module]


@pytest.mark.parametrize("module", WECLAW.modules)
def test_W001_the_modules_of_s3_are_there(module: str) -> None:
    compat.install("weclaw")
    assert importlib.import_module(module) is sys.modules[module]


def test_N053_what_is_imported_is_toolcribs_own() -> None:
    compat.install("nanoclaw")
    compat.install("weclaw")
    assert attribute("backend.tools", "tool") is attribute("backend.tools.factory", "tool") is toolcrib.tool
    assert attribute("src.tools.base", "BaseTool") is BaseTool
    assert attribute("src.tools.base", "ToolResult") is toolcrib.ToolResult
    assert attribute("src.tools.registry", "ToolRegistry") is toolcrib.ToolRegistry


def test_N053_the_registry_is_that_of_the_default_crib() -> None:
    compat.install("nanoclaw")
    with use(Crib()) as crib:
        assert attribute("backend.tools", "registry") is crib.registry
        namespace: dict[str, Any] = {}
        exec(
            "from backend.tools import registry\n"
            "from backend.tools.factory import tool\n"
            '@tool(name="my_tool", description="工具描述", parameters={"type": "object", "properties": {"param1": '
            '{"type": "string"}}, "required": ["param1"]}, category="custom")\n'
            "def my_tool(arguments: dict) -> dict:\n"
            '    return {"result": "ok"}\n'
            'outcome = registry.execute("my_tool", {"param1": "x"})\n',
            namespace,
        )
    assert namespace["outcome"] == {"success": True, "data": {"result": "ok"}, "error": None}


NAMES = [
    (module, name, target)
    for layout in (NANOCLAW, WECLAW)
    for module, names in layout.modules.items()
    for name, target in names.items()
]


@pytest.mark.parametrize(("module", "name", "target"), NAMES)
def test_N053_a_name_is_there_or_says_that_it_is_not_there_yet(module: str, name: str, target: str) -> None:
    document: Document = "nanoclaw" if module.startswith("backend") else "weclaw"
    compat.install(document)
    origin, _, first = target.partition(":")
    try:
        exists = hasattr(importlib.import_module(origin), first.partition(".")[0].removesuffix("()"))
    except ModuleNotFoundError:
        exists = False
    if exists:
        assert attribute(module, name) is not None
    else:
        with pytest.raises(ImportError, match=rf"{module}\.{name} is not in this version of toolcrib yet"):
            attribute(module, name)


@pytest.mark.parametrize(
    "statement",
    ["import src.tools.no_such_tool", "from src.tools import no_such_tool", "from src.tools.no_such_tool import X"],
)
def test_N053_a_built_in_tool_that_is_not_there_says_so(statement: str) -> None:
    compat.install("weclaw")
    with pytest.raises(ImportError, match=r"src\.tools\.no_such_tool is not in this version of toolcrib yet"):
        exec(statement, {})


def test_N053_the_built_in_tools_have_the_documents_names(monkeypatch: pytest.MonkeyPatch) -> None:
    package, shell = ModuleType("toolcrib.builtin"), ModuleType("toolcrib.builtin.shell")
    package.__path__ = []
    monkeypatch.setitem(sys.modules, "toolcrib.builtin", package)
    monkeypatch.setitem(sys.modules, "toolcrib.builtin.shell", shell)
    compat.install("weclaw")
    compat.install("nanoclaw")
    assert attribute("src.tools", "shell") is shell
    assert attribute("backend.tools.builtin", "shell") is shell
    compat.uninstall("weclaw")
    assert "src.tools.shell" not in sys.modules


def test_a_name_that_no_document_has_is_an_ordinary_error() -> None:
    compat.install("nanoclaw")
    with pytest.raises(ImportError, match=r"cannot import name 'nonsense' from 'backend\.tools'"):
        attribute("backend.tools", "nonsense")
    assert not hasattr(sys.modules["backend.tools"], "nonsense")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'backend\.routes'"):
        importlib.import_module("backend.routes")


def test_installing_twice_is_installing_once_and_uninstalling_leaves_nothing() -> None:
    before = (list(sys.meta_path), set(sys.modules))
    compat.install("weclaw")
    compat.install("weclaw")
    assert len(sys.meta_path) == len(before[0]) + 1
    compat.uninstall("weclaw")
    compat.uninstall("weclaw")
    assert sys.meta_path == before[0]
    assert {name for name in set(sys.modules) - before[1] if not name.startswith("toolcrib")} == set()


def test_there_is_no_other_document() -> None:
    with pytest.raises(CompatibilityError, match="There is no document 'openclaw'"):
        compat.install("openclaw")  # type: ignore[arg-type]


@pytest.fixture
def real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that has a ``backend`` package of its own, whose import would be noticed."""
    (tmp_path / "backend").mkdir()
    (tmp_path / "backend" / "__init__.py").write_text("RAN = True\n")
    (tmp_path / "backend" / "routes.py").write_text("from backend.tools import registry, tool\n")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path / "backend"


def forget_backend() -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] == "backend"]:
        del sys.modules[name]


def test_a_real_package_may_hold_our_modules_and_is_not_run_by_installing(real: Path) -> None:
    compat.install("nanoclaw")
    assert "backend" not in sys.modules
    try:
        assert attribute("backend.routes", "tool") is toolcrib.tool
        assert attribute("backend", "RAN") is True
        assert attribute("backend", "tools") is sys.modules["backend.tools"]
    finally:
        compat.uninstall("nanoclaw")
        assert "backend.tools" not in sys.modules
        assert not hasattr(sys.modules["backend"], "tools")
        forget_backend()


def test_a_real_module_is_not_shadowed_unless_forced(real: Path) -> None:
    (real / "tools").mkdir()
    (real / "tools" / "__init__.py").write_text("")
    (real / "tools" / "factory.py").write_text("tool = 'their own'\n")
    with pytest.raises(CompatibilityError, match=r"backend\.tools is a real module here: .*__init__\.py"):
        compat.install("nanoclaw")
    assert attribute("backend.tools.factory", "tool") == "their own"
    compat.install("nanoclaw", force=True)
    try:
        assert attribute("backend.tools.factory", "tool") is toolcrib.tool
    finally:
        compat.uninstall("nanoclaw")
        assert attribute("backend.tools.factory", "tool") == "their own"
        forget_backend()


def test_W019_the_tool_of_a_function_is_looked_up_and_only_unknown_names_are_cut() -> None:
    with use(Crib()) as crib:
        crib.registry.register_tool(FileShareTool())
        assert extract_tool_name("file_share_send") == "file_share"
        assert extract_tool_name("file_share.send") == "file_share"
        assert extract_tool_name("file_share") == "file_share"
        assert extract_tool_name("file_share_fetch") == "file_share"
        assert extract_tool_name("nosuch_do") == "nosuch"
        assert extract_tool_name("nosuch") == "nosuch"
