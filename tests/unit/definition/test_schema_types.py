"""What each Python type becomes, and that the function gets instances (contract N048)."""

import dataclasses
import datetime
import decimal
import enum
import pathlib
import typing
import uuid
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Optional, TypedDict

import pytest
from pydantic import BaseModel, Field

from toolcrib.definition.decorator import define
from toolcrib.definition.invoke import invoke
from toolcrib.errors import DefinitionError


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Point:
    """A place."""

    x: int
    y: int = 0
    tags: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Tree:
    value: int
    children: "list[Tree]" = dataclasses.field(default_factory=list)


class Options(TypedDict):
    """How to do it."""

    name: str
    deep: NotRequired[bool]


class Person(BaseModel):
    """Somebody."""

    name: str
    title: str = "Mx"
    friends: "list[Person]" = []


class Mixed(TypedDict):
    person: Person


class Pair(NamedTuple):
    left: int
    right: int


def schema_of(annotation: Any, default: Any = ...) -> dict[str, Any]:
    """The schema of one parameter of this type."""

    def f(p: Any) -> None: ...

    f.__annotations__["p"] = annotation
    if default is not ...:
        f.__defaults__ = (default,)
    return dict(define(f).parameters)


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (Any, {}),
        (None, {"type": "null"}),
        (bytes, {"type": "string", "contentEncoding": "base64"}),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (datetime.date, {"type": "string", "format": "date"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (pathlib.Path, {"type": "string", "format": "path"}),
        (list, {"type": "array", "items": {}}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (typing.Sequence[str], {"type": "array", "items": {"type": "string"}}),
        (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (
            tuple[int, str],
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
        ),
        (dict, {"type": "object", "additionalProperties": True}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),  # noqa: UP045
        (int | str | None, {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[1, "a"], {"anyOf": [{"type": "integer", "enum": [1]}, {"type": "string", "enum": ["a"]}]}),
        (Colour, {"type": "string", "enum": ["red", "blue"]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (Annotated[int, "how many"], {"type": "integer", "description": "how many"}),
        (Annotated[int, Field(ge=1, lt=9)], {"type": "integer", "minimum": 1, "exclusiveMaximum": 9}),
        (Annotated[str, Field(min_length=1, pattern="^a")], {"type": "string", "minLength": 1, "pattern": "^a"}),
        (Annotated[list[int], Field(max_length=3)], {"type": "array", "items": {"type": "integer"}, "maxItems": 3}),
        (typing.NewType("UserId", int), {"type": "integer"}),
    ],
)
def test_N048_types_and_their_schemas(annotation: Any, schema: dict[str, Any]) -> None:
    assert schema_of(annotation) == {"type": "object", "properties": {"p": schema}, "required": ["p"]}


def test_N048_a_dataclass_is_a_named_definition_with_its_defaults() -> None:
    schema = schema_of(Point)

    assert schema["properties"] == {"p": {"$ref": "#/$defs/Point"}}
    assert schema["$defs"]["Point"] == {
        "type": "object",
        "description": "A place.",
        "properties": {
            "x": {"type": "integer"},
            "y": {"type": "integer", "default": 0},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["x"],
    }


def test_N048_two_classes_of_one_name_stay_apart() -> None:
    first = dataclasses.make_dataclass("Same", [("a", int)])
    second = dataclasses.make_dataclass("Same", [("b", str)])

    schema = schema_of(dict[str, first | second])  # type: ignore[valid-type]

    assert list(schema["$defs"]) == ["Same", "Same2"]


def test_N048_models_lose_their_derived_titles_but_not_a_property_called_title() -> None:
    schema = schema_of(Person)

    assert schema["$defs"]["Person"]["properties"]["title"] == {"default": "Mx", "type": "string"}
    assert "title" not in schema["$defs"]["Person"]


@pytest.mark.parametrize(
    ("annotation", "sent", "got"),
    [
        (Point, {"x": 1}, Point(1)),
        (list[Point], [{"x": 1, "y": 2}], [Point(1, 2)]),
        (Tree, {"value": 1, "children": [{"value": 2}]}, Tree(1, [Tree(2)])),
        (Options, {"name": "a", "deep": True}, {"name": "a", "deep": True}),
        (Person, {"name": "A", "friends": [{"name": "B"}]}, Person(name="A", friends=[Person(name="B")])),
        (Person | None, None, None),
        (list[Person], [{"name": "A"}], [Person(name="A")]),
        (Mixed, {"person": {"name": "A"}}, {"person": Person(name="A")}),
        (Pair, [1, 2], Pair(1, 2)),
        (Colour, "blue", Colour.BLUE),
        (Level, 2, Level.HIGH),
        (bytes, "AP8=", b"\x00\xff"),
        (decimal.Decimal, 0.1, decimal.Decimal("0.1")),
        (decimal.Decimal, "0.10", decimal.Decimal("0.10")),
        (datetime.date, "2024-02-29", datetime.date(2024, 2, 29)),
        (datetime.timedelta, "PT90S", datetime.timedelta(seconds=90)),
        (pathlib.Path, "a/b", pathlib.Path("a/b")),
        (set[int], [1, 2, 2], {1, 2}),
        (tuple[int, str], [1, "a"], (1, "a")),
        (dict[int, str], {"1": "a"}, {1: "a"}),
        (dict[Colour, int], {"red": 1}, {Colour.RED: 1}),
        (float, 3, 3.0),
        (int, 5.0, 5),
        (Annotated[Person, "who"], {"name": "A"}, Person(name="A")),
    ],
)
def test_N048_the_body_gets_instances(annotation: Any, sent: Any, got: Any) -> None:
    received = []

    def f(p: Any) -> None:
        received.append(p)

    f.__annotations__["p"] = annotation
    result = invoke(define(f), {"p": sent})

    assert result.success, result.error
    assert received == [got]
    assert type(received[0]) is type(got)


@pytest.mark.parametrize(
    ("annotation", "sent"),
    [
        (int, True), (float, True), (int, 1.5), (bool, 2), (str, None), (str, True), (str, ["a"]), (int, "1,000"),
        (Literal[1, 2], True), (Level, True), (decimal.Decimal, True), (datetime.datetime, 1700000000), (bytes, "%%"),
        (Colour, "green"), (Point, {"x": True}), (Person, {"name": 3.5}), (list[int], "1,2"), (uuid.UUID, "x"),
        (dict[int, str], {"a": "b"}), (tuple[int, str], [1]),
    ],
)  # fmt: skip
def test_N006_what_does_not_fit_is_refused_and_the_parameter_named(annotation: Any, sent: Any) -> None:
    def f(p: Any) -> None: ...

    f.__annotations__["p"] = annotation
    result = invoke(define(f), {"p": sent})

    assert result.error_code == "invalid_params"
    assert result.error is not None
    assert result.error.startswith("p")


def test_N048_defaults_are_shown_where_json_can() -> None:
    assert schema_of(int, 5)["properties"]["p"] == {"type": "integer", "default": 5}
    assert schema_of(Colour, Colour.RED)["properties"]["p"]["default"] == "red"
    assert schema_of(datetime.date, datetime.date(2024, 1, 2))["properties"]["p"]["default"] == "2024-01-02"
    assert schema_of(Person, Person(name="A"))["properties"]["p"]["default"]["name"] == "A"
    assert "default" not in schema_of(float, float("inf"))["properties"]["p"]
    assert "default" not in schema_of(Any, object())["properties"]["p"]


def test_N048_a_default_of_none_makes_a_parameter_nullable() -> None:
    assert schema_of(int, None)["properties"]["p"] == {
        "anyOf": [{"type": "integer"}, {"type": "null"}],
        "default": None,
    }


def test_N048_fields_of_pydantic_give_default_alias_and_text() -> None:
    all_tags: Any = Field(default_factory=list, description="all")

    def f(from_: Annotated[str, Field(alias="from")], tags: list[str] = all_tags) -> str:
        return from_ + ",".join(tags)

    tool = define(f)

    assert tool.parameters == {
        "type": "object",
        "properties": {
            "from": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}, "description": "all"},
        },
        "required": ["from"],
    }
    assert invoke(tool, {"from": "x"}).data == "x"


def test_N048_all_kinds_of_parameters_arrive_where_they_belong() -> None:
    def f(a: int, /, b: int = 2, *rest: int, key: str = "k", **more: int) -> list[Any]:
        return [a, b, rest, key, more]

    tool = define(f)

    assert tool.parameters["required"] == ["a"]
    assert tool.parameters["additionalProperties"] == {"type": "integer"}
    assert invoke(tool, {"a": 1}).data == [1, 2, (), "k", {}]
    assert invoke(tool, {"a": 1, "rest": [3], "key": "x", "z": 4}).data == [1, 2, (3,), "x", {"z": 4}]


def test_N048_names_that_mean_something_elsewhere_are_only_names_here() -> None:
    def f(_model: str, model_config: int, json: str, class_: str, ref: str, schema: str = "s") -> str:
        return f"{_model}{model_config}{json}{class_}{ref}{schema}"

    assert (
        invoke(define(f), {"_model": "m", "model_config": 1, "json": "j", "class_": "c", "ref": "r"}).data == "m1jcrs"
    )


def test_N048_a_type_that_no_schema_can_be_made_of_names_tool_and_parameter() -> None:
    def f(callback: typing.Callable[[int], int]) -> None: ...

    with pytest.raises(DefinitionError, match=r"'f'.*'callback'"):
        _ = define(f).parameters


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (int, {"type": "integer"}),
        (list[Point], {"type": "array", "items": {"$ref": "#/$defs/Point"}}),
        (None, None),
        (Any, None),
        (typing.Awaitable[str], {"type": "string"}),
        (typing.Callable[[], int], None),
    ],
)
def test_N048_output_schemas_come_from_the_return_annotation(annotation: Any, schema: Any) -> None:
    def f() -> None: ...

    f.__annotations__["return"] = annotation
    output = define(f).output_schema

    if output is not None:
        output = {key: value for key, value in output.items() if key != "$defs"}
    assert output == schema


def test_N048_what_a_generator_yields_is_an_array_and_what_it_returns_wins() -> None:
    def numbers() -> typing.Iterator[int]:
        yield 1

    def total() -> typing.Generator[str, None, int]:
        yield "working"
        return 7

    assert define(numbers).output_schema == {"type": "array", "items": {"type": "integer"}}
    assert define(total).output_schema == {"type": "integer"}
    assert (invoke(define(numbers), {}).data, invoke(define(total), {}).data) == ([1], 7)


def test_N006_tools_that_write_refuse_members_that_a_dataclass_does_not_have() -> None:
    def f(p: Point) -> int:
        return p.x

    assert invoke(define(f), {"p": {"x": 1, "z": 2}}).data == 1
    assert "p.z" in str(invoke(define(f, effects="write"), {"p": {"x": 1, "z": 2}}).error)
