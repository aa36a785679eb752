"""Which tools an OpenAPI document gives, under which names, and when they change."""

from __future__ import annotations

import copy
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.unit.registry.openapi import BASE, DATA, Api, body_of, example, operation, url, wire
from toolcrib.definition.schema.check import compile_check
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import DefinitionError
from toolcrib.registry.names import check_name
from toolcrib.registry.registry import ToolRegistry
from toolcrib.registry.reload import apply
from toolcrib.registry.sources.openapi.source import OpenApiDocument

SLACK = float(os.environ.get("TOOLCRIB_TEST_SLACK", "2"))


@pytest.fixture
def api(tmp_path: Path) -> Api:
    return Api(tmp_path / "api.json")


@pytest.fixture(scope="module")
def shop() -> dict[str, ToolDefinition]:
    return example("petstore", base_url=BASE)


@pytest.fixture(scope="module")
def weather() -> dict[str, ToolDefinition]:
    return example("weather")


# --- facts of a tool --------------------------------------------------------------------------------------------------


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


# --- servers ----------------------------------------------------------------------------------------------------------


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
    api.write({"/a": {"get": operation()}}, servers=[{"url": server}] if server else None)
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
        ([{"url": "https://[a]/"}], "the server has a URL that cannot be read"),
        ([{}], 'a server has no "url"'),
        ({"url": "https://a.example"}, '"servers" should be a list of objects'),
    ],
)
def test_a_server_that_cannot_be_used_is_a_problem(api: Api, servers: Any, message: str) -> None:
    api.options = {}
    api.write({"/a": {"get": operation()}}, servers=servers)
    (problem,) = api.problems()
    assert message in problem
    assert "p4ss" not in problem


# --- names and choice -------------------------------------------------------------------------------------------------


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
            "/b": {"get": operation(operationId="post_a"), "put": operation(operationId="delete_c")},
            "/c": {"delete": operation()},
        }
    )
    assert list(api.tools()) == ["same", "post_a", "get_b", "delete_c", "delete_c_2"]


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


# --- credentials ------------------------------------------------------------------------------------------------------


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


def test_a_document_behind_a_password_in_its_url_is_refused_without_showing_it() -> None:
    with pytest.raises(DefinitionError, match="user name or password") as caught:
        OpenApiDocument("https://ada:s3cret@api.example.com/openapi.json")
    assert "s3cret" not in str(caught.value)
    assert OpenApiDocument("https://api.example.com/o.json?key=s3cret").label == "https://api.example.com/o.json"


# --- reloading --------------------------------------------------------------------------------------------------------


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
