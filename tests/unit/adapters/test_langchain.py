"""LangChain's tools here, and ours there."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from toolcrib import ToolDefinition, get_service, register_service
from toolcrib.adapters.langchain import from_langchain, to_langchain
from toolcrib.definition.decorator import define
from toolcrib.errors import DefinitionError
from toolcrib.testing import FakeRunner, assert_schema, call, temporary_crib

tools: Any = pytest.importorskip("langchain_core.tools")


def multiply(a: int, b: int = 2) -> int:
    """Multiply two numbers."""
    return a * b


async def multiply_async(a: int, b: int = 2) -> int:
    """Multiply two numbers."""
    return a * b


def definition_of(function: Any, **options: Any) -> ToolDefinition:
    """The definition of a function that LangChain made a tool of."""
    return from_langchain(tools.tool(**options)(function))


@pytest.mark.parametrize("function", [multiply, multiply_async])
def test_a_langchain_tool_is_a_tool(function: Any) -> None:
    definition = definition_of(function)
    assert (definition.name, definition.description) == (function.__name__, "Multiply two numbers.")
    assert_schema(definition, {"required": ["a"], "properties": {"a": {"type": "integer"}, "b": {"default": 2}}})
    assert call(definition, a=3).data == 6
    assert call(definition, a="3", b=3).data == 9
    assert call(definition, b=3).error_code == "invalid_params"


def test_a_synchronous_tool_also_has_the_synchronous_door() -> None:
    with temporary_crib(definition_of(multiply)) as crib:
        assert crib.registry.execute("multiply", {"a": 3})["data"] == 6


def test_what_langchain_does_not_know_is_said_here() -> None:
    definition = from_langchain(tools.tool(multiply), effects="none", category="math")
    assert (definition.effects, definition.category) == ("none", "math")
    assert from_langchain(tools.tool(multiply)).effects is None


def test_the_old_tool_of_one_text_works() -> None:
    definition = from_langchain(tools.Tool(name="echo", func=lambda text: f"<{text}>", description="Echoes."))
    (parameter,) = definition.parameters["properties"]
    assert call(definition, **{parameter: "hi"}).data == "<hi>"


def test_a_tool_written_as_a_class_works() -> None:
    class Shout(tools.BaseTool):  # type: ignore[misc]
        name: str = "shout"
        description: str = "Shouts."

        def _run(self, text: str) -> str:
            return text.upper()

    assert call(from_langchain(Shout()), text="hi").data == "HI"


def test_a_failure_is_a_result() -> None:
    def broken(a: int) -> int:
        """Breaks."""
        raise ValueError("broken")

    assert call(definition_of(broken), a=1).error == "ValueError: broken"


@pytest.mark.parametrize(
    ("handling", "text"), [(True, "no luck"), ("sorry", "sorry"), (lambda error: f"<{error}>", "<no luck>")]
)
def test_a_failure_that_langchain_handles_is_a_failure_still(handling: Any, text: str) -> None:
    def broken(a: int) -> int:
        """Breaks."""
        if a:
            raise tools.ToolException("no luck")
        return 0

    made = tools.StructuredTool.from_function(broken, handle_tool_error=handling)
    outcome = call(from_langchain(made), a=1)
    assert (outcome.success, outcome.error) == (False, text)
    assert call(from_langchain(made), a=0).data == "0"


def test_an_artifact_is_the_data_and_the_content_is_for_the_model() -> None:
    def search(query: str) -> tuple[str, list[int]]:
        """Searches."""
        return f"2 results for {query}", [1, 2]

    outcome = call(definition_of(search, response_format="content_and_artifact"), query="x")
    assert (outcome.data, outcome.output) == ([1, 2], "2 results for x")


def test_an_injected_parameter_is_hidden_and_without_a_default_refused() -> None:
    def remembers(text: str, state: Annotated[dict[str, Any], tools.InjectedToolArg]) -> str:
        """Remembers."""
        return text

    def forgets(text: str, state: Annotated[dict[str, Any] | None, tools.InjectedToolArg] = None) -> str:
        """Forgets."""
        return f"{text} {state}"

    assert list(definition_of(forgets).parameters["properties"]) == ["text"]
    assert call(definition_of(forgets), text="hi").data == "hi None"
    with pytest.raises(DefinitionError, match="'state' of the LangChain tool 'remembers' is filled by LangGraph"):
        definition_of(remembers)


def test_our_tool_is_a_langchain_tool() -> None:
    made = to_langchain(define(multiply))
    assert isinstance(made, tools.StructuredTool)
    assert (made.name, made.description, list(made.args)) == ("multiply", "Multiply two numbers.", ["a", "b"])
    assert made.invoke({"a": 3}) == 6
    message = made.invoke({"type": "tool_call", "id": "call_1", "name": "multiply", "args": {"a": "3"}})
    assert (message.content, message.status, message.tool_call_id) == ("6", "success", "call_1")


async def test_our_tool_runs_on_the_loop_and_beside_it() -> None:
    made = to_langchain(define(multiply_async))
    assert await made.ainvoke({"a": 3}) == 6
    assert made.invoke({"a": 3}) == 6


async def test_a_failure_of_ours_is_a_message_and_never_ends_the_graph() -> None:
    made = to_langchain(define(multiply))
    message = await made.ainvoke({"type": "tool_call", "id": "call_1", "name": "multiply", "args": {"b": 1}})
    assert message.status == "error"
    assert message.content.startswith("a: expected integer, got nothing")


def test_our_tool_runs_where_it_is_registered() -> None:
    remote = ToolDefinition("weather.now", "The weather.", {"properties": {"city": {"type": "string"}}})
    runner = FakeRunner({"weather.now": {"sky": "clear"}})
    with temporary_crib(remote, runner=runner):
        made = to_langchain(remote)
        assert made.invoke({"city": "Oslo"}) == {"sky": "clear"}
    assert made.name == "weather_now_" + made.name.rpartition("_")[2]
    assert runner.arguments("weather.now") == [{"city": "Oslo"}]


def test_a_tool_that_is_registered_nowhere_has_the_services_of_the_default_crib() -> None:
    def clock() -> str:
        """Tells the time."""
        return str(get_service("clock"))

    with temporary_crib():
        register_service("clock", "noon")
        assert to_langchain(define(clock)).invoke({}) == "noon"


def test_there_and_back_again() -> None:
    definition = from_langchain(to_langchain(define(multiply)))
    assert_schema(definition, {"required": ["a"], "properties": {"a": {"type": "integer"}}})
    assert call(definition, a=3, b=4).data == "12"
