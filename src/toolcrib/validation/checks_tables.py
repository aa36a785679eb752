"""Checks of S3's three tables and their keywords (contract W013-W015, W027)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from toolcrib.definition.base_tool import action_of
from toolcrib.exposure.intents import fold
from toolcrib.registry.names import nearest
from toolcrib.registry.sources.positions import Location
from toolcrib.validation.chain_findings import ChainFinding, Fix, Place, Say, is_shipped, mender_of
from toolcrib.validation.subject import Subject


def check_intent_coverage(subject: Subject) -> Iterator[ChainFinding]:
    """Every tool is in INTENT_TOOL_MAPPING: it serves an intent."""
    mapped = {tool for tools in subject.tables.mapping.values() for tool in tools}
    for tool in subject.tools:
        declared = [name for definition in subject.tools[tool] for name in definition.intents]
        if tool in mapped or (declared and not any(map(subject.intents.names_of, declared))):
            continue  # what declares nothing but unknown intents is reported with them
        place = subject.place(tool)
        optional = not declared and not subject.strict and _may_stay_outside(subject, tool)
        yield ChainFinding(
            "warn" if optional else "fail",
            Say(f"{tool} serves no intent", f"{tool} 没有对应的意图"),
            place,
            mender_of(place),
            Say('declare intents={"…": "recommended"}', '请声明 intents={"…": "recommended"}'),
            tool,
        )


def _may_stay_outside(subject: Subject, tool: str) -> bool:
    """Whether the tool works without an intent: a function, a folder or an API's operation has none unless it says so.

    S3's tools and those that a registry.json describes are held to its rule: whoever lists a tool says what it is for.
    """
    definition = subject.tools[tool][0]
    if action_of(definition) is not None:
        return False
    return definition.runtime in ("inprocess", "local") or not subject.places.entries(definition)


def check_mapping_references(subject: Subject) -> Iterator[ChainFinding]:
    """Every tool in INTENT_TOOL_MAPPING exists."""
    for intent, tools in subject.tables.mapping.items():
        yield from (_no_tool(subject, tool, intent) for tool in tools if tool not in subject.tool_names)
    yield from _references(subject, ("tools",))


def check_priority_references(subject: Subject) -> Iterator[ChainFinding]:
    """Every tool in INTENT_PRIORITY_MAP exists."""
    for intent, places in subject.tables.priority.items():
        tools = [tool for place in places.values() for tool in place]
        yield from (_no_tool(subject, tool, intent) for tool in tools if tool not in subject.tool_names)
    yield from _references(subject, ("recommended", "alternative"))


def _references(subject: Subject, keys: tuple[str, ...]) -> Iterator[ChainFinding]:
    """Tools that the files of intents name and that do not exist."""
    for layer in subject.intents.layers:
        for intent, entry in layer.entries.items():
            for key in keys:
                for index, tool in enumerate(getattr(entry, key)):
                    if tool not in subject.tool_names:
                        place = subject.places.in_file(layer.document.path, (intent, key, index))
                        yield _no_tool(subject, tool, intent, place)


def _no_tool(subject: Subject, tool: str, intent: str, place: Place | None = None) -> ChainFinding:
    close = nearest(tool, subject.tool_names, limit=1)
    hint = Say(f"did you mean {close[0]!r}?", f"是否指 {close[0]!r}？") if close else None
    message = Say(f"{intent} refers to {tool!r}, which does not exist", f"{intent} 引用了不存在的工具 {tool!r}")
    return ChainFinding("fail", message, place, mender_of(place), hint, tool)


def check_aligned_keys(subject: Subject) -> Iterator[ChainFinding]:
    """The three tables have the same keys, and tools declare no others."""
    tables: dict[str, Mapping[str, Any]] = {
        "INTENT_CATEGORIES": subject.tables.categories,
        "INTENT_TOOL_MAPPING": subject.tables.mapping,
        "INTENT_PRIORITY_MAP": subject.tables.priority,
    }
    for key in dict.fromkeys(key for table in tables.values() for key in table):
        missing = " / ".join(name for name, table in tables.items() if key not in table)
        if missing:
            yield ChainFinding("fail", Say(f"{key!r} is missing in {missing}", f"{missing} 缺少 {key!r}"))
    for tool, definitions in subject.tools.items():
        for intent in dict.fromkeys(name for definition in definitions for name in definition.intents):
            if not subject.intents.names_of(intent):
                place = subject.place(tool, "intents", intent)
                hint = subject.intents.hint_for(intent)
                message = Say(f"{tool} declares the unknown intent {intent!r}", f"{tool} 声明了未知意图 {intent!r}")
                yield ChainFinding("fail", message, place, mender_of(place), Say(hint, hint), tool)


def check_keywords(subject: Subject) -> Iterator[ChainFinding]:
    """No keyword stands twice, means two intents, or leads to no tool (contract W027, W029)."""
    seen: dict[str, str] = {}
    for layer in subject.intents.layers:
        path = layer.document.path
        for intent, entry in layer.entries.items():
            if intent not in subject.intents:
                continue  # reported as unknown
            for language in ("zh", "en"):
                location: Location = (intent, "keywords", language)
                kept = _first_of_each(getattr(entry.keywords, language), seen)
                for index, keyword in enumerate(getattr(entry.keywords, language)):
                    other = seen.setdefault(fold(keyword), intent)
                    if index not in kept:
                        fix = _fix(path, location, [getattr(entry.keywords, language)[each] for each in kept])
                        yield _twice(subject, path, (*location, index), keyword, intent, other, fix)
    yield from _dead(subject)


def _first_of_each(keywords: list[str], seen: Mapping[str, str]) -> list[int]:
    """The positions of keywords that nothing before them equals."""
    kept: dict[str, int] = {}
    for index, keyword in enumerate(keywords):
        if fold(keyword) not in seen:
            kept.setdefault(fold(keyword), index)
    return list(kept.values())


def _fix(path: Path, location: Location, kept: list[str]) -> Fix | None:
    if is_shipped(path):
        return None
    where = ".".join(map(str, location))
    return Fix(path, location, kept, Say(f"took double keywords out of {where}", f"删除了 {where} 中重复的关键词"))


def _twice(
    subject: Subject, path: Path, location: Location, keyword: str, intent: str, other: str, fix: Fix | None
) -> ChainFinding:
    place = subject.places.in_file(path, location)
    message = (
        Say(f"the keyword {keyword!r} of {intent} stands twice", f"{intent} 的关键词 {keyword!r} 重复")
        if other == intent
        else Say(
            f"the keyword {keyword!r} belongs to {other} and {intent}", f"关键词 {keyword!r} 同属 {other} 和 {intent}"
        )
    )
    return ChainFinding("warn", message, place, mender_of(place), Say("take one out", "请删除其中一个"), fix=fix)


def _dead(subject: Subject) -> Iterator[ChainFinding]:
    idle = [intent for intent in subject.intents if not subject.tables.mapping.get(intent)]
    for layer in subject.intents.layers:
        if is_shipped(layer.document.path):
            continue
        for intent, entry in layer.entries.items():
            if intent in idle and (entry.keywords.zh or entry.keywords.en):
                place = subject.places.in_file(layer.document.path, (intent, "keywords"))
                message = Say(f"the keywords of {intent} lead to no tool", f"{intent} 的关键词没有对应任何工具")
                hint = Say(f"have a tool declare {intent!r}", f"让某个工具声明 {intent!r}")
                yield ChainFinding("warn", message, place, "operator", hint)
    if idle:
        message = Say(f"no tool serves {_list(idle)}", f"暂无工具的意图：{_list(idle)}")
        yield ChainFinding("note", message, mender="operator")


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)
