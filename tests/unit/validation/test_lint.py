"""``toolcrib lint`` explains what models are sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from toolcrib.definition.tool import ToolDefinition
from toolcrib.interfaces.cli.intents import intents
from toolcrib.interfaces.cli.lint import lint as lint_command
from toolcrib.validation.checks_schemas import DIALECTS
from toolcrib.validation.lint import lint

MODULE = """
from typing import Any
from toolcrib import tool

@tool(effects="read", intents={"web_research": "recommended"}, examples=("search the docs",))
def look_up(query: str, options: dict[str, Any]) -> str:
    '''Looks up words in the docs.

    Args:
        query: what to look for.
    '''
    return query
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one module of tools."""
    name = f"linted_{abs(hash(tmp_path))}"
    (tmp_path / f"{name}.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.setenv("TOOLCRIB_PROJECT", str(tmp_path))
    monkeypatch.setenv("TOOLCRIB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TOOLCRIB_MODULES", json.dumps([name]))
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_M01_a_tool_is_shown_in_every_dialect() -> None:
    tool = ToolDefinition("ping", "Answers pong.", {"type": "object", "properties": {"n": {"type": "integer"}}})
    found = lint(tool)
    assert [each.dialect for each in found.sent] == list(DIALECTS)
    assert all(each.entry and each.tokens > 0 for each in found.sent)
    assert (found.alias, found.not_strict, found.undescribed, found.problems) == ("ping", None, ("n",), ())


def test_M02_an_alias_and_the_reason_against_strict_are_told() -> None:
    tool = ToolDefinition("docs.search", "", {"type": "object", "properties": {"q": {"type": "object"}}})
    found = lint(tool)
    assert found.alias == "docs_search_a7e557a3"
    assert found.not_strict == "q takes members of any name"
    assert found.remarks[0] == "it has no description, so a model has to guess what it does"


def test_W027_nested_parameters_without_a_description_are_named_by_path() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string", "description": "B."}}}
    parameters = {"type": "object", "properties": {"rows": {"type": "array", "description": "Rows.", "items": inner}}}
    assert lint(ToolDefinition("t", "T.", parameters)).undescribed == ("rows[].a",)


def test_W027_a_schema_that_cannot_be_used_is_a_problem_and_not_a_crash() -> None:
    assert lint(ToolDefinition("t", "T.", {"type": "objekt"})).problems
    assert lint(ToolDefinition("t", "T.", {"type": "object", "properties": {"a": {"$ref": "#/$defs/B"}}})).problems
    assert lint(ToolDefinition("t", "x" * 2000, {"type": "object"})).remarks[0].startswith("its description has 2000")


def test_W027_the_command_explains_a_tool(project: Path) -> None:
    outcome = CliRunner().invoke(lint_command, ["look_up"])
    assert outcome.exit_code == 0, outcome.output
    lines = outcome.output.splitlines()
    assert lines[0] == "look_up"
    assert lines[1].split() == ["openai", "about", lines[1].split()[2], "tokens"]
    assert "  strict mode of OpenAI: not possible: options takes members of any name" in lines
    assert "  ⚠️ options has no description" in lines


def test_W027_the_command_shows_what_is_sent(project: Path) -> None:
    shown = CliRunner().invoke(lint_command, ["qr_code", "--dialect", "anthropic"]).output
    assert json.loads(shown.partition("anthropic:\n")[2])["name"] == "qr_code"
    report = json.loads(CliRunner().invoke(lint_command, ["qr_code", "--json"]).output)
    assert set(report["functions"][0]["dialects"]) == set(DIALECTS)
    assert CliRunner().invoke(lint_command, ["qr_code", "--dialect", "nonsense"]).exit_code == 2


def test_W014_the_command_prints_the_tables(project: Path) -> None:
    tables = json.loads(CliRunner().invoke(intents, ["--format", "json"]).output)
    assert tables["INTENT_TOOL_MAPPING"]["web_research"] == ["look_up"]
    assert len(tables["INTENT_CATEGORIES"]) == 18


def test_W014_the_command_prints_the_tables_under_weclaws_names(project: Path) -> None:
    namespace: dict[str, object] = {}
    exec(CliRunner().invoke(intents, ["--names", "weclaw"]).output, namespace)
    assert namespace["INTENT_TOOL_MAPPING"]["research"] == ["look_up"]  # type: ignore[index]
