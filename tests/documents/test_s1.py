"""The code of S1 (NanoClaw), as it stands in the document, on top of toolcrib."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Optional

import pytest

from tests.documents.blocks import Blocks
from toolcrib import Crib, compat, get_service
from toolcrib.testing import schema_of, temporary_crib

GAPS = {
    "file_read": {"    # ...": '    return {"content": path.read_text(arguments.get("encoding", "utf-8"))}'},
    "db_query": {"[...]": '[{"id": 1}]'},
}
"""What the document leaves out. The ``...`` in the call record is inside a text and stays."""

BLOCKS = Blocks("s1", GAPS)

FILE_TOOLS = pytest.mark.xfail(
    strict=True, raises=(ImportError, AttributeError), reason="file tools and projects come with the built-in tools"
)
BUILT_IN = pytest.mark.xfail(strict=True, raises=ImportError, reason="init_tools comes with the built-in tools")


@pytest.fixture(autouse=True)
def crib() -> Iterator[Crib]:
    """The document's modules, over a crib of their own."""
    compat.install("nanoclaw")
    try:
        with temporary_crib() as crib:
            yield crib
    finally:
        compat.uninstall("nanoclaw")


def run(block: str, **names: Any) -> dict[str, Any]:
    """The names that a block defines."""
    exec(compile(BLOCKS[block], f"<S1 {block}>", "exec"), names)
    return names


def imported(name: str, *modules: str) -> Any:
    """A name of the first of these modules that has it."""
    for module in modules:
        try:
            return getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            continue
    raise ImportError(f"none of {', '.join(modules)} has {name}")


def test_every_block_of_the_document_is_run_here() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in BLOCKS.names if source.count(f'"{name}"') < 1] == []


# Section 2


def test_N013_the_call_record_of_the_document_is_json() -> None:
    record = json.loads(BLOCKS["call record"])
    assert [type(record[key]) for key in ("result", "success", "skipped")] == [str, bool, bool]


def test_N013_a_call_is_recorded_with_the_keys_of_the_document(crib: Crib) -> None:
    run("my_tool", tool=imported("tool", "backend.tools"))
    executor = imported("ToolExecutor", "backend.tools")(crib.registry)
    function = {"name": "my_tool", "arguments": '{"param1": "x"}'}
    executor.process_tool_calls([{"id": "call_xxx", "type": "function", "function": function}], {})
    (record,) = executor._call_history
    expected = json.loads(BLOCKS["call record"])
    assert expected.keys() <= record.keys()
    assert {key: type(record[key]) for key in ("id", "type", "function", "result")} == {
        key: type(expected[key]) for key in ("id", "type", "function", "result")
    }


# Section 3

CONTEXT = {"model": "m", "project_id": "p"}
INJECTIONS = [
    ("file_read", CONTEXT, {"project_id": "p"}),
    ("multi_agent", CONTEXT, {"_model": "m", "_project_id": "p"}),
    ("multi_agent", {"model": "m"}, {"_model": "m"}),
    ("calculator", CONTEXT, {}),
    ("file_read", None, {}),
]


@pytest.mark.parametrize(("name", "context", "expected"), INJECTIONS)
def test_N017_the_documents_injection_does_what_it_says(name: str, context: Any, expected: dict[str, str]) -> None:
    inject = run("inject_context", Optional=Optional)["_inject_context"]
    arguments: dict[str, str] = {}
    inject(name, arguments, context)
    assert arguments == expected


@pytest.mark.parametrize(("name", "context", "expected"), INJECTIONS)
def test_N017_our_injection_does_the_same(name: str, context: Any, expected: dict[str, str]) -> None:
    arguments: dict[str, str] = {}
    imported("ToolExecutor", "backend.tools.executor")._inject_context(name, arguments, context)
    assert arguments == expected


def test_N019_the_chat_service_runs_calls_with_its_context(crib: Crib) -> None:
    seen: list[Any] = []
    parameters = {"type": "object", "properties": {}}
    tool = imported("tool", "backend.tools")
    tool(name="file_seen", description="", parameters=parameters, category="file")(seen.append)
    executor = imported("ToolExecutor", "backend.tools")(crib.registry)
    calls = [{"id": "a", "type": "function", "function": {"name": "file_seen", "arguments": "{}"}}]
    stream = run("stream_response", tool_calls=calls)["stream_response"]
    conversation = SimpleNamespace(model="m", project_id="of the conversation")
    stream(SimpleNamespace(executor=executor), conversation)
    stream(SimpleNamespace(executor=executor), conversation, project_id="explicit")
    assert [each["project_id"] for each in seen] == ["of the conversation", "explicit"]


# Section 4


def test_N041_the_project_is_not_among_what_the_model_sees(crib: Crib) -> None:
    function = run("file_read", tool=imported("tool", "backend.tools"))["file_read"]
    assert list(schema_of("file_read")["properties"]) == ["path", "encoding"]
    assert crib.registry.resolve("file_read").category == "file"
    assert function is crib.registry.resolve("file_read").handler


def resolving() -> Any:
    """``_resolve_path`` of the document, over our projects and files."""
    modules = ("backend.tools", "backend.tools.builtin.file_ops")
    names = ("db", "Project", "get_project_path", "validate_path_in_project")
    ours = {name: imported(name, *modules) for name in names}
    return run("resolve_path", Path=Path, Tuple=tuple, **ours)["_resolve_path"]


@FILE_TOOLS
def test_N042_a_path_needs_a_project_that_is_there() -> None:
    resolve = resolving()
    with pytest.raises(ValueError, match="project_id is required for file operations"):
        resolve("src/main.py")
    with pytest.raises(ValueError, match="Project not found: nowhere"):
        resolve("src/main.py", "nowhere")


@FILE_TOOLS
def test_N043_only_paths_inside_the_project_are_read() -> None:
    lines = [line for line in BLOCKS["isolation"].splitlines() if line.startswith("file_read(")]
    file_read = imported("file_read", "backend.tools.builtin.file_ops")
    for line in lines[:2]:
        with pytest.raises(ValueError, match="outside project directory"):
            eval(line, {"file_read": file_read})
    assert eval(lines[2], {"file_read": file_read})["success"] is True


# Section 6


def test_N048_the_decorated_function_is_a_tool_and_stays_a_function(crib: Crib) -> None:
    function = run("my_tool", tool=imported("tool", "backend.tools.factory"))["my_tool"]
    assert function({}) == {"result": "ok"}
    assert crib.registry.execute("my_tool", {"param1": "x"}) == {
        "success": True,
        "data": {"result": "ok"},
        "error": None,
    }
    definition = crib.registry.resolve("my_tool")
    assert (definition.description, definition.category) == ("工具描述", "custom")
    assert crib.registry.list_all()[0]["function"]["parameters"]["required"] == ["param1"]


# Section 7


@BUILT_IN
def test_N049_the_built_in_tools_are_registered(crib: Crib) -> None:
    run("init_tools")["init_tools"]()
    names = "web_search fetch_page crawl_batch calculator text_process json_process execute_python file_read file_write"
    more = "file_delete file_list file_exists file_mkdir get_weather multi_agent"
    assert [each["function"]["name"] for each in crib.registry.list_all()] == f"{names} {more}".split()


# Section 8


def test_N050_the_service_locator_of_the_document_and_ours_agree() -> None:
    theirs = run("service locator")
    ours = {name: imported(name, "backend.tools") for name in ("register_service", "get_service")}
    for locator in (theirs, ours):
        assert locator["get_service"]("llm_client") is None
        locator["register_service"](name="llm_client", service="a client")
        assert locator["get_service"](name="llm_client") == "a client"


def test_N050_a_service_is_registered_in_one_place_and_used_in_another() -> None:
    client = object()
    assert run("services in use", llm_client=client)["llm_client"] is client
    assert get_service("llm_client") is client


# Section 9


def test_N052_the_example_of_a_new_tool_runs(crib: Crib) -> None:
    run("db_query")

    def query(sql: str) -> dict[str, Any]:
        return crib.registry.execute("db_query", {"sql": sql, "project_id": "p"})

    assert query("DELETE FROM t") == {"success": False, "data": None, "error": "Only SELECT queries allowed"}
    assert query(" select 1") == {"success": True, "data": {"rows": [{"id": 1}]}, "error": None}
