"""One definition in the form of each provider (contract M01, M02; N002)."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Literal

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcrib.definition.decorator import define
from toolcrib.definition.dialects import Dialect, to_dialect
from toolcrib.definition.dialects.alias import alias, shortened
from toolcrib.definition.dialects.anthropic import anthropic
from toolcrib.definition.dialects.openai import responses, why_not_strict
from toolcrib.definition.tool import Effects, ToolDefinition
from toolcrib.errors import DuplicateToolError
from toolcrib.registry.names import aliases


@dataclasses.dataclass
class Place:
    """Where."""

    city: str
    zip: str | None = None


def plan(
    start: Place, mode: Literal["fast", "deep"] = "fast", box: tuple[int, int] | None = None, level: Literal[1, 2] = 1
) -> dict[str, int]:
    """Plan a trip.

    Args:
        start: where it begins
    """
    return {}


TOOL = define(plan, effects="external", idempotent=True, title="Trip")
PLACE = {
    "type": "object",
    "description": "Where.",
    "properties": {
        "city": {"type": "string"},
        "zip": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
    },
    "required": ["city"],
}
START = {"$ref": "#/$defs/Place", "description": "where it begins"}
MODE = {"type": "string", "enum": ["fast", "deep"], "default": "fast"}
LEVEL = {"type": "integer", "enum": [1, 2], "default": 1}
PAIR = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
TWO = {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "integer"}], "minItems": 2, "maxItems": 2}
NULL = {"type": "null"}


def schema(box: Any) -> dict[str, Any]:
    """The neutral schema, with what stands for the tuple."""
    return {
        "type": "object",
        "properties": {
            "start": START,
            "mode": MODE,
            "box": {"anyOf": [box, NULL], "default": None},
            "level": LEVEL,
        },
        "required": ["start"],
        "$defs": {"Place": PLACE},
    }


def test_M01_openai_chat_completions() -> None:
    assert to_dialect(TOOL, "openai") == {
        "type": "function",
        "function": {"name": "plan", "description": "Plan a trip.", "parameters": schema(PAIR)},
    }


def test_M01_openai_responses_says_strict_because_its_default_is_true() -> None:
    assert to_dialect(TOOL, "openai_responses") == {
        "type": "function", "name": "plan", "description": "Plan a trip.", "parameters": schema(PAIR), "strict": False,
    }  # fmt: skip
    assert responses(TOOL, strict=True)["strict"] is True


def test_M01_openai_strict_makes_every_member_required_and_the_optional_ones_nullable() -> None:
    function = to_dialect(TOOL, "openai_strict")["function"]

    assert function["strict"] is True
    assert function["parameters"] == {
        "type": "object",
        "properties": {
            "start": {"anyOf": [{"$ref": "#/$defs/Place"}], "description": "where it begins"},
            "mode": {"type": ["string", "null"], "enum": ["fast", "deep", None], "description": 'Default: "fast".'},
            "box": {"anyOf": [PAIR, NULL]},
            "level": {"type": ["integer", "null"], "enum": [1, 2, None], "description": "Default: 1."},
        },
        "required": ["start", "mode", "box", "level"],
        "$defs": {
            "Place": {
                "type": "object",
                "description": "Where.",
                "properties": {"city": {"type": "string"}, "zip": {"anyOf": [{"type": "string"}, NULL]}},
                "required": ["city", "zip"],
                "additionalProperties": False,
            }
        },
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"a": {"type": "object", "additionalProperties": {"type": "integer"}}}, "a takes members of any name"),
        ({"a": {"type": "object"}}, "a takes members of any name"),
        ({"a": {}}, "a may be anything, and strict mode wants a type"),
        ({"a": {"type": "array"}}, "a[] may be anything, and strict mode wants a type"),
        ({"a": {"type": "object", "properties": {"b": {"not": {}, "type": "string"}}}}, "a.b uses not"),
        ({"a": {"description": "x"}}, "a has no type"),
    ],
)
def test_M01_a_tool_that_cannot_be_strict_is_sent_without_and_the_reason_is_known(properties: Any, reason: str) -> None:
    tool = ToolDefinition("t", "", {"type": "object", "properties": properties})

    assert to_dialect(tool, "openai_strict")["function"]["strict"] is False
    assert why_not_strict(tool.parameters) == reason


def test_M01_anthropic() -> None:
    assert to_dialect(TOOL, "anthropic") == {"name": "plan", "description": "Plan a trip.", "input_schema": schema(TWO)}
    assert anthropic(TOOL, defer_loading=True)["defer_loading"] is True


def test_M01_gemini_has_no_references_no_null_type_and_values_only_for_text() -> None:
    assert to_dialect(TOOL, "gemini") == {
        "name": "plan",
        "description": "Plan a trip.",
        "parameters": {
            "type": "object",
            "properties": {
                "start": {
                    "type": "object",
                    "description": "where it begins",
                    "properties": {"city": {"type": "string"}, "zip": {"type": "string", "nullable": True}},
                    "required": ["city"],
                },
                "mode": {"type": "string", "enum": ["fast", "deep"], "description": 'Default: "fast".'},
                "box": {**PAIR, "nullable": True},
                "level": {"type": "integer", "minimum": 1, "maximum": 2, "description": "One of 1, 2. Default: 1."},
            },
            "required": ["start"],
        },
    }


def test_M01_gemini_cuts_recursion_and_leaves_out_parameters_where_there_are_none() -> None:
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}
    tool = ToolDefinition(
        "walk", "", {"type": "object", "properties": {"n": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": node}}
    )

    sent = to_dialect(tool, "gemini")["parameters"]["properties"]["n"]["properties"]["next"]

    assert sent == {"type": "object", "description": "Nested further in the same way (Node)."}
    assert "parameters" not in to_dialect(ToolDefinition("ping", "", {"type": "object"}), "gemini")


def test_M01_mcp_has_its_own_name_output_schema_and_hints() -> None:
    assert to_dialect(TOOL, "mcp") == {
        "name": "plan",
        "title": "Trip",
        "description": "Plan a trip.",
        "inputSchema": schema(TWO),
        "outputSchema": {"type": "object", "additionalProperties": {"type": "integer"}},
        "annotations": {"title": "Trip", "readOnlyHint": False, "idempotentHint": True, "openWorldHint": True},
    }


@pytest.mark.parametrize(
    ("effects", "hints"),
    [
        (None, None),
        ("none", {"readOnlyHint": True, "openWorldHint": False}),
        ("read", {"readOnlyHint": True}),
        ("write", {"readOnlyHint": False, "idempotentHint": False, "openWorldHint": False}),
        ("external", {"readOnlyHint": False, "idempotentHint": False, "openWorldHint": True}),
    ],
)
def test_M01_mcps_hints_follow_from_effects(effects: Effects | None, hints: Any) -> None:
    assert to_dialect(ToolDefinition("a.b/c", "", {}, effects=effects), "mcp").get("annotations") == hints


UNION = {
    "oneOf": [
        {"type": "object", "properties": {"op": {"const": "get"}, "id": {"type": "string"}}, "required": ["op", "id"]},
        {"type": "object", "properties": {"op": {"const": "list"}, "id": {"type": "integer"}}, "required": ["op"]},
    ]
}


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "gemini"])
def test_M01_alternatives_at_the_root_become_one_object(dialect: Dialect) -> None:
    entry = to_dialect(ToolDefinition("t", "d", UNION), dialect)
    parameters = entry.get("function", entry).get("parameters") or entry["input_schema"]

    assert parameters["type"] == "object"
    assert parameters["required"] == ["op"]
    assert parameters["properties"]["op"]["enum"] == ["get", "list"]
    assert parameters["properties"]["id"] == {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    assert "oneOf" not in parameters


@pytest.mark.parametrize("dialect", ["openai", "openai_strict", "openai_responses", "anthropic", "gemini", "mcp"])
def test_M01_what_is_sent_is_a_valid_schema_and_the_definition_is_untouched(dialect: Dialect) -> None:
    before = json.dumps(TOOL.parameters)

    entry = to_dialect(TOOL, dialect)
    inner = entry.get("function", entry)
    sent = next(inner[key] for key in ("parameters", "input_schema", "inputSchema") if key in inner)

    jsonschema_rs.meta.validate(sent)
    assert json.dumps(TOOL.parameters) == before


def test_N002_the_documents_form_has_the_tools_own_name_and_schema() -> None:
    parameters = {"type": "object", "properties": {}}

    assert ToolDefinition("a.b", "Does.", parameters).to_openai_format() == {
        "type": "function", "function": {"name": "a.b", "description": "Does.", "parameters": parameters},
    }  # fmt: skip


@given(st.from_regex(r"[A-Za-z0-9._/-]{1,128}", fullmatch=True))
def test_M02_every_name_has_an_alias_that_every_provider_accepts(name: str) -> None:
    import re

    assert re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", alias(name))
    assert alias(alias(name)) == alias(name)


def test_M02_names_that_differ_only_at_their_end_or_in_what_is_replaced_stay_apart() -> None:
    long = "part_" * 20
    names = [long + "a", long + "b", "a.b", "a/b", "a_b"]

    found = aliases(names)

    assert list(found.values()) == names
    assert found["a_b"] == "a_b"


def test_M02_two_names_with_one_alias_are_refused() -> None:
    with pytest.raises(DuplicateToolError):
        aliases(["a.b", alias("a.b")])


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("short", "short"),
        ("One. " * 300, "One. " * 203 + "One. …"),
        ("一。" * 600, "一。" * 511 + " …"),
        ("x" * 2000, "x" * 1022 + " …"),
    ],
)
def test_M01_long_descriptions_end_at_a_sentence(text: str, cut: str) -> None:
    assert shortened(text) == cut
    assert len(cut) <= 1024
