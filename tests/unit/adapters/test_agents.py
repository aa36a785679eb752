"""Our tools in the OpenAI Agents SDK and in Pydantic AI, and what is said where a library is missing."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from toolcrib import Crib
from toolcrib.adapters.langchain import from_langchain, to_langchain
from toolcrib.adapters.mcp import to_mcp_result, to_mcp_types
from toolcrib.adapters.openai_agents import to_openai_agents
from toolcrib.adapters.pydantic_ai import from_pydantic_ai, to_pydantic_ai
from toolcrib.definition.decorator import define
from toolcrib.definition.result import ToolResult
from toolcrib.errors import DefinitionError, DependencyMissingError
from toolcrib.testing import call, temporary_crib


def divide(a: int, b: int = 1) -> float:
    """Divides."""
    return a / b


async def test_our_tool_is_a_tool_of_openai_agents() -> None:
    pytest.importorskip("agents")
    made = to_openai_agents(define(divide))
    assert (made.name, made.description, made.strict_json_schema) == ("divide", "Divides.", True)
    assert made.params_json_schema["required"] == ["a", "b"]
    assert await made.on_invoke_tool(None, '{"a": 1, "b": 2}') == "0.5"
    assert await made.on_invoke_tool(None, '{"a": 3, "b": null}') == "3.0"
    assert "a: expected integer" in await made.on_invoke_tool(None, "{}")
    assert "not JSON" in await made.on_invoke_tool(None, '{"a": 1')


async def test_our_tool_is_a_tool_of_pydantic_ai() -> None:
    theirs: Any = pytest.importorskip("pydantic_ai")
    made = to_pydantic_ai(define(divide))
    assert (made.name, made.description) == ("divide", "Divides.")
    assert made.tool_def.parameters_json_schema["required"] == ["a"]
    assert await made.function(a=1, b=2) == 0.5
    with pytest.raises(theirs.ModelRetry, match="a: expected integer"):
        await made.function(b=2)
    with pytest.raises(theirs.ToolFailed, match="ZeroDivisionError"):
        await made.function(a=1, b=0)


def test_a_tool_of_pydantic_ai_is_a_tool() -> None:
    theirs: Any = pytest.importorskip("pydantic_ai")

    def takes_context(context, a: int) -> int:  # type: ignore[no-untyped-def]
        """Takes the context."""
        return a

    definition = from_pydantic_ai(theirs.Tool(divide, name="divide_it"), effects="none")
    assert (definition.name, definition.effects) == ("divide_it", "none")
    assert call(definition, a=1, b=2).data == 0.5
    with pytest.raises(DefinitionError, match="takes the RunContext"):
        from_pydantic_ai(theirs.Tool(takes_context, takes_ctx=True))


@pytest.mark.parametrize(
    ("use", "modules", "package"),
    [
        (from_langchain, ["langchain_core", "langchain_core.utils.function_calling"], "langchain-core"),
        (to_langchain, ["langchain_core", "langchain_core.tools"], "langchain-core"),
        (lambda tool: to_mcp_types([tool]), ["mcp_types"], "mcp"),
        (lambda tool: to_mcp_result(ToolResult.ok()), ["mcp_types"], "mcp"),
        (to_openai_agents, ["agents"], "openai-agents"),
        (to_pydantic_ai, ["pydantic_ai"], "pydantic-ai-slim"),
    ],
)
def test_a_library_that_is_missing_is_named(
    use: Callable[[Any], Any], modules: list[str], package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DependencyMissingError, match=f"needs the package {package}, which is not installed") as caught:
        use(define(divide))
    assert caught.value.hint == f"pip install {package}"


def test_nothing_is_imported_before_it_is_used() -> None:
    import subprocess

    program = (
        "import sys, json\n"
        "from toolcrib.adapters import langchain, mcp, openai_agents, pydantic_ai\n"
        "names = ('langchain_core', 'mcp', 'mcp_types', 'agents', 'pydantic_ai', 'pydantic')\n"
        "print(json.dumps([name for name in names if name in sys.modules]))"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(finished.stdout) == []


def test_the_crib_may_be_named() -> None:
    pytest.importorskip("langchain_core")
    with temporary_crib(divide) as crib:
        made = to_langchain(crib.registry.resolve("divide"), crib=crib)
    assert isinstance(crib, Crib)
    assert made.invoke({"a": 1}) == 1.0
