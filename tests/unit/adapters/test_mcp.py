"""The tools of MCP servers here, and ours there."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from toolcrib import ToolDefinition, ToolResult
from toolcrib.adapters.mcp import definitions_from_mcp, from_mcp, list_mcp, to_mcp_result, to_mcp_types
from toolcrib.definition.decorator import define
from toolcrib.testing import temporary_crib

# What needs no library

TEXT = {"type": "text", "text": "hi"}


async def no_call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    raise AssertionError("nothing is called")


def definition_of(**entry: Any) -> ToolDefinition:
    """The definition of a tool that no server has."""
    (definition,) = definitions_from_mcp([{"name": "x", "inputSchema": {"type": "object"}, **entry}], no_call)
    return definition


async def answered(answer: dict[str, Any]) -> ToolResult:
    """The result of a call to which the server answers so."""

    async def respond(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return answer

    with temporary_crib(*definitions_from_mcp([{"name": "x", "inputSchema": {}}], respond)) as crib:
        return await crib.run("x", {})


@pytest.mark.parametrize(
    ("hints", "effects", "risk"),
    [
        ({}, None, "low"),
        ({"readOnlyHint": True}, None, "low"),
        ({"readOnlyHint": False}, "external", "low"),
        ({"readOnlyHint": False, "openWorldHint": False}, "write", "low"),
        ({"destructiveHint": True, "readOnlyHint": False}, "external", "high"),
        ({"idempotentHint": True}, None, "low"),
    ],
)
def test_a_server_is_believed_only_where_it_warns(hints: dict[str, bool], effects: str | None, risk: str) -> None:
    definition = definition_of(annotations=hints)
    assert (definition.effects, definition.risk, definition.idempotent) == (effects, risk, False)


def test_a_trusted_server_is_believed() -> None:
    entry = {"name": "x", "inputSchema": {}, "annotations": {"readOnlyHint": True, "idempotentHint": True}}
    (definition,) = definitions_from_mcp([entry], no_call, trusted=True)
    assert (definition.effects, definition.idempotent) == ("read", True)
    entry["annotations"] = {"readOnlyHint": True, "openWorldHint": False}
    assert definitions_from_mcp([entry], no_call, trusted=True)[0].effects == "none"


def test_the_facts_of_a_server_are_kept() -> None:
    definition = definition_of(title="X", description="Does x.", outputSchema={"type": "object"})
    assert (definition.title, definition.description, definition.source) == ("X", "Does x.", "mcp")
    assert definition.output_schema == {"type": "object"}
    assert definition_of(annotations={"title": "Y"}).title == "Y"


@pytest.mark.parametrize(
    ("answer", "data"),
    [
        ({"content": [TEXT]}, "hi"),
        ({"content": [{"type": "text", "text": "{}"}], "structuredContent": {"a": 1}}, {"a": 1}),
        ({"content": [TEXT, TEXT]}, [TEXT, TEXT]),
        ({"content": []}, []),
    ],
)
async def test_an_answer_becomes_data(answer: dict[str, Any], data: Any) -> None:
    assert (await answered(answer)).data == data


async def test_an_error_of_the_server_is_a_failure() -> None:
    result = await answered({"content": [{"type": "text", "text": "no such city"}], "isError": True})
    assert (result.success, result.error) == (False, "no such city")
    assert (await answered({"content": [], "isError": True})).error == "The server gave no reason"


# With the library


@pytest.fixture
def mcp() -> Any:
    """The SDK, with its client."""
    return pytest.importorskip("mcp")


@pytest.fixture
def types() -> Any:
    """Its types."""
    return pytest.importorskip("mcp_types")


@pytest.fixture
def server(mcp: Any, types: Any) -> Any:
    """A server of the SDK, with a tool for each kind of answer."""
    made = importlib.import_module("mcp.server").MCPServer("test")
    tool_error = importlib.import_module("mcp.server.mcpserver.exceptions").ToolError

    def add(a: int, b: int = 1) -> int:
        """Adds two numbers."""
        return a + b

    def picture() -> Any:
        """A picture."""
        return types.ImageContent(data="aGk=", mime_type="image/png")

    def broken() -> str:
        """Breaks."""
        raise tool_error("no luck")

    made.tool(annotations=types.ToolAnnotations(read_only_hint=True))(add)
    made.tool(structured_output=False)(picture)
    made.tool()(broken)
    return made


async def test_the_tools_of_a_server_are_tools(mcp: Any, server: Any) -> None:
    async with mcp.Client(server) as client:
        with temporary_crib(*await list_mcp(client, prefix="math.", trusted=True)) as crib:
            add = crib.registry.resolve("math.add")
            assert (add.description, add.effects) == ("Adds two numbers.", "read")
            assert add.parameters["required"] == ["a"]
            assert (await crib.run("math.add", {"a": 1})).data == {"result": 2}
            assert (await crib.run("math.add", {"b": 1})).error_code == "invalid_params"
            (block,) = (await crib.run("math.picture", {})).data
            assert (block["type"], block["mimeType"], block["data"]) == ("image", "image/png", "aGk=")
            broken = await crib.run("math.broken", {})
            assert (broken.success, "no luck" in str(broken.error)) == (False, True)


async def test_one_tool_of_a_listing_is_taken(mcp: Any, server: Any) -> None:
    async with mcp.Client(server) as client:
        listing = await client.list_tools()
        definition = from_mcp(client, listing.tools[0])
        assert definition.name == "add"
        assert [each.name for each in definitions_from_mcp(listing, client.call_tool)] == ["add", "picture", "broken"]
        with temporary_crib(definition) as crib:
            assert (await crib.run("add", {"a": "1"})).data == {"result": 2}


async def test_every_page_of_a_listing_is_read(types: Any) -> None:
    class Paged:
        call_tool = staticmethod(no_call)

        async def list_tools(self, cursor: str | None = None) -> Any:
            page = int(cursor or 0)
            tool = types.Tool(name=f"tool_{page}", input_schema={"type": "object"})
            return types.ListToolsResult(tools=[tool], next_cursor=str(page + 1) if page < 2 else None)

    assert [each.name for each in await list_mcp(Paged())] == ["tool_0", "tool_1", "tool_2"]


async def test_our_tools_are_served(mcp: Any, types: Any) -> None:
    def divide(a: float, b: float) -> dict[str, float]:
        """Divides."""
        return {"quotient": a / b}

    with temporary_crib(define(divide, effects="none")) as crib:

        async def list_tools(context: Any, params: Any) -> Any:
            return types.ListToolsResult(tools=to_mcp_types(crib.registry))

        async def call_tool(context: Any, params: Any) -> Any:
            return to_mcp_result(await crib.run(params.name, params.arguments or {}))

        served = importlib.import_module("mcp.server").Server("crib", on_list_tools=list_tools, on_call_tool=call_tool)
        async with mcp.Client(served) as client:
            (listed,) = (await client.list_tools()).tools
            assert (listed.name, listed.annotations.read_only_hint) == ("divide", True)
            answer = await client.call_tool("divide", {"a": 1, "b": 2})
            assert (answer.structured_content, answer.is_error) == ({"quotient": 0.5}, False)
            failed = await client.call_tool("divide", {"a": 1, "b": 0})
            assert (failed.is_error, "ZeroDivisionError" in failed.content[0].text) == (True, True)
            again = from_mcp(client, listed, trusted=True)
            assert (again.name, again.effects, again.parameters["required"]) == ("divide", "none", ["a", "b"])
