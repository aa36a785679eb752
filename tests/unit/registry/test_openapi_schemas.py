"""What the arguments and results of an operation look like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.registry.openapi import BASE, Api, body_of, example, operation, wire
from toolcrib.definition.tool import ToolDefinition
from toolcrib.definition.validation import validate
from toolcrib.errors import InvalidParamsError


@pytest.fixture
def api(tmp_path: Path) -> Api:
    return Api(tmp_path / "api.json")


@pytest.fixture(scope="module")
def shop() -> dict[str, ToolDefinition]:
    return example("petstore", base_url=BASE)


@pytest.fixture(scope="module")
def weather() -> dict[str, ToolDefinition]:
    return example("weather")


# --- parameters -------------------------------------------------------------------------------------------------------


def test_read_only_fields_are_not_asked_for_and_write_only_ones_not_promised(shop: dict[str, ToolDefinition]) -> None:
    asked = shop["createPet"].parameters
    assert list(asked["properties"]) == ["name", "status", "chip", "parents", "home", "passphrase", "scan"]
    assert asked["required"] == ["name"]
    assert list(asked["$defs"]["Pet"]["properties"]) == list(asked["properties"]), "nor in a pet inside a pet"
    answered = shop["getPet"].output_schema
    assert answered is not None
    assert list(answered["properties"]) == ["id", "name", "status", "chip", "parents", "home", "scan"]
    assert answered["required"] == ["id", "name"]


def test_recursive_schemas_stay_references(shop: dict[str, ToolDefinition]) -> None:
    pet = {"name": "a", "parents": [{"name": "b", "parents": [{"name": "c", "home": {"city": "Bern"}}]}]}
    assert validate(shop["createPet"], pet) == pet
    with pytest.raises(InvalidParamsError, match=r"parents\[0\].parents\[0\].home"):
        validate(shop["createPet"], {"name": "a", "parents": [{"name": "b", "parents": [{"name": "c", "home": {}}]}]})


def test_path_parameters_count_for_every_operation_and_yield_to_its_own(weather: dict[str, ToolDefinition]) -> None:
    readings, correct = weather["readings"].parameters, weather["correct"].parameters
    assert readings["required"] == correct["required"] == ["station", "day"]
    assert readings["properties"]["units"] == {"const": "metric", "description": "Of the answer."}
    assert correct["properties"]["units"]["type"] == ["string", "null"]


def test_names_that_collide_get_the_place_they_belong_to(api: Api) -> None:
    parameters = [{"name": "id", "in": place, "schema": {"type": "integer"}} for place in ("query", "header", "cookie")]
    body = body_of({"type": "object", "properties": {"id": {"type": "string"}, "id_body": {"type": "string"}}})
    api.write({"/a/{id}": {"post": operation(parameters=parameters, requestBody=body, summary="Post.")}})
    tool = api.only()
    assert list(tool.parameters["properties"]) == [
        "id",
        "id_query",
        "id_header",
        "id_cookie",
        "id_body",
        "id_body_body",
    ]
    assert "`id` is the path parameter, `id_query` the query parameter of the same name." in tool.description
    assert "`id_body` the field of the request body of the same name." in tool.description


def test_names_that_models_cannot_write_are_cleaned(api: Api) -> None:
    names = ["filter[name]", "$top", "名称", "a b", "X-Ok_1.0"]
    api.write({"/a": {"get": operation(parameters=[{"name": one, "in": "query", "schema": {}} for one in names])}})
    tool = api.only()
    assert list(tool.parameters["properties"]) == ["filter_name", "top", "名称", "a_b", "X-Ok_1.0"]
    assert "`filter_name` is the query parameter `filter[name]`." in tool.description
    assert [one["name"] for one in wire(tool)["parameters"]] == names


def test_headers_that_are_not_the_callers_are_no_parameters(shop: dict[str, ToolDefinition]) -> None:
    assert list(shop["getPet"].parameters["properties"]) == ["petId", "X-Request-Id", "session"]


def test_a_variable_of_the_path_that_nobody_declared_is_a_text(api: Api) -> None:
    api.write({"/a/{b}": {"get": operation(parameters=[{"name": "c", "in": "path", "schema": {}}])}})
    assert api.only().parameters == {
        "type": "object",
        "properties": {"b": {"type": "string"}},
        "required": ["b"],
    }


def test_parameters_keep_what_is_said_of_them(api: Api) -> None:
    parameter = {
        "name": "a",
        "in": "query",
        "description": "The a.",
        "deprecated": True,
        "required": True,
        "schema": {"$ref": "#/components/schemas/A"},
        "examples": {"one": {"value": "x"}, "two": {"$ref": "#/components/examples/two"}},
    }
    components = {
        "schemas": {"A": {"type": "string", "enum": ["x", "y"], "default": "x"}},
        "examples": {"two": {"value": "y"}},
    }
    api.write({"/a": {"get": operation(parameters=[parameter])}}, components=components)
    assert api.only().parameters["properties"]["a"] == {
        "type": "string",
        "enum": ["x", "y"],
        "default": "x",
        "description": "The a.",
        "deprecated": True,
        "examples": ["x", "y"],
    }


@pytest.mark.parametrize(
    ("given", "translated"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "nullable": True, "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, {"type": "integer", "exclusiveMinimum": 1}),
        ({"type": "integer", "maximum": 1, "exclusiveMaximum": False}, {"type": "integer", "maximum": 1}),
        ({"type": "string", "example": "x"}, {"type": "string", "examples": ["x"]}),
        ({"type": "string", "format": "byte", "minLength": 4}, {"type": "string", "contentEncoding": "base64"}),
        ({"type": "string", "xml": {"name": "a"}, "x-go-name": "A"}, {"type": "string"}),
        ({"type": "string", "required": True}, {"type": "string"}),
        ({"$ref": "#/components/schemas/E", "nullable": True}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"$ref": "#/components/schemas/E", "maxLength": 3}, {"type": "string", "enum": ["a"]}),
        (
            {"oneOf": [{"type": "string"}, {"type": "integer"}], "nullable": True, "description": "d"},
            {"anyOf": [{"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "null"}], "description": "d"},
        ),
        (
            {"type": "object", "properties": {"nullable": {"type": "boolean", "nullable": True}}},
            {"type": "object", "properties": {"nullable": {"type": ["boolean", "null"]}}},
        ),
        (
            {"type": "object", "additionalProperties": {"type": "integer", "nullable": True}},
            {"type": "object", "additionalProperties": {"type": ["integer", "null"]}},
        ),
    ],
)
def test_what_3_0_says_in_its_own_words_is_translated(api: Api, given: Any, translated: Any) -> None:
    parameter = {"name": "a", "in": "query", "schema": given}
    components = {"schemas": {"E": {"type": "string", "enum": ["a"]}}}
    api.write({"/a": {"get": operation(parameters=[parameter])}}, version="3.0.3", components=components)
    assert api.only().parameters["properties"]["a"] == translated


@pytest.mark.parametrize(
    "given",
    [
        {"type": ["string", "null"], "examples": ["x"], "const": "x"},
        {"anyOf": [{"type": "string", "contentMediaType": "application/json"}, {"type": "null"}]},
        {"type": "array", "prefixItems": [{"type": "integer"}], "items": False},
        {"type": "object", "patternProperties": {"^x": {"type": "string"}}, "unevaluatedProperties": False},
        {"type": "integer", "exclusiveMinimum": 0, "deprecated": True},
        {"type": "object", "properties": {"example": {"type": "string"}, "xml": {"type": "string"}}},
        {"if": {"type": "string"}, "then": {"minLength": 1}, "else": True},
    ],
)
def test_what_3_1_says_is_kept(api: Api, given: Any) -> None:
    api.write({"/a": {"get": operation(parameters=[{"name": "a", "in": "query", "schema": given}])}})
    assert api.only().parameters["properties"]["a"] == given


# --- bodies and answers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "integer"}},
        {"type": "object"},
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"oneOf": [{"type": "object", "properties": {"a": {}}}]},
        {"type": "object", "properties": {"a": {}}, "nullable": True},
        {"type": "object", "properties": {"a": {}}, "not": {"required": ["a"]}},
        True,
        {},
    ],
)
def test_a_body_that_is_no_plain_object_is_one_argument(api: Api, schema: Any) -> None:
    api.write({"/a": {"post": operation(requestBody=body_of(schema))}})
    tool = api.only()
    assert (list(tool.parameters["properties"]), tool.parameters["required"]) == (["body"], ["body"])
    assert wire(tool)["body"]["whole"] == "body"


def test_the_fields_of_all_parts_of_a_body_are_arguments(api: Api) -> None:
    schemas = {
        "Top": {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}},
        "Left": {"allOf": [{"$ref": "#/components/schemas/Top"}, {"properties": {"b": {"type": "string"}}}]},
        "Right": {"allOf": [{"$ref": "#/components/schemas/Top"}], "required": ["c"], "properties": {"c": {}}},
    }
    body = {"allOf": [{"$ref": "#/components/schemas/Left"}, {"$ref": "#/components/schemas/Right"}]}
    api.write({"/a": {"post": operation(requestBody=body_of(body))}}, components={"schemas": schemas})
    tool = api.only()
    assert tool.parameters == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {}},
        "required": ["a", "c"],
    }


def test_an_optional_body_needs_its_required_fields_together(api: Api) -> None:
    schema = {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    api.write({"/a": {"post": operation(requestBody={"content": {"application/json": {"schema": schema}}})}})
    tool = api.only()
    assert validate(tool, {}) == {}
    assert validate(tool, {"a": "x"}) == {"a": "x"}
    with pytest.raises(InvalidParamsError):
        validate(tool, {"b": "x"})
    assert "if any of `a`, `b` is given, `a` must be given too" in tool.description


@pytest.mark.parametrize(
    ("media_types", "kind"),
    [
        (["application/xml", "application/json"], "json"),
        (["application/vnd.api+json; charset=utf-8"], "json"),
        (["application/x-www-form-urlencoded", "multipart/form-data"], "multipart"),
        (["image/png", "text/csv"], "text"),
        (["application/pdf"], "binary"),
        (["*/*"], "json"),
    ],
)
def test_of_several_media_types_the_most_telling_one_is_sent(api: Api, media_types: list[str], kind: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    content = {media_type: {"schema": schema} for media_type in media_types}
    api.write({"/a": {"post": operation(requestBody={"required": True, "content": content})}})
    assert wire(api.only())["body"]["kind"] == kind


def test_files_in_forms_are_base64(shop: dict[str, ToolDefinition], weather: dict[str, ToolDefinition]) -> None:
    properties = shop["upload_photo"].parameters["properties"]
    assert properties["photo"] == {"type": "string", "contentEncoding": "base64", "description": "The picture."}
    assert properties["extras"] == {"type": "array", "items": {"type": "string", "contentEncoding": "base64"}}
    assert weather["drawMap"].parameters["properties"]["layer"]["contentEncoding"] == "base64"
    files = {field["name"]: field["is_file"] for field in wire(weather["drawMap"])["body"]["fields"]}
    assert files == {"layer": True, "note": False, "style": False}


@pytest.mark.parametrize(
    ("responses", "schema"),
    [
        ({"200": {"content": {"application/json": {"schema": {"type": "integer"}}}}}, {"type": "integer"}),
        ({"204": {}}, {"type": "null"}),
        (
            {"200": {"content": {"application/json": {"schema": {"type": "integer"}}}}, "202": {}},
            {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        ),
        ({"2XX": {"content": {"text/csv": {}}}}, {"type": "string"}),
        ({"200": {"content": {"application/json": {}}}}, None),
        ({"default": {"content": {"application/json": {"schema": {"type": "integer"}}}}}, None),
        ({"404": {"content": {"application/json": {"schema": {"type": "integer"}}}}}, None),
        ({}, None),
    ],
)
def test_the_output_schema_is_that_of_success(api: Api, responses: Any, schema: Any) -> None:
    api.write({"/a": {"get": {"responses": responses}}})
    assert api.only().output_schema == schema


def test_a_picture_comes_back_as_content_and_mime_type(shop: dict[str, ToolDefinition]) -> None:
    schema = shop["get_pets_petId_photo"].output_schema
    assert schema is not None
    assert schema["properties"]["content"] == {"type": "string", "contentEncoding": "base64"}
