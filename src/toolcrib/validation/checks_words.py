"""Checks of words: sentences find their tool, and people read it in both languages (contract W027, W029, M09)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from toolcrib.definition.tool import ToolDefinition
from toolcrib.exposure.intents import fold, keyword_intents
from toolcrib.validation.chain_findings import ChainFinding, Say, Severity, mender_of
from toolcrib.validation.subject import Subject

Means = Literal["keyword", "word"]

_LATIN = re.compile(r"[a-z0-9]{3,}")
_CHINESE = re.compile(r"[一-鿿㐀-䶿]+")
_EMPTY = frozenset(
    re.findall(
        r"\w+",
        "the and for with from into this that these those have has make made get use can you our are its one two not "
        "all any new out please want need some what which when where how who will just them "
        "一个 一下 帮我 给我 这个 那个 这些 那些 我的 你的 可以 需要 什么 怎么 一张 一份 然后 或者 以及 用于",
    )
)


def check_reachability(subject: Subject) -> Iterator[ChainFinding]:
    """Every sentence that a tool gives as its example leads to it, by a keyword of its intents or by a word of its own.

    The check is weak: it only finds examples that have nothing at all in common with what is said of the tool.
    """
    for tool, definition, index, example in _examples(subject):
        if means_of(subject, definition, example) is None:
            place = subject.places.of(definition, "examples", index)
            message = Say(
                f"nothing in the example {example!r} leads to {definition.name}: no keyword of its intents, no word of "
                "its own",
                f"示例 {example!r} 找不到 {definition.name}：既没有其意图的关键词，也没有它自己的词",
            )
            hint = Say(
                "say what it is about in the description, or add a keyword to intents.json",
                "请在描述中写明用途，或在 intents.json 中补充关键词",
            )
            yield ChainFinding("warn", message, place, mender_of(place), hint, tool)


def reached(subject: Subject) -> dict[Means, int]:
    """How many examples lead to their tool by a keyword, and how many by a word alone."""
    found = [means_of(subject, definition, example) for _, definition, _, example in _examples(subject)]
    return {"keyword": found.count("keyword"), "word": found.count("word")}


def means_of(subject: Subject, definition: ToolDefinition, sentence: str) -> Means | None:
    """By what a sentence leads to a tool; None = by nothing."""
    wanted = {name for declared in definition.intents for name in subject.intents.names_of(declared)}
    if any(intent in wanted for intent, _ in keyword_intents(sentence, subject.intents)):
        return "keyword"
    return "word" if words_in(sentence) & words_of_tool(definition) else None


def _examples(subject: Subject) -> Iterator[tuple[str, ToolDefinition, int, str]]:
    for tool, definitions in subject.tools.items():
        for definition in definitions:
            yield from ((tool, definition, index, example) for index, example in enumerate(definition.examples))


def words_in(text: str) -> set[str]:
    """The words of a text: Latin ones in the singular, and pairs of Chinese characters.

    Example:
        >>> sorted(words_in("拼接图片 with QR codes"))
        ['code', '图片', '拼接', '接图']
    """
    folded = fold(text)
    latin = {word.removesuffix("s") for word in _LATIN.findall(folded.replace("_", " "))}
    pairs = {run[index : index + 2] for run in _CHINESE.findall(folded) for index in range(len(run) - 1)}
    return (latin | pairs) - _EMPTY


def words_of_tool(definition: ToolDefinition) -> set[str]:
    """The words that are said of a tool: in its name, title, description and parameters, in every language."""
    texts = [definition.name, definition.title or "", definition.description]
    texts += [text or "" for words in definition.translations.values() for text in (words.title, words.description)]
    properties = definition.parameters.get("properties")
    for name, schema in properties.items() if isinstance(properties, Mapping) else ():
        texts += [name, *_texts_of(schema)]
    return set().union(*map(words_in, texts))


def _texts_of(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        yield from (text for text in (schema.get("title"), schema.get("description")) if isinstance(text, str))
        yield from (value for value in schema.get("enum") or () if isinstance(value, str))


def check_languages(subject: Subject) -> Iterator[ChainFinding]:
    """Title and description are there in Chinese and in English (contract M09)."""
    for tool, definitions in subject.tools.items():
        first = definitions[0]
        missing = [
            (language, part)
            for language in ("zh", "en")
            for part in ("title", "description")
            if not getattr(first.translations.get(language), part, None)
        ]
        if not missing:
            continue
        key = {"title": "name", "description": "description"}[missing[0][1]]
        place = subject.places.of(first, key)
        # A class or a function has words in one language unless somebody translates it.
        severity: Severity = "warn" if first.deployment is not None or first.translations else "note"
        listed = ", ".join(f"{part} ({language})" for language, part in missing)
        message = Say(f"{tool} lacks {listed}", f"{tool} 缺少 {listed}")
        hint = Say('write it as {"zh": "…", "en": "…"}', '请写成 {"zh": "…", "en": "…"}') if first.deployment else None
        yield ChainFinding(severity, message, place, mender_of(place), hint, tool)
