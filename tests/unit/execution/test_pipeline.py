"""One call through the pipeline: one result, whatever happens (DESIGN §3)."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from toolcrib import Crib, ToolDefinition, ToolResult, ToolResultStatus
from toolcrib.definition.call import Deadline, ToolCall
from toolcrib.definition.deployment import Deployment
from toolcrib.execution.pipeline import Pipeline
from toolcrib.settings import Settings
from toolcrib.storage.artifacts import FileArtifactStore

SLACK = float(os.environ.get("TOOLCRIB_TEST_SLACK", "2"))
ANYTHING: dict[str, Any] = {"type": "object"}


@pytest.fixture
def crib(tmp_path: Path) -> Crib:
    return Crib(Settings(home=tmp_path))


async def test_N006_an_unknown_tool_is_a_result_with_the_nearest_names(crib: Crib) -> None:
    @crib.tool
    def weather(city: str) -> str:
        """Tells the weather."""
        return city

    result = await crib.run("wether", {})

    assert result.to_dict() == {"success": False, "data": None, "error": "Tool not found: wether"}
    assert (result.error_code, result.hint) == ("unknown_tool", "Did you mean 'weather'?")


async def test_T026_wrong_parameters_are_listed_before_anything_runs(crib: Crib) -> None:
    ran = False

    @crib.tool
    def add(a: int, b: int) -> int:
        """Adds."""
        nonlocal ran
        ran = True
        return a + b

    result = await crib.run("add", {"a": "three"})

    assert result.error_code == "invalid_params"
    assert result.error is not None
    assert "a: expected integer" in result.error
    assert "b: expected integer" in result.error
    assert not ran


@pytest.mark.parametrize(
    ("raised", "text"),
    [
        (ValueError("no such city"), "ValueError: no such city"),
        (KeyError("x"), "KeyError: 'x'"),
        (SystemExit(2), "exit 2"),
        (asyncio.CancelledError(), "CancelledError"),
        (GeneratorExit(), "GeneratorExit"),
        (TimeoutError("slow disk"), "slow disk"),
        (RecursionError("deep"), "RecursionError: deep"),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_N025_no_exception_of_a_tool_escapes(crib: Crib, raised: BaseException, text: str, kind: str) -> None:
    def fail(arguments: Mapping[str, Any]) -> None:
        raise raised

    async def fail_later(arguments: Mapping[str, Any]) -> None:
        await asyncio.sleep(0)
        raise raised

    crib.registry.register(ToolDefinition("fail", "Fails.", ANYTHING, fail if kind == "sync" else fail_later))

    result = await crib.run("fail", {})

    assert not result.success
    assert result.error is not None
    assert text in result.error


async def test_a_deadline_answers_on_time_though_a_thread_cannot_be_stopped(crib: Crib) -> None:
    release = threading.Event()

    @crib.tool(timeout=0.2)
    def hang() -> None:
        """Hangs."""
        release.wait(30)

    started = time.monotonic()
    result = await crib.run("hang", {})
    release.set()

    assert result.status is ToolResultStatus.TIMEOUT
    assert result.error == "Tool 'hang' did not answer within 0.2 s"
    assert time.monotonic() - started < 1 * SLACK


async def test_T024_the_callers_timeout_stands_in_for_the_tools_own(crib: Crib) -> None:
    @crib.tool(timeout=30)
    async def hang() -> None:
        """Hangs."""
        await asyncio.sleep(30)

    assert (await crib.run("hang", {}, timeout=0.05)).status is ToolResultStatus.TIMEOUT


async def test_cancelling_the_task_cancels_the_call(crib: Crib) -> None:
    ended = asyncio.Event()
    begun = asyncio.Event()

    @crib.tool
    async def hang() -> None:
        """Hangs."""
        begun.set()
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()

    task = asyncio.create_task(crib.run("hang", {}))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


async def test_N007_what_a_handler_returns_is_never_nested(crib: Crib) -> None:
    answers = {
        "plain": [1, 2],
        "view": {"success": True, "data": {"x": 1}},
        "failed": {"success": False, "error": "Only SELECT queries allowed"},
        "rows": {"success": True, "rows": [1]},
        "result": ToolResult.ok({"y": 2}),
    }
    for name, answer in answers.items():
        crib.registry.register(ToolDefinition(name, "", ANYTHING, lambda arguments, answer=answer: answer))

    assert (await crib.run("plain", {})).data == [1, 2]
    assert (await crib.run("view", {})).data == {"x": 1}
    assert (await crib.run("failed", {})).to_dict() == {
        "success": False,
        "data": None,
        "error": "Only SELECT queries allowed",
    }
    assert (await crib.run("rows", {})).data == {"rows": [1]}
    assert (await crib.run("result", {})).data == {"y": 2}


@pytest.mark.parametrize("mode", ["off", "warn", "error"])
async def test_T026_an_answer_that_does_not_fit_its_schema(
    tmp_path: Path, mode: str, caplog: pytest.LogCaptureFixture
) -> None:
    crib = Crib(Settings(home=tmp_path, output_validation=mode))  # type: ignore[arg-type]
    crib.registry.register(
        ToolDefinition(
            "count",
            "",
            ANYTHING,
            lambda arguments: {"n": "many"},
            output_schema={"properties": {"n": {"type": "integer"}}},
        )
    )

    result = await crib.run("count", {})

    assert result.success is (mode != "error")
    assert ("does not fit its output schema" in caplog.text) is (mode == "warn")
    if mode == "error":
        assert result.error_code == "output_mismatch"
    notes = getattr(result, "notes", ())
    assert [note.partition(":")[0] for note in notes] == ["output does not fit its schema"] * (mode == "warn")
    assert result.to_run_tool().get("result") == (None if mode == "error" else {"n": "many"})


async def test_the_callers_arguments_are_not_changed(crib: Crib) -> None:
    def spoil(arguments: dict[str, Any]) -> str:
        arguments["added"] = True
        return "done"

    crib.registry.register(ToolDefinition("spoil", "", ANYTHING, spoil))
    arguments = {"a": 1}
    await crib.run("spoil", arguments)
    assert arguments == {"a": 1}


async def test_a_tool_that_lives_outside_needs_an_open_crib(crib: Crib) -> None:
    from toolcrib.definition.deployment import Deployment

    crib.registry.register(ToolDefinition("far", "", ANYTHING, deployment=Deployment("local")))
    result = await crib.run("far", {})
    assert result.error is not None
    assert result.error.startswith("Tool 'far' is not running or has no active endpoint")


def test_making_a_crib_touches_nothing(tmp_path: Path) -> None:
    before = set(sys.modules)
    Crib(Settings(home=tmp_path / "home"))
    assert not (tmp_path / "home").exists()
    assert not {"uvicorn", "watchfiles"} & (set(sys.modules) - before)


async def test_M05_files_are_read_and_kept_off_the_event_loop(crib: Crib, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []
    for name in ("path", "put"):
        original = getattr(FileArtifactStore, name)

        def noted(*given: Any, original: Any = original, **named: Any) -> Any:
            threads.append(threading.current_thread())
            return original(*given, **named)

        monkeypatch.setattr(FileArtifactStore, name, noted)
    file = {"type": "string", "contentEncoding": "base64"}
    schema = {"type": "object", "properties": {"file": file}}
    tool = ToolDefinition(
        "copy", "Copies.", schema, lambda arguments: {"file": arguments["file"]}, output_schema=schema
    )
    crib.registry.register(tool)
    artifact = await asyncio.to_thread(crib.artifacts.put, b"content")

    result = await crib.run("copy", {"file": artifact.reference}, artifacts=True)

    assert result.data["file"]["sha256"] == artifact.sha256
    assert len(threads) == 3
    assert threading.main_thread() not in threads


async def test_T024_a_runner_that_keeps_deadlines_itself_is_left_to_it(crib: Crib) -> None:
    class Runner:
        def __init__(self, keeps_deadline: bool) -> None:
            self.keeps_deadline = keeps_deadline

        async def run(self, call: ToolCall, deadline: Deadline) -> ToolResult:
            await asyncio.sleep(2 * deadline.seconds)
            return ToolResult.ok("late")

    tool = ToolDefinition("slow", "Is slow.", ANYTHING, deployment=Deployment("local"))
    crib.registry.register(tool)
    for keeps_deadline, status in ((True, "success"), (False, "timeout")):
        pipeline = Pipeline(crib.registry, {"local": Runner(keeps_deadline)}, lambda: crib.artifacts)
        assert (await pipeline.run("slow", {}, timeout=0.05)).status.value == status
