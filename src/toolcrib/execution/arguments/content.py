"""Calls that stand in the text of an answer, and the text without them (DESIGN §3.2).

A call is one that is marked as such, or the whole text. What a text only shows, in prose, in code or while thinking, is
no call.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from toolcrib.execution.arguments.markup import HEADS, WRAPPER, TextCall, envelopes, marked

_END_MARK = (
    r"<\|(?:im_end|im_start|eot_id|eom_id|end|endoftext|end_of_text|assistant|return)\|>|</?s>|<eos>|<end_of_turn>"
)
_START = re.compile(rf"(?:\s|{_END_MARK})*")
_END = re.compile(rf"(?:\s|{_END_MARK})*\Z")
_FENCE = re.compile(r"```(?:json|xml|tool_calls?|function_call|tool)?\s*(?=[\[{<])", re.IGNORECASE)
_FENCE_END = re.compile(rf"\s*(?:```\s*|\Z)(?:{_END_MARK})*\s*")
_ANY_FENCE = re.compile(r"```(?P<language>[\w-]*)[ \t]*\n?(?P<body>.*?)```", re.DOTALL)
_THINK_END = re.compile(r"</(?:think|thinking|reasoning)>")
_CALL_FENCES = ("tool_call", "tool_calls", "function_call", "tool")
_DATA_FENCES = ("", "json", *_CALL_FENCES)
_MOST_MARKS = 256


class TextCalls(NamedTuple):
    """The calls in a text.

    Attributes:
        calls: in order.
        visible: the text without them; unchanged where there are none.
        ends: whether the text ends with the last of them.
    """

    calls: list[TextCall]
    visible: str
    ends: bool = False


def find_calls(text: str, known: Callable[[str], bool], *, expected: bool = False) -> TextCalls:
    """The calls of known tools in a text.

    Args:
        text: an answer's content.
        known: whether a name is that of a tool; what calls another stays text.
        expected: whether the provider says that the answer calls a tool; then one in a fence among prose is meant.

    Example:
        >>> text = 'I look. <tool_call>{"name": "f", "arguments": {}}</tool_call>'
        >>> find_calls(text, lambda name: name == "f").visible
        'I look.'
    """
    if not any(mark in text for mark in ("{", "<", "[")):
        return TextCalls([], text)
    found = _whole(text, known)
    if found is not None:
        return found
    return _Scan(text, known, expected).run()


def _whole(text: str, known: Callable[[str], bool]) -> TextCalls | None:
    """The calls that are the whole text, bare or fenced."""
    at, length = _START.match(text).end(), len(text)  # type: ignore[union-attr]
    calls: list[TextCall] = []
    if text.startswith("[TOOL_CALLS]", at):
        return None
    while at < length:
        fence = _FENCE.match(text, at)
        if fence is None and (calls or text[at] not in "{["):
            return None
        body = fence.end() if fence else at
        if text[body : body + 1] in ("{", "["):
            found, at = envelopes(text, body, whole=True)
        elif fence and (closing := text.find("```", body)) >= 0:
            inner = _Scan(text[body:closing], known, False).run()
            found, at = ([] if inner.visible else inner.calls), closing
        else:
            return None
        end = (_FENCE_END if fence else _END).match(text, at)
        if not found or end is None or not all(known(one.name) for one in found):
            return None
        calls += found
        at = end.end()
    return TextCalls(calls, "", True) if calls else None


class _Scan:
    """Goes through a text from mark to mark."""

    def __init__(self, text: str, known: Callable[[str], bool], expected: bool) -> None:
        self.text = text
        self.known = known
        self.expected = expected
        self.calls: list[TextCall] = []
        self.pieces: list[tuple[str, bool]] = []
        self.kept_to = 0
        self.seen = 0

    def run(self) -> TextCalls:
        text, at = self.text, 0
        while self.seen < _MOST_MARKS and (head := HEADS.search(text, at)):
            if head["code"]:
                at = self._past_code(head)
            elif head["fence"]:
                at = self._past_fence(head)
            elif head["think"]:
                end = _THINK_END.search(text, head.end())
                at = self._keep(head.start(), end.end() if end else len(text))
            else:
                at = self._at_mark(head)
        if not self.calls:
            return TextCalls([], text)
        ends = not text[self.kept_to :].strip()
        self.pieces.append((text[self.kept_to :], False))
        visible = "".join(piece if shown else WRAPPER.sub("", piece) for piece, shown in self.pieces)
        return TextCalls(self.calls, visible.strip(), ends)

    def _at_mark(self, head: re.Match[str]) -> int:
        self.seen += 1
        found = marked(self.text, head)
        if found is None or not found[0]:
            return head.end()
        calls, end = found
        if not all(self.known(call.name) or (not call.name and call.problem) for call in calls):
            return end
        return self._take(calls, head.start(), end)

    def _take(self, calls: list[TextCall], start: int, end: int) -> int:
        self.pieces.append((self.text[self.kept_to : start], False))
        self.calls += calls
        self.kept_to = end
        return end

    def _keep(self, start: int, end: int) -> int:
        """Leave a part as it is."""
        self.pieces += [(self.text[self.kept_to : start], False), (self.text[start:end], True)]
        self.kept_to = end
        return end

    def _past_code(self, head: re.Match[str]) -> int:
        line_end = self.text.find("\n", head.end())
        end = self.text.find("`", head.end(), line_end if line_end >= 0 else len(self.text))
        return head.end() if end < 0 else self._keep(head.start(), end + 1)

    def _past_fence(self, head: re.Match[str]) -> int:
        fence = _ANY_FENCE.match(self.text, head.start())
        if fence is None:
            return self._keep(head.start(), len(self.text))
        if fence["language"].lower() in (_DATA_FENCES if self.expected else _CALL_FENCES):
            body = fence["body"].strip()
            calls, end = envelopes(body, 0, whole=True) if body[:1] in ("{", "[") else ([], 0)
            if calls and end == len(body) and all(self.known(call.name) for call in calls):
                return self._take(calls, head.start(), fence.end())
        return self._keep(head.start(), fence.end())
