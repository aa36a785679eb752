"""From what a provider sent to the calls that may run (DESIGN §3.1, §3.2)."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest

from toolcrib import Context, ToolDefinition, ToolRegistry
from toolcrib.execution.arguments import CallReader, ParsedCall, ParsedCalls, RefusedCall, assemble, parse_tool_calls
from toolcrib.execution.arguments.ids import CallIds
from toolcrib.execution.arguments.lenient import rewrite
from toolcrib.execution.arguments.names import ToolNames
from toolcrib.execution.arguments.strict import CutOff, Malformed

SLACK = float(os.environ.get("TOOLCRIB_TEST_SLACK", "2"))
MEGABYTE = 1_000_000


def tool(name: str, effects: Any = "read", **properties: Any) -> ToolDefinition:
    return ToolDefinition(
        name, "A tool.", {"type": "object", "properties": properties}, lambda arguments: arguments, effects=effects
    )


SAVE = tool("save", "write", path={"type": "string"}, body={"type": "string"})
ROW = tool("get_row", row={"type": "integer"})
PING = tool("ping")
TOOLS = [SAVE, ROW, PING]


def sent(name: str, arguments: Any, call_id: Any = "c1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def delta(index: int | None, call_id: str | None, name: str | None, arguments: Any) -> dict[str, Any]:
    return {"index": index, "id": call_id, "name": name, "arguments": arguments}


def parse(*calls: Any, content: Any = None, **more: Any) -> ParsedCalls:
    return parse_tool_calls({"tool_calls": list(calls), "content": content}, TOOLS, **more)


def only(parsed: ParsedCalls) -> ParsedCall:
    (call,) = parsed.calls
    assert parsed.errors == []
    return call


def refusal(parsed: ParsedCalls) -> RefusedCall:
    (error,) = parsed.errors
    assert parsed.calls == []
    return error


def test_N006_a_call_that_is_in_order_is_not_touched() -> None:
    call = only(parse(sent("get_row", '{"row": 7}')))

    assert (call.id, call.tool, call.arguments, call.values, call.repairs, call.place) == (
        "c1", ROW, {"row": 7}, {"row": 7}, (), 0,
    )  # fmt: skip
    ready = call.to_call(Context(user_id="u"))
    assert (ready.tool, ready.arguments, ready.id, ready.context.user_id) == (ROW, {"row": 7}, "c1", "u")


def test_every_call_has_one_outcome_in_order() -> None:
    parsed = parse(sent("nothing", "{}", "a"), sent("get_row", '{"row": 1', "b"), sent("ping", "", "c"), None)

    assert [(one.id, getattr(one, "kind", "runs")) for one in parsed.outcomes[:3]] == [
        ("a", "unknown_tool"),
        ("b", "truncated"),
        ("c", "runs"),
    ]
    assert parsed.errors[-1].kind == "unknown_tool"
    assert len({one.id for one in parsed.outcomes}) == 4


def test_what_was_sent_is_not_changed() -> None:
    message = {"tool_calls": [sent("get_row", {"row": "1"}, None)], "content": "x"}
    before = json.dumps(message)

    assert only(parse_tool_calls(message, TOOLS)).arguments == {"row": 1}
    assert json.dumps(message) == before


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS", "content_filter"])
def test_the_last_call_of_a_cut_answer_never_runs(reason: str) -> None:
    parsed = parse(sent("get_row", '{"row": 1}', "a"), sent("get_row", '{"row": 2}', "b"), finish_reason=reason)

    assert [call.arguments for call in parsed.calls] == [{"row": 1}]
    (error,) = parsed.errors
    assert (error.id, error.kind, error.to_result().error_code) == ("b", "truncated", "truncated")
    assert "cut off" in error.message
    assert "Nothing was run" in error.message


def test_a_call_in_the_text_of_a_cut_answer_runs_only_where_text_follows_it() -> None:
    call = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'

    assert refusal(parse(content=call, finish_reason="length")).kind == "truncated"
    assert only(parse(content=f"{call} And n", finish_reason="length")).tool is PING


@pytest.mark.parametrize(
    "text",
    [
        '{"row": ',
        '{"row',
        "{",
        "[",
        '{"row": 1, ',
        '{"row": -',
        '{"row": 1e',
        "{'row': 1",
        '{"a": {"b": [1',
        '{"row": 1 /* x',
    ],
)
def test_unterminated_arguments_are_cut_off_whatever_the_provider_says(text: str) -> None:
    for reason in (None, "stop", "tool_calls", "length"):
        error = refusal(parse(sent("get_row", text), finish_reason=reason))
        assert error.kind == "truncated"
        assert "cut off" in error.message


@pytest.mark.parametrize(
    ("text", "mended", "repairs"),
    [
        ("{'a': 1}", '{"a":1}', ["python_literal"]),
        ("{'a': 'it\\'s \"x\" \\x41'}", '{"a":"it\'s \\"x\\" A"}', ["python_literal"]),
        ("{a: +.5, b: 5.}", '{"a":0.5,"b":5.0}', ["unquoted_keys", "python_literal"]),
        ('{"a": [1, 2,], }', '{"a":[1,2]}', ["trailing_comma"]),
        ('{"a": 1 # one\n}', '{"a":1}', ["comments"]),
        ('{"a":\u00a0\\n1}', '{"a":1}', ["smart_quotes", "escaped_whitespace"]),
        ('{"a": "\\q\\u12"}', '{"a":"\\\\q\\\\u12"}', ["invalid_escape"]),
        ('{"a": {"b": 1], "c": 2}', None, []),
        ('{"a": "x" "b"}', None, []),
        ('{"a": 01}', None, []),
        ('{"a" 1}', None, []),
        ('{"a": 1,, "b": 2}', None, []),
        ("{,}", None, []),
        ('{"a": undefined}', None, []),
        ("{1: 2}", None, []),
    ],
)
def test_only_what_loses_nothing_is_mended(text: str, mended: str | None, repairs: list[str]) -> None:
    if mended is None:
        with pytest.raises(Malformed):
            rewrite(text, 0)
    else:
        assert rewrite(text, 0) == (mended, len(text), repairs)


def test_the_lenient_reader_does_not_complete_what_was_cut() -> None:
    with pytest.raises(CutOff):
        rewrite("{'a': [1, 2]", 0)


@pytest.mark.parametrize(
    "text",
    [
        '{"path": "a"}, "body": "b"}',
        '"path": {"body": "b"}',
        '{"path": "a"} {body}',
        '{"path": "a"}: 1',
        '{"path": "a"}"b"',
    ],
)
def test_what_may_be_a_part_of_the_arguments_is_not_dropped(text: str) -> None:
    assert refusal(parse(sent("save", text))).kind == "invalid_arguments"


@pytest.mark.parametrize("value", ['{"row": NaN}', '{"row": 1, "row": 2}', '{"row": 1e999}', '{"row": "\\udc00"}', "7"])
def test_json_that_nobody_can_keep_or_understand_is_refused(value: str) -> None:
    error = refusal(parse(sent("get_row", value)))

    assert error.kind == "invalid_arguments"
    assert "JSON" in error.message


def test_names_are_never_guessed_by_likeness() -> None:
    names = ToolNames([tool("disassemble"), tool("docs.search/v2"), tool("getHTTPPage"), tool("WeChat")])

    def found(name: str) -> str | None:
        named = names.find(name)
        return named.tool.name if named else None

    assert found("decompile") is None
    assert found("disassembl") is None
    assert found("docs_search_v2") == "docs.search/v2"
    assert found("docs_search_v2_bbee096a") == "docs.search/v2"
    assert found("get_http_page") == "getHTTPPage"
    assert found("wechat") == found("we_chat") == "WeChat"
    assert found("functions.disassemble") == found("Tools.Disassemble") == "disassemble"
    assert found("functions") is found("") is found("functions.") is None


def test_an_exact_name_wins_over_one_that_is_only_equal_without_case() -> None:
    names = ToolNames([tool("Get"), tool("get"), tool("functions.put"), tool("put")])

    assert [names.find(name).tool.name for name in ("Get", "get", "functions.put")] == ["Get", "get", "functions.put"]  # type: ignore[union-attr]
    assert names.find("GET") is None
    assert "'Get' or 'get'" in str(names.unknown("GET"))


def test_a_registry_may_change_between_answers() -> None:
    registry = ToolRegistry()
    reader = CallReader(registry)
    message = {"tool_calls": [sent("Get-Row", '{"row": 1}')]}
    assert reader.parse(message).errors[0].kind == "unknown_tool"

    registry.register(ROW)
    assert only(reader.parse(message)).repairs == ("name_normalised",)

    registry.register(tool("get-row"))
    assert "'get_row' or 'get-row'" in reader.parse(message).errors[0].message


def test_forms_of_other_providers() -> None:
    blocks = [{"type": "text", "text": "Hi"}, {"type": "tool_use", "id": "t1", "name": "get_row", "input": {"row": 1}}]
    anthropic = parse_tool_calls({"content": blocks}, TOOLS)
    legacy = parse_tool_calls({"function_call": {"name": "get_row", "arguments": '{"row": 1}'}}, TOOLS)
    flat = parse({"name": "get_row", "args": {"row": 1}, "id": "t1"})

    for parsed in (anthropic, legacy, flat):
        assert only(parsed).arguments == {"row": 1}
    assert (anthropic.visible_text, only(anthropic).id, only(flat).id) == ("Hi", "t1", "t1")


def test_ids_are_unique_and_keep_what_they_can() -> None:
    ids = CallIds(["a", "a_2"])

    assert [ids.own(one) for one in ("a", "a", "b", "b", 7)] == ["a_3", "a_4", "b", "b_2", "7"]
    nothing: list[Any] = [None, "", "  ", True, {}]
    new = {ids.own(one) for one in nothing}
    assert len(new) == len(nothing)
    assert all(one.startswith("call_") for one in new)


@pytest.mark.parametrize(
    ("deltas", "calls"),
    [
        ([delta(0, "a", "f", "{"), {"index": 0, "function": {"arguments": "}"}}], [("a", "f", "{}")]),
        ([delta(0, "a", "f", "{}"), delta(0, "a", "f", "")], [("a", "f", "{}")]),
        ([delta(0, "a", "f", "{}"), delta(0, None, "f", "")], [("a", "f", "{}")]),
        ([delta(0, "a", "f", "{}"), delta(0, "b", "f", "{}")], [("a", "f", "{}"), ("b", "f", "{}")]),
        ([delta(0, None, "get_", None), delta(0, None, "row", "{}")], [(None, "get_row", "{}")]),
        ([delta(None, None, "f", ""), delta(None, None, "g", "")], [(None, "f", ""), (None, "g", "")]),
        (
            [
                delta(None, "a", "f", "{"),
                delta(None, "b", "f", "{"),
                delta(None, "a", "", "}"),
                delta(None, "b", "", "}"),
            ],
            [("a", "f", "{}"), ("b", "f", "{}")],
        ),
        ([delta(None, None, "f", '{"a": "}"'), delta(None, None, "f", "}")], [(None, "f", '{"a": "}"}')]),
        ([delta(0, "a", "f", {"x": 1})], [("a", "f", '{"x": 1}')]),
        ([None, "x", {}], [(None, "", "")]),
    ],
)
def test_streamed_calls_are_put_together(deltas: list[Any], calls: list[tuple[Any, ...]]) -> None:
    came = assemble(deltas)

    assert [(one["id"], one["function"]["name"], one["function"]["arguments"]) for one in came] == calls


def test_calls_in_the_text_are_read_only_where_there_are_no_others() -> None:
    parsed = parse(sent("ping", "{}"), content='<tool_call>{"name": "get_row", "arguments": {"row": 1}}</tool_call>')

    assert only(parsed).tool is PING
    assert parsed.visible_text.startswith("<tool_call>")


def test_elements_are_typed_by_the_schema_and_text_stays_text() -> None:
    path, body = "<parameter name='path'>007</parameter>", "<parameter name='body'>{\"a\": 1}</parameter>"
    text = f"<invoke name='save'>{path}{body}</invoke>"

    assert only(parse(content=text)).arguments == {"path": "007", "body": '{"a": 1}'}


@pytest.mark.parametrize(
    "arguments",
    [
        json.dumps({"path": "a", "body": "x\n" * (MEGABYTE // 2)}),
        '{"path": "a", "body": "' + "x\n" * (MEGABYTE // 2) + '"}',
        "{'path': 'a', 'body': '" + 'x"' * (MEGABYTE // 2) + "'}",
        '{"body": "' + '\\"' * (MEGABYTE // 2),
        "[" * MEGABYTE,
        "[" * MEGABYTE + "]" * MEGABYTE,
        '{"a":' * (MEGABYTE // 5),
        '{"a":1}' * (MEGABYTE // 7),
        "{}," * (MEGABYTE // 3),
        "{}" + "}" * MEGABYTE,
        "```json" * (MEGABYTE // 7),
        "{" + "/*" * (MEGABYTE // 2),
        '"' * MEGABYTE,
    ],
    ids=range(13),
)
def test_a_megabyte_of_anything_is_read_in_bounded_time(arguments: str) -> None:
    began = time.perf_counter()
    parse(sent("save", arguments))
    assert time.perf_counter() - began < 2.5 * SLACK


@pytest.mark.parametrize(
    "piece",
    [
        "<tool_call>",
        "<tool_call>{",
        "`",
        "```json\n{",
        "{",
        "[",
        "<invoke name='ping'>",
        "<think>",
        "to=",
        "<function=ping>{",
        '<tool_call>{"name": "ping", "arguments": {}}',
        "</tool_call>",
        "[TOOL_CALLS]ping{",
        "<tool_call>ping<arg_key>",
    ],
)
def test_a_megabyte_of_marks_is_read_in_bounded_time(piece: str) -> None:
    began = time.perf_counter()
    parse(content=f"See {piece * (MEGABYTE // len(piece))}")
    assert time.perf_counter() - began < 2.5 * SLACK
