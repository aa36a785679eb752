"""The code of S3 (WeClaw), as the article prints it, on top of toolcrib."""

from __future__ import annotations

import ast
import json
import logging
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.documents.blocks import Blocks
from toolcrib import BaseTool, Crib, compat
from toolcrib.exposure.intents import keyword_intents
from toolcrib.registry.sources.constructor import constructor_of
from toolcrib.registry.sources.tools_json import ToolsJson
from toolcrib.testing import call, temporary_crib

ROOT = Path(__file__).resolve().parents[2]

TEXT = '{"type": "string", ...}'
DESCRIPTIONS = {
    "file_path": "要发送的本地文件绝对路径",
    "transcript": "语音的文字内容",
    "description": "文件描述（会显示在 PWA 端）",
    "user_id": "目标 PWA 用户 ID（留空则发送给当前会话用户）",
}


def described(*names: str) -> dict[str, str]:
    """The gaps in the descriptions of parameters."""
    return {
        f'"{name}": {TEXT}': f'"{name}": {{"type": "string", "description": "{DESCRIPTIONS[name]}"}}' for name in names
    }


GAPS = {
    "class": {
        '"""定义工具支持的动作列表。"""\n        ...': "return get_actions(self)",
        '"""执行指定动作。"""\n        ...': """wrong = self._check_bridge()
        if wrong:
            return wrong
        user_id = self._resolve_user_id(params)
        return await self._bridge_client.send_file_to_pwa(user_id, **params)""",
    },
    "get_actions": described("file_path", "transcript"),
    "schema": {
        "发送到 PWA 端用户...": "发送到 PWA 端用户。当你为远程 PWA 用户生成了文件，必须调用此工具将结果发送回去。",
        **described("file_path", "description", "user_id"),
    },
}
"""What the article leaves out; a comment ``# ...`` needs no filling."""

BLOCKS = Blocks("s3", GAPS)

EXPOSURE = pytest.mark.xfail(
    strict=True, raises=ImportError, reason="what a sentence exposes comes with the exposure engine"
)
BRIDGE = pytest.mark.xfail(strict=True, raises=ImportError, reason="RemoteBridgeClient comes with the devices")


@pytest.fixture(autouse=True)
def crib() -> Iterator[Crib]:
    """The article's modules, over a crib of their own."""
    compat.install("weclaw")
    try:
        with temporary_crib() as crib:
            yield crib
    finally:
        compat.uninstall("weclaw")


@pytest.fixture
def module() -> Iterator[ModuleType]:
    """``src.tools.remote_file_share``: the class, with the methods that later sections add to it."""
    made = ModuleType("src.tools.remote_file_share")
    methods = [BLOCKS.body("bridge injection"), BLOCKS["resolve_user_id"]]
    source = [BLOCKS["class"], *(textwrap.indent(each, "    ") for each in methods), BLOCKS["get_actions"]]
    sys.modules[made.__name__] = made
    exec(compile("\n".join(source), "<S3>", "exec"), vars(made))
    yield made
    del sys.modules[made.__name__]


@pytest.fixture
def tool(module: ModuleType, crib: Crib) -> BaseTool:
    """The article's tool, registered."""
    made: BaseTool = module.RemoteFileShareTool()
    crib.registry.register_tool(made)
    return made


def run(block: str, **names: Any) -> dict[str, Any]:
    """The names that a block defines."""
    exec(compile(BLOCKS[block], f"<S3 {block}>", "exec"), names)
    return names


def imported(module: str, name: str) -> Any:
    """What ``from module import name`` gives."""
    names: dict[str, Any] = {}
    exec(f"from {module} import {name}", names)
    return names[name]


def run_window(crib: Crib, bridge: object) -> None:
    """What gui_app.py does after it has made its window."""
    myself = SimpleNamespace(_window=SimpleNamespace(_remote_bridge=bridge), _tool_registry=crib.registry)
    run("window", self=myself, logger=logging.getLogger("gui_app"))


def test_every_block_of_the_article_is_run_here() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in BLOCKS.names if source.count(f'"{name}"') < 1] == []


# Step 1


def test_W001_W002_W004_the_schema_is_the_one_in_the_article(tool: BaseTool) -> None:
    schema = tool.get_schema()
    assert schema[0] == ast.literal_eval(BLOCKS["schema"].strip())
    names = [each["function"]["name"].removeprefix("remote_file_share_") for each in schema]
    assert names == ["send_file", "send_files", "send_voice"]
    required = [each["function"]["parameters"]["required"] for each in schema]
    assert required == [["file_path"], ["file_paths"], ["file_path"]]


def test_W001_the_facts_of_the_class_are_those_of_each_function(tool: BaseTool, crib: Crib) -> None:
    assert {(each.emoji, each.title, each.timeout) for each in crib.registry} == {("📤", "远程文件分享", 180)}


# Step 2


def test_W007_the_entry_of_the_article_loads_the_tool(module: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(BLOCKS["tools.json"], encoding="utf-8")
    listing = ToolsJson(path, modules=["src.tools"]).load()
    assert listing.problems == ()
    actions = json.loads(BLOCKS["tools.json"])["remote_file_share"]["actions"]
    assert [each.name for each in listing.tools] == [f"remote_file_share_{action}" for action in actions]
    assert {(each.category, each.risk) for each in listing.tools} == {("communication", "low")}


# Steps 3 and 4


def test_W012_the_tables_of_the_article_have_the_same_keys() -> None:
    names = ("INTENT_CATEGORIES", "INTENT_TOOL_MAPPING", "INTENT_PRIORITY_MAP")
    tables = [run(name)[name] for name in names]
    assert [list(table) for table in tables] == [["communication"]] * 3
    assert len(tables[0]["communication"]) == 18


@pytest.fixture
def declared(module: ModuleType, crib: Crib) -> None:
    """The two tools of the article, each with the intent that it is for."""

    for name in ("wechat", "remote_file_share"):
        facts = {"name": name, "intents": {"communication": "recommended"}}
        crib.registry.register_tool(type("Declared", (module.RemoteFileShareTool,), facts)())


def test_W013_our_keywords_are_at_least_those_of_the_article() -> None:
    ours = imported("src.core.prompts", "INTENT_CATEGORIES")["communication"]
    assert set(run("INTENT_CATEGORIES")["INTENT_CATEGORIES"]["communication"]) <= set(ours)


@pytest.mark.parametrize("name", ["INTENT_TOOL_MAPPING", "INTENT_PRIORITY_MAP"])
def test_W014_W015_our_tables_follow_from_what_the_tools_declare(name: str, declared: None) -> None:
    assert imported("src.core.prompts", name)["communication"] == run(name)[name]["communication"]


def sentence_of_the_article() -> str:
    """What the user says."""
    found = re.search(r'用户输入: "(.+)"', BLOCKS["three tables"])
    assert found is not None
    return found[1]


def test_W016_the_sentence_of_the_article_has_the_articles_intent_and_keyword() -> None:
    matched = re.search(r'匹配: "(.+)" → (\w+)', BLOCKS["three tables"])
    assert matched is not None
    ((intent, keywords),) = keyword_intents(sentence_of_the_article())
    assert (intent, matched[1] in keywords) == (matched[2], True)


@EXPOSURE
def test_W016_the_sentence_of_the_article_exposes_the_recommended_tools(declared: None, crib: Crib) -> None:
    shown = re.search(r"LLM 可见工具: \[(.+?)\]", BLOCKS["three tables"])
    assert shown is not None
    exposed = imported("toolcrib.exposure.catalogue", "Catalogue")(crib.registry).expose(sentence_of_the_article())
    assert exposed.confidence >= 0.9
    assert [each for each in exposed.tools if each != "search_tools"] == shown[1].split(", ")


# Step 5


def test_W019_the_naive_split_goes_wrong_where_the_registry_does_not(tool: BaseTool, crib: Crib) -> None:
    assert eval(BLOCKS["split"]) == "remote"
    assert crib.registry.resolve_action("remote_file_share_send_file") == ("remote_file_share", "send_file")


def test_W019_the_articles_function_and_ours_agree(tool: BaseTool) -> None:
    theirs = run("extract_tool_name")["_extract_tool_name"]
    ours = imported("src.core.tool_exposure", "_extract_tool_name")
    for name in ("remote_file_share_send_file", "remote_file_share", "shell_run", "shell"):
        assert ours(name) == theirs(name)


# Step 6


@pytest.mark.parametrize(
    ("name", "config"), [("shell", {}), ("shell", {"timeout": 5}), ("browser", {"headless": True}), ("browser", {})]
)
def test_W010_a_constructor_gets_what_the_articles_branches_give(name: str, config: dict[str, Any]) -> None:
    class Shell:
        def __init__(self, timeout: int = 30) -> None:
            self.given = {"timeout": timeout}

    class Browser:
        def __init__(self, headless: bool = False) -> None:
            self.given = {"headless": headless}

    kind: Any = {"shell": Shell, "browser": Browser}[name]
    expected = run("build_init_kwargs")["_build_init_kwargs"](None, name, {"config": config})
    assert kind(**constructor_of(kind).arguments(config)).given == expected


def test_W010_the_articles_tool_has_no_constructor_arguments(module: ModuleType) -> None:
    expected = run("build_init_kwargs")["_build_init_kwargs"](None, "remote_file_share", {"config": {}})
    assert constructor_of(module.RemoteFileShareTool).arguments({}) == expected == {}


# Step 7


def test_W022_before_the_bridge_is_there_the_tool_says_so(tool: BaseTool, crib: Crib) -> None:
    run_window(crib, None)
    assert call(tool, "send_file", file_path="a.pdf").error == "远程桥接客户端未初始化"


def test_W021_the_window_injects_the_bridge(tool: BaseTool, crib: Crib, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    run_window(crib, SimpleNamespace(is_connected=False))
    assert caplog.messages == ["已为 remote_file_share 工具注入 bridge_client"]
    assert call(tool, "send_file", file_path="a.pdf").error == "远程桥接未连接"


def test_W023_a_named_user_is_taken_and_nobody_is_nobody(tool: Any) -> None:
    assert tool._resolve_user_id({"user_id": "ada"}) == "ada"
    assert tool._resolve_user_id({}) == ""


@BRIDGE
def test_W023_a_file_is_sent_to_the_user_who_is_online(tool: BaseTool, crib: Crib, tmp_path: Path) -> None:
    bridge = imported("toolcrib.devices.bridge", "RemoteBridgeClient")()
    (tmp_path / "a.pdf").write_bytes(b"%PDF")
    run_window(crib, bridge)
    assert call(tool, "send_file", file_path=str(tmp_path / "a.pdf"))


# Step 8


def test_W027_the_whole_chain_is_checked_and_printed_as_in_the_article(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "scripts" / "validate_tool_chain.py")]
    environment = os.environ | {"TOOLCRIB_HOME": str(tmp_path)}
    finished = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    assert finished.returncode == 0, finished.stderr
    without_numbers = re.compile(r"\d+ (?=个|工具)")
    printed = [without_numbers.sub("", line) for line in finished.stdout.strip().splitlines()]
    expected = [without_numbers.sub("", line) for line in BLOCKS["validate_tool_chain"].strip().splitlines()]
    assert printed == expected
