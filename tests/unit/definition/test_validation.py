"""Arguments are checked, repaired where nothing is lost, and refused in words that help (contract N006)."""

from __future__ import annotations

import datetime
from typing import Any, Literal

import pytest
from pydantic import BaseModel, field_validator

from toolcrib.definition.decorator import define
from toolcrib.definition.tool import Effects, ToolDefinition
from toolcrib.definition.validation import validate, validate_output
from toolcrib.errors import DefinitionError, InvalidParamsError

NOTE = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "pinned": {"type": "boolean", "default": False},
        "priority": {"type": "integer", "minimum": 1, "default": 1},
        "kind": {"type": "string", "enum": ["plain", "task"]},
        "filter": {"anyOf": [{"type": "object"}, {"type": "null"}]},
        "ratio": {"type": "number"},
    },
    "required": ["title"],
}


def typed_note(
    title: str,
    tags: list[str] = [],  # noqa: B006
    pinned: bool = False,
    priority: int = 1,
    kind: Literal["plain", "task"] = "plain",
    filter: dict[str, Any] | None = None,  # noqa: A002
    ratio: float = 0.5,
) -> None: ...


def raw(effects: Effects | None = None) -> ToolDefinition:
    return ToolDefinition("add_note", "Adds a note.", NOTE, lambda arguments: arguments, effects=effects)


def typed(effects: Effects | None = None) -> ToolDefinition:
    return define(typed_note, name="add_note", effects=effects)


both = pytest.mark.parametrize("make", [raw, typed], ids=["raw", "typed"])


def refusal(tool: ToolDefinition, arguments: Any) -> list[str]:
    """The lines of the error."""
    with pytest.raises(InvalidParamsError) as caught:
        validate(tool, arguments)
    return str(caught.value).split("\n")


@both
def test_N006_what_fits_is_never_changed_and_defaults_are_not_filled_in(make: Any) -> None:
    sent = {"title": "12", "tags": ["true"], "pinned": True, "priority": 3, "kind": "task", "filter": None, "ratio": 1}
    notes: list[str] = []

    got = validate(make(), sent, notes)

    assert (got, notes) == (sent, [])
    assert got is not sent
    assert validate(make(), {"title": "x"}) == {"title": "x"}


@both
@pytest.mark.parametrize(
    ("name", "sent", "got", "note"),
    [
        ("priority", "3", 3, "coerced:priority"),
        ("priority", " +3 ", 3, "coerced:priority"),
        ("priority", "3.0", 3, "coerced:priority"),
        ("priority", "2512292042121000001", 2512292042121000001, "coerced:priority"),
        ("ratio", "0.1", 0.1, "coerced:ratio"),
        ("ratio", "1e3", 1000.0, "coerced:ratio"),
        ("pinned", " TRUE ", True, "coerced:pinned"),
        ("pinned", "off", False, "coerced:pinned"),
        ("pinned", 1, True, "coerced:pinned"),
        ("tags", '["a", "b"]', ["a", "b"], "decoded:tags"),
        ("tags", '["a\nb"]', ["a\nb"], "decoded:tags"),
        ("tags", "a", ["a"], "wrapped:tags"),
        ("filter", '{"a": 1}', {"a": 1}, "decoded:filter"),
        ("kind", "TASK", "task", "enum_case:kind"),
        ("title", 94103, "94103", "coerced:title"),
    ],
)
def test_N006_what_was_meant_is_read_by_the_declared_type_and_noted(
    make: Any, name: str, sent: Any, got: Any, note: str
) -> None:
    notes: list[str] = []

    assert validate(make(), {"title": "t", name: sent}, notes)[name] == got
    assert notes == [note]


@both
def test_N006_a_whole_number_written_with_a_point_is_an_integer_without_a_note(make: Any) -> None:
    notes: list[str] = []

    priority = validate(make(), {"title": "t", "priority": 5.0}, notes)["priority"]

    assert (priority, type(priority), notes) == (5, int, [])


@both
@pytest.mark.parametrize(("name", "sent"), [("tags", None), ("priority", None), ("pinned", None)])
def test_N006_null_for_an_optional_parameter_means_its_default(make: Any, name: str, sent: Any) -> None:
    notes: list[str] = []

    assert validate(make(), {"title": "t", name: sent}, notes) == {"title": "t"}
    assert notes == [f"null_as_default:{name}"]


@both
@pytest.mark.parametrize(
    ("name", "sent", "line"),
    [
        ("priority", "1,000", 'priority: expected integer >= 1, got string "1,000"'),
        ("priority", True, "priority: expected integer >= 1, got true"),
        ("priority", 1.5, "priority: expected integer >= 1, got 1.5"),
        ("pinned", "maybe", 'pinned: expected boolean, got string "maybe"'),
        ("kind", "other", 'kind: expected one of "plain", "task", got string "other"'),
        ("filter", "{oops}", 'filter: expected object or null, got string "{oops}"'),
        ("tags", '{"a": 1}', 'tags: expected array of string, got string "{\\"a\\": 1}"'),
        ("tags", ["a", None], "tags[1]: expected string, got null"),
        ("title", None, "title: expected string, got null"),
        ("ratio", float("nan"), "ratio: expected number, got NaN"),
    ],
)
def test_N006_errors_say_path_expected_and_got(make: Any, name: str, sent: Any, line: str) -> None:
    tool = make()
    if make is typed:
        line = line.replace("integer >= 1", "integer")
    assert refusal(tool, {"title": "t", name: sent}) == [line]


@both
def test_N006_at_most_five_lines_and_a_hint_with_the_parameters(make: Any) -> None:
    wrong = {"tags": {}, "pinned": "x", "priority": "x", "kind": "x", "filter": 1, "ratio": "x"}

    with pytest.raises(InvalidParamsError) as caught:
        validate(make(), wrong)

    lines = str(caught.value).split("\n")
    assert len(lines) == 5
    assert lines[0] == "title: expected string, got nothing (it is required)"
    assert lines[-1] == "… and 3 more"
    assert caught.value.hint == "add_note takes title (required), tags, pinned, priority, kind, filter, ratio."


@both
def test_N006_unknown_keys_are_dropped_with_a_note_by_tools_that_read_or_do_not_say(make: Any) -> None:
    for effects in (None, "none", "read"):
        notes: list[str] = []
        assert validate(make(effects), {"title": "t", "colour": 1}, notes) == {"title": "t"}
        assert notes == ["ignored:colour"]


@both
@pytest.mark.parametrize("effects", ["write", "external"])
def test_N006_unknown_keys_are_refused_by_tools_that_change_something(make: Any, effects: Effects) -> None:
    (line,) = refusal(make(effects), {"title": "t", "tag": ["a"]})

    assert line.startswith("tag: expected one of the keys title, tags, pinned")
    assert line.endswith("did you mean 'tags'?")


@both
def test_N006_the_only_missing_key_is_what_an_unknown_one_was_meant_to_be(make: Any) -> None:
    first, second = refusal(make("write"), {"headline": "t"})

    assert first == "title: expected string, got nothing (it is required)"
    assert second.endswith("got an unknown key; did you mean 'title'?")


def test_N006_a_closed_schema_refuses_unknown_keys_whatever_the_tool_does() -> None:
    closed = ToolDefinition("t", "", {**NOTE, "additionalProperties": False}, effects="read")

    assert refusal(closed, {"title": "t", "x": 1})[0].startswith("x: expected one of the keys")


def test_N006_an_open_schema_takes_any_key() -> None:
    for schema in ({"type": "object"}, {}, {**NOTE, "additionalProperties": {"type": "integer"}}):
        tool = ToolDefinition("t", "", schema, effects="write")
        assert validate(tool, {"title": "t", "x": 1}) == {"title": "t", "x": 1}


@both
def test_N006_arguments_sent_one_level_too_deep_are_unwrapped_where_they_fit(make: Any) -> None:
    notes: list[str] = []

    assert validate(make(), {"arguments": {"title": "t", "priority": "2"}}, notes) == {"title": "t", "priority": 2}
    assert notes == ["unwrapped:arguments", "coerced:priority"]
    assert "title" in refusal(make(), {"arguments": {"name": "t"}})[0]


def test_N006_a_parameter_that_is_called_parameters_is_not_unwrapped() -> None:
    schema = {"type": "object", "properties": {"parameters": {"type": "object"}}, "required": ["parameters"]}
    sent = {"parameters": {"parameters": {"x": 1}}}

    assert validate(ToolDefinition("plot", "", schema), sent) == sent


@both
@pytest.mark.parametrize("sent", [[], "x", 3])
def test_N006_arguments_are_an_object(make: Any, sent: Any) -> None:
    assert refusal(make(), sent)[0].startswith("arguments: expected object, got")
    assert validate(ToolDefinition("t", "", {}), None) == {}


def test_N006_a_choice_between_objects_is_judged_by_the_one_that_was_meant() -> None:
    get = {"properties": {"op": {"const": "get"}, "id": {"type": "string"}}, "required": ["op", "id"]}
    list_all = {"properties": {"op": {"const": "list"}}, "required": ["op"]}
    tool = ToolDefinition("t", "", {"type": "object", "oneOf": [get, list_all]})

    assert refusal(tool, {"op": "get"}) == ["id: expected string, got nothing (it is required)"]
    assert validate(tool, {"op": "get", "id": 7}) == {"op": "get", "id": "7"}


def test_N006_nested_values_are_repaired_and_refused_with_their_whole_path() -> None:
    edit = {
        "type": "object",
        "properties": {"line": {"type": "integer"}, "text": {"type": "string"}},
        "required": ["line"],
    }
    schema = {
        "type": "object",
        "properties": {"edits": {"type": "array", "items": {"$ref": "#/$defs/Edit"}}},
        "$defs": {"Edit": edit},
    }
    tool = ToolDefinition("edit", "", schema)
    notes: list[str] = []

    assert validate(tool, {"edits": [{"line": "3", "text": None}]}, notes) == {"edits": [{"line": 3}]}
    assert notes == ["coerced:edits", "null_as_default:edits"]
    assert refusal(tool, {"edits": [{"line": 1}, {"line": "x"}]}) == ['edits[1].line: expected integer, got string "x"']


class Account(BaseModel):
    email: str
    age: int = 0

    @field_validator("email")
    @classmethod
    def has_an_at(cls, value: str) -> str:
        if "@" not in value:
            raise ValueError("an address with @")
        return value


def test_N006_what_a_model_itself_demands_is_said_in_the_same_form() -> None:
    def register(account: Account, when: datetime.date = datetime.date(2024, 1, 1)) -> str:
        return account.email

    tool = define(register)

    assert refusal(tool, {"account": {"email": "x"}}) == ['account.email: expected an address with @, got string "x"']
    assert refusal(tool, {"account": {"email": "a@b", "age": True}}) == ["account.age: expected integer, got true"]
    assert validate(tool, {"account": '{"email": "a@b", "age": "3"}'}) == {"account": {"email": "a@b", "age": 3}}


def test_N006_a_validator_that_raises_something_else_is_an_error_of_the_arguments() -> None:
    class Odd(BaseModel):
        x: str

        @field_validator("x")
        @classmethod
        def fail(cls, value: str) -> str:
            raise KeyError(value)

    def f(odd: Odd) -> None: ...

    assert "KeyError" in refusal(define(f), {"odd": {"x": "y"}})[0]


def test_N006_deep_nesting_and_circular_values_are_refused_not_fatal() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    circular: dict[str, Any] = {}
    circular["me"] = circular
    tree = {
        "type": "object",
        "properties": {"t": {"$ref": "#/$defs/T"}},
        "$defs": {"T": {"type": "array", "items": {"$ref": "#/$defs/T"}}},
    }

    assert "too deeply" in refusal(ToolDefinition("t", "", tree), {"t": deep})[0]
    assert refusal(typed(), {"title": circular})[0].startswith("title: expected string, got")
    while deep:
        deep = deep.pop()


def test_N006_a_pattern_that_backtracks_for_ever_elsewhere_is_matched_in_linear_time() -> None:
    schema = {"type": "object", "properties": {"s": {"type": "string", "pattern": "^(a+)+$"}}}

    assert refusal(ToolDefinition("t", "", schema), {"s": "a" * 5000 + "!"})[0].startswith(
        "s: expected string matching"
    )


def test_N006_long_values_are_cut_in_the_message() -> None:
    (line,) = refusal(typed(), {"title": "t", "priority": "x" * 10_000_000})

    assert len(line) < 150


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": ["a"]},
        {"properties": {"a": {"$ref": "#/nowhere"}}},
        {"$ref": "#"},
        {"properties": {"a": {"$ref": "http://x/y"}}},
    ],
)
def test_N006_a_schema_that_cannot_be_used_is_the_operators_error(schema: Any) -> None:
    with pytest.raises(DefinitionError) as caught:
        validate(ToolDefinition("t", "", schema), {"a": 1})
    assert caught.value.mender == "operator"


def test_N006_the_full_validator_checks_what_ours_does_not_know() -> None:
    pytest.importorskip("jsonschema_rs")
    schema = {
        "type": "object",
        "allOf": [{"properties": {"a": {}}}],
        "properties": {"b": {}},
        "unevaluatedProperties": False,
    }
    tool = ToolDefinition("t", "", schema)

    assert validate(tool, {"a": 1, "b": 2}) == {"a": 1, "b": 2}


def test_N006_results_are_checked_against_the_output_schema() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

    assert validate_output(None, object()) == []
    assert validate_output(schema, {"n": 5.0}) == []
    assert validate_output(schema, {"n": "5"}) == ['n: expected integer, got string "5"']
    assert validate_output(schema, []) == ["result: expected object, got array []"]


def test_N006_a_definition_whose_parameters_are_replaced_is_compiled_anew() -> None:
    tool = raw()
    validate(tool, {"title": "t"})
    tool.parameters = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}

    assert validate(tool, {"x": 1}) == {"x": 1}
