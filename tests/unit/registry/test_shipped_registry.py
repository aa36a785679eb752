"""The tools that toolcrib ships (contract T005-T007, T029)."""

from __future__ import annotations

from pathlib import Path

import jsonschema_rs
import pytest

from toolcrib.definition.ports import Listing
from toolcrib.definition.tool import Texts
from toolcrib.registry.sources.files import ToolFiles

ROOT = Path(__file__).parents[3]
REMOTE = ["launch_comfy_env", "runcomfy_workflow_executor", "runcomfy_stop_env", "liblibai_controlnet"]


@pytest.fixture(scope="module")
def listing() -> Listing:
    """What is shipped."""
    return ToolFiles([ROOT / "tools" / "local"], [ROOT / "registry.json"]).load()


def test_T015_the_shipped_files_are_without_problems(listing: Listing) -> None:
    assert [str(problem) for problem in listing.problems] == []


def test_T007_the_image_stitcher_is_listed_as_documented(listing: Listing) -> None:
    tool = next(tool for tool in listing.tools if tool.name == "image_stitcher")
    assert (tool.title, tool.description, tool.category) == ("图片拼接工具", "将多张图片拼接成一张", "cv")
    assert (tool.runtime, tool.group_ids) == ("local", ())
    assert set(tool.parameters["properties"]) >= {"images", "direction", "spacing", "background_color"}


def test_T005_the_group_is_listed_as_documented(listing: Listing) -> None:
    (group,) = listing.groups
    assert (group.group_id, group.backend_runtime) == ("runcomfy_lifecycle", "remote")
    assert (group.name, group.description) == ("ComfyUI 生命周期管理", "启动、执行、停止 ComfyUI 环境")
    assert group.tool_ids == group.usage_order == tuple(REMOTE[:3])
    assert set(group.translations) == {"zh", "en"}


def test_T029_the_four_remote_tools_are_listed(listing: Listing) -> None:
    tools = {tool.name: tool for tool in listing.tools if tool.runtime == "remote"}
    assert list(tools) == REMOTE
    assert [tool.group_ids for tool in tools.values()] == [("runcomfy_lifecycle",)] * 3 + [()]
    assert {tool.effects for tool in tools.values()} == {"external"}
    assert tools["launch_comfy_env"].risk == "high"
    assert {tool.risk for tool in tools.values()} == {"high", "medium"}
    assert tools["liblibai_controlnet"].title == "LibLib ControlNet"


@pytest.mark.parametrize("name", REMOTE)
def test_T029_each_remote_tool_has_texts_examples_and_schemas(listing: Listing, name: str) -> None:
    tool = next(tool for tool in listing.tools if tool.name == name)
    assert set(tool.translations) == {"zh", "en"}
    assert all(isinstance(words, Texts) and words.title and words.description for words in tool.translations.values())
    assert any(sentence.isascii() for sentence in tool.examples)
    assert any(not sentence.isascii() for sentence in tool.examples)
    assert tool.output_schema is not None
    for schema in (tool.parameters, tool.output_schema):
        assert schema["type"] == "object"
        assert all(schema["properties"])
        jsonschema_rs.validator_for(dict(schema))


@pytest.mark.parametrize(
    ("name", "secrets"),
    [
        ("launch_comfy_env", {"env:RUNCOMFY_API_TOKEN", "env:RUNCOMFY_USER_ID"}),
        ("liblibai_controlnet", {"env:LIBLIB_ACCESS_KEY", "env:LIBLIB_SECRET_KEY"}),
    ],
)
def test_T023_credentials_are_references(listing: Listing, name: str, secrets: set[str]) -> None:
    tool = next(tool for tool in listing.tools if tool.name == name)
    assert tool.deployment is not None
    assert tool.deployment.authentication is not None
    assert set(tool.deployment.authentication.secrets.values()) == secrets


@pytest.mark.parametrize(
    ("name", "arguments", "valid"),
    [
        ("launch_comfy_env", {"workflow_version_id": "v"}, True),
        ("launch_comfy_env", {}, False),
        ("launch_comfy_env", {"workflow_version_id": "v", "server_type": "huge"}, False),
        ("runcomfy_workflow_executor", {"server_id": "s", "workflow": {"6": {"class_type": "C", "inputs": {}}}}, True),
        ("runcomfy_workflow_executor", {"server_id": "s", "workflow": {"6": {"inputs": {}}}}, False),
        ("runcomfy_stop_env", {"server_id": "s"}, True),
        ("liblibai_controlnet", {"prompt": "a cat", "imgCount": 4, "aspectRatio": "square"}, True),
        ("liblibai_controlnet", {"prompt": "a cat", "controlnet": {"controlType": "pose"}}, False),
        (
            "liblibai_controlnet",
            {"prompt": "a cat", "aspectRatio": "square", "imageSize": {"width": 512, "height": 512}},
            False,
        ),
    ],
)
def test_T026_the_schemas_accept_what_the_services_document(
    listing: Listing, name: str, arguments: dict[str, object], valid: bool
) -> None:
    tool = next(tool for tool in listing.tools if tool.name == name)
    assert jsonschema_rs.validator_for(dict(tool.parameters)).is_valid(arguments) is valid
