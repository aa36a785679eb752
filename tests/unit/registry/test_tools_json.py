"""Tools that a ``tools.json`` names by module and class."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema_rs
import pytest

from toolcrib.definition.base_tool import action_of
from toolcrib.definition.ports import Listing
from toolcrib.registry.registry import ToolRegistry
from toolcrib.registry.reload import apply
from toolcrib.registry.sources.tools_json import ToolsJson
from toolcrib.registry.sources.tools_json_format import tools_schema, write_tools_schema

PUBLISHED = Path(__file__).resolve().parents[3] / "docs" / "schemas" / "tools.schema.json"

TOOLS = """
from dataclasses import dataclass

from pydantic import BaseModel

from toolcrib.definition.base_tool import ActionDef, BaseTool
from toolcrib.definition.result import ToolResult

MADE = []


class _Tool(BaseTool):
    def get_actions(self):
        return [ActionDef("run", "Runs."), ActionDef("stop", "Stops.")]

    async def execute(self, action, params):
        return ToolResult(True, vars(self))


class ShellTool(_Tool):
    timeout = 90
    risk = "medium"

    def __init__(self, timeout_s: int = 30, *, name_of_shell: str = "sh") -> None:
        MADE.append(self)
        self.timeout_s = timeout_s


class KeyedTool(_Tool):
    def __init__(self, api_key: str) -> None:
        self.api_key = api_key


class OpenTool(_Tool):
    def __init__(self, **settings) -> None:
        self.settings = settings


class ModelTool(_Tool):
    class Config(BaseModel):
        headless: bool = False
        width: int = 800

    def __init__(self, config: Config) -> None:
        self.width = config.width


class DataTool(_Tool):
    @dataclass
    class Config:
        headless: bool = False
        width: int = 800

    def __init__(self, headless: bool, width: int) -> None:
        self.width = width


class LazyTool(_Tool):
    @classmethod
    def get_actions(cls):
        return [ActionDef("run", "Runs.")]

    def __init__(self) -> None:
        MADE.append(self)


class FailingTool(_Tool):
    def __init__(self) -> None:
        raise RuntimeError("no display")


class Other:
    pass
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package of its own name that holds a module ``tools``."""
    name = f"package_{abs(hash(tmp_path))}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").touch()
    (tmp_path / name / "tools.py").write_text(TOOLS)
    (tmp_path / name / "broken.py").write_text("import no_such_module_of_ours\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    for module in [each for each in sys.modules if each.partition(".")[0] == name]:
        del sys.modules[module]


class File:
    """A ``tools.json`` and the source that reads it."""

    def __init__(self, path: Path, package: str) -> None:
        self.path = path
        self.package = package
        self.source = ToolsJson(path, modules=[package])

    def write(
        self,
        entries: Mapping[str, dict[str, Any]] | None = None,
        *,
        head: Mapping[str, Any] | None = None,
        nested: bool = False,
        **named: dict[str, Any],
    ) -> None:
        """Write entries, one key a line; ``module`` is our package's where it is not said."""
        module = f"{self.package}.tools"
        tools = {name: {"module": module, **fields} for name, fields in {**(entries or {}), **named}.items()}
        document = {**(head or {}), **({"tools": tools} if nested else tools)}
        self.path.write_text(json.dumps(document, ensure_ascii=False, indent=1), encoding="utf-8")

    def load(self) -> Listing:
        """What the source lists now."""
        return self.source.load()

    def line(self, text: str) -> int:
        """The line on which ``text`` first stands."""
        lines = self.path.read_text(encoding="utf-8").splitlines()
        return next(number for number, line in enumerate(lines, 1) if text in line)

    @property
    def module(self) -> ModuleType:
        """The module of the tools."""
        return sys.modules[f"{self.package}.tools"]


@pytest.fixture
def file(tmp_path: Path, package: str) -> File:
    return File(tmp_path / "tools.json", package)


SHELL = {"class": "ShellTool"}


def names(listing: Listing) -> list[str]:
    return [tool.name for tool in listing.tools]


def object_of(listing: Listing, name: str) -> Any:
    """The tool object behind one function."""
    action = next(action_of(tool) for tool in listing.tools if tool.name == name)
    assert action is not None
    return action.tool


def only_problem(listing: Listing) -> tuple[str, str | None]:
    """The one problem there is, without its path, and its hint."""
    (problem,) = listing.problems
    return str(problem).removeprefix(problem.path), problem.hint


def test_W007_an_entry_becomes_the_functions_of_its_class(file: File) -> None:
    file.write(
        shell={
            **SHELL,
            "display": {"name": "命令行", "emoji": "💻", "description": "Runs commands.", "category": "system"},
            "security": {"risk_level": "high", "require_confirmation": True},
            "actions": ["run", "stop"],
            "dependencies": {"input_sources": ["file"], "output_for": [], "standalone": True},
            "system_prompt": "Be careful.",
        }
    )
    listing = file.load()
    assert listing.problems == ()
    assert names(listing) == ["shell_run", "shell_stop"]
    tool = listing.tools[0]
    assert (tool.title, tool.emoji, tool.category, tool.risk, tool.timeout) == ("命令行", "💻", "system", "high", 90)
    assert tool.source == str(file.path)
    assert object_of(listing, "shell_run").require_confirmation
    assert file.source.entries["shell"].dependencies.input_sources == ["file"]


def test_W007_what_the_entry_leaves_out_is_as_in_the_class(file: File) -> None:
    file.write(shell=SHELL)
    tool = file.load().tools[0]
    assert (tool.title, tool.emoji, tool.category, tool.risk) == (None, "🔧", "general", "medium")


def test_W011_the_higher_risk_of_class_and_file_counts(file: File) -> None:
    file.write(shell={**SHELL, "security": {"risk_level": "low"}})
    assert file.load().tools[0].risk == "medium"


def test_W007_the_tools_may_stand_under_a_key_with_settings_for_all(file: File) -> None:
    head = {
        "version": "2.0",
        "categories": {"system": {"name": "系统"}},
        "global_settings": {"max_concurrent_tools": 3, "default_timeout": 30, "audit_all_calls": True, "own": 1},
        "_remark": "Keys like this are for people.",
    }
    file.write(head=head, nested=True, shell=SHELL, open={"class": "OpenTool"})
    listing = file.load()
    assert listing.problems == ()
    assert {tool.name: tool.timeout for tool in listing.tools} == {
        **{"shell_run": 90, "shell_stop": 90},
        **{"open_run": 30, "open_stop": 30},
    }
    assert file.source.global_settings.max_concurrent_tools == 3
    assert file.source.categories == ("system",)


def test_W007_a_disabled_entry_is_skipped_and_its_module_not_imported(file: File) -> None:
    file.write(shell={**SHELL, "enabled": False, "module": f"{file.package}.broken"})
    assert file.load() == Listing()
    assert f"{file.package}.broken" not in sys.modules


@pytest.mark.parametrize(
    ("entry", "message", "line", "hint"),
    [
        ({"class": "ShelTool"}, "has no ShelTool", '"class": "ShelTool"', "Did you mean 'ShellTool'?"),
        ({"class": "Other"}, "Other is no tool class", '"class": "Other"', "Derive it from toolcrib.BaseTool."),
        ({"class": "FailingTool"}, "could not be made: RuntimeError: no display", '"bad": {', None),
        ({**SHELL, "enable": False}, 'unknown key "enable"', '"enable"', 'Did you mean "enabled"?'),
        ({**SHELL, "display": {"nam": "x"}}, 'unknown key "nam"', '"nam"', 'Did you mean "name"?'),
        ({"class": "ShellTool"}, "ShellTool calls itself 'shell'", '"bad": {', None),
        ({}, '"class" is missing', '"bad": {', None),
    ],
)
def test_W007_a_bad_entry_is_reported_with_its_line_and_the_others_load(
    file: File, entry: dict[str, Any], message: str, line: str, hint: str | None
) -> None:
    file.write(bad=entry, shell=SHELL)
    listing = file.load()
    assert names(listing) == ["shell_run", "shell_stop"]
    (problem,) = listing.problems
    assert message in str(problem)
    assert problem.line == file.line(line)
    if hint is not None:
        assert problem.hint == hint


@pytest.mark.parametrize(
    ("module", "message"),
    [
        ("no_such", "there is no module {}.no_such"),
        ("broken", "importing {}.broken failed: No module named 'no_such_mod"),
    ],
)
def test_W008_a_module_that_cannot_be_imported_is_reported(file: File, module: str, message: str) -> None:
    file.write(shell={**SHELL, "module": f"{file.package}.{module}"})
    text, _ = only_problem(file.load())
    assert text.startswith(f":3: tool 'shell': {message.format(file.package)}")


@pytest.mark.parametrize("module", ["os", "subprocess", "package", "toolcrib.registry.registry"])
def test_W007_only_allowed_modules_are_imported(file: File, module: str) -> None:
    file.write(shell={**SHELL, "module": module})
    text, hint = only_problem(file.load())
    assert text == f":3: tool 'shell': {module} may not be imported: only {file.package}"
    assert hint is not None
    assert f"allow it: ToolsJson(…, modules=[…, '{module}'])" in hint


def test_W007_a_package_is_not_allowed_by_the_beginning_of_its_name(file: File) -> None:
    file.write(shell={**SHELL, "module": f"{file.package}_evil.tools"})
    assert "may not be imported" in only_problem(file.load())[0]


def test_W008_modules_of_s3_stand_for_the_built_in_tools(file: File) -> None:
    file.write(shell={**SHELL, "module": "src.tools.no_such_tool"})
    (problem,) = ToolsJson(file.path).load().problems
    assert "there is no module toolcrib.builtin.no_such_tool" in str(problem)


@pytest.mark.parametrize(
    ("name", "class_name", "config", "attribute", "value"),
    [
        ("shell", "ShellTool", {}, "timeout_s", 30),
        ("shell", "ShellTool", {"timeout_s": 5}, "timeout_s", 5),
        ("keyed", "KeyedTool", {"api_key": "k"}, "api_key", "k"),
        ("open", "OpenTool", {"anything": [1]}, "settings", {"anything": [1]}),
        ("model", "ModelTool", {"width": 640}, "width", 640),
        ("model", "ModelTool", {}, "width", 800),
        ("data", "DataTool", {"width": 640}, "width", 640),
        ("data", "DataTool", {}, "width", 800),
    ],
)
def test_W010_config_becomes_the_arguments_of_the_constructor(
    file: File, name: str, class_name: str, config: dict[str, Any], attribute: str, value: Any
) -> None:
    file.write({name: {"class": class_name, "config": config}})
    listing = file.load()
    assert listing.problems == ()
    assert getattr(object_of(listing, f"{name}_run"), attribute) == value


@pytest.mark.parametrize(
    ("name", "class_name", "config", "message", "hint"),
    [
        ("shell", "ShellTool", {"timeout": 1}, 'unknown key "timeout"', 'Did you mean "timeout_s"?'),
        ("shell", "ShellTool", {"timeout_s": "soon"}, '"timeout_s" should be an integer', None),
        ("model", "ModelTool", {"widht": 1}, 'unknown key "widht"', 'Did you mean "width"?'),
        ("model", "ModelTool", {"width": "wide"}, '"width" should be an integer', None),
        ("data", "DataTool", {"headles": True}, 'unknown key "headles"', 'Did you mean "headless"?'),
        ("keyed", "KeyedTool", {}, '"api_key" is missing', None),
    ],
)
def test_W010_a_config_that_does_not_fit_is_reported_with_its_line(
    file: File, name: str, class_name: str, config: dict[str, Any], message: str, hint: str | None
) -> None:
    file.write({name: {"class": class_name, "config": config}})
    text, given_hint = only_problem(file.load())
    line = file.line(f'"{next(iter(config))}"') if config else file.line('"config"')
    assert text.startswith(f":{line}: tool '{name}': {message}")
    assert given_hint == hint


def test_W010_a_missing_config_is_reported_at_the_entry(file: File) -> None:
    file.write(keyed={"class": "KeyedTool"})
    assert only_problem(file.load())[0] == ":2: tool 'keyed': \"api_key\" is missing"


def test_W009_a_category_must_be_listed_where_categories_are(file: File) -> None:
    file.write(head={"categories": ["system"]}, shell={**SHELL, "display": {"category": "sistem"}})
    listing = file.load()
    assert names(listing) == ["shell_run", "shell_stop"]
    text, hint = only_problem(listing)
    assert text.endswith("there is no category 'sistem'")
    assert hint == "Did you mean 'system'?"


def test_W012_actions_that_differ_from_the_class_are_reported_and_only_listed_ones_offered(file: File) -> None:
    file.write(shell={**SHELL, "actions": ["run", "pause"]})
    listing = file.load()
    assert names(listing) == ["shell_run"]
    unlisted, unknown = listing.problems
    assert "stop is not among its actions here" in str(unlisted)
    assert "it has no action 'pause'" in str(unknown)
    assert unknown.line == file.line('"pause"')


def test_W004_two_entries_whose_functions_have_one_name_are_both_named(file: File) -> None:
    (file.path.parent / file.package / "twins.py").write_text(
        TOOLS + "\n\nclass A(_Tool):\n    name = 'a'\n    def get_actions(self):\n"
        "        return [ActionDef('b_c', '')]\n\n\nclass AB(A):\n    name = 'a_b'\n    def get_actions(self):\n"
        "        return [ActionDef('c', '')]\n"
    )
    module = f"{file.package}.twins"
    file.write(a={"module": module, "class": "A"}, a_b={"module": module, "class": "AB"})
    listing = file.load()
    assert names(listing) == ["a_b_c"]
    assert only_problem(listing)[0].endswith("tool 'a_b': its action 'c' and 'b_c' of 'a' are both 'a_b_c'")


def test_an_unchanged_entry_keeps_its_object(file: File) -> None:
    file.write(shell=SHELL)
    before = file.load()
    file.write(open={"class": "OpenTool"}, shell=SHELL)
    after = file.load()
    assert object_of(after, "shell_run") is object_of(before, "shell_run")
    file.write(shell={**SHELL, "config": {"timeout_s": 1}})
    assert object_of(file.load(), "shell_run") is not object_of(before, "shell_run")


@pytest.mark.parametrize(
    "break_it",
    [
        lambda file: file.path.write_text("{"),
        lambda file: file.path.write_text('{"shell": 1}'),
        lambda file: file.write(shell={**SHELL, "config": {"timeout_s": "soon"}}),
        lambda file: file.write(shell={"class": "Gone"}),
    ],
)
def test_a_broken_edit_leaves_the_tool_as_it_was(file: File, break_it: Callable[[File], None]) -> None:
    file.write(shell=SHELL)
    before = file.load()
    break_it(file)
    broken = file.load()
    assert broken.tools == before.tools
    assert len(broken.problems) == 1
    file.write(shell=SHELL)
    assert file.load() == before


def test_a_file_that_is_gone_or_a_removed_entry_takes_the_tool_away(file: File) -> None:
    file.write(shell=SHELL)
    file.load()
    file.write(open={"class": "OpenTool"})
    assert names(file.load()) == ["open_run", "open_stop"]
    file.path.unlink()
    assert file.load() == Listing()
    assert list(file.source.paths()) == [file.path]


def test_a_tool_is_made_at_its_first_call_where_its_class_tells_its_actions(file: File) -> None:
    file.write(lazy={"class": "LazyTool"})
    registry = ToolRegistry()
    apply(registry, file.load(), set())
    assert file.module.MADE == []
    assert registry.execute("lazy_run", {})["success"]
    assert len(file.module.MADE) == 1


def test_the_registry_follows_the_file(file: File) -> None:
    registry, owned = ToolRegistry(), set[str]()
    file.write(shell=SHELL)
    assert apply(registry, file.load(), owned).added == ("shell_run", "shell_stop")
    first = registry.get_tool("shell")
    assert apply(registry, file.load(), owned).changed == frozenset()
    file.write(shell={**SHELL, "config": {"timeout_s": 1}, "actions": ["run"]})
    changes = apply(registry, file.load(), owned)
    assert (changes.replaced, changes.removed) == (("shell_run",), ("shell_stop",))
    assert registry.get_tool("shell") is not first
    assert registry.resolve_action("shell_run") == ("shell", "run")
    file.path.unlink()
    apply(registry, file.load(), owned)
    assert registry.get_tool("shell") is None


def test_W007_the_published_schema_is_current(tmp_path: Path) -> None:
    written = write_tools_schema(tmp_path).read_text(encoding="utf-8")
    assert PUBLISHED.read_text(encoding="utf-8") == written, f"write it anew: write_tools_schema({PUBLISHED.parent})"


def test_W007_the_published_schema_takes_both_forms_and_refuses_unknown_keys(file: File) -> None:
    validator = jsonschema_rs.validator_for(tools_schema())
    for nested in (True, False):
        file.write(
            head={"$schema": "tools.schema.json", "_remark": 1}, nested=nested, shell={**SHELL, "actions": ["run"]}
        )
        assert validator.is_valid(json.loads(file.path.read_text(encoding="utf-8")))
        file.write(nested=nested, shell={**SHELL, "enable": True})
        assert not validator.is_valid(json.loads(file.path.read_text(encoding="utf-8")))
