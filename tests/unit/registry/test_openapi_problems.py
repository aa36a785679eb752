"""What is said of an OpenAPI document that is wrong, odd, or YAML."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.unit.registry.openapi import Api, body_of, operation
from toolcrib.definition.validation import validate
from toolcrib.registry.sources.openapi.source import OpenApiDocument


@pytest.fixture
def api(tmp_path: Path) -> Api:
    return Api(tmp_path / "api.json")


# --- documents that are wrong -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "strng"}, '20: GET /bad: there is no type "strng" (at #/paths/~1bad/get/parameters/0/schema/type)'),
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
        ({"type": "string", "minLength": "3"}, '"minLength" should be a count, got "3"'),
        ({"type": "number", "multipleOf": 0}, '"multipleOf" should be more than 0, got 0'),
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
    assert list(tools) == ["get_a", "post_a", "put_a", "patch_a", "get_b"]
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


# --- YAML -------------------------------------------------------------------------------------------------------------

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
    assert str(problem).startswith(f'{path}:22: GET /b: a parameter cannot be in "nowhere"')


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
