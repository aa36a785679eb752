"""Files that change while the service runs (contract T015)."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from tests.unit.registry.project import TOOL, Project, group, remote


def test_T015_an_edit_is_seen_at_the_next_load(project: Project) -> None:
    project.write_registry(remote("far", category="a"))
    before = project.tools()["far"]
    project.write_registry(remote("far", category="b"), remote("new"))
    after = project.tools()
    assert before.category == "a"
    assert {name: tool.category for name, tool in after.items()} == {"far": "b", "new": "general"}
    project.write_registry(remote("new"))
    assert list(project.tools()) == ["new"]
    project.registry.unlink()
    assert project.tools() == {}


def test_T015_nothing_changed_means_equal_definitions(project: Project) -> None:
    project.write_tool("near")
    project.write_registry(remote("far"), groups=[group("g", "far")])
    assert project.load() == project.load()


def test_T015_a_broken_registry_json_keeps_its_last_good_content_and_names_the_line(project: Project) -> None:
    project.write_tool("near")
    project.write_registry(remote("far"), groups=[group("g", "far")])
    good = project.load()
    text = project.registry.read_text()
    project.registry.write_text(text.replace('"far",', '"far"', 1))
    for _ in range(2):
        listing = project.load()
        assert (listing.tools, listing.groups) == (good.tools, good.groups)
        (problem,) = listing.problems
        assert "not valid JSON" in str(problem)
        assert problem.line == text[: text.index('"far",')].count("\n") + 1
    project.registry.write_text(text)
    assert project.load() == good


def test_T015_a_broken_tool_toml_keeps_its_last_good_content_and_names_the_line(project: Project) -> None:
    path = project.write_tool("near")
    good = project.load()
    path.write_text('id = "near"\nname = "unfinished')
    listing = project.load()
    assert listing.tools == good.tools
    assert [(problem.path, problem.line) for problem in listing.problems] == [(str(path), 2)]
    path.write_text(TOOL.format(name="near").replace("Does what", "Now does what"))
    assert project.tools()["near"].description == "Now does what a near does."


def test_T015_a_tool_whose_entry_has_become_wrong_stays_what_it_was(project: Project) -> None:
    project.write_registry(remote("far", category="a"), remote("other"))
    project.load()
    project.write_registry(remote("far", category="b", timeout="soon"), remote("other", category="c"))
    listing = project.load()
    assert {tool.name: tool.category for tool in listing.tools} == {"far": "a", "other": "c"}
    assert len(listing.problems) == 1
    project.write_registry(remote("far", category="b", timeout=5), remote("other", category="c"))
    assert project.tools()["far"].category == "b"


def test_T015_an_entry_that_no_longer_joins_to_a_tool_stays_what_it_was(project: Project) -> None:
    project.write_registry(remote("far"))
    good = project.load()
    entry = remote("far")
    del entry["url"]
    project.write_registry(entry)
    listing = project.load()
    assert listing.tools == good.tools
    assert 'a remote tool needs a "url"' in str(listing.problems[0])


def test_T015_while_nobody_knows_which_tool_an_entry_is_none_goes_away(project: Project) -> None:
    project.write_tool("near")
    project.write_registry(remote("far"), remote("other"))
    project.load()
    misspelt = remote("far")
    misspelt["tool_idd"] = misspelt.pop("tool_id")
    project.write_registry(misspelt, remote("other", category="new"))
    listing = project.load()
    assert {tool.name: tool.category for tool in listing.tools} == {"near": "general", "other": "new", "far": "general"}
    assert 'tool number 1: unknown key "tool_idd"' in "".join(map(str, listing.problems))


def test_T015_a_wrong_override_leaves_the_tool_as_its_folder_says(project: Project) -> None:
    project.write_tool("near")
    project.write_registry({"tool_id": "near", "timeout": -1})
    listing = project.load()
    assert [(tool.name, tool.timeout) for tool in listing.tools] == [("near", None)]
    assert '"timeout" should be greater than 0' in str(listing.problems[0])


def test_T015_a_group_that_has_become_wrong_stays_what_it_was(project: Project) -> None:
    project.write_registry(remote("a"), remote("b"), groups=[group("g", "a", "b")])
    good = project.load()
    project.write_registry(remote("a"), remote("b"), groups=[group("g", "a", "b", usage_order=["a"])])
    assert project.load().groups == good.groups
    project.write_registry(remote("a"), remote("b"))
    assert project.load().groups == ()


def test_T015_a_folder_that_is_deleted_takes_its_tool_away(project: Project) -> None:
    path = project.write_tool("near")
    assert list(project.tools()) == ["near"]
    for file in path.parent.iterdir():
        file.unlink()
    path.parent.rmdir()
    assert project.tools() == {}


def test_T015_another_program_is_another_deployment(project: Project) -> None:
    path = project.write_tool("near")
    before = project.tools()["near"]
    log = path.parent / "tests" / "last_run.log"
    log.parent.mkdir()
    log.write_text("started")
    assert project.tools()["near"] == before
    (path.parent / "main.py").write_text("print('another')\n")
    changed = project.tools()["near"]
    assert changed != before
    (path.parent / "helper.py").write_text("")
    assert project.tools()["near"] not in (before, changed)


def test_T015_a_schema_in_a_file_of_its_own_is_read_again(project: Project) -> None:
    manifest = 'id = "near"\nname = "Near"\ndescription = "Near."\ninput_schema = "in.json"\n'
    path = project.write_tool("near", manifest)
    schema = path.parent / "in.json"
    schema.write_text('{"type": "object"}')
    good = project.tools()["near"]
    schema.write_text('{"type": "obj')
    listing = project.load()
    assert listing.tools == (good,)
    assert [problem.path for problem in listing.problems] == [str(schema)]
    schema.write_text('{"type": "object", "required": ["a"]}')
    assert project.tools()["near"].parameters["required"] == ["a"]


def _replace(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(text)
    temporary.replace(path)


def test_T015_tools_are_never_lost_while_files_are_rewritten(project: Project) -> None:
    names = [f"far_{number}" for number in range(20)]
    path = project.write_tool("near")
    project.write_registry(*(remote(name) for name in names))
    assert len(project.tools()) == 21
    done = threading.Event()
    failures: list[str] = []

    def edit() -> None:
        for round_ in range(60):
            text = json.dumps({"tools": [remote(name, category=f"c{round_}") for name in names]}, indent=2)
            toml = TOOL.format(name="near") + f"title = 'round {round_}'\n"
            if round_ % 2:
                _replace(project.registry, text)
                _replace(path, toml)
            else:
                for target, whole in ((project.registry, text), (path, toml)):
                    with target.open("w") as stream:  # as an editor that writes in place, in pieces
                        for start in range(0, len(whole), 997):
                            stream.write(whole[start : start + 997])
                            stream.flush()
        done.set()

    writer = threading.Thread(target=edit)
    writer.start()
    loads = 0
    while not done.is_set() or loads == 0:
        found = {tool.name for tool in project.load().tools}
        if found != {"near", *names}:
            failures.append(f"load {loads}: {sorted({'near', *names} - found)} missing")
        loads += 1
    writer.join()
    assert failures == []
    assert {tool.category for tool in project.tools().values()} == {"general", "c59"}
