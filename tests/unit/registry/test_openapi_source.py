"""Which tools an OpenAPI document gives, and what is said of one that is wrong."""

from __future__ import annotations

import copy
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from toolcrib.definition.ports import Listing
from toolcrib.definition.schema.check import compile_check
from toolcrib.definition.tool import ToolDefinition
from toolcrib.definition.validation import validate
from toolcrib.errors import DefinitionError, InvalidParamsError
from toolcrib.registry.names import check_name
from toolcrib.registry.registry import ToolRegistry
from toolcrib.registry.reload import apply
from toolcrib.registry.sources.openapi.source import OpenApiDocument

DATA = Path(__file__).parents[2] / "data" / "openapi"
SLACK = float(os.environ.get("TOOLCRIB_TEST_SLACK", "2"))
BASE = "https://api.example.com"


class Api:
    """A document in a file that the tests write, break and mend."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.options: dict[str, Any] = {"base_url": BASE}
        self._source: OpenApiDocument | None = None

    def write(self, paths: Any = None, *, version: str = "3.1.0", **others: Any) -> None:
        """Write a document, one key a line."""
        document = {"openapi": version, "info": {"title": "t", "version": "1"}, "paths": paths or {}, **others}
        self.path.write_text(json.dumps(document, indent=1), encoding="utf-8")

    @property
    def source(self) -> OpenApiDocument:
        """The source that reads it, made when first asked for."""
        if self._source is None:
            self._source = OpenApiDocument(self.path, **self.options)
        return self._source

    def load(self) -> Listing:
        """What the document lists now."""
        return self.source.load()

    def tools(self) -> dict[str, ToolDefinition]:
        """The tools it lists now, which must be without problems."""
        listing = self.load()
        assert [str(problem) for problem in listing.problems] == []
        return {tool.name: tool for tool in listing.tools}

    def only(self) -> ToolDefinition:
        """The one tool it lists."""
        (tool,) = self.tools().values()
        return tool

    def problems(self) -> list[str]:
        """The problems, without the path of the file."""
        return [str(problem).removeprefix(f"{self.path}:") for problem in self.load().problems]


@pytest.fixture
def api(tmp_path: Path) -> Api:
    return Api(tmp_path / "api.json")


def operation(**fields: Any) -> dict[str, Any]:
    """An operation with a body of these fields, or whatever else it has."""
    return {"responses": {"200": {"description": "ok"}}, **fields}


def body_of(schema: Any, media_type: str = "application/json", **fields: Any) -> dict[str, Any]:
    """A required requestBody."""
    return {"required": True, "content": {media_type: {"schema": schema, **fields}}}


def example(name: str, **options: Any) -> dict[str, ToolDefinition]:
    """The tools of one of the two documents beside the tests."""
    listing = OpenApiDocument(DATA / f"{name}.json", **options).load()
    assert listing.problems == ()
    return {tool.name: tool for tool in listing.tools}


@pytest.fixture(scope="module")
def shop() -> dict[str, ToolDefinition]:
    return example("petstore", base_url=BASE)


@pytest.fixture(scope="module")
def weather() -> dict[str, ToolDefinition]:
    return example("weather")


def wire(tool: ToolDefinition) -> dict[str, Any]:
    """What the tool's deployment says of its operation."""
    assert tool.deployment is not None
    found: dict[str, Any] = tool.deployment.options["openapi"]
    return found


def url(tool: ToolDefinition) -> str | None:
    """Where its API answers."""
    assert tool.deployment is not None
    return tool.deployment.url


# --- facts of a tool ------------------------------------------------------------------------------------------------


def test_each_operation_is_a_tool(shop: dict[str, ToolDefinition], weather: dict[str, ToolDefinition]) -> None:
    assert list(shop) == [
        "listPets", "createPet", "getPet", "replacePet", "deletePet", "get_pets_petId_photo", "upload_photo",
        "placeOrder", "writeNote", "restore", "hasBackup",
    ]  # fmt: skip
    assert list(weather) == ["readings", "correct", "areas", "subscribe", "drawMap"], "webhooks are no tools"


def test_a_tool_says_what_its_operation_says(shop: dict[str, ToolDefinition]) -> None:
    tool = shop["listPets"]
    assert (tool.title, tool.category, tool.version) == ("List pets", "pets", "2.4.0")
    assert tool.description.startswith("Lists the pets of the shop, newest first.")
    assert tool.source == str(DATA / "petstore.json")
    assert (shop["createPet"].description, shop["deletePet"].description) == ("Add a pet", "DELETE /pets/{petId}")
    assert shop["deletePet"].category == "general"
    assert shop["upload_photo"].description.endswith("Deprecated.")


@pytest.mark.parametrize(
    ("method", "effects", "idempotent", "risk"),
    [
        ("get", "read", True, "low"),
        ("head", "read", True, "low"),
        ("options", "read", True, "low"),
        ("put", "external", True, "low"),
        ("delete", "external", True, "medium"),
        ("post", "external", False, "low"),
        ("patch", "external", False, "low"),
    ],
)
def test_effects_follow_from_the_method(api: Api, method: str, effects: str, idempotent: bool, risk: str) -> None:
    api.write({"/a": {method: operation()}})
    tool = api.only()
    assert (tool.effects, tool.idempotent, tool.risk) == (effects, idempotent, risk)


def test_a_tool_is_remote_and_its_options_are_json(shop: dict[str, ToolDefinition]) -> None:
    for tool in shop.values():
        assert tool.runtime == "remote"
        assert url(tool) == f"{BASE}/api/v3"
        assert json.loads(json.dumps(wire(tool))) == wire(tool)
        assert check_name(tool.name) == tool.name


@pytest.mark.parametrize("name", ["petstore", "weather"])
def test_every_schema_is_draft_2020_12_and_complete(name: str) -> None:
    import jsonschema_rs

    for tool in example(name, base_url=BASE).values():
        for schema in (tool.parameters, tool.output_schema):
            if schema is not None:
                jsonschema_rs.meta.validate(dict(schema))
                jsonschema_rs.Draft202012Validator(dict(schema))
                compile_check(schema)
                names = {reference.removeprefix("#/$defs/") for reference in references(schema)}
                assert names <= schema.get("$defs", {}).keys()
        assert tool.parameters["type"] == "object"


def references(schema: Any) -> Iterator[str]:
    """Every ``$ref`` in a schema."""
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            yield from [value] if key == "$ref" else references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from references(value)


# --- parameters -----------------------------------------------------------------------------------------------------


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


# --- bodies and answers ---------------------------------------------------------------------------------------------


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


# --- servers --------------------------------------------------------------------------------------------------------


def test_a_server_with_variables_has_their_defaults(weather: dict[str, ToolDefinition]) -> None:
    assert url(weather["readings"]) == "https://eu.weather.example.com/v2"
    assert url(weather["drawMap"]) == "https://maps.example.com"


@pytest.mark.parametrize(
    ("server", "base_url", "expected"),
    [
        ("https://a.example/v1/", None, "https://a.example/v1"),
        ("https://a.example/v1", "http://127.0.0.1:9", "http://127.0.0.1:9"),
        ("/v1", "http://127.0.0.1:9", "http://127.0.0.1:9/v1"),
        ("/v1", "http://127.0.0.1:9/other/", "http://127.0.0.1:9/other"),
        ("v1", "http://127.0.0.1:9", "http://127.0.0.1:9/v1"),
        (None, "http://127.0.0.1:9/v2", "http://127.0.0.1:9/v2"),
    ],
)
def test_where_the_api_answers(api: Api, server: str | None, base_url: str | None, expected: str) -> None:
    api.options = {"base_url": base_url}
    api.write({"/a": {"get": operation()}}, **({"servers": [{"url": server}]} if server else {}))
    assert url(api.only()) == expected


@pytest.mark.parametrize(
    ("servers", "message"),
    [
        (None, 'the server "/" is relative, and the document is a file'),
        ([{"url": "/v1"}], 'the server "/v1" is relative, and the document is a file'),
        ([{"url": "https://{host}"}], "the server's variable {host} has no default"),
        ([{"url": "ftp://a.example"}], 'the server has the URL "ftp://a.example", which is not one of http or https'),
        ([{"url": "https://u:p4ss@a.example"}], "the server has a URL with a user name or password"),
        ([{"url": "https://a.example?x=1"}], "does not end in a path"),
        ([{}], 'a server has no "url"'),
        ({"url": "https://a.example"}, '"servers" should be a list of objects'),
    ],
)
def test_a_server_that_cannot_be_used_is_a_problem(api: Api, servers: Any, message: str) -> None:
    api.options = {}
    api.write({"/a": {"get": operation()}}, **({} if servers is None else {"servers": servers}))
    (problem,) = api.problems()
    assert message in problem
    assert "p4ss" not in problem


# --- names and choice -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "fields", "name"),
    [
        ("/", {}, "get_root"),
        ("/users/{user-id}/posts.json", {}, "get_users_user-id_posts.json"),
        ("/a", {"operationId": "repos/list for__org!"}, "repos/list_for_org"),
        ("/a", {"operationId": "  "}, "get_a"),
        ("/a", {"operationId": "列表"}, "get_a"),
        ("/a", {"operationId": 7}, "get_a"),
    ],
)
def test_the_name_of_an_operation(api: Api, path: str, fields: dict[str, Any], name: str) -> None:
    api.write({path: {"get": operation(**fields)}})
    assert api.only().name == check_name(name)


def test_names_are_unique(api: Api) -> None:
    api.write(
        {
            "/a": {"get": operation(operationId="same"), "post": operation(operationId="same")},
            "/b": {"get": operation(operationId="post_a"), "put": operation(operationId="same")},
        }
    )
    assert list(api.tools()) == ["same", "post_a", "post_a_2", "put_b"]


def test_a_name_that_is_too_long_is_cut_and_stays_its_own(api: Api) -> None:
    api.options["prefix"] = "shop_"
    api.write({"/a": {"get": operation(operationId=f"{'x' * 125}1"), "put": operation(operationId=f"{'x' * 125}2")}})
    names = list(api.tools())
    assert [len(name) for name in names] == [128, 128]
    assert len(set(names)) == 2


def test_operations_are_chosen_by_name_or_by_method_and_path() -> None:
    options = {"base_url": BASE, "prefix": "pet_", "include": ["get*", "* /orders"], "exclude": ["*photo"]}
    assert list(example("petstore", **options)) == ["pet_getPet", "pet_placeOrder"]


def test_a_pattern_that_fits_nothing_is_a_problem(api: Api) -> None:
    api.options |= {"include": ["listPet"], "exclude": ["DELETE *"]}
    api.write({"/a": {"get": operation(operationId="listPets")}})
    assert [problem.partition(": ")[2] for problem in api.problems()] == [
        "include has 'listPet', which fits no operation (at #/paths)",
        "exclude has 'DELETE *', which fits no operation (at #/paths)",
    ]
    assert api.load().problems[0].hint == "Did you mean 'listPets'?"


# --- credentials ----------------------------------------------------------------------------------------------------


def test_the_alternative_is_used_whose_secrets_are_there() -> None:
    def schemes(**auth: Any) -> list[str]:
        tool = example("petstore", base_url=BASE, auth=auth)["deletePet"]
        return [one["scheme"] for one in wire(tool)["credentials"]]

    assert schemes(api_key="env:A", tenant="env:B") == ["api_key", "tenant"]
    assert schemes(api_key="env:A", shop_oauth="env:C") == ["shop_oauth"]
    assert schemes(api_key="env:A") == ["shop_oauth"], "none is complete, so the call says what is missing"


def test_no_credential_is_needed_where_the_document_says_so() -> None:
    assert wire(example("weather")["readings"])["credentials"] == []
    with_token = example("weather", auth={"bearer": "env:TOKEN"})["readings"]
    assert wire(with_token)["credentials"] == [
        {"scheme": "bearer", "kind": "bearer", "name": "Authorization", "secrets": {"token": "env:TOKEN"}}
    ]


@pytest.mark.parametrize(
    "given", ["sk-live-12345", "env:", "env:NO-NAME", {"username": "ada", "password": "sk-live-12345"}]
)
def test_a_secret_is_never_written_down(given: Any) -> None:
    with pytest.raises(DefinitionError, match="not a reference") as caught:
        OpenApiDocument("x.json", auth={"key": given})
    assert "sk-live" not in str(caught.value)


def test_roles_other_than_those_of_a_login_are_refused() -> None:
    with pytest.raises(DefinitionError, match="'pass', 'user'"):
        OpenApiDocument("x.json", auth={"key": {"user": "env:A", "pass": "env:B"}})


def test_auth_for_a_scheme_that_is_not_there_is_a_problem() -> None:
    listing = OpenApiDocument(DATA / "weather.json", auth={"baerer": "env:A"}).load()
    (problem,) = listing.problems
    assert "auth names the security scheme 'baerer', which is not there" in str(problem)
    assert problem.hint == "Did you mean 'bearer'?"
    assert len(listing.tools) == 5


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        ({"type": "mutualTLS"}, "the security scheme 's' is of the type \"mutualTLS\", which is not supported"),
        ({"type": "http", "scheme": "digest"}, "is of the type http digest, which is not supported"),
        ({"type": "apiKey", "in": "body", "name": "x"}, 'needs "name", and "in": header, query or cookie'),
        (None, "the security scheme 's' is not defined"),
    ],
)
def test_a_scheme_that_cannot_be_used_is_a_problem_of_those_that_need_it(api: Api, scheme: Any, message: str) -> None:
    paths = {"/a": {"get": operation(security=[{"s": []}]), "put": operation(security=[])}}
    api.write(paths, components={"securitySchemes": {"s": scheme} if scheme else {}})
    (problem,) = api.problems()
    assert problem.partition(": ")[2].startswith("GET /a: ")
    assert message in problem
    assert [tool.name for tool in api.load().tools] == ["put_a"]


@pytest.mark.parametrize(
    "base_url", ["api.example.com", "https://u:p@x.example", "https://x.example/#a", "file:///etc"]
)
def test_a_base_url_that_is_none_is_refused(base_url: str) -> None:
    with pytest.raises(DefinitionError, match="base_url"):
        OpenApiDocument("x.json", base_url=base_url)


# --- documents that are wrong ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "strng"}, '10: GET /bad: there is no type "strng" (at #/paths/~1bad/get/parameters/0/schema/type)'),
        (
            {"$ref": "other.json#/A"},
            'GET /bad: "other.json#/A" is in another document (at #/paths/~1bad/get/parameters/0/schema/$ref)',
        ),
        ({"$ref": "https://x.example/a.json"}, '"https://x.example/a.json" is in another document'),
        ({"$ref": "#/components/schemas/None"}, '"#/components/schemas/None" is not in the document'),
        ({"$ref": "#None"}, '"#None" is no place in this document'),
        ({"$ref": 7}, '"$ref" should be a text, got 7'),
        ({"$ref": "#/components/schemas/Circle"}, "this reference leads back to itself"),
        ({"$ref": "#/components/schemas/Deep"}, 'there is no type "nothing" (at #/components/schemas/Deep/items/type)'),
        ({"properties": []}, '"properties" should be an object, got a list'),
        ({"anyOf": {}}, '"anyOf" should be a list, got an object'),
        ({"enum": "a"}, '"enum" should be a list, got "a"'),
        ({"$dynamicRef": "#a"}, '"$dynamicRef" is not supported'),
        ("string", 'a schema should be an object, got "string"'),
    ],
)
def test_a_schema_that_is_none_costs_only_its_operation(api: Api, schema: Any, problem: str) -> None:
    paths = {
        "/bad": {"get": operation(parameters=[{"name": "a", "in": "query", "schema": schema}])},
        "/good": {"get": operation(operationId="good")},
    }
    ring = {"Circle": {"$ref": "#/components/schemas/Ring"}, "Ring": {"$ref": "#/components/schemas/Circle"}}
    deep = {"Deep": {"type": "array", "items": {"type": "nothing"}}}
    api.write(paths, components={"schemas": {**ring, **deep}})
    (found,) = api.problems()
    assert problem in found
    assert [tool.name for tool in api.load().tools] == ["good"]


@pytest.mark.parametrize(
    ("paths", "problem"),
    [
        ([], '"paths" should be an object, got a list'),
        ({"a": {"get": operation()}}, 'the path "a" does not begin with /'),
        ({"/a": []}, "a path should be an object, got a list"),
        ({"/a": {"get": "x"}}, 'an operation should be an object, got "x"'),
        ({"/a": {"$ref": "#/nowhere"}}, '"#/nowhere" is not in the document'),
        ({"/a": {"get": operation(parameters={})}}, '"parameters" should be a list, got an object'),
        ({"/a": {"get": operation(parameters=[{"in": "query"}])}}, 'a parameter has no "name"'),
        ({"/a": {"get": operation(parameters=[{"name": "a", "in": "body"}])}}, 'a parameter cannot be in "body"'),
        (
            {"/a": {"get": operation(parameters=[{"name": "a", "in": "query", "style": "matrix"}])}},
            'a parameter in query cannot have the style "matrix"',
        ),
        (
            {"/a": {"get": operation(parameters=[{"name": "a", "in": "query", "content": {"a/b": {}, "c/d": {}}}])}},
            '"content" of a parameter must name exactly one media type',
        ),
        ({"/a": {"post": operation(requestBody={"content": []})}}, '"content" should be an object, got a list'),
        ({"/a": {"get": operation(security={})}}, '"security" should be a list, got an object'),
    ],
)
def test_what_stands_wrong_in_a_document_is_named(api: Api, paths: Any, problem: str) -> None:
    if isinstance(paths, dict):
        paths = {**paths, "/good": {"get": operation(operationId="good")}}
    api.write()
    document = json.loads(api.path.read_text()) | {"paths": paths}
    api.path.write_text(json.dumps(document, indent=1))
    (found,) = api.problems()
    assert problem in found
    assert "(at #/" in found
    assert [tool.name for tool in api.load().tools] == (["good"] if isinstance(paths, dict) else [])


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ('{"swagger": "2.0", "paths": {}}', "1: this is Swagger 2.0, not OpenAPI 3"),
        ('{\n"openapi": "4.0.0"}', '2: OpenAPI "4.0.0" is not supported'),
        ('{"openapi": 3.1}', "1: OpenAPI 3.1 is not supported"),
        ('{"a": 1}', '1: this is no OpenAPI document: "openapi" is missing'),
        ('{\n"openapi": "3.1.0",\n"paths": {', "not valid JSON"),
        ('{"openapi": "3.1.0",\n"paths": {},\n"paths": {}}', '3: the key "paths" stands twice'),
        ("[]", "the file must hold one object"),
        ("", "not valid JSON"),
    ],
)
def test_a_file_that_is_no_such_document_is_a_problem(api: Api, content: str, problem: str) -> None:
    api.path.write_text(content)
    (found,) = api.problems()
    assert problem in found
    assert api.load().tools == ()


def test_a_file_that_is_not_there_is_a_problem(api: Api) -> None:
    (problem,) = api.load().problems
    assert str(problem) == f"{api.path}: there is no such file"
    assert list(api.source.paths()) == [api.path]


def test_a_mistake_that_many_share_is_reported_once(api: Api) -> None:
    parameter = {"name": "a", "in": "query", "schema": {"$ref": "#/components/schemas/Bad"}}
    paths = {f"/{number}": {"get": operation(parameters=[parameter])} for number in range(9)}
    api.write(paths, components={"schemas": {"Bad": {"type": "objekt"}}})
    (problem,) = api.problems()
    assert 'GET /0, GET /1, GET /2, 6 more: there is no type "objekt" (at #/components/schemas/Bad/type)' in problem


def test_old_and_odd_documents_load(api: Api) -> None:
    nested: dict[str, Any] = {"type": "string"}
    for _ in range(30):
        nested = {"type": "object", "properties": {"a": nested}}
    node = {
        "type": "object",
        "properties": {
            "next": {"$ref": "#/components/schemas/Node"},
            "up": {"allOf": [{"$ref": "#/components/schemas/Node"}, {"properties": {"extra": {"type": "string"}}}]},
        },
    }
    paths = {
        "/a": {
            "x-note": 1,
            "summary": "A",
            "get": {},
            "post": operation(requestBody={"content": {}}, tags=[], callbacks={"c": {}}),
            "put": operation(requestBody=body_of(nested), tags=["  "]),
            "patch": operation(requestBody=body_of({"$ref": "#/components/schemas/Node"})),
        },
        "/b": {"get": {"responses": {200: {"description": "a number as a key"}}, "security": [{}]}},
        "x-extension": {},
    }
    api.write(paths, version="3.0.0", components={"schemas": {"Node": node}}, tags="none")
    tools = api.tools()
    assert list(tools) == ["get_a", "put_a", "post_a", "patch_a", "get_b"]
    value = {"next": {"next": {"up": {"extra": "x", "up": {}}}}}
    assert validate(tools["patch_a"], value) == value


def test_schemas_nested_without_end_cost_only_their_operation(api: Api) -> None:
    api.write(
        {"/a": {"get": operation(parameters=[{"name": "a", "in": "query", "schema": "DEEP"}])}, "/b": {"get": {}}}
    )
    depth = 300
    deep = '{"items": ' * depth + "{}" + "}" * depth
    api.path.write_text(api.path.read_text().replace('"DEEP"', deep))
    limit = sys.getrecursionlimit()
    listing = api.load()
    assert sys.getrecursionlimit() == limit
    assert "get_b" in [tool.name for tool in listing.tools]
    assert all("nested too deeply" in str(problem) for problem in listing.problems)


# --- reloading ------------------------------------------------------------------------------------------------------


def test_a_broken_document_leaves_the_tools_as_they_were(api: Api) -> None:
    api.write({"/a": {"get": operation(operationId="a")}})
    before = api.load().tools
    for break_it in (lambda: api.path.write_text("{"), api.path.unlink):
        break_it()
        listing = api.load()
        assert listing.tools == before
        assert len(listing.problems) == 1
    api.write({"/b": {"get": operation(operationId="b")}})
    assert list(api.tools()) == ["b"]


def test_an_operation_that_has_become_wrong_stays_what_it_was(api: Api) -> None:
    api.write({"/a": {"get": operation(operationId="a")}, "/b": {"get": operation(operationId="b")}})
    before = api.tools()
    wrong = operation(operationId="a", parameters=[{"name": "x"}])
    api.write({"/a": {"get": wrong}, "/b": {"get": operation(operationId="b", summary="New")}})
    listing = api.load()
    assert listing.tools[0] == before["a"]
    assert listing.tools[1].title == "New"
    assert len(listing.problems) == 1


def test_a_document_that_has_not_changed_is_not_read_again(api: Api) -> None:
    api.write({"/a": {"get": operation()}})
    assert api.load() is api.load()


def test_a_registry_changes_only_where_the_document_does(api: Api) -> None:
    paths = {f"/{name}": {"get": operation(operationId=name)} for name in "abc"}
    registry, owned = ToolRegistry(), set[str]()
    api.write(paths)
    assert apply(registry, api.load(), owned).added == ("a", "b", "c")
    changed = copy.deepcopy(paths)
    changed["/b"]["get"]["summary"] = "New"
    del changed["/c"]
    api.write(changed)
    changes = apply(registry, api.load(), owned)
    assert (changes.added, changes.replaced, changes.removed) == ((), ("b",), ("c",))


def test_a_thousand_operations_load_in_three_seconds(api: Api) -> None:
    def schema(number: int) -> dict[str, Any]:
        near = [f"#/components/schemas/S{(number + step) % 300}" for step in (1, 7, 31)]
        properties = {f"p{index}": {"$ref": reference} for index, reference in enumerate(near)}
        return {"type": "object", "properties": {**properties, "name": {"type": "string", "nullable": True}}}

    paths: dict[str, Any] = {}
    for number in range(500):
        reference = {"$ref": f"#/components/schemas/S{number % 300}"}
        answer = {"200": {"description": "ok", "content": {"application/json": {"schema": reference}}}}
        parameters = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in "abcdefgh"]
        paths[f"/things{number}/{{id}}"] = {
            "get": {"operationId": f"get{number}", "parameters": parameters, "responses": answer},
            "put": {"operationId": f"put{number}", "requestBody": body_of(reference), "responses": answer},
        }
    api.write(paths, version="3.0.3", components={"schemas": {f"S{number}": schema(number) for number in range(300)}})
    start = time.process_time()
    tools = api.tools()
    assert time.process_time() - start < 3 * SLACK
    assert len(tools) == 1000
    assert len(tools["put7"].parameters["$defs"]) == 300


# --- YAML -----------------------------------------------------------------------------------------------------------

YAML = """\
# a comment
openapi: 3.0.3
info: {title: Yaml, version: 2024-01-01}
servers:
  - url: https://api.example.com
paths:
  /a:
    get:
      operationId: listA
      parameters:
        - name: answer
          in: query
          schema: {type: string, enum: [yes, no, 12:30, 2024-01-01]}
        - name: flag
          in: query
          schema: {type: boolean, default: false, minimum: 1e3, maximum: 010}
      responses:
        200: {description: ok, content: {application/json: {schema: {type: integer}}}}
  /b:
    get:
      parameters:
        - {name: x, in: nowhere}
"""


def test_yaml_is_refused_clearly_where_it_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    for name in ("api.yaml", "api.yml", "api"):
        (tmp_path / name).write_text(YAML)
        (problem,) = OpenApiDocument(tmp_path / name).load().problems
        assert str(problem) == f"{tmp_path / name}: this is YAML, and PyYAML is not installed"
        assert problem.hint is not None
        assert "pip install pyyaml" in problem.hint


def test_yaml_is_read_as_openapi_means_it(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    path = tmp_path / "api.yaml"
    path.write_text(YAML)
    listing = OpenApiDocument(path).load()
    (tool,) = listing.tools
    properties = tool.parameters["properties"]
    assert properties["answer"]["enum"] == ["yes", "no", "12:30", "2024-01-01"]
    assert properties["flag"] == {"type": "boolean", "default": False, "minimum": 1000.0, "maximum": 10}
    assert (tool.output_schema, tool.version) == ({"type": "integer"}, "2024-01-01")
    (problem,) = listing.problems
    assert str(problem).startswith(f'{path}:23: GET /b: a parameter cannot be in "nowhere"')


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("openapi: 3.1.0\npaths: {\n", ":3: not valid YAML"),
        ("openapi: 3.1.0\npaths: !!python/object:os.system {}\n", ":2: not valid YAML"),
        ("- a\n", ":1: the file must hold one object"),
        ("a: &a [" + "x," * 999 + "]\nb: &b [" + "*a," * 999 + "]\nc: [" + "*b," * 999 + "]\n", "aliases expand"),
    ],
)
def test_yaml_that_is_wrong_is_a_problem(tmp_path: Path, text: str, problem: str) -> None:
    pytest.importorskip("yaml")
    path = tmp_path / "api.yaml"
    path.write_text(text)
    (found,) = OpenApiDocument(path).load().problems
    assert problem in str(found)
