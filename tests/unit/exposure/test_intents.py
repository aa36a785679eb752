"""The intents, their keywords, and S3's three tables as views of what tools declare."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib import compat
from toolcrib.crib import Crib, use
from toolcrib.definition.base_tool import ActionDef, BaseTool
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.exposure.intent_data import WECLAW, load_intents, shipped_intents
from toolcrib.exposure.intents import (
    fold,
    intent_categories,
    intent_places,
    intent_priority_map,
    intent_tables,
    intent_tool_mapping,
    keyword_intents,
    tables_as_json,
    tables_as_python,
)
from toolcrib.exposure.tokens import estimate_tokens
from toolcrib.registry.registry import ToolRegistry

OURS = [
    *("web_research", "browser_automation", "file_management", "system_control", "code_development"),
    *("calculation_text", "data_analysis", "document_creation", "document_processing", "image_creation"),
    *("audio_video", "communication", "email_contacts", "calendar_weather", "task_planning", "life_health"),
    *("knowledge_learning", "agent_orchestration"),
]
S3_KEYWORDS = [
    *("发送文件", "发文件到手机", "传文件", "分享文件", "发到PWA", "发送到手机", "传到手机", "发给手机"),
    *("发送语音", "语音消息", "发语音", "录音发送", "远程分享", "远程发送", "文件传输", "文件分享"),
    *("发到浏览器", "发送到浏览器"),
]


class _Tool(BaseTool):
    intents = {"communication": "recommended"}  # noqa: RUF012

    def get_actions(self) -> list[ActionDef]:
        return [ActionDef("send_file", "Sends."), ActionDef("send_voice", "Sends.")]

    async def execute(self, action: str, params: dict[str, Any]) -> ToolResult:
        return ToolResult(True)


class WechatTool(_Tool):
    pass


class RemoteFileShareTool(_Tool):
    pass


def registry_of(*tools: BaseTool | ToolDefinition) -> ToolRegistry:
    registry = ToolRegistry()
    for tool in tools:
        registry.register_tool(tool) if isinstance(tool, BaseTool) else registry.register(tool)
    return registry


def function(name: str, **intents: Any) -> ToolDefinition:
    return ToolDefinition(name, "Does.", {"type": "object"}, lambda arguments: None, intents=intents)


def write(path: Path, **entries: Any) -> Path:
    path.write_text(json.dumps(entries, ensure_ascii=False, indent=1), encoding="utf-8")
    return path


# The data


def test_W013_there_are_18_intents_with_words_in_both_languages() -> None:
    intents = shipped_intents()
    assert list(intents) == OURS
    for intent in intents.values():
        assert set(intent.titles) == set(intent.descriptions) == set(intent.keywords) == {"zh", "en"}
    assert intents.problems == ()


def test_W013_the_keywords_of_s3_are_there_verbatim() -> None:
    assert intent_categories()["communication"][:18] == S3_KEYWORDS


def test_W013_no_keyword_belongs_to_two_intents_or_stands_twice() -> None:
    keywords = [fold(each) for intent in shipped_intents().values() for each in intent.all_keywords]
    assert sorted(set(keywords)) == sorted(keywords)


def test_W013_the_18_names_of_weclaw_stand_for_ours() -> None:
    assert len(WECLAW) == 18
    assert {ours for each in WECLAW.values() for ours in each} == set(OURS)


# The tables


def test_W014_W015_the_tables_follow_from_what_the_tools_declare() -> None:
    tables = intent_tables(registry_of(WechatTool(), RemoteFileShareTool()))
    assert tables.mapping["communication"] == ["wechat", "remote_file_share"]
    assert tables.priority["communication"] == {"recommended": ["wechat", "remote_file_share"], "alternative": []}
    assert list(tables.categories) == list(tables.mapping) == list(tables.priority) == OURS


def test_W014_tools_stand_in_the_order_of_registration_or_of_an_explicit_rank() -> None:
    registry = registry_of(RemoteFileShareTool(), WechatTool(), function("notify", communication="alternative"))
    assert intent_tool_mapping(registry)["communication"] == ["remote_file_share", "wechat", "notify"]
    ranked = intent_tool_mapping(registry, order=["notify", "wechat"])
    assert ranked["communication"] == ["notify", "wechat", "remote_file_share"]
    ranked_places = intent_priority_map(registry, order=["wechat"])["communication"]
    assert ranked_places == {"recommended": ["wechat", "remote_file_share"], "alternative": ["notify"]}


def test_W015_a_name_of_weclaw_is_understood_and_an_unknown_one_left_out() -> None:
    registry = registry_of(function("pills", life_management="recommended", nonsense="recommended"))
    assert intent_places(registry) == {"pills": {"task_planning": "recommended", "life_health": "recommended"}}
    assert list(intent_tool_mapping(registry)) == OURS


def test_W014_the_tables_exist_under_weclaws_names() -> None:
    tables = intent_tables(registry_of(function("docs", document_creation="recommended")), names="weclaw")
    assert list(tables.categories) == list(tables.mapping) == list(tables.priority) == list(WECLAW)
    assert tables.mapping["document_assembly"] == tables.mapping["professional_docs"] == ["docs"]
    assert tables.priority["document_assembly"] == {"recommended": ["docs"], "alternative": []}
    assert tables.categories["communication"][:18] == S3_KEYWORDS


def test_W014_the_tables_as_python_source_are_the_tables() -> None:
    tables = intent_tables(registry_of(WechatTool()))
    namespace: dict[str, Any] = {}
    exec(tables_as_python(tables), namespace)
    exported = json.loads(tables_as_json(tables))
    for name in ("INTENT_CATEGORIES", "INTENT_TOOL_MAPPING", "INTENT_PRIORITY_MAP"):
        assert namespace[name] == exported[name]
    assert exported["INTENT_CATEGORIES"] == tables.categories
    assert exported["INTENT_TOOL_MAPPING"] == tables.mapping
    assert exported["INTENT_PRIORITY_MAP"] == tables.priority


def test_W013_s3s_imports_give_the_tables_of_the_default_crib() -> None:
    compat.install("weclaw", force=True)
    try:
        with use(Crib()) as crib:
            crib.registry.register_tool(WechatTool())
            namespace: dict[str, Any] = {}
            exec("from src.core.prompts import INTENT_CATEGORIES, INTENT_PRIORITY_MAP, INTENT_TOOL_MAPPING", namespace)
    finally:
        compat.uninstall("weclaw")
    assert namespace["INTENT_TOOL_MAPPING"]["communication"] == ["wechat"]
    assert namespace["INTENT_PRIORITY_MAP"]["communication"]["recommended"] == ["wechat"]
    assert set(namespace["INTENT_CATEGORIES"]) == set(OURS)


# Sentences


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("把这份报告发到手机上", {"communication"}),
        ("帮我做个 PPT 发到手机上", {"communication", "document_creation"}),
        ("帮我做个ppt发到手机上", {"communication", "document_creation"}),
        ("发到ＰＷＡ", {"communication"}),
        ("明天早上八点提醒我吃药", {"task_planning", "life_health"}),
        ("What's the weather in Paris?", {"calendar_weather"}),
        ("Stitch these two photos side by side", {"image_creation"}),
        ("make a slide deck and send it to my phone", {"document_creation", "communication"}),
        ("start the party", set()),
    ],
)
def test_W016_the_keywords_of_a_sentence_are_a_union(sentence: str, expected: set[str]) -> None:
    assert {intent for intent, _ in keyword_intents(sentence)} == expected


@pytest.mark.parametrize("sentence", ["再见", "hello", "你好", "谢谢你", "thanks a lot", "哈哈", ""])
def test_W016_small_talk_has_no_intent(sentence: str) -> None:
    assert keyword_intents(sentence) == []


@pytest.mark.parametrize("keyword", S3_KEYWORDS)
def test_W013_no_keyword_of_s3_is_dead(keyword: str) -> None:
    hits = dict(keyword_intents(f"请帮我{keyword.lower()}，谢谢"))
    assert keyword in hits["communication"]


@given(st.text(max_size=40), st.sampled_from(S3_KEYWORDS))
def test_W018_a_sentence_never_loses_an_intent_by_what_stands_around_its_keyword(before: str, keyword: str) -> None:
    hits = dict(keyword_intents(f"{before}。{keyword}。"))
    assert keyword in hits["communication"]


# A project's own file


def test_W029_a_project_adds_keywords_and_tools(tmp_path: Path) -> None:
    path = write(
        tmp_path / "intents.json",
        communication={"keywords": {"zh": ["甩到手机"]}, "alternative": ["mcp_chat"], "tools": ["other"]},
        gardening={"name": {"zh": "园艺", "en": "Gardening"}, "keywords": {"en": ["tomato"]}, "recommended": ["water"]},
    )
    intents = load_intents([tmp_path / "none.json", path])
    assert intents.problems == ()
    assert list(intents) == [*OURS, "gardening"]
    assert [intent for intent, _ in keyword_intents("甩到手机 tomatoes", intents)] == ["gardening", "communication"]
    tools = registry_of(function("mcp_chat"), function("other"), function("water"))
    assert intent_places(tools, intents) == {
        "mcp_chat": {"communication": "alternative"},
        "other": {"communication": "alternative"},
        "water": {"gardening": "recommended"},
    }


def test_W029_what_is_wrong_in_a_projects_file_has_its_line_and_the_rest_counts(tmp_path: Path) -> None:
    path = write(
        tmp_path / "intents.json",
        comunication={"keywords": {"zh": ["一"]}},
        life_management={},
        communication={"keywords": ["一"]},
        life_health={"keywords": {"zh": ["跳绳"]}},
    )
    intents = load_intents([path])
    found = {(problem.line, problem.hint) for problem in intents.problems}
    assert (2, "Did you mean 'communication'?") in found
    assert any(hint and "'task_planning' or 'life_health'" in hint for _, hint in found)
    assert any("keywords" in str(problem) for problem in intents.problems)
    assert dict(keyword_intents("跳绳", intents)) == {"life_health": ("跳绳",)}
    path.write_text("{", encoding="utf-8")
    assert len(load_intents([path]).problems) == 1
    assert list(load_intents([path])) == OURS


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("文件", 2), ("发到PWA", 3)]
)
def test_W027_tokens_are_a_quarter_of_ascii_and_one_each_of_the_rest(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens
