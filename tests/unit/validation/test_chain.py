"""Each check of a crib fails on what it is for, and on nothing else (contract W027)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.unit.validation.world import Json, World
from toolcrib.crib import Crib
from toolcrib.definition.tool import ToolDefinition, ToolGroup
from toolcrib.exposure.intents import IntentTables, intent_tables
from toolcrib.registry.registry import ToolRegistry
from toolcrib.registry.sources.files import ToolFiles
from toolcrib.validation.chain import CHAIN, CHECKS, chain_report, examine_chain, lines_of, report_as_dict
from toolcrib.validation.chain_findings import is_shipped
from toolcrib.validation.limits import Limits
from toolcrib.validation.subject import Subject

ROOT = Path(__file__).resolve().parents[3]

S3_BLOCK = """\
============================================================
WinClaw 工具全链路一致性校验
============================================================
已加载 tools.json: 4 个启用工具

  ✅ [1/7] INTENT_TOOL_MAPPING 覆盖: 4 工具
  ✅ [2/7] INTENT_TOOL_MAPPING 引用有效
  ✅ [3/7] INTENT_PRIORITY_MAP 引用有效
  ✅ [4/7] _extract_tool_name 已知前缀覆盖
  ✅ [5/7] dependencies 引用有效
  ✅ [6/7] _build_init_kwargs 覆盖
  ✅ [7/7] 三表 key 对齐: 18 个意图

结果: 7 通过, 0 警告, 0 失败
============================================================"""


async def test_W027_where_all_is_well_the_block_is_s3s(world: World) -> None:
    assert chain_report(await world.subject()) == (S3_BLOCK, True)


async def test_W027_where_all_is_well_every_check_passes(world: World) -> None:
    outcomes = await world.examine()
    assert {name: outcome.findings for name, outcome in outcomes.items() if outcome.level != "pass"} == {}
    assert [outcome.number for outcome in outcomes.values()] == list(range(1, len(CHECKS) + 1))
    assert outcomes["reachability"].summary.en == "2 examples by keywords, 4 by words"


async def test_W027_the_shipped_tools_pass_every_check() -> None:
    crib = Crib(sources=[ToolFiles([ROOT / "tools" / "local"], [ROOT / "registry.json"])])
    await crib.reload()
    outcomes = examine_chain(Subject(crib.registry, sources=crib.sources, problems=crib.problems))
    assert [finding for outcome in outcomes if outcome.level != "pass" for finding in outcome.findings] == []


async def test_FIRST_ACTION_19_a_mapping_that_is_removed_fails_the_first_check_alone(world: World) -> None:
    world.edit(INTENTS, "intents = {}")
    block, is_right = chain_report(await world.subject())
    assert not is_right
    lines = block.splitlines()
    assert lines[5] == "  ❌ [1/7] INTENT_TOOL_MAPPING 覆盖: 1 个问题"
    assert lines[6].startswith(
        f"       ✗ wechat 没有对应的意图 ({world.code}:{world.line(world.code, 'class Wechat')})"
    )
    assert [line for line in lines if line.startswith("  ✅")] == S3_BLOCK.splitlines()[6:12]
    assert lines[-2] == "结果: 6 通过, 0 警告, 1 失败"


@dataclass
class Broken:
    """One thing that is wrong, and where the finding must say that it is."""

    check: str
    level: str
    mutate: Callable[[World], object]
    path: str | None = None
    text: str = ""
    says: str = ""
    options: dict[str, Any] = field(default_factory=dict)


def in_tools(change: Callable[[Json], object]) -> Callable[[World], object]:
    return lambda world: world.change(world.tools, change)


def in_registry(change: Callable[[Json], object]) -> Callable[[World], object]:
    return lambda world: world.change(world.registry, change)


def in_intents(**communication: Any) -> Callable[[World], object]:
    return lambda world: world.change(world.intents, lambda document: document["communication"].update(communication))


def in_code(old: str, new: str) -> Callable[[World], object]:
    return lambda world: world.edit(old, new)


def both(*mutations: Callable[[World], object]) -> Callable[[World], object]:
    def mutate(world: World) -> None:
        for each in mutations:
            each(world)

    return mutate


def nothing(world: World) -> None:
    """The project itself stays right."""


def hand_made(change: Callable[[IntentTables], object]) -> IntentTables:
    """Tables as a project keeps them by hand, with a mistake."""
    declared = {"wechat", "remote_file_share"}
    tools = [ToolDefinition(name, "", {}, intents={"communication": "recommended"}) for name in declared]
    machines = ("rent_machine", "return_machine")
    tools += [ToolDefinition(name, "", {}, intents={"image_creation": "recommended"}) for name in machines]
    tables = intent_tables(tools)
    change(tables)
    return tables


SHARE = "class RemoteFileShareTool"
INTENTS = 'intents = {"communication": "recommended"}'

BROKEN = [
    Broken("intent_coverage", "fail", in_code(INTENTS, "intents = {}"), "code", "class WechatTool", "serves no intent"),
    Broken("intent_coverage", "fail", in_registry(lambda d: d["tools"][1].pop("intents")), "registry", "", "return_m"),
    Broken(
        "intent_coverage",
        "fail",
        nothing,
        says="wechat serves no intent",
        options={"tables": hand_made(lambda tables: tables.mapping["communication"].remove("wechat"))},
    ),
    Broken("mapping_references", "fail", in_intents(tools=["wechatt"]), "intents", "wechatt", "'wechatt'"),
    Broken(
        "mapping_references",
        "fail",
        nothing,
        says="'gone'",
        options={"tables": hand_made(lambda tables: tables.mapping["communication"].append("gone"))},
    ),
    Broken("priority_references", "fail", in_intents(recommended=["gone"]), "intents", "gone", "'gone'"),
    Broken("priority_references", "fail", in_intents(alternative=["gone"]), "intents", "gone", "'gone'"),
    Broken(
        "tool_of_function",
        "fail",
        nothing,
        "code",
        SHARE,
        "taken for the tool 'remote'",
        {"extract_tool_name": lambda name: name if "machine" in name else name.replace(".", "_").split("_")[0]},
    ),
    Broken(
        "dependencies",
        "fail",
        in_tools(lambda d: d["wechat"].update(dependencies={"input_sources": ["remote_file_share", "ppt"]})),
        "tools",
        '"ppt"',
        "'ppt', which does not exist",
    ),
    Broken(
        "dependencies",
        "warn",
        in_tools(lambda d: d["wechat"].update(dependencies={"output_for": ["ppt"]})),
        "tools",
        '"ppt"',
    ),
    Broken(
        "constructors",
        "fail",
        in_tools(lambda d: d["remote_file_share"].update(config={"limit_mbs": 5})),
        "tools",
        "limit_mbs",
        "limit_mbs",
    ),
    Broken(
        "constructors",
        "fail",
        in_tools(lambda d: d["wechat"].update({"class": "Wechat"})),
        "tools",
        '"Wechat"',
        "no Wec",
    ),
    Broken("constructors", "fail", in_tools(lambda d: d["wechat"].update(module="os")), "tools", '"os"', "imported"),
    Broken(
        "aligned_keys",
        "fail",
        in_code(INTENTS, 'intents = {"communication": "recommended", "comunication": "alternative"}'),
        "code",
        "class WechatTool",
        "'comunication'",
    ),
    Broken(
        "aligned_keys",
        "fail",
        in_registry(lambda d: d["tools"][0].update(intents={"painting": "recommended"})),
        "registry",
        '"painting"',
        "rent_machine declares",
    ),
    Broken(
        "aligned_keys",
        "fail",
        nothing,
        says="'web_research' is missing in INTENT_PRIORITY_MAP",
        options={"tables": hand_made(lambda tables: tables.priority.__delitem__("web_research"))},  # type: ignore[attr-defined]
    ),
    Broken(
        "actions",
        "fail",
        in_tools(lambda d: d["remote_file_share"].update(actions=["send_file", "send_files"])),
        "tools",
        '"actions"',
        "also has send_voice",
    ),
    Broken(
        "actions",
        "fail",
        in_tools(lambda d: d["wechat"].update(actions=["send", "recieve"])),
        "tools",
        '"recieve"',
        "no action 'recieve'",
    ),
    Broken("reachability", "warn", in_code("发微信说我晚点到", "xyzzy"), "code", "class WechatTool", "'xyzzy'"),
    Broken(
        "reachability",
        "warn",
        in_registry(lambda d: d["tools"][0].update(examples=["画图", "xyzzy"])),
        "registry",
        '"xyzzy"',
    ),
    Broken("schemas", "fail", in_code('{"type": "string", "d', '{"type": "strin", "d'), "code", "class WechatTool"),
    Broken(
        "schemas",
        "fail",
        in_registry(lambda d: d["tools"][0]["input_schema"].update(required=["sise"])),
        "registry",
        '"input_schema"',
        "'sise', no property",
    ),
    Broken(
        "names",
        "warn",
        both(
            in_code('ActionDef("send",', 'ActionDef("send.now",'),
            in_tools(lambda d: d["wechat"].pop("actions")),
        ),
        "code",
        "class WechatTool",
        "models see 'wechat_send_now_",
    ),
    Broken(
        "names",
        "warn",
        nothing,
        __file__,
        "a_long_name",
        "has 77 characters",
        {
            "extra": [
                ToolDefinition(
                    "a_long_name" * 7, "", {"type": "object"}, nothing, intents={"communication": "alternative"}
                )
            ]
        },
    ),
    Broken("risk", "warn", in_code('    risk = "medium"\n', ""), "code", "class WechatTool", "low by default"),
    Broken("risk", "warn", in_registry(lambda d: d["tools"][0].pop("risk")), "registry", '"effects"', "rent_machine"),
    Broken(
        "risk",
        "warn",
        both(
            in_code('risk = "medium"', 'risk = "low"'),
            in_tools(lambda d: d["wechat"].update(security={"require_confirmation": True})),
        ),
        "tools",
        '"require_confirmation"',
        "requires confirmation",
    ),
    Broken(
        "tokens",
        "warn",
        in_code("发送一条微信消息。", "发送一条微信消息。" * 120),
        "code",
        "class WechatTool",
        "over 1000",
    ),
    Broken("tokens", "warn", nothing, says="all tools together", options={"limits": Limits(all_tokens=100)}),
    Broken("tokens", "warn", nothing, "code", SHARE, "over 150", {"limits": Limits(tool_tokens=150)}),
    Broken(
        "keywords",
        "warn",
        in_intents(keywords={"zh": ["甩到手机", "甩到手机"]}),
        "intents",
        '"甩到手机"',
        "stands twice",
    ),
    Broken(
        "keywords", "warn", in_intents(keywords={"en": ["ＰＤＦ转"]}), "intents", "ＰＤＦ转", "belongs to document_p"
    ),
    Broken(
        "keywords",
        "warn",
        lambda world: world.change(world.intents, lambda d: d.update(life_health={"keywords": {"zh": ["跳绳"]}})),
        "intents",
        '"keywords"',
        "lead to no tool",
    ),
    Broken(
        "languages",
        "warn",
        in_registry(lambda d: d["tools"][0]["description"].pop("en")),
        "registry",
        '"description"',
        "lacks description (en)",
    ),
    Broken(
        "services",
        "warn",
        in_code('    title = "微信"\n', '    title = "微信"\n    requires = ("wecom",)\n'),
        "code",
        "class WechatTool",
        "'wecom'",
    ),
    Broken(
        "groups",
        "fail",
        in_registry(lambda d: d["groups"][0].update(usage_order=["return_machine"])),
        "registry",
        '"usage_order"',
        "no permutation",
    ),
    Broken(
        "files", "fail", in_registry(lambda d: d.update(nonsense=1)), "registry", "nonsense", 'unknown key "nonsense"'
    ),
    Broken(
        "files", "fail", lambda world: world.change(world.intents, lambda d: d.update(comm={})), "intents", '"comm"'
    ),
]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda each: f"{each.check}-{each.says or each.text}")
async def test_W027_one_mistake_is_found_by_the_meant_check_alone(world: World, broken: Broken) -> None:
    broken.mutate(world)
    outcomes = await world.examine(**broken.options)
    bad = {name: outcome for name, outcome in outcomes.items() if outcome.level != "pass"}
    assert {name: outcome.level for name, outcome in bad.items()} == {broken.check: broken.level}, bad
    finding = next(each for each in bad[broken.check].findings if each.severity == broken.level)
    assert broken.says in finding.message.en
    assert finding.mender != "toolcrib"
    if broken.path is None:
        return
    path = getattr(world, broken.path, None) or Path(broken.path)
    assert finding.place is not None
    assert finding.place.path == str(path)
    if broken.text and path != Path(__file__):
        assert broken.text in path.read_text(encoding="utf-8").splitlines()[(finding.place.line or 0) - 1]


def test_W027_every_check_that_can_fail_is_broken_above() -> None:
    assert {check.name for check in CHECKS} - {each.check for each in BROKEN} == {"injection"}


async def test_W027_a_file_prefix_that_injects_is_noted(world: World) -> None:
    intents: dict[str, Any] = {"communication": "alternative"}
    tool = ToolDefinition(
        "file_touch", "", {"type": "object"}, lambda arguments: None, effects="write", intents=intents
    )
    tool.risk = "medium"
    outcomes = await world.examine(extra=[tool])
    (finding,) = outcomes["injection"].findings
    assert (finding.severity, finding.tool) == ("note", "file_touch")
    assert outcomes["injection"].level == "pass"


async def test_W012_a_lazy_tool_is_checked_without_being_made(world: World) -> None:
    world.edit("    def get_actions(self)", "    @classmethod\n    def get_actions(cls)")
    world.edit(
        '    name = "wechat"\n', '    name = "wechat"\n\n    def __init__(self) -> None:\n        raise OSError\n'
    )
    world.change(world.tools, lambda document: document["wechat"].update(actions=["send", "read"]))
    outcomes = await world.examine()
    assert {name for name, outcome in outcomes.items() if outcome.level != "pass"} == {"actions"}


async def test_W007_W030_a_disabled_entry_is_not_counted_and_not_a_dependency(world: World) -> None:
    world.change(world.tools, lambda document: document["wechat"].update(enabled=False))
    assert "已加载 tools.json: 3 个启用工具" in chain_report(await world.subject())[0]
    dependencies = {"input_sources": ["wechat"]}
    world.change(world.tools, lambda document: document["remote_file_share"].update(dependencies=dependencies))
    (finding,) = (await world.examine())["dependencies"].findings
    assert finding.message.en.endswith("'wechat', which is disabled")


async def test_T005_a_group_without_a_file_is_checked_too() -> None:
    registry = ToolRegistry()
    names = ("a", "b")
    registry.set_groups(
        {
            "g": ToolGroup(
                group_id="g", name="", description="", backend_runtime="local", tool_ids=names, usage_order=("a",)
            )
        }
    )
    (outcome,) = [each for each in examine_chain(Subject(registry)) if each.level == "fail"]
    assert outcome.check == "groups"


async def test_W011_a_function_that_says_its_risk_outright_is_believed() -> None:
    crib = Crib(sources=[])

    @crib.tool(effects="write", risk="low", intents={"file_management": "recommended"})
    def touch(name: str) -> str:
        """Touches a file."""
        return name

    @crib.tool(effects="write", intents={"file_management": "recommended"})
    def dab(name: str) -> str:
        """Touches a file, softly."""
        return name

    outcomes = {outcome.check: outcome for outcome in examine_chain(Subject(crib.registry))}
    assert [finding.tool for finding in outcomes["risk"].findings] == ["dab"]
    place = outcomes["risk"].findings[0].place
    assert place is not None
    assert place.path == __file__
    assert outcomes["languages"].level == "pass"  # a function has words in one language; that is a note


def mistaken(value: NoSuchType) -> None:  # type: ignore[name-defined] # noqa: F821
    """Takes something; its hint means nothing."""


async def test_W027_a_function_whose_hints_mean_nothing_fails_the_schema_check_alone() -> None:
    crib = Crib(sources=[])
    crib.tool(intents={"file_management": "recommended"})(mistaken)
    outcomes = [outcome for outcome in examine_chain(Subject(crib.registry)) if outcome.level != "pass"]
    assert [(outcome.check, len(outcome.findings)) for outcome in outcomes] == [("schemas", 1)]
    assert "mistaken cannot be read" in outcomes[0].findings[0].message.en
    assert outcomes[0].findings[0].place is not None


async def test_W027_the_report_as_json_has_places_and_both_languages(world: World) -> None:
    world.change(world.tools, lambda document: document["wechat"].update(actions=["send", "read"]))
    subject = await world.subject()
    report = report_as_dict(subject, examine_chain(subject))
    assert (report["ok"], report["tools"], report["failures"]) == (False, 4, 1)
    (finding,) = report["checks"][7]["findings"]
    assert finding == {
        "severity": "fail",
        "tool": "wechat",
        "message": {"en": "wechat has no action 'read'", "zh": "wechat 没有动作 'read'"},
        "hint": None,
        "path": str(world.tools),
        "line": world.line(world.tools, '"read"'),
        "mender": "author",
        "fixable": True,
    }


async def test_W027_lines_are_in_the_language_asked_for_and_notes_only_on_demand(world: World) -> None:
    services = (await world.examine())["services"]
    assert lines_of(services, 19, "en") == ["  ✅ [16/19] services and credentials"]
    assert lines_of(services, 19, "zh", notes=True)[1].startswith(
        "       · remote_file_share 正在等待服务 'bridge_client'"
    )


async def test_W027_the_seven_are_the_first_of_all() -> None:
    assert CHECKS[:7] == CHAIN


def test_W027_what_is_shipped_is_known_by_its_path(tmp_path: Path) -> None:
    shipped = [ROOT / "registry.json", ROOT / "tools" / "local" / "qr_code" / "tool.toml"]
    shipped.append(ROOT / "src" / "toolcrib" / "exposure" / "intents.json")
    assert all(map(is_shipped, shipped))
    assert not is_shipped(tmp_path / "registry.json")
    (tmp_path / "link.json").symlink_to(ROOT / "registry.json")
    assert is_shipped(tmp_path / "link.json")
