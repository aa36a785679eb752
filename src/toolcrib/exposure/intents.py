"""S3's three tables, generated from what the tools declare, and the keywords of a sentence (contract W013-W015).

Nothing is written twice: a tool says ``intents={"communication": "recommended"}``, and the tables follow.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Literal

from toolcrib.definition.base_tool import action_of
from toolcrib.definition.tool import ToolDefinition
from toolcrib.exposure.intent_data import WECLAW, Intents, shipped_intents

Place = Literal["recommended", "alternative"]
Names = Literal["toolcrib", "weclaw"]

_LINE = 100


@dataclass(frozen=True, slots=True)
class IntentTables:
    """The three tables; their keys are the same, in the same order.

    Attributes:
        categories: intent → keywords (INTENT_CATEGORIES).
        mapping: intent → tools (INTENT_TOOL_MAPPING).
        priority: intent → its tools by place (INTENT_PRIORITY_MAP).
    """

    categories: Mapping[str, list[str]]
    mapping: Mapping[str, list[str]]
    priority: Mapping[str, Mapping[str, list[str]]]


def tool_name_of(definition: ToolDefinition) -> str:
    """The tool that a function belongs to: its object's name, else its own."""
    action = action_of(definition)
    return action.tool.name if action else definition.name


def tools_by_name(tools: Iterable[ToolDefinition]) -> dict[str, list[ToolDefinition]]:
    """The functions of each tool, in the order of registration.

    Example:
        >>> list(tools_by_name([ToolDefinition("ping", "Answers pong.", {})]))
        ['ping']
    """
    found: dict[str, list[ToolDefinition]] = {}
    for definition in tools:
        found.setdefault(tool_name_of(definition), []).append(definition)
    return found


def intent_categories(intents: Intents | None = None, *, names: Names = "toolcrib") -> dict[str, list[str]]:
    """Intent → keywords (contract W013).

    Args:
        intents: None = the shipped ones.
        names: ``weclaw`` = under WeClaw's 18 names.

    Example:
        >>> intent_categories()["communication"][0]
        '发送文件'
    """
    found = {name: list(intent.all_keywords) for name, intent in _given(intents).items()}
    return found if names == "toolcrib" else {name: _joined(found, ours) for name, ours in WECLAW.items()}


def intent_tool_mapping(
    tools: Iterable[ToolDefinition],
    intents: Intents | None = None,
    *,
    order: Sequence[str] = (),
    names: Names = "toolcrib",
) -> dict[str, list[str]]:
    """Intent → the names of its tools (contract W014).

    Args:
        tools: a registry.
        intents: None = the shipped ones.
        order: tools that come first, in this order; the others follow as they were registered.
        names: ``weclaw`` = under WeClaw's 18 names.

    Example:
        >>> stitch = ToolDefinition("stitch", "Joins pictures.", {}, intents={"image_creation": "recommended"})
        >>> intent_tool_mapping([stitch])["image_creation"]
        ['stitch']
    """
    intents = _given(intents)
    found: dict[str, list[str]] = {intent: [] for intent in intents}
    for tool, places in _ordered(intent_places(tools, intents), order):
        for intent in places:
            found[intent].append(tool)
    return found if names == "toolcrib" else {name: _joined(found, ours) for name, ours in WECLAW.items()}


def intent_priority_map(
    tools: Iterable[ToolDefinition],
    intents: Intents | None = None,
    *,
    order: Sequence[str] = (),
    names: Names = "toolcrib",
) -> dict[str, dict[str, list[str]]]:
    """Intent → its ``recommended`` and ``alternative`` tools (contract W015); arguments as `intent_tool_mapping`.

    Example:
        >>> intent_priority_map([])["communication"]
        {'recommended': [], 'alternative': []}
    """
    intents = _given(intents)
    found: dict[str, dict[str, list[str]]] = {intent: {"recommended": [], "alternative": []} for intent in intents}
    for tool, places in _ordered(intent_places(tools, intents), order):
        for intent, place in places.items():
            found[intent][place].append(tool)
    if names == "toolcrib":
        return found
    return {
        name: {place: _joined({each: found[each][place] for each in ours}, ours) for place in found[ours[0]]}
        for name, ours in WECLAW.items()
    }


def intent_tables(
    tools: Iterable[ToolDefinition],
    intents: Intents | None = None,
    *,
    order: Sequence[str] = (),
    names: Names = "toolcrib",
) -> IntentTables:
    """All three; arguments as `intent_tool_mapping`."""
    tools = list(tools)
    return IntentTables(
        intent_categories(intents, names=names),
        intent_tool_mapping(tools, intents, order=order, names=names),
        intent_priority_map(tools, intents, order=order, names=names),
    )


def intent_places(tools: Iterable[ToolDefinition], intents: Intents | None = None) -> dict[str, dict[str, Place]]:
    """Tool → its place in each of its intents: what it declares, then what the files say of it.

    Of several functions that differ the best place counts. Names that mean no intent are left out; `toolcrib check`
    reports them.
    """
    intents = _given(intents)
    found: dict[str, dict[str, Place]] = {}
    for tool, definitions in tools_by_name(tools).items():
        places = found.setdefault(tool, {})
        for definition in definitions:
            for declared, place in definition.intents.items():
                for intent in intents.names_of(declared):
                    if places.get(intent) != "recommended":
                        places[intent] = place
    for said in intents.values():
        for tool in (each for each in said.tools if each in found):
            found[tool].setdefault(said.name, "alternative")
        for tool in (each for each in said.alternative if each in found):
            found[tool][said.name] = "alternative"
        for tool in (each for each in said.recommended if each in found):
            found[tool][said.name] = "recommended"
    return found


def keyword_intents(sentence: str, intents: Intents | None = None) -> list[tuple[str, tuple[str, ...]]]:
    """The intents whose keywords occur in a sentence, each with the ones that do; the best covered first.

    Upper and lower case, full and half width, and spaces beside Chinese characters make no difference. A keyword in
    Latin letters must stand as a word, in the singular or plural.

    Example:
        >>> keyword_intents("把这份报告发到手机上")
        [('communication', ('发到手机',))]
        >>> [intent for intent, _ in keyword_intents("帮我做个 PPT 发到手机上")]
        ['communication', 'document_creation']
        >>> keyword_intents("再见")
        []
    """
    text = fold(sentence)
    found = []
    for intent in _given(intents).values():
        hits = tuple(keyword for keyword in intent.all_keywords if _occurs(fold(keyword), text))
        if hits:
            found.append((intent.name, hits))
    return sorted(found, key=lambda each: -sum(len(fold(hit)) for hit in each[1]))


@lru_cache(maxsize=4096)
def fold(text: str) -> str:
    """``text`` as keywords are compared.

    Example:
        >>> fold("做个 ＰＰＴ  please")
        '做个ppt please'
    """
    text = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return re.sub(r"(?<=[^\x00-\x7f]) | (?=[^\x00-\x7f])", "", text)


def _occurs(keyword: str, text: str) -> bool:
    if not keyword or keyword not in text:
        return False
    before = r"(?<![a-z0-9])" if keyword[0].isascii() else ""
    after = r"(?:s|es)?(?![a-z0-9])" if keyword[-1].isascii() else ""
    return re.search(before + re.escape(keyword) + after, text) is not None


def tables_as_json(tables: IntentTables) -> str:
    """The tables as one JSON object, under S3's names."""
    return json.dumps(_named(tables), ensure_ascii=False, indent=2) + "\n"


def tables_as_python(tables: IntentTables) -> str:
    """The tables as the Python source that S3 keeps by hand.

    Example:
        >>> print(tables_as_python(IntentTables({"a": ["x"]}, {"a": []}, {"a": {"recommended": []}})), end="")
        INTENT_CATEGORIES: dict[str, list[str]] = {
            "a": ["x"],
        }
        <BLANKLINE>
        INTENT_TOOL_MAPPING: dict[str, list[str]] = {
            "a": [],
        }
        <BLANKLINE>
        INTENT_PRIORITY_MAP: dict[str, dict[str, list[str]]] = {
            "a": {
                "recommended": [],
            },
        }
    """
    kinds = {"INTENT_PRIORITY_MAP": "dict[str, dict[str, list[str]]]"}
    return "\n".join(
        f"{name}: {kinds.get(name, 'dict[str, list[str]]')} = {_source(table, '')}\n"
        for name, table in _named(tables).items()
    )


def _named(tables: IntentTables) -> dict[str, object]:
    values = asdict(tables)
    return {
        "INTENT_CATEGORIES": values["categories"],
        "INTENT_TOOL_MAPPING": values["mapping"],
        "INTENT_PRIORITY_MAP": values["priority"],
    }


def _source(value: object, indent: str) -> str:
    inner = f"{indent}    "
    if isinstance(value, Mapping):
        lines = [f"{inner}{json.dumps(key)}: {_source(item, inner)},\n" for key, item in value.items()]
        return "{\n" + "".join(lines) + indent + "}"
    assert isinstance(value, list)
    items = [json.dumps(item, ensure_ascii=False) for item in value]
    if sum(map(len, items)) <= _LINE // 2:
        return f"[{', '.join(items)}]"
    return "[\n" + "".join(f"{inner}{item},\n" for item in items) + indent + "]"


def _given(intents: Intents | None) -> Intents:
    return shipped_intents() if intents is None else intents


def _ordered(places: Mapping[str, dict[str, Place]], order: Sequence[str]) -> list[tuple[str, dict[str, Place]]]:
    rank = {tool: index for index, tool in enumerate(order)}
    return sorted(places.items(), key=lambda each: rank.get(each[0], len(rank)))


def _joined(lists: Mapping[str, list[str]], keys: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(item for key in keys for item in lists[key]))
