"""Which tools the files of a project define (contract T005-T007, T015, T036)."""

from __future__ import annotations

import json
import time
from pathlib import Path

from tests.unit.registry.project import SLACK, Project, group, remote
from toolcrib.definition.deployment import Authentication, Deployment
from toolcrib.definition.tool import Texts
from toolcrib.registry.sources.files import ToolFiles

FULL = """\
id = "stitcher"
category = "cv"
groups = []
endpoint = "/join/run"
method = "GET"
launch = "uv-run"
artifacts = "path"
effects = "none"
idempotent = true
risk = "medium"
timeout = 5
idle = 0
start_timeout = 1.5
emoji = "🧩"
version = "1.2"
examples = ["把图片拼起来", "Join the pictures"]
environment = ["HTTP_PROXY"]
input_schema = "input.json"

[name]
zh = "拼接"
en = "Stitcher"

[description]
zh = "把图片拼成一张"
en = "Joins pictures"

[output_schema]
type = "object"

[auth]
type = "header"
name = "X-Key"
token = "env:KEY"

[intents]
images = "recommended"
"""


def test_T015_nothing_there_is_nothing_wrong(project: Project) -> None:
    listing = project.load()
    assert (listing.tools, listing.groups, listing.problems) == ((), (), ())


def test_T036_a_folder_with_tool_toml_and_main_py_is_a_local_tool(project: Project) -> None:
    path = project.write_tool("stitcher", FULL)
    (path.parent / "input.json").write_text('{"type": "object", "required": ["images"]}')
    tool = project.tools()["stitcher"]
    assert (tool.title, tool.description, tool.category) == ("拼接", "把图片拼成一张", "cv")
    assert tool.translations == {"zh": Texts("拼接", "把图片拼成一张"), "en": Texts("Stitcher", "Joins pictures")}
    assert tool.parameters == {"type": "object", "required": ["images"]}
    assert (tool.output_schema, tool.effects, tool.idempotent, tool.risk) == (
        {"type": "object"},
        "none",
        True,
        "medium",
    )
    assert (tool.emoji, tool.version, tool.timeout) == ("🧩", "1.2", 5)
    assert tool.examples == ("把图片拼起来", "Join the pictures")
    assert (tool.intents, tool.source) == ({"images": "recommended"}, str(path))
    deployment = tool.deployment
    assert deployment is not None
    assert deployment == Deployment(
        runtime="local",
        directory=path.parent,
        endpoint="join/run",
        method="GET",
        launch="uv-run",
        artifacts="path",
        timeout=5,
        idle_timeout=0,
        start_timeout=1.5,
        environment=("HTTP_PROXY",),
        authentication=Authentication("header", {"token": "env:KEY"}, "X-Key"),
        options=deployment.options,
    )


def test_T015_registry_json_wins_over_tool_toml_field_by_field(project: Project) -> None:
    path = project.write_tool("stitcher")
    project.write_registry({"tool_id": "stitcher", "timeout": 9, "category": "pictures"})
    tool = project.tools()["stitcher"]
    assert (tool.timeout, tool.category, tool.title) == (9, "pictures", "The stitcher")
    assert tool.deployment is not None
    assert (tool.deployment.timeout, tool.deployment.directory) == (9, path.parent)


def test_T015_a_later_registry_json_wins_over_an_earlier_one(project: Project, tmp_path: Path) -> None:
    project.write_tool("stitcher")
    project.write_registry({"tool_id": "stitcher", "timeout": 9, "category": "a"})
    later = tmp_path / "later.json"
    later.write_text(json.dumps({"tools": [{"tool_id": "stitcher", "category": "b"}, remote("far")]}))
    listing = ToolFiles([project.folder], [project.registry, later]).load()
    assert [(tool.name, tool.category, tool.timeout) for tool in listing.tools] == [
        ("stitcher", "b", 9),
        ("far", "general", None),
    ]


def test_T036_a_tool_of_the_same_name_in_a_later_folder_replaces_the_earlier_one(
    project: Project, tmp_path: Path
) -> None:
    project.write_tool("stitcher", FULL.replace('input_schema = "input.json"', 'input_schema = {type = "object"}'))
    mine = Project(tmp_path / "mine")
    path = mine.write_tool("stitcher")
    (tool,) = ToolFiles([project.folder, mine.folder], []).load().tools
    assert (tool.title, tool.category, tool.source) == ("The stitcher", "general", str(path))


def test_T036_where_the_later_folder_is_wrong_the_earlier_tool_does_not_run_in_its_place(
    project: Project, tmp_path: Path
) -> None:
    project.write_tool("stitcher")
    mine = Project(tmp_path / "mine")
    mine.write_tool("stitcher", 'id = "stitcher"')
    listing = ToolFiles([project.folder, mine.folder], []).load()
    assert listing.tools == ()
    assert {problem.path for problem in listing.problems} == {str(mine.folder / "stitcher" / "tool.toml")}


def test_T015_registry_json_can_take_a_tool_away(project: Project) -> None:
    project.write_tool("stitcher")
    project.write_registry({"tool_id": "stitcher", "enabled": False}, remote("far", enabled=True))
    assert list(project.tools()) == ["far"]


def test_T006_registry_json_alone_defines_a_local_tool_as_the_document_does(project: Project) -> None:
    path = project.write_tool("stitcher")
    path.unlink()
    entry = {**remote("stitcher"), "backend_runtime": "local"}
    del entry["url"]
    project.write_registry(entry)
    tool = project.tools()["stitcher"]
    assert tool.runtime == "local"
    assert tool.deployment is not None
    assert tool.deployment.directory == path.parent


def test_T006_a_local_tool_may_lie_elsewhere(project: Project, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "tool"
    elsewhere.mkdir(parents=True)
    (elsewhere / "main.py").touch()
    entry = {**remote("far"), "backend_runtime": "local", "directory": "elsewhere/tool"}
    project.write_registry(entry)
    deployment = project.tools()["far"].deployment
    assert deployment is not None
    assert deployment.directory == elsewhere
    assert elsewhere in project.source.paths()


def test_T006_docker_tools_name_their_image(project: Project) -> None:
    project.write_registry({**remote("boxed"), "backend_runtime": "docker", "options": {"image": "tool:1", "port": 80}})
    deployment = project.tools()["boxed"].deployment
    assert deployment is not None
    assert (deployment.runtime, deployment.options) == ("docker", {"image": "tool:1", "port": 80})


def test_T006_a_plain_text_is_the_documents_own_and_has_no_translation(project: Project) -> None:
    project.write_registry(remote("far", description={"en": "Only English"}))
    tool = project.tools()["far"]
    assert (tool.title, tool.description) == ("The far", "Only English")
    assert tool.translations == {"en": Texts(None, "Only English")}


def test_T005_groups_are_listed_and_their_tools_name_them(project: Project) -> None:
    project.write_registry(remote("a"), remote("b"), groups=[group("g", "a", "b", usage_order=["b", "a"])])
    listing = project.load()
    (found,) = listing.groups
    assert (found.name, found.tool_ids, found.usage_order) == ("一组", ("a", "b"), ("b", "a"))
    assert found.translations == {"zh": Texts("一组"), "en": Texts("A group")}
    assert [tool.group_ids for tool in listing.tools] == [("g",), ("g",)]
    assert listing.problems == ()


def test_T005_a_group_whose_tools_are_all_disabled_is_not_listed(project: Project) -> None:
    project.write_registry(remote("a", enabled=False), remote("b"), groups=[group("g", "a"), group("h", "a", "b")])
    listing = project.load()
    assert [(found.group_id, found.tool_ids, found.usage_order) for found in listing.groups] == [("h", ("b",), ("b",))]
    assert listing.problems == ()


def test_T015_a_file_with_a_byte_order_mark_is_read(project: Project) -> None:
    project.registry.write_bytes(b"\xef\xbb\xbf" + json.dumps({"tools": [remote("far")]}).encode())
    assert list(project.tools()) == ["far"]


def test_T015_the_source_names_what_to_watch(project: Project) -> None:
    assert list(project.source.paths()) == [project.folder, project.registry]


def test_T036_hidden_and_private_folders_hold_no_tools(project: Project) -> None:
    for name in (".git", "__pycache__", "_shared"):
        project.write_tool(name, "nonsense")
    (project.folder / "README.md").touch()
    assert project.tools() == {}


def test_T015_a_thousand_tools_load_within_two_seconds(project: Project) -> None:
    for number in range(1000):
        project.write_tool(f"tool_{number}")
    started = time.process_time()
    assert len(project.tools()) == 1000
    assert time.process_time() - started < 2 * SLACK
    started = time.process_time()
    assert len(project.tools()) == 1000
    assert time.process_time() - started < 0.5 * SLACK
