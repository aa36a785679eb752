"""What is wrong in a file is named with its line, what was expected, and what to do; the rest loads (contract T015)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.registry.project import TOOL, Project, group, remote
from toolcrib.definition.ports import Listing
from toolcrib.errors import SourceError
from toolcrib.registry.sources.files import ToolFiles


def only_problem(listing: Listing) -> SourceError:
    """The one problem of a listing."""
    assert len(listing.problems) == 1, [str(problem) for problem in listing.problems]
    return listing.problems[0]


TOML_MISTAKES = [
    ("timout = 3\n", 'unknown key "timout"', 'Did you mean "timeout"?'),
    ('timeout = "5"\n', '"timeout" should be a number, got "5"', None),
    ("timeout = 0\n", '"timeout" should be greater than 0, got 0', None),
    ("timeout = inf\n", '"timeout" should be a finite number, got Infinity', None),
    ("idle = -1\n", '"idle" should be greater than or equal to 0, got -1', None),
    ('method = "PUT"\n', "\"method\" should be 'POST' or 'GET', got \"PUT\"", None),
    ("examples = [\n 'fine',\n 3]\n", '"examples.1" should be a string, got 3', None),
    ('endpoint = "http://x/run"\n', '"endpoint": this is no path, got "http://x/run"', "Write the path alone"),
    ('environment = ["A=secret"]\n', '"environment.0": this is no name of an environment variable', "Give names only"),
    ('intents = {a = "best"}\n', "\"intents.a\" should be 'recommended' or 'alternative', got \"best\"", None),
    ('effects = "destroy"\n', '"effects" should be', None),
    ("category = ''\n", '"category": String should have at least 1 character', None),
    ('idempotent = "yes"\n', '"idempotent" should be a boolean, got "yes"', None),
    ("enabled = false\n", 'unknown key "enabled"', "Allowed are artifacts, auth, category"),
]


@pytest.mark.parametrize(("line", "message", "hint"), TOML_MISTAKES)
def test_T015_a_mistake_in_tool_toml_is_named_with_its_line(
    project: Project, line: str, message: str, hint: str | None
) -> None:
    project.write_tool("good")
    path = project.write_tool("bad", f"# a comment\n{line}" + TOOL.format(name="bad"))
    listing = project.load()
    problem = only_problem(listing)
    assert [tool.name for tool in listing.tools] == ["good"]
    assert (problem.path, problem.line) == (str(path), 1 + line.count("\n"))
    assert str(problem).startswith(f"{path}:{problem.line}: tool 'bad': {message}")
    assert problem.hint is None if hint is None else (problem.hint or "").startswith(hint)


TOML_TABLES = [
    ('name = "The bad"', "name = {fr = 'Le'}", 'unknown key "fr"', "Allowed are en, zh."),
    ('name = "The bad"', "name = 5", '"name" should be a text, or a table with texts in zh and en, got 5', None),
    ('name = "The bad"', "name = {}", '"name": a text in zh or en is missing', None),
    ('id = "bad"', 'id = "wrong"', "its id is 'wrong', and its folder is named 'bad'", 'Write id = "bad"'),
    ('id = "bad"', 'id = "a b"', "\"id\": The tool name 'a b' contains ' '", "Use letters"),
    ('type = "object"', 'type = "array"', "the parameters must be an object", 'Put type = "object"'),
    ('type = "string"', 'type = "strin"', 'there is no type "strin"', "Types are array, boolean"),
    ('type = "string"', "default = 1979-05-27", "JSON has no dates and times", "Write it as a text"),
    ('type = "string"', "maximum = inf", "JSON has no infinite numbers", "Leave the bound out."),
    ('type = "string"', '"$ref" = "https://x/y.json"', "another document", "Put it under $defs"),
]


@pytest.mark.parametrize(("old", "new", "message", "hint"), TOML_TABLES)
def test_T015_a_mistake_inside_a_table_is_named_with_its_line(
    project: Project, old: str, new: str, message: str, hint: str | None
) -> None:
    text = TOOL.format(name="bad").replace(old, new, 1)
    project.write_tool("bad", text)
    problem = only_problem(project.load())
    assert problem.line == text.split("\n").index(new) + 1
    assert message in str(problem)
    assert problem.hint is None if hint is None else (problem.hint or "").startswith(hint)


def test_T015_what_is_missing_is_named_with_what_it_is_for(project: Project) -> None:
    project.write_tool("bad", 'id = "bad"\nname = "Bad"\n[input_schema]\ntype = "object"\n')
    problem = only_problem(project.load())
    assert str(problem).endswith(":1: tool 'bad': \"description\" is missing")
    assert (problem.hint or "").startswith("What the tool does")


@pytest.mark.parametrize(
    ("auth", "message"),
    [
        ('type = "bearer"\ntoken = "sk-very-secret"', '"auth.token": a secret is named, never written down'),
        ('type = "bearer"\ntokn = "env:A"', 'type "bearer" needs "token"'),
        ('type = "hmac"\naccess_key = "env:A"', 'type "hmac" needs "secret_key"'),
        ('type = "query"\ntoken = "env:A"', 'type "query" needs "name"'),
        ('type = "basic"\ntoken = "env:A"', "\"auth.type\" should be 'bearer', 'header', 'query' or 'hmac'"),
    ],
)
def test_T023_secrets_are_references_and_never_shown(project: Project, auth: str, message: str) -> None:
    project.write_tool("bad", TOOL.format(name="bad") + f"[auth]\n{auth}\n")
    problem = only_problem(project.load())
    assert message in str(problem)
    assert "sk-very-secret" not in f"{problem} {problem.hint}"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('id = "bad"\nname = \n', 2, "not valid TOML: Invalid value"),
        ('id = "bad"\nname = "x', 2, "not valid TOML"),
        ('id = "bad"\nid = "bad"\n', 2, "not valid TOML: Cannot overwrite a value"),
    ],
)
def test_T015_a_syntax_error_in_tool_toml_is_named_with_its_line(
    project: Project, text: str, line: int, message: str
) -> None:
    project.write_tool("bad", text)
    problem = only_problem(project.load())
    assert problem.line == line
    assert message in str(problem)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('{\n "tools": [\n}', 3, "not valid JSON: Expecting value"),
        ('{\n "tools": [],\n "tools": []}', 3, 'the key "tools" stands twice'),
        ('{"tools":\n [{"timeout": NaN}]}', 2, "not valid JSON: NaN is no number"),
        ("[]", 1, "the file must hold one object"),
        ('{"version": 2,\n"tools": []}', 1, '"version" should be 1, got 2'),
        ('{"version": 1,\n"tool": []}', 2, 'unknown key "tool"'),
        ('{"version": 1,\n"tools": {}}', 2, '"tools" should be a list, got an object'),
        ('{"tools": [\n5]}', 2, "tool number 1: it should be an object, got 5"),
        ('{"tools": [{},\n{"name": "x"}]}', 1, 'tool number 1: "tool_id" is missing'),
        ("[" * 100_000, None, "the objects are nested too deeply"),
    ],
)
def test_T015_a_mistake_in_registry_json_is_named_with_its_line(
    project: Project, text: str, line: int | None, message: str
) -> None:
    project.registry.write_text(text)
    problem = project.load().problems[0]
    assert (problem.path, problem.line) == (str(project.registry), line)
    assert message in str(problem)


def test_T015_a_file_that_is_not_utf_8_is_named_with_the_line(project: Project) -> None:
    project.registry.write_bytes('{"tools": [],\n "名": 1}'.encode("gbk"))
    problem = only_problem(project.load())
    assert problem.line == 2
    assert "not UTF-8" in str(problem)


def _broken(**changes: Any) -> dict[str, Any]:
    entry = {**remote("bad"), **changes}
    return {key: value for key, value in entry.items() if value is not ...}


@pytest.mark.parametrize(
    ("entry", "key", "message"),
    [
        (_broken(url="ftp://x"), '"url"', '"url": this is no usable URL'),
        (_broken(url="https://me:secret@x"), '"url"', '"url": this is no usable URL'),
        (
            _broken(backend_runtime="cloud"),
            '"backend_runtime"',
            "\"backend_runtime\" should be 'local', 'docker' or 'remote'",
        ),
        (_broken(backend_runtime="docker"), '"tool_id": "bad"', 'needs an "image" or a "container_id" under "options"'),
        (_broken(url=...), '"tool_id": "bad"', 'a remote tool needs a "url"'),
        (_broken(description=...), '"tool_id": "bad"', '"description" is missing'),
        (_broken(backend_runtime=...), '"tool_id": "bad"', '"backend_runtime" is missing'),
        (_broken(backend_runtime="local", directory="no"), '"directory"', "there is no main.py in"),
        (_broken(output_schema={"type": "objekt"}), '"type": "objekt"', 'there is no type "objekt"'),
        (_broken(output_schema={"$ref": "#/$defs/no"}), '"output_schema"', '"output_schema"'),
        (_broken(input_schema="in.json"), '"input_schema"', '"input_schema" should be an object, got "in.json"'),
        (_broken(enabled="no"), '"enabled"', '"enabled" should be a boolean, got "no"'),
        (_broken(timeout=None), '"timeout"', '"timeout" should be a number, got null'),
    ],
)
def test_T015_a_wrong_entry_of_registry_json_is_named_with_its_line(
    project: Project, entry: dict[str, Any], key: str, message: str
) -> None:
    project.write_registry(remote("good"), entry)
    listing = project.load()
    problem = only_problem(listing)
    lines = project.registry.read_text().split("\n")
    expected = max(number for number, line in enumerate(lines, 1) if key in line)
    assert [tool.name for tool in listing.tools] == ["good"]
    assert problem.line in (expected, expected - 1 if key.startswith('"tool_id"') else expected)
    assert "tool 'bad'" in str(problem)
    assert message in str(problem)


def test_T006_a_tool_that_stands_twice_in_a_file_is_refused_the_second_time(project: Project) -> None:
    project.write_registry(remote("far", category="first"), remote("far", category="second"))
    listing = project.load()
    assert [tool.category for tool in listing.tools] == ["first"]
    assert "it stands twice in this file" in str(only_problem(listing))


def test_T005_references_between_groups_and_tools_must_be_valid(project: Project) -> None:
    project.write_registry(
        remote("apple", group_ids=["h"]),
        remote("pear", group_ids=["g", "nowhere"]),
        groups=[group("g", "apple", "peer"), group("h", "apple")],
    )
    listing = project.load()
    assert [str(problem).split(": ", 1)[1] for problem in listing.problems] == [
        "group 'g': there is no tool 'peer'",
        "tool 'apple': the group 'g' lists it, and it does not name the group",
        "tool 'pear': the group 'g' does not list it",
        "tool 'pear': there is no group 'nowhere'",
    ]
    assert listing.problems[0].hint == "Did you mean 'pear'?"
    assert [found.tool_ids for found in listing.groups] == [("apple",), ("apple",)]
    assert [tool.group_ids for tool in listing.tools] == [("g", "h"), ()]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"usage_order": ["a"]}, '"usage_order" must hold the same tools as "tool_ids"'),
        ({"usage_order": ["a", "a"]}, '"usage_order" must hold the same tools as "tool_ids"'),
        ({"tool_ids": ["a", "b", "a"]}, "a stands twice"),
        ({"tool_ids": []}, '"tool_ids": List should have at least 1 item'),
        ({"order": ["a"]}, 'unknown key "order"'),
    ],
)
def test_T005_a_wrong_group_is_refused_with_its_line(project: Project, fields: dict[str, Any], message: str) -> None:
    project.write_registry(remote("a"), remote("b"), groups=[group("g", "a", "b", **fields)])
    listing = project.load()
    problem = only_problem(listing)
    line = project.registry.read_text().split("\n")[(problem.line or 0) - 1]
    assert f'"{next(iter(fields))}"' in line
    assert f"group 'g': {message}" in str(problem)
    assert (listing.groups, len(listing.tools)) == ((), 2)


def test_T036_a_folder_without_tool_toml_is_told_what_is_missing(project: Project) -> None:
    path = project.write_tool("bare")
    path.unlink()
    (path.parent / "main.py").write_text("# /// script\n# dependencies = []\n# ///\n")
    problem = only_problem(project.load())
    assert "tool 'bare': tool.toml is missing beside main.py" in str(problem)
    assert (problem.hint or "").startswith('Write one with id = "bare"')


def test_T036_a_folder_without_main_py_is_told_what_is_missing(project: Project) -> None:
    path = project.write_tool("empty")
    (path.parent / "main.py").unlink()
    problem = only_problem(project.load())
    assert f"tool 'empty': there is no main.py in {path.parent}" in str(problem)


@pytest.mark.parametrize(
    ("value", "content", "file", "line", "message"),
    [
        ("no.json", None, "tool.toml", 4, "there is no file no.json in the folder"),
        ("../../../registry.json", None, "tool.toml", 4, "lies outside the folder"),
        ("in.json", '{\n"type": "object",\n"required": 3}', "in.json", 3, "3 is not of type"),
        ("in.json", '{\n"type": "array"}', "in.json", 2, "the parameters must be an object"),
        ("in.json", '{\n"type"}', "in.json", 2, "not valid JSON"),
    ],
)
def test_T015_a_schema_in_a_file_of_its_own_is_checked_too(
    project: Project, value: str, content: str | None, file: str, line: int, message: str
) -> None:
    manifest = f'id = "bad"\nname = "Bad"\ndescription = "Bad."\ninput_schema = "{value}"\n'
    path = project.write_tool("bad", manifest)
    if content is not None:
        (path.parent / value).write_text(content)
    problem = only_problem(project.load())
    assert (problem.path, problem.line) == (str(path.parent / file), line)
    assert message in str(problem)


def test_T015_a_file_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    directory = tmp_path / "registry.json"
    directory.mkdir()
    problem = only_problem(ToolFiles([], [directory]).load())
    assert "cannot be read: Is a directory" in str(problem)


def test_T015_several_mistakes_are_named_at_once_in_the_order_of_their_lines(project: Project) -> None:
    project.registry.write_text(
        json.dumps({"tools": [remote("a", timout=1, method="PUT"), remote("b"), remote("c", risk=3)]}, indent=1)
    )
    listing = project.load()
    assert [tool.name for tool in listing.tools] == ["b"]
    lines = [problem.line or 0 for problem in listing.problems]
    assert len(lines) == 3
    assert lines == sorted(lines)
