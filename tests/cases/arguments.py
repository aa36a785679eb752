"""Cases of the form `arguments`: calls as a provider sent them → what runs, what is refused, what was repaired."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from toolcrib.definition.context import Context
from toolcrib.definition.injection import injected_values
from toolcrib.definition.tool import ToolDefinition
from toolcrib.execution.arguments import ParsedCall, ParsedCalls, RefusedCall, assemble, parse_tool_calls

Case = Mapping[str, Any]
SENT = ("tool_calls", "content", "stream_deltas")


def is_case(case: Case) -> bool:
    """Whether a case has this form: tools, and a message that calls them."""
    given = case.get("input")
    return isinstance(given, Mapping) and "tools" in given and any(key in given for key in SENT)


def run(case: Case) -> list[str]:
    """The differences between what is expected and what comes; empty = the case passed."""
    given, expected = built(case["input"]), built(case.get("expected") or {})
    message = {"content": given.get("content"), "tool_calls": given.get("tool_calls")}
    if "stream_deltas" in given:
        message["tool_calls"] = assemble(given["stream_deltas"])
    parsed = parse_tool_calls(
        message,
        tools_of(given),
        finish_reason=given.get("finish_reason"),
        history_ids=given.get("history_ids") or (),
    )
    context = context_of(given.get("context") or {})
    first: list[str] = []
    for outcome in [expected, *(expected.get("allowed") or ()), *(case.get("allowed") or ())]:
        found = list(differences(given, outcome, parsed, context))
        if not found:
            return list(ids(given, parsed))
        first = first or found
    return first


def built(value: Any) -> Any:
    """A value of a case with ``{"$py": expression}`` replaced by what the expression gives."""
    if isinstance(value, dict):
        return eval(value["$py"]) if value.keys() == {"$py"} else {key: built(one) for key, one in value.items()}
    return [built(one) for one in value] if isinstance(value, list) else value


def tools_of(given: Mapping[str, Any]) -> list[ToolDefinition]:
    """The tools of a case; parameters that its context fills are injected."""
    injected: dict[str, str] = {name: name for name in given.get("context") or {}}
    return [
        ToolDefinition(
            tool["name"],
            tool.get("description", "A tool of a case."),
            tool.get("parameters") or {"type": "object"},
            lambda arguments: arguments,
            effects=tool.get("effects"),
            injected=injected,
        )
        for tool in given["tools"]
    ]


def context_of(values: Mapping[str, Any]) -> Context:
    """A context that has the values by their names, whatever these are."""
    known = {name: value for name, value in values.items() if name in Context.__dataclass_fields__}
    others = {name: value for name, value in values.items() if name not in known}
    kind: type[Context] = type("CaseContext", (Context,), others)
    return kind(**known)


def differences(
    given: Mapping[str, Any], expected: Mapping[str, Any], parsed: ParsedCalls, context: Context
) -> Iterable[str]:
    """Compare what came with one outcome; what that does not say is not compared."""
    if "calls" in expected:
        came = parsed.calls
        wanted = expected["calls"]
        if len(came) != len(wanted):
            yield f"calls: expected {shown(wanted)}, got {shown([summary(call) for call in came])} {refusals(parsed)}"
        else:
            for want, call in zip(wanted, came, strict=True):
                yield from call_differences(want, call, context)
    if "errors" in expected:
        yield from error_differences(expected["errors"], parsed.errors)
    if "repairs" in expected and not same_repairs(expected["repairs"], parsed.repairs):
        yield f"repairs: expected {expected['repairs']}, got {parsed.repairs}"
    if "visible_text" in expected:
        text = given.get("content") if expected["visible_text"] == "unchanged" else expected["visible_text"]
        if parsed.visible_text != (text or ""):
            yield f"visible_text: expected {text!r}, got {parsed.visible_text!r}"


def call_differences(want: Mapping[str, Any], call: ParsedCall, context: Context) -> Iterable[str]:
    """Compare one call."""
    if want.get("tool") != call.tool.name:
        yield f"tool: expected {want.get('tool')}, got {call.tool.name}"
    if "arguments" in want and not same(want["arguments"], call.arguments):
        yield f"arguments: expected {shown(want['arguments'])}, got {shown(call.arguments)}"
    if "arguments_json_equal" in want:
        value = want["arguments_json_equal"]
        value = json.loads(value) if isinstance(value, str) else value
        if json.dumps(value, sort_keys=True) != json.dumps(call.arguments, sort_keys=True):
            yield f"arguments: expected the JSON {shown(value)}, got {shown(call.arguments)}"
    if "id" in want and want["id"] != call.id:
        yield f"id: expected {want['id']}, got {call.id}"
    if "injected" in want:
        came = injected_values(call.tool, context)
        if came != want["injected"]:
            yield f"injected: expected {shown(want['injected'])}, got {came}"


def error_differences(wanted: list[Mapping[str, Any]], came: list[RefusedCall]) -> Iterable[str]:
    """Compare the refusals, in order."""
    if len(wanted) != len(came):
        yield f"errors: expected {shown(wanted)}, got {[(one.id, one.kind, one.message) for one in came]}"
        return
    for want, error in zip(wanted, came, strict=True):
        text = error.message.casefold()
        missing = [one for one in want.get("message_mentions") or () if not mentions(text, str(one))]
        if want.get("kind", error.kind) != error.kind or want.get("id", error.id) != error.id or missing:
            yield f"error: expected {shown(want)}, got {error.id} {error.kind}: {error.message}"


def mentions(text: str, wanted: str) -> bool:
    """Whether a text has one of the alternatives."""
    return any(one.casefold() in text for one in wanted.split("|"))


def same_repairs(wanted: Iterable[str], came: Iterable[str]) -> bool:
    """Whether two sets of repairs are the same; one that is expected without a parameter fits any."""
    expected, got = set(wanted), set(came)
    if "split_names" in expected:
        got.discard("split")
        expected.discard("split")
    named = {one for one in got if one in expected or one.partition(":")[0] in expected}
    return named == got and all(one in got or any(two.startswith(f"{one}:") for two in got) for one in expected)


def ids(given: Mapping[str, Any], parsed: ParsedCalls) -> Iterable[str]:
    """What is wrong with the ids: each is of one call only, in the message and in its chat."""
    own = [outcome.id for outcome in parsed.outcomes]
    taken = set(given.get("history_ids") or ())
    if len(set(own)) != len(own) or taken & set(own) or not all(own):
        yield f"ids: expected each to be unique, got {own}"


def same(wanted: Any, came: Any) -> bool:
    """Whether two JSON values are equal; true is not 1."""
    if isinstance(wanted, dict) and isinstance(came, dict):
        return wanted.keys() == came.keys() and all(same(one, came[key]) for key, one in wanted.items())
    if isinstance(wanted, list) and isinstance(came, list):
        return len(wanted) == len(came) and all(map(same, wanted, came))
    return isinstance(wanted, bool) == isinstance(came, bool) and bool(wanted == came)


def shown(value: Any) -> str:
    """A value as JSON."""
    return json.dumps(value, ensure_ascii=False, default=repr)


def summary(call: ParsedCall) -> dict[str, Any]:
    """A call in short."""
    return {"tool": call.tool.name, "arguments": call.arguments}


def refusals(parsed: ParsedCalls) -> str:
    """Why the others were refused."""
    return "; ".join(f"{one.id} {one.kind}: {one.message}" for one in parsed.errors)
