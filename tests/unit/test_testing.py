"""What the authors of tools test with."""

from __future__ import annotations

import asyncio
import math
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from toolcrib import ActionDef, BaseTool, Context, Crib, ToolDefinition, ToolResult, get_service, register_service, tool
from toolcrib.crib import default_crib
from toolcrib.errors import (
    DependencyMissingError,
    DuplicateToolError,
    NotRunningError,
    SettingsError,
    SourceError,
    StartFailedError,
)
from toolcrib.testing import (
    CallOutcome,
    FakeRunner,
    LocalTool,
    assert_schema,
    call,
    call_with,
    schema_of,
    temporary_crib,
)

SLACK = float(os.environ.get("TOOLCRIB_TEST_SLACK", "2"))


def add(a: int, b: int = 1) -> int:
    """Adds two numbers.

    Args:
        a: one of them.
        b: the other.
    """
    return a + b


class GreeterTool(BaseTool):
    def get_actions(self) -> list[ActionDef]:
        return [ActionDef("greet", "Greets someone.", {"who": {"type": "string"}}, ["who"])]

    async def execute(self, action: str, params: dict[str, Any]) -> ToolResult:
        return ToolResult.ok(f"Hello {params['who']}")


WEATHER = ToolDefinition("weather", "The weather.", {"properties": {"city": {"type": "string"}}, "required": ["city"]})


# temporary_crib


def test_a_tool_is_tested_in_three_lines() -> None:
    with temporary_crib(add):
        assert call("add", a=1).data == 2


def test_the_default_crib_is_replaced_inside_and_back_outside() -> None:
    before = default_crib()
    with temporary_crib() as crib:
        assert default_crib() is crib
        tool(add)
        register_service("clock", "a clock")
        assert get_service("clock") == "a clock"
        assert "add" in crib.registry
    assert default_crib() is before
    assert "add" not in before.registry
    assert get_service("clock") is None


def test_cribs_within_cribs_know_nothing_of_each_other() -> None:
    with temporary_crib(add):
        with temporary_crib():
            assert call("add", a=1).error_code == "unknown_tool"
        assert call("add", a=1)


def test_home_and_project_are_empty_folders_that_end_with_the_block() -> None:
    with temporary_crib() as crib:
        home, project = crib.settings.home, crib.settings.project
        assert list(home.iterdir()) == list(project.iterdir()) == []
        kept = crib.artifacts.put(b"content")
        assert crib.artifacts.path(kept.id).is_relative_to(home)
    assert not home.exists()
    assert not project.exists()


def test_the_environment_of_the_person_is_not_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TOOLCRIB_HOME", str(tmp_path / "home of a person"))
    monkeypatch.setenv("TOOLCRIB_TIMEOUT", "nonsense")
    with temporary_crib() as crib:
        assert crib.settings.timeout == 600
        assert crib.settings.home != tmp_path / "home of a person"
    assert not (tmp_path / "home of a person").exists()


async def test_no_shipped_tool_is_there_when_it_is_open() -> None:
    with temporary_crib(add) as crib:
        async with crib:
            assert [each.name for each in crib.registry] == ["add"]
            assert (await crib.run("add", {"a": 1})).data == 2


def test_settings_are_given_by_name() -> None:
    def stuck() -> None:
        done.wait(60 * SLACK)

    done = threading.Event()
    with temporary_crib(stuck, timeout=0.05) as crib:
        assert crib.settings.timeout == 0.05
        assert call("stuck").status.value == "timeout"
        done.set()


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"time_out": 2}, "There is no setting 'time_out'"), ({"timeout": -1}, "The setting timeout cannot be used")],
)
def test_a_wrong_setting_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message), temporary_crib(**settings):
        pass


def test_without_the_extra_everything_works_but_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "toolcrib.settings", None)
    with temporary_crib(add):
        assert call("add", a=1)
    with pytest.raises(DependencyMissingError, match="need the package") as caught, temporary_crib(timeout=2):
        pass
    assert "toolcrib[serve]" in str(caught.value.hint)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(DuplicateToolError), temporary_crib(add, ToolDefinition("add", "Another.", {})):
        pass


def test_no_thread_is_left() -> None:
    before = threading.active_count()
    with temporary_crib(add):
        assert call("add", a=1)
    deadline = threading.Event()
    for _ in range(int(100 * SLACK)):
        if threading.active_count() <= before:
            break
        deadline.wait(0.02)
    assert threading.active_count() <= before


@pytest.fixture
def crib() -> Iterator[Crib]:
    with temporary_crib(add) as made:
        yield made


def test_it_is_a_fixture(crib: Crib) -> None:
    assert default_crib() is crib
    assert call("add", a=1)


async def test_it_is_a_fixture_of_an_asynchronous_test(crib: Crib) -> None:
    assert default_crib() is crib
    assert (await crib.run("add", {"a": 1})).data == 2


# call


def test_a_function_a_definition_and_an_action_are_called_alike() -> None:
    definition = ToolDefinition("shout", "Shouts.", {"type": "object"}, lambda arguments: arguments["text"].upper())
    assert call(add, a=1, b=2).data == 3
    assert call(definition, text="hi").data == "HI"
    assert call(GreeterTool(), "greet", who="Ada").data == "Hello Ada"


def test_a_registered_tool_is_called_where_it_is_registered() -> None:
    greeter = GreeterTool()
    with temporary_crib(greeter, runner=FakeRunner({"greeter_greet": "from the runner", "add": 5})):
        tool(name="add")(add)
        assert call(add, a=1).data == 5
        assert call(greeter, "greet", who="Ada").data == "from the runner"
        assert call("greeter_greet", who="Ada").data == "from the runner"
        assert call("greeter", "greet", who="Ada").data == "from the runner"


async def test_it_blocks_where_a_loop_runs() -> None:
    async def slow(text: str) -> str:
        await asyncio.sleep(0)
        return text

    assert call(slow, text="hi").data == "hi"


def test_an_outcome_is_true_where_the_call_succeeded_and_shows_the_call() -> None:
    good, bad = call(add, a=1), call(add, a="x")
    assert good
    assert not bad
    assert repr(good) == "add(a=1) gave 2"
    assert repr(bad).startswith("add(a='x') ended as error: a: expected integer, got string \"x\" [invalid_params] ")
    assert repr(call("ad", a=1)).endswith("Tool not found: ad [unknown_tool] GET /tools lists what there is.")


def test_an_outcome_equals_the_result_it_is() -> None:
    outcome = call(add, a=1)
    result = ToolResult(True, 2, duration_ms=outcome.duration_ms)
    assert isinstance(outcome, CallOutcome)
    assert (outcome == result, result == outcome) == (True, True)
    assert outcome.to_dict() == {"success": True, "data": 2, "error": None}


def test_a_context_fills_what_is_injected() -> None:
    def whose(file: str, context: Context) -> str:
        return f"{file} of {context.user_id}"

    assert call_with(whose, {"file": "a"}, context=Context(user_id="ada")).data == "a of ada"
    assert "context" not in schema_of(whose)["properties"]


def test_a_call_has_the_deadline_that_it_is_given() -> None:
    async def stuck() -> None:
        await asyncio.Event().wait()

    assert call_with(stuck, {}, timeout=0.05).error_code == "timeout"


# FakeRunner


def test_it_remembers_calls_and_gives_answers_in_turn() -> None:
    runner = FakeRunner().answer("weather", {"sky": "clear"}, {"sky": "grey"})
    with temporary_crib(WEATHER, runner=runner):
        assert [call("weather", city=city).data["sky"] for city in "abc"] == ["clear", "grey", "grey"]
    assert runner.arguments("weather") == [{"city": "a"}, {"city": "b"}, {"city": "c"}]
    assert [each.tool for each in runner.calls] == [WEATHER] * 3


def test_an_answer_may_be_a_failure() -> None:
    failure = ToolResult.fail("no such city", code="unknown_city")
    runner = FakeRunner().answer("weather", failure, ValueError("broken"), ConnectionResetError, NotRunningError("off"))
    with temporary_crib(WEATHER, runner=runner):
        outcomes = [call("weather", city="x") for _ in range(4)]
    assert [each.error_code for each in outcomes] == ["unknown_city", "tool_error", "tool_error", "not_running"]
    assert outcomes[0].error == "no such city"


def test_an_answer_may_depend_on_the_arguments() -> None:
    async def answer(arguments: dict[str, Any]) -> str:
        return f"{arguments['city']}: clear"

    with temporary_crib(WEATHER, runner=FakeRunner({"weather": answer})):
        assert call("weather", city="Oslo").data == "Oslo: clear"


def test_a_late_answer_meets_the_deadline() -> None:
    runner = FakeRunner().answer("weather", "late", delay=math.inf).answer("weather", "soon", delay=0.001)
    with temporary_crib(WEATHER, runner=runner):
        assert call_with("weather", {"city": "x"}, timeout=0.05).status.value == "timeout"
        assert call("weather", city="x").data == "soon"


def test_what_does_not_fit_never_reaches_it() -> None:
    runner = FakeRunner({"weather": 1})
    with temporary_crib(WEATHER, runner=runner):
        assert call("weather", town="Oslo").error_code == "invalid_params"
    assert runner.calls == []


def test_a_tool_without_an_answer_says_what_to_write() -> None:
    with temporary_crib(WEATHER, runner=FakeRunner()):
        outcome = call("weather", city="x")
    assert (outcome.error, outcome.hint) == (
        "FakeRunner has no answer for 'weather'",
        "Write runner.answer('weather', …).",
    )


def test_an_answer_is_not_changed_by_who_receives_it() -> None:
    with temporary_crib(WEATHER, runner=FakeRunner({"weather": {"list": [1]}})):
        call("weather", city="x").data["list"].append(2)
        assert call("weather", city="x").data == {"list": [1]}


# Schemas


def test_a_schema_is_what_the_model_sees() -> None:
    with temporary_crib(add):
        assert schema_of("add") == schema_of(add)
    assert_schema(add, {"required": ["a"], "properties": {"a": {"description": "one of them."}, "b": {"default": 1}}})


def test_every_difference_of_a_schema_is_named_with_its_path() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_schema(add, {"required": ["b"], "properties": {"b": {"type": "string", "minimum": 1}, "c": {}}})
    assert str(caught.value).splitlines() == [
        "The schema of add is not as expected:",
        "  required: expected ['b'], is ['a']",
        "  properties.b.type: expected 'string', is 'integer'",
        "  properties.b.minimum: expected 1, is missing",
        "  properties.c: expected {}, is missing",
    ]


def test_an_exact_schema_has_nothing_else() -> None:
    assert_schema(add, schema_of(add), exact=True)
    with pytest.raises(AssertionError, match=r"properties\.b: is not expected"):
        assert_schema(add, {**schema_of(add), "properties": {"a": schema_of(add)["properties"]["a"]}}, exact=True)


def test_what_is_no_schema_is_told() -> None:
    wrong = ToolDefinition("wrong", "", {"type": "object", "properties": {"a": {"type": "objekt"}}})
    with pytest.raises(AssertionError, match=r'properties\.a\.type: there is no type "objekt"'):
        assert_schema(wrong, {})


# LocalTool

PROGRAM = """
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
import os
from tool_server import ToolFailure, serve

def run(params):
    print("working on", params["text"])
    if params["text"] == "bad":
        raise ToolFailure("not this one", code="bad_text")
    return {"text": params["text"].upper(), "pid": os.getpid()}

if __name__ == "__main__":
    serve(run)
"""
MANIFEST = """
id = "shout"
name = "Shouter"
description = "Shouts"
[input_schema]
type = "object"
required = ["text"]
properties.text.type = "string"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A tool that shouts."""
    from toolcrib import tool_server

    folder = tmp_path / "shout"
    folder.mkdir()
    (folder / "main.py").write_text(PROGRAM.lstrip())
    (folder / "tool.toml").write_text(MANIFEST)
    (folder / "tool_server.py").write_bytes(Path(tool_server.__file__).read_bytes())
    return folder


def test_a_folder_runs_while_the_block_lasts_and_is_gone_afterwards(folder: Path) -> None:
    with LocalTool(folder) as local:
        assert (local.name, local.status.state) == ("shout", "running")
        outcome = local.call(text="hi")
        assert outcome.data["text"] == "HI"
        assert not local.call(text="bad")
        assert local.call(text="bad").error_code == "bad_text"
        assert local.call().error_code == "invalid_params"
        assert "working on hi" in "\n".join(local.log_tail())
    assert not psutil.pid_exists(outcome.data["pid"])
    with pytest.raises(NotRunningError, match="is not running"):
        local.call(text="hi")


async def test_a_folder_runs_beside_a_running_loop(folder: Path) -> None:
    with LocalTool(folder) as local:
        assert local.call(text="hi").data["text"] == "HI"


def test_a_folder_that_holds_no_tool_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="holds no tool"), LocalTool(tmp_path / "empty"):
        pass


def test_a_manifest_that_is_wrong_is_named_with_its_line(folder: Path) -> None:
    (folder / "tool.toml").write_text(MANIFEST + "[outputschema]\n")
    with pytest.raises(SourceError, match=r"tool\.toml:\d+"), LocalTool(folder):
        pass


def test_a_program_that_ends_shows_its_last_lines(folder: Path) -> None:
    program = PROGRAM.lstrip().replace("serve(run)", "raise SystemExit('no, thank you')")
    (folder / "main.py").write_text(program)
    with pytest.raises(StartFailedError, match="no, thank you"), LocalTool(folder):
        pass
