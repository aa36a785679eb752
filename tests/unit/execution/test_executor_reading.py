"""What the executor makes of a call as it was sent: which arguments a tool gets, and which never (N013-N020)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.execution.executing import PATHS, Desk, counting, sent
from toolcrib import Context
from toolcrib.execution.arguments import parse_tool_calls


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (sent("count", "{"), "Invalid JSON arguments"),
        (sent("count", "[1]"), "Invalid JSON arguments: they are no object"),
        (sent("count", {"x": "three"}), "x: expected integer"),
        (sent("counts", {}), "Tool not found: counts"),
        ({"id": "a"}, "Tool not found: "),
        (None, "Tool not found: "),
        ("count", "Tool not found: "),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_N013_N025_what_cannot_run_is_answered_all_the_same(desk: Desk, path: str, call: Any, error: str) -> None:
    calls = counting(desk)
    bad, good = desk.messages(path, call, sent("count", {"x": 1}, "b"))
    assert json.loads(bad["content"])["error"].startswith(error)
    assert json.loads(good["content"])["data"] == 1
    assert len(calls) == 1
    assert bad["tool_call_id"]


def test_N013_what_is_damaged_is_mended_and_recorded_as_sent(desk: Desk) -> None:
    counting(desk)
    arguments = '```json\n{"x": "1",}\n```'
    (content,) = desk.contents("sequential", sent("functions.Count", arguments))
    (record,) = desk.executor._call_history
    assert content["data"] == 1
    assert record["function"] == {"name": "count", "arguments": arguments}
    assert record["notes"] == ["name_prefix", "name_normalised", "fence", "trailing_comma", "coerced:x"]


@pytest.mark.parametrize("path", PATHS)
def test_N016_several_objects_in_one_call_do_not_run_under_one_id(desk: Desk, path: str) -> None:
    calls = counting(desk)
    (content,) = desk.contents(path, sent("count", '{"x": 1}{"x": 2}'))
    assert (content["error"], calls) == ("Invalid JSON arguments: they are 2 objects", [])


async def test_what_was_read_of_a_whole_answer_runs_as_it_was_read(desk: Desk) -> None:
    calls = counting(desk, cache=False)
    answer = {"tool_calls": [sent("count", '{"x": 1}{"x": 2}'), sent("count", {"x": 3}, "b")]}
    read = parse_tool_calls(answer, desk.registry, finish_reason="length")
    for _ in range(2):
        records = await desk.executor.execute_batch(read.outcomes)
        assert [(record.id, record.arguments) for record in records] == [
            ("a", '{"x": 1}'),
            ("a_2", '{"x": 2}'),
            ("b", '{"x": 3}'),
        ]
        assert [record.result.error_code for record in records] == [None, None, "truncated"]
    assert sorted(calls) == [1, 1, 2, 2]


def test_why_a_tool_is_absent_is_told_to_the_model(desk: Desk) -> None:
    desk.registry.explain_absence(lambda name: "it is switched off" if name == "count" else None)
    (content,) = desk.contents("sequential", sent("count"))
    assert (content["error"], content["hint"]) == ("Tool not found: count", "It is not listed: it is switched off.")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("model_says", [{}, {"project_id": "forged"}])
def test_N017_N019_injected_values_are_never_the_models(desk: Desk, path: str, model_says: Any) -> None:
    seen: list[Any] = []
    parameters = {"type": "object", "properties": {"path": {"type": "string"}}}
    desk.tool(name="file_x", description="", parameters=parameters)(lambda arguments: seen.append(dict(arguments)))
    desk.tool(name="multi_agent", description="", parameters={"type": "object"})(
        lambda arguments: seen.append(dict(arguments))
    )
    context = {"model": "m", "project_id": "p", "temperature": 0.5}
    desk.messages(path, sent("file_x", {"path": "a", **model_says}, "a"), context=context)
    desk.messages(path, sent("multi_agent", {"_model": "forged"}, "b"), context=context)
    desk.messages(path, sent("file_x", {"path": "b", **model_says}, "c"))
    assert seen == [{"path": "a", "project_id": "p"}, {"_model": "m", "_project_id": "p"}, {"path": "b"}]


def test_N018_further_values_of_the_context_can_be_injected(desk: Desk) -> None:
    @desk.tool(injected={"temperature": "temperature", "groups": "groups"}, cache=False)
    def asked(temperature: float = 0, groups: Any = ()) -> Any:
        """Asked."""
        return [temperature, list(groups)]

    for context in ({"temperature": 0.5, "groups": ["a"]}, Context(groups=("a",), extra={"temperature": 0.5})):
        assert desk.contents("sequential", sent("asked"), context=context)[0]["data"] == [0.5, ["a"]]
