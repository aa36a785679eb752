"""A broken edit of the files never changes what is listed (contract T015)."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.registry.project import Project, group, remote
from toolcrib.definition.tool import ToolDefinition
from toolcrib.registry.sources.document import parse_document
from toolcrib.registry.sources.files import ToolFiles
from toolcrib.registry.sources.folder import legal_id

Json = dict[str, Any]
FOLDERS = ("x", "y")
FAR = ("far", "off")


@st.composite
def documents(draw: st.DrawFn) -> Json:
    """A registry.json in which everything is right: adjustments of local tools, remote tools, a group of them."""
    said: list[Json] = [{}, {"enabled": True}, {"enabled": False}, {"enabled": False, "timeout": 3}, {"timeout": 4}]
    names: list[str] = draw(st.lists(st.sampled_from((*FOLDERS, *FAR)), unique=True))
    has_group: bool = draw(st.booleans())
    tools = []
    for name in names:
        adjustment = draw(st.sampled_from(said))
        tools.append(remote(name, **adjustment) if name in FAR else {"tool_id": name, **adjustment})
    there = [name for name in names if name in FAR]
    groups = [group("g", *there)] if there and has_group else []
    return {"version": 1, "groups": groups, "tools": tools}


BREAKS = (
    "unknown key",
    "wrong type",
    "no id",
    "id of another type",
    "twice",
    "twice, the new one first",
    "tools is no list",
    "slip in tools",
    "slip in groups",
    "no object",
    "group without tools",
    "group without id",
    "cut off",
    "no comma",
    "not UTF-8",
)
edits = st.lists(st.tuples(st.sampled_from(BREAKS), st.integers(0, 9)), min_size=1, max_size=4)


def broken(document: Json, kind: str, number: int) -> Json | bytes:
    """The document with one mistake in it, or its text where that is no JSON any more."""
    changed = copy.deepcopy(document)
    tools, groups = changed.get("tools"), changed.get("groups")
    entry = tools[number % len(tools)] if isinstance(tools, list) and tools else None
    if isinstance(tools, list) and isinstance(entry, dict):
        match kind:
            case "unknown key":
                entry["timout"] = 3
            case "wrong type":
                entry["enabled"] = "no"
            case "no id":
                entry.pop("tool_id", None)
            case "id of another type":
                entry["tool_id"] = 5
            case "twice" | "twice, the new one first":
                other = {**entry, "enabled": not entry.get("enabled", True)}
                tools.insert(0 if "first" in kind else len(tools), other)
            case "no object":
                tools[tools.index(entry)] = "far"
    if kind == "tools is no list" and isinstance(tools, list):
        changed["tools"] = {}
    if kind.startswith("slip in ") and kind.removeprefix("slip in ") in changed:
        changed[kind[:-1]] = changed.pop(kind.removeprefix("slip in "))
    if isinstance(groups, list) and groups and isinstance(groups[0], dict):
        if kind == "group without tools":
            groups[0].pop("tool_ids", None)
        if kind == "group without id":
            groups[0].pop("group_id", None)
    text = json.dumps(changed, indent=2).encode()
    if kind == "cut off":
        return text[: len(text) * (number + 1) // 12]
    if kind == "no comma":
        return text.replace(b",", b"", 1)
    if kind == "not UTF-8":
        return text.replace(b"1", b"\xff", 1)
    return changed


def write(path: Path, content: Json | bytes) -> None:
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content, indent=2).encode())


def listed(source: ToolFiles) -> tuple[Mapping[str, ToolDefinition], Mapping[str, Any], bool]:
    """What the source lists by name, and whether it complains."""
    listing = source.load()
    tools = {tool.name: tool for tool in listing.tools}
    return tools, {found.group_id: found for found in listing.groups}, bool(listing.problems)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(documents(), edits), min_size=1, max_size=3))
def test_T015_a_broken_edit_never_changes_what_is_listed(history: list[tuple[Json, list[tuple[str, int]]]]) -> None:
    with TemporaryDirectory() as root:
        project = Project(Path(root))
        for name in FOLDERS:
            project.write_tool(name)
        for good, mistakes in history:
            write(project.registry, good)
            expected = listed(ToolFiles([project.folder], [project.registry]))
            assert listed(project.source) == expected
            assert not expected[2]
            for kind, number in mistakes:
                document = broken(good, kind, number)
                write(project.registry, document)
                assert listed(project.source) == (*expected[:2], document != good), (kind, number)


def test_T015_a_disabled_tool_stays_disabled_when_its_entry_breaks(project: Project) -> None:
    project.write_tool("x")
    project.write_registry({"tool_id": "x", "enabled": False})
    assert project.tools() == {}
    project.write_registry({"tool_id": "x", "enabled": False, "timout": 3})
    assert project.load().tools == ()
    project.registry.write_text("{")
    assert project.load().tools == ()
    project.write_registry({"tool_id": "x", "enabled": True})
    assert list(project.tools()) == ["x"]


def test_T015_a_broken_entry_that_switches_off_does_so_at_the_first_load_too(project: Project) -> None:
    project.write_tool("x")
    project.write_registry({"tool_id": "x", "enabled": False, "timout": 3})
    assert project.load().tools == ()


def test_T015_a_tool_can_be_switched_off_while_its_manifest_is_broken(project: Project) -> None:
    path = project.write_tool("x")
    assert list(project.tools()) == ["x"]
    path.write_text("id = ")
    assert [tool.name for tool in project.load().tools] == ["x"]
    project.write_registry({"tool_id": "x", "enabled": False})
    assert project.load().tools == ()


def test_why_a_tool_is_absent_is_known(project: Project) -> None:
    project.write_tool("x")
    project.write_tool("there")
    bare = project.write_tool("bare")
    bare.unlink()
    wrong = project.write_tool("wrong", 'id = "wrong"\n')
    project.write_registry(
        {"tool_id": "x", "enabled": False}, {"tool_id": "half", "name": "Half", "backend_runtime": "remote"}
    )
    project.load()
    why = project.source.why_absent
    line = next(n for n, text in enumerate(project.registry.read_text().splitlines(), 1) if '"enabled"' in text)
    assert why("x") == f"{project.registry}:{line} switches it off"
    assert why("bare") == f"there is a folder {bare.parent} without tool.toml"
    assert str(wrong) in str(why("wrong"))
    assert f"{project.registry}:" in str(why("half"))
    assert why("there") is None
    assert why("nothing") is None
    project.write_registry()
    project.load()
    assert why("x") is None


@pytest.mark.parametrize("name", ["my tool", "字数", "a+b", "my_tool"])
def test_a_hint_never_suggests_an_id_that_is_refused(project: Project, name: str) -> None:
    path = project.write_tool(name)
    path.unlink()
    (problem,) = project.load().problems
    assert problem.hint is not None
    assert f'id = "{legal_id(name)}"' in problem.hint
    path.write_text(f'id = "{legal_id(name)}x"\nname = "N"\ndescription = "D."\n[input_schema]\ntype = "object"\n')
    (problem,) = project.load().problems
    assert problem.hint is not None
    assert "Rename the folder to" in problem.hint or f'id = "{name}"' in problem.hint
    assert name == legal_id(name) or f'"{name}"' not in problem.hint


SLIPS = {
    '{"tools": [1,]}': "comma",
    "{'tools': []}": "double quotation marks",
    "{“tools”: []}": "straight",
    '{"tools": [] "groups": []}': "','",
    '{"tools" []}': "':'",
    '{"tools": [': "ends too early",
    "": "empty",
    '{"a": True}': "true",
    "// words\n{}": "comments",
    '{"a": 1} x': "one object",
    '{"a": "b\nc"}': "line break",
    '{"a": "\\q"}': "backslash",
    '{"a": NaN}': "null",
    '{"a": 1, "a": 2}': "Keep one",
    "[]": "{",
    "{a: 1}": "double quotation marks",
}


@pytest.mark.parametrize("text", SLIPS)
def test_T015_every_slip_in_json_gets_a_hint(text: str, tmp_path: Path) -> None:
    path = tmp_path / "registry.json"
    with pytest.raises(Exception, match=r"registry\.json") as caught:
        parse_document(path, text.encode())
    assert SLIPS[text] in str(caught.value.hint)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text", ["a = ", "a = b", "a", "a = 1\na = 2", "[a\n", 'a = "b', "[a]\n[a]\n", "= 1", "a = True"]
)
def test_T015_every_slip_in_toml_gets_a_hint(text: str, tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"tool\.toml") as caught:
        parse_document(tmp_path / "tool.toml", text.encode())
    assert caught.value.hint  # type: ignore[attr-defined]
