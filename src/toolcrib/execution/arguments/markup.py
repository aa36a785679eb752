"""The marks by which models that are given no other way write calls into their text."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from toolcrib.execution.arguments.envelopes import calls_in
from toolcrib.execution.arguments.objects import value_at
from toolcrib.execution.arguments.strict import CutOff, Malformed

_NAME = r"[\w./:-]{1,256}"
_FENCE = r"(?:```[\w-]*\s*)?"
_SPACE_OF_NAMES = r"(?:[\w-]+:|[|｜]\w+[|｜]\ ?)?"
HEADS = re.compile(
    rf"""
    (?P<fence>```)|(?P<code>`)|(?P<think><(?:think|thinking|reasoning)>)
    |(?P<envelope>(?:<(?:tool_calls?|function_calls?|tool_use|toolcall|functioncall)>|\[TOOL_CALLS\]|<\|python_tag\|>)
        \s*{_FENCE}(?=[\[{{]))
    |(?P<function>(?:<tool_call>\s*)?<function(?:=|\s+name=)["']?(?P<function_name>{_NAME})["']?\s*>)
    |(?P<invoke><{_SPACE_OF_NAMES}invoke\s+name=["'](?P<invoke_name>{_NAME})["']\s*/?>)
    |(?P<open><\|open\|>call\s+tool="(?P<open_name>{_NAME})"[^<>]*<\|sep\|>)
    |(?P<pairs><tool_call>\s*(?P<pairs_name>{_NAME})\s*(?=<arg_key>|</tool_call>))
    |(?P<bracket>\[TOOL_CALLS\]\s*(?P<bracket_name>{_NAME})(?:\[CALL_ID\]\w+)?(?:\[ARGS\])?\s*(?=\{{))
    |(?P<begin><[|｜]tool[_▁]call[_▁]begin[|｜]>\s*(?:function<[|｜]tool[_▁]sep[|｜]>)?(?P<begin_name>{_NAME})\s*
        (?:<[|｜]tool[_▁](?:sep|call_argument_begin)[|｜]>)?\s*{_FENCE}(?=\{{))
    |(?P<channel>(?:<\|start\|>assistant)?(?:<\|channel\|>\w+)?\s*to=(?P<channel_name>{_NAME})\s*
        (?:<\|channel\|>\w+)?\s*(?:<\|constrain\|>)?\s*\w*<\|message\|>\s*(?=\{{))
    """,
    re.VERBOSE,
)
_TAIL = re.compile(
    r"(?:\s|[}\]]|```|</(?:tool_calls?|function_calls?|tool_use|toolcall|functioncall|function)>|\[/TOOL_CALLS\]"
    r"|<\|(?:call|eom_id|eot_id|im_end)\|>|<[|｜]tool[_▁]call[_▁]end[|｜]>|</s>)*"
)
_PARAMETER = re.compile(
    rf"\s*<{_SPACE_OF_NAMES}parameter(?:=|\s+name=)[\"']?(?P<key>[^\"'<>]{{1,256}})[\"']?[^<>]*>(?P<line>\n?)"
)
_PARAMETER_END = rf"</{_SPACE_OF_NAMES}parameter>"


class _Element(NamedTuple):
    """How a call is written as elements: how a parameter begins and ends, and how the call does."""

    start: re.Pattern[str]
    close: re.Pattern[str]
    end: re.Pattern[str]


_ELEMENTS = {
    "function": _Element(_PARAMETER, re.compile(_PARAMETER_END), re.compile(r"\s*</function>(?:\s*</tool_call>)?")),
    "invoke": _Element(_PARAMETER, re.compile(_PARAMETER_END), re.compile(rf"\s*</{_SPACE_OF_NAMES}invoke>")),
    "pairs": _Element(
        re.compile(r"\s*<arg_key>\s*(?P<key>[^<]{1,256}?)\s*</arg_key>\s*<arg_value>(?P<line>)"),
        re.compile(r"</arg_value>"),
        re.compile(r"\s*</tool_call>"),
    ),
    "open": _Element(
        re.compile(r'\s*<\|open\|>argument\s+key="(?P<key>[^"<>]{1,256})"[^<>]*<\|sep\|>(?P<line>)'),
        re.compile(r"<\|close\|>argument<\|sep\|>"),
        re.compile(r"\s*<\|close\|>call<\|sep\|>"),
    ),
}
_LINE_END = re.compile(
    rf"\n(?:(?P<close>{_PARAMETER_END})(?=\s*<)|(?=<{_SPACE_OF_NAMES}parameter(?:=|\s+name=))|(?=</function>))"
)
_NAME_IN_PART = re.compile(r"""["'](?:name|tool|tool_name|function)["']\s*:\s*["']([^"']{1,256})["']""")
_BRACE = re.compile(r"\s*(?=\{)")
_CLOSING_TAG = re.compile(r"</(?:tool_calls?|function_calls?|tool_use)>")
_NEXT = re.compile(r"[\s;,]*(?=\{)")
WRAPPER = re.compile(
    r"</?(?:[\w-]+:|[|｜]\w+[|｜] ?)?(?:function_calls?|tool_calls?|tool_use|calls)>"
    r"|<[|｜][^<>\s]{1,60}?[|｜]>|\[/?TOOL_CALLS\]|</s>"
)


class TextCall(NamedTuple):
    """One call as it stands in a text.

    Attributes:
        name: of the tool, as written.
        sent: the arguments; with ``texts`` each of them is text, to be read as the schema says.
        texts: whether they are.
        repairs: what was mended.
        problem: why it cannot be run as written.
    """

    name: str
    sent: Any
    texts: bool = False
    repairs: tuple[str, ...] = ()
    problem: CutOff | Malformed | None = None


Found = tuple[list[TextCall], int]


def marked(text: str, head: re.Match[str]) -> Found | None:
    """The calls behind a mark, and where they end; None where no call follows."""
    kind = head.lastgroup or ""
    if kind not in _READERS:
        kind = next(one for one in _READERS if head[one])
    return _READERS[kind](text, head, kind)


def _envelope(text: str, head: re.Match[str], _: str) -> Found | None:
    calls, at = envelopes(text, head.end(), whole=False)
    return (calls, _TAIL.match(text, at).end()) if calls else None  # type: ignore[union-attr]


def envelopes(text: str, at: int, *, whole: bool) -> Found:
    """The calls that are written as JSON at ``at``, one or more, and where they end; none where it is other JSON."""
    found: list[TextCall] = []
    while True:
        try:
            value, end, repairs = value_at(text, at)
        except CutOff as problem:
            part = text[at : at + 2000]
            name = _NAME_IN_PART.search(part)
            if name is None and whole:
                return found, at
            found.append(TextCall(name[1] if name else "", text[at:], problem=problem))
            return found, len(text)
        except Malformed as problem:
            return _broken(text, at, problem, found, whole)
        calls = calls_in(value, whole=whole)
        if calls is None:
            return ([], at) if whole else (found, at)
        found += [TextCall(name, sent, repairs=tuple(repairs)) for name, sent in calls]
        following = _NEXT.match(text, end)
        if following is None:
            return found, end
        at = following.end()


def _broken(text: str, at: int, problem: Malformed, found: list[TextCall], whole: bool) -> Found:
    """A marked call that is no JSON, up to where its mark is closed."""
    closing = _CLOSING_TAG.search(text, at)
    name = _NAME_IN_PART.search(text, at, min(at + 2000, closing.start() if closing else len(text)))
    if whole or closing is None or name is None:
        return found, at
    found.append(TextCall(name[1], text[at : closing.start()], problem=problem))
    return found, closing.start()


def _named(text: str, head: re.Match[str], kind: str) -> Found | None:
    return _named_at(text, head[f"{kind}_name"], head.end())


def _named_at(text: str, name: str, at: int) -> Found | None:
    try:
        value, end, repairs = value_at(text, at)
    except CutOff as problem:
        return [TextCall(name, text[at:], problem=problem)], len(text)
    except Malformed:
        return None
    end = _TAIL.match(text, end).end()  # type: ignore[union-attr]
    return [TextCall(name, value, repairs=tuple(repairs))], end


def _elements(text: str, head: re.Match[str], kind: str) -> Found | None:
    at = head.end()
    name = head[f"{kind}_name"]
    if head[0].endswith("/>"):
        return [TextCall(name, {})], at
    if kind == "function" and (brace := _BRACE.match(text, at)):
        return _named_at(text, name, brace.end())
    start, close, end = _ELEMENTS[kind]
    values: dict[str, str] = {}
    repairs: tuple[str, ...] = ()
    problem: CutOff | Malformed | None = None
    while opening := start.match(text, at):
        closing = _closing(text, opening, close)
        if closing is None:
            return [TextCall(name, values, texts=True, problem=CutOff())], len(text)
        key = opening["key"].strip()
        if key in values:
            problem = Malformed(f"the parameter {key!r} stands twice")
        if closing.re is _LINE_END and closing["close"] is None:
            repairs = ("missing_closer",)
        values[key] = text[opening.end() : closing.start()]
        if closing.re is not _LINE_END and values[key].endswith("\n") and opening["line"]:
            values[key] = values[key][:-1]
        elif closing.re is not _LINE_END:
            values[key] = opening["line"] + values[key]
        at = closing.end()
    ending = end.match(text, at)
    if ending is None:
        rest = text[at:].strip()
        if rest and not _begins_element(rest):
            return None
        return [TextCall(name, values, texts=True, problem=CutOff())], len(text)
    return [TextCall(name, values, texts=True, repairs=repairs, problem=problem)], ending.end()


def _closing(text: str, opening: re.Match[str], close: re.Pattern[str]) -> re.Match[str] | None:
    """Where a parameter's value ends; one that has its own lines ends with a line, so that it may hold such marks."""
    if opening["line"] and (found := _LINE_END.search(text, opening.end() - 1)):
        return found
    return close.search(text, opening.end())


def _begins_element(rest: str) -> bool:
    return rest[0] == "<" and ">" not in rest


_READERS: dict[str, Callable[[str, re.Match[str], str], Found | None]] = {
    "envelope": _envelope,
    "bracket": _named,
    "begin": _named,
    "channel": _named,
    "function": _elements,
    "invoke": _elements,
    "pairs": _elements,
    "open": _elements,
}
