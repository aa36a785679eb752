"""Our checks agree with a full JSON Schema validator."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolcrib.definition.schema.check import compile_check

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 1.0, -2.0])
    | st.sampled_from(["", "a", "ab", "é"])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
kinds = st.sampled_from(["string", "number", "integer", "boolean", "array", "object", "null"])
small = st.integers(0, 3)


def keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    members = st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": kinds | st.lists(kinds, min_size=1, max_size=2, unique=True),
            "enum": st.lists(values, min_size=1, max_size=3),
            "const": values,
            "minimum": small, "exclusiveMaximum": small, "multipleOf": st.sampled_from([1, 2, 0.5]),
            "minLength": small, "maxLength": small, "pattern": st.sampled_from(["^a", "b$", "."]),
            "items": inner, "prefixItems": st.lists(inner, min_size=1, max_size=2),
            "minItems": small, "maxItems": small,
            "uniqueItems": st.booleans(), "contains": inner,
            "properties": members, "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
            "additionalProperties": inner,
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "b"]), inner, max_size=1),
            "propertyNames": st.just({"enum": ["a", "b"]}), "minProperties": small, "maxProperties": small,
            "dependentRequired": st.just({"a": ["b"]}),
            "anyOf": st.lists(inner, min_size=1, max_size=2), "oneOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2), "not": inner,
            "if": inner, "then": inner, "else": inner, "$ref": st.just("#/$defs/T"),
        },
    )  # fmt: skip


schemas = st.recursive(st.booleans() | st.just({}) | kinds.map(lambda kind: {"type": kind}), keywords, max_leaves=8)


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(keywords(schemas), values)
def test_N006_our_checks_agree_with_a_full_validator(schema: dict[str, Any], value: Any) -> None:
    root = {**schema, "$defs": {"T": {"type": ["object", "integer"]}}}

    ours = compile_check(root)(value)

    assert (not ours) == jsonschema_rs.validator_for(root).is_valid(value), ours


def test_N006_older_spellings_are_understood() -> None:
    old = {
        "items": [{"type": "integer"}],
        "additionalItems": False,
        "definitions": {"P": {"minimum": 0, "exclusiveMinimum": True}},
    }

    assert compile_check(old)([1]) is None
    assert compile_check(old)([1, 2])
    assert compile_check({"$ref": "#/definitions/P", **old})(0)
    assert compile_check({"type": "string", "nullable": True, "enum": ["a"]})(None) is None
