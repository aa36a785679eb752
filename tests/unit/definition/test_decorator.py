"""Making tools of functions (contract N001, N002, N048)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import pytest

from toolcrib.definition.decorator import define, make_tool_decorator
from toolcrib.definition.invoke import invoke
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import DefinitionError

PARAMETERS = {
    "type": "object",
    "properties": {"param1": {"type": "string", "description": "参数1"}},
    "required": ["param1"],
}


def test_N048_the_documents_form_registers_the_tool_and_returns_the_function_unchanged() -> None:
    tools: list[ToolDefinition] = []
    tool = make_tool_decorator(tools.append)

    def written(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"result": "ok"}

    my_tool = tool(name="my_tool", description="工具描述", parameters=PARAMETERS, category="custom")(written)

    assert my_tool is written
    assert my_tool({"param1": "x"}) == {"result": "ok"}
    (registered,) = tools
    assert (registered.name, registered.description, registered.category) == ("my_tool", "工具描述", "custom")
    assert registered.parameters is PARAMETERS
    assert registered.handler is written
    assert invoke(registered, {"param1": "x"}).to_dict() == {"success": True, "data": {"result": "ok"}, "error": None}


def test_N048_a_bare_decorator_reads_name_description_and_schema_from_the_function() -> None:
    tools: list[ToolDefinition] = []
    tool = make_tool_decorator(tools.append)

    @tool
    def add(a: int, b: int = 1) -> int:
        """Adds two numbers.

        Args:
            a: the first
        """
        return a + b

    assert add(1, 2) == 3
    assert tools[0].to_openai_format() == {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Adds two numbers.",
            "parameters": {
                "type": "object",
                "properties": {
                    "a": {"type": "integer", "description": "the first"},
                    "b": {"type": "integer", "default": 1},
                },
                "required": ["a"],
            },
        },
    }
    assert tools[0].output_schema == {"type": "integer"}
    assert tools[0].category == "general"


def test_N048_facts_and_texts_given_to_the_decorator_win_over_the_function() -> None:
    tools: list[ToolDefinition] = []
    tool = make_tool_decorator(tools.append)

    @tool(name="adding", description="Adds.", category="math", effects="none", idempotent=True, timeout=5)
    def add(a: int) -> int:
        """Another text."""
        return a

    (made,) = tools
    assert (made.name, made.description, made.category) == ("adding", "Adds.", "math")
    assert (made.effects, made.idempotent, made.timeout) == ("none", True, 5)
    assert made.source == __name__


def test_N048_a_schema_written_by_hand_also_serves_a_function_with_its_parameters() -> None:
    def greet(name: str, polite: bool = False) -> str:
        return f"{'Dear' if polite else 'Hi'} {name}"

    tool = define(greet, parameters={"type": "object", "properties": {"name": {"type": "string"}, "polite": {}}})

    assert invoke(tool, {"name": "Ann", "polite": True}).data == "Dear Ann"


def _traced(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


class Greeter:
    """Greets people."""

    def __init__(self, word: str) -> None:
        self.word = word

    def greet(self, name: str) -> str:
        """Greet one."""
        return f"{self.word} {name}"

    async def __call__(self, name: str) -> str:
        return f"{self.word} {name}"

    @classmethod
    def kind(cls, name: str) -> str:
        return f"{cls.__name__} {name}"

    @staticmethod
    def plain(name: str) -> str:
        return f"plain {name}"


def _join(first: str, name: str, last: str = "!") -> str:
    """Join them."""
    return first + name + last


@pytest.mark.parametrize(
    ("function", "name", "description", "answer"),
    [
        (Greeter("Hi").greet, "greet", "Greet one.", "Hi Ann"),
        (Greeter("Ho"), "greeter", "Greets people.", "Ho Ann"),
        (Greeter.kind, "kind", "", "Greeter Ann"),
        (Greeter.plain, "plain", "", "plain Ann"),
        (functools.partial(_join, "Oh ", last="?"), "_join", "Join them.", "Oh Ann?"),
        (_traced(Greeter("Hey").greet), "greet", "Greet one.", "Hey Ann"),
    ],
    ids=["method", "object", "classmethod", "staticmethod", "partial", "wrapped"],
)
def test_N048_whatever_can_be_called_can_be_a_tool(
    function: Callable[..., Any], name: str, description: str, answer: str
) -> None:
    tool = define(function)

    assert (tool.name, tool.description) == (name, description)
    assert list(tool.parameters["properties"]) == ["name"]
    assert tool.parameters["required"] == ["name"]
    assert invoke(tool, {"name": "Ann"}).data == answer


def test_N048_what_a_partial_has_bound_cannot_be_sent() -> None:
    tool = define(functools.partial(_join, "a", last="c"))

    assert invoke(tool, {"name": "b", "last": "x", "first": "y"}).data == "abc"


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (Greeter.greet, "Greeter.greet is a method"),
        (Greeter, "is a class"),
        (3, "cannot be called"),
        (lambda x: x, "lambda has no name"),
    ],
)
def test_N048_what_cannot_be_a_tool_is_refused_at_once_with_what_to_do(function: Any, says: str) -> None:
    with pytest.raises(DefinitionError, match=says) as caught:
        define(function)
    assert caught.value.hint


def test_N048_a_name_in_an_annotation_that_means_nothing_is_refused_where_it_is_defined() -> None:
    def make() -> Callable[..., Any]:
        class Point:
            x: int

        def plot(point: Point) -> int:
            return point.x

        return plot

    with pytest.raises(DefinitionError, match=r"'plot'.*'point'.*'Point'"):
        define(make())


def test_N048_a_local_class_is_found_while_its_function_runs() -> None:
    from pydantic import BaseModel

    class Point(BaseModel):
        x: int

    def plot(point: Point) -> int:
        return point.x

    assert invoke(define(plot), {"point": {"x": 3}}).data == 3


def test_N048_defining_does_not_read_the_function_yet() -> None:
    names: dict[str, Any] = {"__name__": "somewhere"}
    exec("def later(value: 'Later') -> int: return value['x']", names)
    tool = define(names["later"])

    names["Later"] = dict[str, int]

    assert invoke(tool, {"value": {"x": 4}}).data == 4


def test_N048_a_builtin_with_a_known_signature_works() -> None:
    assert invoke(define(math.sqrt), {"x": 9}).data == 3


def test_N001_definitions_are_equal_by_what_they_say() -> None:
    def handler(arguments: dict[str, Any]) -> None:
        return None

    assert ToolDefinition("a", "b", {}, handler) == ToolDefinition("a", "b", {}, handler, "general")
    assert define(handler, name="x") == define(handler, name="x")
