"""Titles and descriptions of parameters in two languages (contract M09, T006, T036)."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.unit.registry.project import Project, remote
from toolcrib.registry.sources.schema_words import in_language, languages_of
from toolcrib.registry.sources.schemas import schema_mistakes

ROOT = Path(__file__).resolve().parents[3]
A = {"zh": "甲", "en": "A"}

SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": A,
    "properties": {
        "description": {"type": "string", "description": A},
        "title": {"type": "object", "properties": {"deep": {"description": {"en": "Only English"}}}},
        "list": {"type": "array", "items": {"description": A}, "prefixItems": [{"title": A}]},
        "any": {"anyOf": [{"title": A, "default": {"title": A}}, {"$ref": "#/$defs/a"}]},
        "data": {"examples": [{"description": A}], "enum": [{"zh": 1}], "default": {"description": A}},
    },
    "$defs": {"a": {"description": A}},
    "additionalProperties": {"description": A},
}


def with_words(word: str) -> dict[str, Any]:
    return {
        "type": "object",
        "title": word,
        "properties": {
            "description": {"type": "string", "description": word},
            "title": {"type": "object", "properties": {"deep": {"description": "Only English"}}},
            "list": {"type": "array", "items": {"description": word}, "prefixItems": [{"title": word}]},
            "any": {"anyOf": [{"title": word, "default": {"title": A}}, {"$ref": "#/$defs/a"}]},
            "data": {"examples": [{"description": A}], "enum": [{"zh": 1}], "default": {"description": A}},
        },
        "$defs": {"a": {"description": word}},
        "additionalProperties": {"description": word},
    }


@pytest.mark.parametrize(("language", "word"), [(None, "甲"), ("zh", "甲"), ("en", "A"), ("fr", "甲")])
def test_words_stand_where_schemas_have_them_and_data_is_left_alone(language: str | None, word: str) -> None:
    assert in_language(SCHEMA, language) == with_words(word)
    assert in_language(with_words(word), "en") == with_words(word)
    assert languages_of(SCHEMA) == {"zh", "en"}
    assert languages_of(with_words("甲")) == set()
    assert schema_mistakes(SCHEMA, of_object=True) == []


@pytest.mark.parametrize("words", [{}, {"fr": "Le"}, {"zh": ""}, {"zh": 3}, 3, ["a"], {"zh": "甲", "de": "A"}, None])
def test_other_tables_are_mistakes_with_their_place(words: Any) -> None:
    mistakes = schema_mistakes({"type": "object", "properties": {"a": {"description": words}}}, of_object=True)
    assert [mistake.location for mistake in mistakes] == [("properties", "a", "description")]
    assert "zh and en" in mistakes[0].message
    assert mistakes[0].hint


MANIFEST = """\
id = "stitcher"
name = {zh = "拼接", en = "Stitcher"}
description = "把图片拼成一张"
input_schema = "input.json"

[output_schema]
type = "object"

[output_schema.properties.width]
description = {zh = "宽", en = "Width"}
"""


def test_M09_a_tool_has_its_documents_own_words_and_the_others_are_translations(project: Project) -> None:
    path = project.write_tool("stitcher", MANIFEST)
    (path.parent / "input.json").write_text(json.dumps({"type": "object", "properties": {"a": {"title": A}}}))
    tool = project.tools()["stitcher"]
    assert tool.parameters == {"type": "object", "properties": {"a": {"title": "甲"}}}
    assert tool.output_schema == {"type": "object", "properties": {"width": {"description": "宽"}}}
    english: Any = tool.translations["en"]
    assert english.parameters == {"type": "object", "properties": {"a": {"title": "A"}}}
    assert english.output_schema == {"type": "object", "properties": {"width": {"description": "Width"}}}


def test_M09_registry_json_takes_them_too_and_names_the_line_of_a_mistake(project: Project) -> None:
    entry = remote("far", input_schema={"type": "object", "properties": {"a": {"description": A}}})
    project.write_registry(entry)
    assert project.tools()["far"].parameters == {"type": "object", "properties": {"a": {"description": "甲"}}}
    entry["input_schema"]["properties"]["a"]["description"] = {"fr": "Le"}
    project.write_registry(entry)
    (problem,) = project.load().problems
    lines = project.registry.read_text().splitlines()
    assert '"description": {' in lines[(problem.line or 0) - 1]


@pytest.mark.parametrize("tool_id", ["image_stitcher", "qr_code"])
def test_M09_every_parameter_of_the_shipped_tools_has_words_in_both_languages(tool_id: str) -> None:
    manifest = tomllib.loads((ROOT / "tools" / "local" / tool_id / "tool.toml").read_text("utf-8"))
    for key in ("input_schema", "output_schema"):
        for name, schema in manifest[key]["properties"].items():
            assert schema.get("description", {}).keys() == {"zh", "en"}, (key, name)
