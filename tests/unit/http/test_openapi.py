"""GET /openapi.json."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import jsonschema_rs

from tests.unit.http.conftest import FakeCrib

NODE = {
    "type": "object",
    "properties": {"next": {"$ref": "#/$defs/node"}, "$ref": {"type": "string"}, "kind": {"const": {"$ref": "#/x"}}},
    "$defs": {"node": {"type": "object", "properties": {"child": {"$ref": "#/$defs/node"}, "root": {"$ref": "#"}}}},
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "https://example.org/node",
}


async def document(client: httpx2.AsyncClient) -> Any:
    answer = await client.get("/openapi.json")
    assert answer.status_code == 200
    return answer.json()


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref" and isinstance(value, str):
                yield value
            elif key != "const":
                yield from references(value)
    elif isinstance(node, list):
        for item in node:
            yield from references(item)


def find(node: Any, reference: str) -> Any:
    for key in reference.removeprefix("#/").split("/"):
        node = node[key]
    return node


async def test_every_tool_is_an_operation_with_its_own_schemas(client: httpx2.AsyncClient) -> None:
    api = await document(client)
    assert api["openapi"] == "3.1.0"
    operation = api["paths"]["/tools/image_stitcher/run"]["post"]
    assert operation["operationId"] == "image_stitcher"
    assert operation["summary"] == "图片拼接工具"
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    assert find(api, schema["$ref"])["required"] == ["images"]


async def test_run_tool_takes_one_of_the_tools(client: httpx2.AsyncClient, crib: FakeCrib) -> None:
    api = await document(client)
    schema = api["paths"]["/run_tool"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert [one["properties"]["tool_id"]["const"] for one in schema["oneOf"]] == [tool.name for tool in crib.registry]

    validator = jsonschema_rs.validator_for({**schema, "components": api["components"]})
    assert validator.is_valid({"tool_id": "image_stitcher", "params": {"images": ["x"]}})
    assert validator.is_valid({"tool_id": "echo"})
    assert not validator.is_valid({"tool_id": "image_stitcher", "params": {}})
    assert not validator.is_valid({"tool_id": "image_stitcher"})
    assert not validator.is_valid({"tool_id": "unknown"})
    assert not validator.is_valid({"tool_id": "echo", "colour": "red"})


async def test_answers_fit_what_the_document_says(client: httpx2.AsyncClient, crib: FakeCrib) -> None:
    crib.running.add("image_stitcher")
    api = await document(client)

    def fits(schema: str, value: Any) -> bool:
        whole = {"$ref": f"#/components/schemas/{schema}", "components": api["components"]}
        return jsonschema_rs.validator_for(whole).is_valid(value)

    assert fits("ToolList", (await client.get("/tools")).json())
    assert fits("Tool", (await client.get("/tools/echo")).json())
    assert fits("Logs", (await client.get("/tools/echo/logs")).json())
    assert fits("Artifact", (await client.post("/artifacts", content=b"x")).json())
    assert fits("Failure", (await client.get("/tools/nothing")).json())
    for tool_id in ("echo", "fails", "nothing"):
        assert fits("Answer", (await client.post("/run_tool", json={"tool_id": tool_id})).json())


async def test_references_lead_where_they_led_before(client: httpx2.AsyncClient, crib: FakeCrib) -> None:
    crib.add("walk", parameters=NODE)
    api = await document(client)
    for reference in references(api):
        assert find(api, reference) is not None
    component = api["components"]["schemas"]["tool.walk.input"]
    assert component["properties"]["next"] == {"$ref": "#/components/schemas/tool.walk.input/$defs/node"}
    assert component["properties"]["$ref"] == {"type": "string"}
    assert component["properties"]["kind"] == {"const": {"$ref": "#/x"}}
    assert component["$defs"]["node"]["properties"]["root"] == {"$ref": "#/components/schemas/tool.walk.input"}
    assert "$id" not in component


async def test_operations_have_distinct_ids_whatever_tools_are_called(
    client: httpx2.AsyncClient, crib: FakeCrib
) -> None:
    for name in ("health", "a/b", "a.b", "run_tool"):
        crib.add(name)
    api = await document(client)
    ids = [operation["operationId"] for path in api["paths"].values() for operation in path.values()]
    assert len(ids) == len(set(ids))
    assert "/tools/a%2Fb/run" in api["paths"]
    assert api["components"]["schemas"].keys() >= {"tool.a.b.input", "tool.a.b.2.input"}


async def test_the_document_follows_the_registry(client: httpx2.AsyncClient, crib: FakeCrib) -> None:
    first = await client.get("/openapi.json")
    etag = first.headers["etag"]
    assert (await client.get("/openapi.json", headers={"If-None-Match": etag})).status_code == 304
    crib.add("newcomer")
    second = await client.get("/openapi.json", headers={"If-None-Match": etag})
    assert second.status_code == 200
    assert "/tools/newcomer/run" in second.json()["paths"]


async def test_all_routes_are_described(client: httpx2.AsyncClient) -> None:
    described = (await document(client))["paths"]
    routes = (
        "/health /health/ready /tools /run_tool /tools/{tool_id} /tools/{tool_id}/logs /tools/{tool_id}/start "
        "/tools/{tool_id}/stop /artifacts /artifacts/{artifact_id}"
    )
    assert set(routes.split()) <= set(described)


async def test_a_document_without_tools_is_one_too(client: httpx2.AsyncClient, crib: FakeCrib) -> None:
    for tool in crib.registry:
        crib.registry.unregister(tool.name)
    schema = (await document(client))["paths"]["/run_tool"]["post"]["requestBody"]["content"]["application/json"]
    assert schema == {"schema": {"type": "object"}}
