"""POST /run_tool: what it answers, and what it refuses."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.http.conftest import FakeCrib
from toolcrib.definition.context import Context
from toolcrib.definition.result import ToolResult
from toolcrib.execution.notes import noted
from toolcrib.interfaces.http.answers import RequestFault
from toolcrib.interfaces.http.bodies import parse_json, run_request

FAILURE_KEYS = ["status", "result", "error", "error_code", "hint"]


async def run(client: httpx2.AsyncClient, tool_id: str, **fields: Any) -> httpx2.Response:
    return await client.post("/run_tool", json={"tool_id": tool_id, **fields})


async def test_T008_success_has_exactly_three_keys(client: httpx2.AsyncClient) -> None:
    answer = await run(client, "echo", params={"text": "图"})
    assert answer.status_code == 200
    assert answer.text == '{"status":"success","result":{"text":"图"},"error":null}'
    assert answer.headers["content-length"] == str(len(answer.content))


@pytest.mark.parametrize("fields", [{}, {"params": {}}, {"params": None}])
async def test_T008_missing_params_are_an_empty_object(client: httpx2.AsyncClient, fields: dict[str, Any]) -> None:
    assert (await run(client, "echo", **fields)).json()["result"] == {}


async def test_T009_an_unknown_tool_is_an_error_of_HTTP_200(client: httpx2.AsyncClient) -> None:
    answer = await run(client, "ecko", params={})
    assert answer.status_code == 200
    assert answer.json() == {
        "status": "error",
        "result": None,
        "error": "Tool not found: ecko",
        "error_code": "unknown_tool",
        "hint": "Did you mean 'echo'?",
    }


async def test_T026_missing_images_are_an_error_of_HTTP_200(client: httpx2.AsyncClient, crib: FakeCrib) -> None:
    answer = await run(client, "image_stitcher", params={})
    assert answer.status_code == 200
    assert list(answer.json()) == FAILURE_KEYS
    assert answer.json()["error_code"] == "invalid_params"
    assert "images" in answer.json()["error"]
    assert crib.running == set()


async def test_T009_a_tool_that_fails_keeps_its_code_and_hint(client: httpx2.AsyncClient) -> None:
    answer = await run(client, "fails")
    assert answer.status_code == 200
    assert answer.json() == {
        "status": "error",
        "result": None,
        "error": "No such city",
        "error_code": "unknown_city",
        "hint": "Try another.",
    }


async def test_context_timeout_and_artifacts_reach_the_call(client: httpx2.AsyncClient, crib: FakeCrib) -> None:
    context = {"project_id": "p", "chat_id": None}
    await run(client, "echo", params={"a": 1}, context=context, timeout=2.5, artifacts=True)
    assert crib.calls == [
        ("echo", {"a": 1}, {"context": Context(project_id="p"), "timeout": 2.5, "artifacts": True}),
    ]
    await run(client, "echo", context=None, timeout=None, artifacts=None)
    assert crib.calls[-1][2] == {"context": None, "timeout": None, "artifacts": False}


async def test_results_are_strict_json(client: httpx2.AsyncClient) -> None:
    answer = await run(client, "nan")
    assert answer.text == '{"status":"success","result":{"value":null,"other":null},"error":null}'
    assert "NaN" in answer.headers["X-Toolcrib-Warning"]
    answer = await run(client, "echo", params={"text": "NaN and Infinity"})
    assert answer.json()["result"] == {"text": "NaN and Infinity"}
    assert "X-Toolcrib-Warning" not in answer.headers


async def test_a_result_that_json_cannot_hold_is_an_error(client: httpx2.AsyncClient, crib: FakeCrib) -> None:
    crib.add("surrogate", lambda arguments: "\ud800")
    for tool_id in ("strange", "surrogate"):
        answer = await run(client, tool_id)
        assert (answer.status_code, answer.json()["error_code"]) == (200, "output_mismatch")


async def test_a_fault_of_the_service_is_500_with_an_id_that_the_log_has(
    client: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, logger="toolcrib.http"):
        answer = await run(client, "broken_service")
    assert answer.status_code == 500
    assert answer.json()["error_code"] == "internal_error"
    assert "a fault of the service itself" not in answer.text
    [record] = caplog.records
    error_id = record.getMessage().split()[-1]
    assert error_id in answer.json()["error"]
    assert record.exc_info is not None


@pytest.mark.parametrize(
    ("body", "mentions"),
    [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"{", "line 1 column 1"),
        (b'{"tool_id":\n x}', "line 2 column 2"),
        (b'{"tool_id": "echo",}', "trailing comma"),
        (b'{"tool_id": "echo"} {}', "trailing characters"),
        (b"{'tool_id': 'echo'}", "line 1 column 2"),
        (b'{"tool_id": "echo", "params": {"a": NaN}}', "line 1 column 37"),
        (b'{"tool_id": "echo", "params": {"a": Infinity}}', "not JSON"),
        (b'{"tool_id": "echo", "params": {"a": -Infinity}}', "not JSON"),
        (b'{"tool_id": "echo", "params": {"a": [1e999]}}', "beyond the range"),
        (b'{"tool_id": "echo", "params": {"a": "\xff"}}', "UTF-8 at line 1 column 38"),
        ('{"tool_id": "図"}'.encode("utf-16"), "UTF-8"),
        (b'{"tool_id": "\\ud800"}', "not JSON"),
        (b'{"tool_id": "a\nb"}', "control character"),
        (b"[" * 100_000, "recursion"),
        (b'{"a":' * 30_000, "recursion"),
        (b"1" * 10_000, "number"),
    ],
)
async def test_a_body_that_is_not_json_is_400_with_its_place(
    client: httpx2.AsyncClient, body: bytes, mentions: str
) -> None:
    answer = await client.post("/run_tool", content=body)
    assert answer.status_code == 400
    assert list(answer.json()) == FAILURE_KEYS
    assert answer.json()["error_code"] == "malformed_json"
    assert mentions in answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "mentions"),
    [
        ([], "array"),
        ("text", "text"),
        (None, "null"),
        (3, "number"),
        ({}, "tool_id"),
        ({"tool_id": ""}, "tool_id"),
        ({"tool_id": 5}, "tool_id"),
        ({"tool_id": None}, "tool_id"),
        ({"tool_id": "echo", "params": []}, "params"),
        ({"tool_id": "echo", "params": '{"a": 1}'}, "params"),
        ({"tool_id": "echo", "timeout": 0}, "timeout"),
        ({"tool_id": "echo", "timeout": -1}, "timeout"),
        ({"tool_id": "echo", "timeout": True}, "timeout"),
        ({"tool_id": "echo", "timeout": "5"}, "timeout"),
        ({"tool_id": "echo", "artifacts": "yes"}, "artifacts"),
        ({"tool_id": "echo", "context": "p"}, "context"),
        ({"tool_id": "echo", "context": {"project_id": 5}}, "context.project_id"),
        ({"tool_id": "echo", "context": {"model": "x"}}, "context.model"),
        ({"tool_id": "echo", "context": {"project": "x"}}, "context.project_id"),
        ({"tool": "echo"}, "tool_id"),
        ({"tool_id": "echo", "arguments": {}}, "Did you mean params?"),
        ({"tool_id": "echo", "parameters": {}}, "Did you mean params?"),
        ({"tool_id": "echo", "time_out": 5}, "Did you mean timeout?"),
        ({"tool_id": "echo", "x" * 500: 5}, "xxx…"),
    ],
)
async def test_a_request_that_cannot_be_understood_is_422_and_names_the_field(
    client: httpx2.AsyncClient, crib: FakeCrib, body: Any, mentions: str
) -> None:
    answer = await client.post("/run_tool", content=json.dumps(body).encode())
    assert answer.status_code == 422
    assert list(answer.json()) == FAILURE_KEYS
    assert answer.json()["error_code"] == "invalid_request"
    assert mentions in answer.json()["error"] + answer.json()["hint"]
    assert crib.calls == []


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/json; charset=UTF-8", "application/vnd.api+json", ""]
)
async def test_json_is_accepted_under_its_names_or_none(client: httpx2.AsyncClient, content_type: str) -> None:
    headers = {"Content-Type": content_type} if content_type else {}
    answer = await client.post("/run_tool", content=b'{"tool_id": "echo"}', headers=headers)
    assert answer.json()["status"] == "success"


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/json; charset=gbk"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
    ],
)
async def test_T038_another_content_type_is_415(
    client: httpx2.AsyncClient, crib: FakeCrib, headers: dict[str, str]
) -> None:
    answer = await client.post("/run_tool", content=b'{"tool_id": "echo"}', headers=headers)
    assert answer.status_code == 415
    assert list(answer.json()) == FAILURE_KEYS
    assert crib.calls == []


async def test_a_byte_order_mark_is_no_harm(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/run_tool", content=b'\xef\xbb\xbf{"tool_id": "echo"}')
    assert answer.json()["status"] == "success"


@pytest.mark.parametrize(
    ("body", "key"),
    [
        (b'{"tool_id": "no", "tool_id": "echo"}', "tool_id"),
        (b'{"tool_id": "echo", "params": {"a": [{"b": 1, "b" : 2}]}}', "b"),
        (rb'{"tool_id": "echo", "params": {"a": "x", "\u0061": "\":"}}', "a"),
    ],
)
async def test_a_key_given_twice_is_refused_by_name(
    client: httpx2.AsyncClient, crib: FakeCrib, body: bytes, key: str
) -> None:
    answer = await client.post("/run_tool", content=body)
    assert (answer.status_code, answer.json()["error_code"]) == (400, "malformed_json")
    assert f"the key {key!r} twice" in answer.json()["error"]
    assert crib.calls == []


@given(
    st.recursive(
        st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_no_other_json_is_taken_for_one_with_a_key_twice(value: Any) -> None:
    for separators in ((",", ":"), (" , ", " : ")):
        assert parse_json(json.dumps(value, separators=separators).encode()) == value


@pytest.mark.parametrize("text", ["a:b", '":', '{"a": 1}', 'x" : y'])
def test_colons_in_texts_are_no_keys(text: str) -> None:
    assert parse_json(json.dumps({"a": text, text: 1}).encode()) == {"a": text, text: 1}


async def test_T026_what_is_to_be_said_beside_a_result_is_a_header(client: httpx2.AsyncClient, crib: FakeCrib) -> None:
    note = "output does not fit its schema: 图: expected\nstring " + "x" * 300
    crib.add("odd", lambda arguments: noted(ToolResult.ok({"n": 1}), note))
    for answer in (await run(client, "odd"), await client.post("/tools/odd/run")):
        assert answer.json() == {"status": "success", "result": {"n": 1}, "error": None}
        warning = answer.headers["X-Toolcrib-Warning"]
        assert warning.startswith(r"output does not fit its schema: \u56fe: expected string xxx")
        assert (len(warning), warning.isascii()) == (200, True)
    assert "X-Toolcrib-Warning" not in (await run(client, "echo")).headers


async def test_E077_injected_names_are_no_fields_of_the_request(client: httpx2.AsyncClient, crib: FakeCrib) -> None:
    assert (await run(client, "echo", project_id="p")).status_code == 422
    await run(client, "echo", params={"project_id": "p"})
    assert crib.calls[-1][2]["context"] is None


async def test_a_tool_of_its_own_route_takes_the_body_as_its_params(client: httpx2.AsyncClient, crib: FakeCrib) -> None:
    answer = await client.post("/tools/echo/run?timeout=5&artifacts=true", json={"tool_id": "x"})
    assert answer.json() == {"status": "success", "result": {"tool_id": "x"}, "error": None}
    assert crib.calls[-1][2] == {"context": None, "timeout": 5.0, "artifacts": True}
    assert (await client.post("/tools/echo/run")).json()["result"] == {}
    assert (await client.post("/tools/image_stitcher/run", json={})).status_code == 200
    assert (await client.post("/tools/echo/run", json=[])).status_code == 422
    assert (await client.post("/tools/echo/run?timeout=soon", json={})).status_code == 422
    assert (await client.post("/tools/echo/run?timeout=nan", json={})).status_code == 422


async def test_calls_run_side_by_side(client: httpx2.AsyncClient, crib: FakeCrib) -> None:
    together = asyncio.Barrier(20)
    crib.add("meet", lambda arguments: together.wait())
    answers = await asyncio.gather(*(run(client, "meet") for _ in range(20)))
    assert sorted(answer.json()["result"] for answer in answers) == list(range(20))


async def test_a_slow_call_streams_white_space_and_then_its_answer(client: httpx2.AsyncClient, crib: FakeCrib) -> None:
    async def slow(arguments: dict[str, Any]) -> str:
        await asyncio.sleep(crib.settings.heartbeat * 3.5)
        return "done"

    crib.add("slow", slow)
    answer = await run(client, "slow")
    assert answer.status_code == 200
    assert answer.text.startswith("  ")
    assert answer.json() == {"status": "success", "result": "done", "error": None}
    assert "content-length" not in answer.headers


async def test_a_slow_fault_of_the_service_is_still_whole_json(client: httpx2.AsyncClient, crib: FakeCrib) -> None:
    async def slow_fault(*args: Any, **options: Any) -> Any:
        await asyncio.sleep(crib.settings.heartbeat * 1.5)
        raise RuntimeError

    crib.run = slow_fault  # type: ignore[method-assign]
    answer = await run(client, "echo")
    assert answer.status_code == 200
    assert json.loads(answer.text)["error_code"] == "internal_error"


async def test_cancelling_the_request_cancels_the_call(client: httpx2.AsyncClient, crib: FakeCrib) -> None:
    working, ended = asyncio.Event(), asyncio.Event()

    async def endless(arguments: dict[str, Any]) -> None:
        working.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    crib.add("endless", endless)
    request = asyncio.create_task(run(client, "endless"))
    await working.wait()
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert ended.is_set()


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(value=JSON)
def test_every_json_value_is_read_as_the_standard_library_reads_it(value: Any) -> None:
    assert parse_json(json.dumps(value).encode()) == value


def status_of(read: Callable[[Any], object], body: Any) -> int:
    try:
        read(body)
    except RequestFault as fault:
        return fault.status
    return 200


@given(body=st.binary(max_size=60))
def test_no_bytes_are_anything_but_json_or_a_fault(body: bytes) -> None:
    assert status_of(parse_json, body) in (200, 400)


@given(body=JSON)
def test_no_json_is_anything_but_a_request_or_a_fault(body: Any) -> None:
    assert status_of(run_request, body) in (200, 422)
