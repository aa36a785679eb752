"""What holds for every call, whatever is in it (DESIGN §3.2)."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from toolcrib import ToolDefinition
from toolcrib.execution.arguments import ParsedCalls, parse_tool_calls

ANYTHING = ToolDefinition("take", "Takes anything.", {"type": "object"}, lambda arguments: arguments, effects="write")
CHARACTERS = st.characters(codec="utf-8")
PRINTABLE = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Co", "Cn", "Cs", "Z")))
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)


def values(texts: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | NUMBERS | texts
    return st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=12)


def objects(texts: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[dict[str, Any]]:
    texts = st.text(CHARACTERS) if texts is None else texts
    return st.dictionaries(texts, values(texts), max_size=5)


def sent(arguments: Any, **more: Any) -> ParsedCalls:
    call = {"id": "c1", "function": {"name": "take", "arguments": arguments}}
    return parse_tool_calls({"tool_calls": [call]}, [ANYTHING], **more)


def exactly(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


@settings(deadline=None)
@given(objects(), st.booleans(), st.sampled_from([None, 2]))
@example({"a": "```json\n{}\n```", "b": "}{", "c": "'", "d": "<|im_end|>", "e": "// x"}, False, None)
@example({"n": 10**400, "f": 0.1, "g": 1.0, "z": -0.0}, True, None)
def test_valid_objects_come_through_untouched(value: dict[str, Any], ascii_only: bool, indent: int | None) -> None:
    parsed = sent(json.dumps(value, ensure_ascii=ascii_only, indent=indent))

    (call,) = parsed.calls
    assert exactly(call.arguments) == exactly(value)
    assert (call.repairs, call.id, parsed.errors) == ((), "c1", [])


@settings(deadline=None, max_examples=40)
@given(objects(), st.sampled_from([None, "stop", "tool_calls", "length"]))
def test_no_strict_prefix_of_a_valid_call_ever_runs(value: dict[str, Any], reason: str | None) -> None:
    text = json.dumps(value, ensure_ascii=False)
    for end in range(1, len(text)):
        parsed = sent(text[:end], finish_reason=reason)
        assert parsed.calls == [], text[:end]
        (error,) = parsed.errors
        assert error.kind == "truncated", (text[:end], error.message)
        assert "cut off" in error.message


@settings(deadline=None, max_examples=40)
@given(objects(PRINTABLE))
def test_no_strict_prefix_of_a_damaged_call_ever_runs(value: dict[str, Any]) -> None:
    text = repr(value)
    for wrapped in (text, json.dumps(json.dumps(value)), f"```json\n{text}"):
        for end in range(wrapped.find("{") + 1, len(wrapped)):
            assert sent(wrapped[:end]).calls == [], wrapped[:end]


@settings(deadline=None, max_examples=15)
@given(objects())
def test_no_prefix_of_a_call_in_the_text_runs_before_its_arguments_end(value: dict[str, Any]) -> None:
    written = json.dumps({"name": "take", "arguments": value}, ensure_ascii=False)
    for mark in ("<tool_call>", "[TOOL_CALLS]", "<|python_tag|>", "```json\n", ""):
        text = mark + written
        for end in range(1, len(text)):
            assert parse_tool_calls({"content": text[:end]}, [ANYTHING]).calls == [], text[:end]
        (call,) = parse_tool_calls({"content": text}, [ANYTHING]).calls
        assert exactly(call.arguments) == exactly(value)


@settings(deadline=None)
@given(objects(PRINTABLE))
def test_what_python_would_print_is_read_as_python_would(value: dict[str, Any]) -> None:
    (call,) = sent(repr(value)).calls
    assert exactly(call.arguments) == exactly(value)


@settings(deadline=None)
@given(st.lists(objects(), min_size=2, max_size=4), st.sampled_from(["", "\n", ", ", " ;"]))
def test_glued_objects_are_that_many_calls(parts: list[dict[str, Any]], between: str) -> None:
    parsed = sent(between.join(json.dumps(part) for part in parts))

    assert [exactly(call.arguments) for call in parsed.calls] == [exactly(part) for part in parts]
    assert len({call.id for call in parsed.calls}) == len(parts)


PIECES = [
    *"{}[]\"':,\\/*#` \n\tnN0-1.eu“”：｜<|>",
    "true",
    "None",
    "take",
    "<tool_call>",
    "</tool_call>",
    "```",
    "[TOOL_CALLS]",
]
PIECES += ['{"name": "take", "arguments": ', "<invoke name='take'>", "<parameter=a>", "</parameter>", "<function=take>"]
JUNK = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


@settings(deadline=None, max_examples=300)
@given(JUNK)
def test_whatever_is_sent_there_is_an_outcome_and_no_exception(text: str) -> None:
    assert sent(text).outcomes
    shown = parse_tool_calls({"content": text}, [ANYTHING])
    assert shown.outcomes or shown.visible_text == text


KEYS = st.sampled_from(["id", "function", "name", "arguments", "type", "x"])
SHAPES = st.recursive(
    st.none() | st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner), max_leaves=15
)


@settings(deadline=None)
@given(SHAPES)
def test_no_shape_of_a_message_is_an_exception(shape: Any) -> None:
    parsed = parse_tool_calls({"tool_calls": shape, "content": shape, "function_call": shape}, [ANYTHING])
    if isinstance(shape, list):
        assert len(parsed.outcomes) >= len(shape)
