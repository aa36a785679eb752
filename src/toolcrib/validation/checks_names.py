"""Checks of names: a function leads back to its tool, and every provider takes it (contract W019, W020, W004, M02)."""

from __future__ import annotations

from collections.abc import Iterator

from toolcrib.definition.base_tool import action_of
from toolcrib.definition.dialects.alias import alias
from toolcrib.validation.chain_findings import ChainFinding, Say, mender_of
from toolcrib.validation.subject import Subject


def check_tool_of_function(subject: Subject) -> Iterator[ChainFinding]:
    """``_extract_tool_name`` leads every function back to its tool, however many underscores there are."""
    for tool, definitions in subject.tools.items():
        for definition in definitions:
            action = action_of(definition)
            names = (definition.name, ".".join(action.pair)) if action else (definition.name,)
            for name in names:
                found = subject.extract_tool_name(name)
                if found != tool:
                    place = subject.places.of(definition)
                    message = Say(
                        f"{name} is taken for the tool {found!r}, not {tool!r}",
                        f"{name} 被解析为工具 {found!r}，应为 {tool!r}",
                    )
                    yield ChainFinding("fail", message, place, mender_of(place), tool=tool)
                    break


def check_names(subject: Subject) -> Iterator[ChainFinding]:
    """Names are unique and as the strictest provider takes them; else the alias that is sent is told."""
    longest = subject.limits.name_characters
    sent: dict[str, str] = {}
    for tool, definitions in subject.tools.items():
        for definition in definitions:
            name, other = definition.name, sent.setdefault(alias(definition.name), definition.name)
            place = subject.places.of(definition)
            if other != name:
                message = Say(
                    f"{other} and {name} are both sent as {alias(name)!r}",
                    f"{other} 与 {name} 的别名同为 {alias(name)!r}",
                )
                hint = Say("rename one of them", "请给其中一个改名")
                yield ChainFinding("fail", message, place, mender_of(place), hint, tool)
            elif alias(name) != name:
                why, why_zh = (
                    (f"has {len(name)} characters", f"有 {len(name)} 个字符")
                    if len(name) > longest
                    else ("has characters that some providers refuse", "含有部分提供商不接受的字符")
                )
                message = Say(
                    f"the name {name} {why}; models see {alias(name)!r}",
                    f"名称 {name} {why_zh}；模型看到的是 {alias(name)!r}",
                )
                hint = Say(
                    f"letters, digits, _ and -, not beginning with a digit, at most {longest}",
                    f"仅用字母、数字、_ 和 -，不以数字开头，最多 {longest} 个字符",
                )
                yield ChainFinding("warn", message, place, mender_of(place), hint, tool)
