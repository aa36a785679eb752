"""Tools of LangChain and LangGraph."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from toolcrib.adapters.running import blocking, content_of, failure_text, library, runner_of
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import DefinitionError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from toolcrib.crib import Crib
    from toolcrib.definition.decorator import ToolFacts


def from_langchain(tool: Any, **facts: Unpack[ToolFacts]) -> ToolDefinition:
    """A LangChain tool as a definition, to be registered.

    It runs as LangChain runs it, callbacks and ``handle_tool_error`` included. Of a tool with
    ``response_format="content_and_artifact"`` the artifact is the result's data, and the content its output.

    Args:
        tool: a ``BaseTool`` of langchain-core, such as a ``StructuredTool``.
        **facts: what LangChain does not know, such as ``effects``; see `ToolDefinition`.

    Raises:
        DependencyMissingError: langchain-core is not installed.
        DefinitionError: LangGraph fills one of its parameters, so it runs only there.

    Example:
        ::

            crib.registry.register(from_langchain(search, effects="read"))
    """
    converting = library("langchain_core.utils.function_calling", "langchain-core")
    function = converting.convert_to_openai_tool(tool)["function"]
    _check_injected(tool, function["parameters"])
    handler = _synchronous(tool) if _is_synchronous(tool) else _asynchronous(tool)
    facts.setdefault("source", type(tool).__module__)
    return ToolDefinition(tool.name, tool.description, {"type": "object", **function["parameters"]}, handler, **facts)


def to_langchain(tool: ToolDefinition, *, crib: Crib | None = None) -> Any:
    """A ``StructuredTool`` for LangChain's agents and LangGraph's ``ToolNode``, synchronous and asynchronous.

    It runs through the crib's pipeline. A failure becomes the text that the model reads; it never ends the graph.

    Args:
        tool: the tool, wherever it lives.
        crib: where it runs; None = the default one.

    Raises:
        DependencyMissingError: langchain-core is not installed.

    Example:
        ::

            agent = create_agent(model, [to_langchain(tool) for tool in crib.registry])
    """
    from toolcrib.definition.dialects.alias import alias
    from toolcrib.definition.dialects.openai import loose_schema

    tools = library("langchain_core.tools", "langchain-core")
    run = runner_of(tool, crib)

    def settle(result: ToolResult) -> Any:
        if result.success:
            return content_of(result)
        raise tools.ToolException(failure_text(result))

    def call(**arguments: Any) -> Any:
        return settle(blocking(lambda: run(arguments)))

    async def call_async(**arguments: Any) -> Any:
        return settle(await run(arguments))

    return tools.StructuredTool(
        name=alias(tool.name),
        description=tool.description,
        args_schema=loose_schema(tool.parameters),
        func=call,
        coroutine=call_async,
        handle_tool_error=True,
    )


def _is_synchronous(tool: Any) -> bool:
    """Whether it has no asynchronous road of its own, so that it runs in toolcrib's threads."""
    base = library("langchain_core.tools", "langchain-core").BaseTool
    if hasattr(tool, "coroutine"):
        return tool.coroutine is None
    return type(tool)._arun is base._arun


def _synchronous(tool: Any) -> Any:
    def handler(arguments: dict[str, Any]) -> Any:
        return _settled(tool.invoke(_input(tool, arguments)))

    return handler


def _asynchronous(tool: Any) -> Any:
    async def handler(arguments: dict[str, Any]) -> Any:
        return _settled(await tool.ainvoke(_input(tool, arguments)))

    return handler


def _input(tool: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments, or a whole tool call where only the message that answers it tells all."""
    if not tool.handle_tool_error and tool.response_format == "content":
        return arguments
    return {"type": "tool_call", "id": uuid.uuid4().hex, "name": tool.name, "args": arguments}


def _settled(value: Any) -> Any:
    messages = library("langchain_core.messages", "langchain-core")
    if not isinstance(value, messages.ToolMessage):
        return value
    if value.status == "error":
        return ToolResult.fail(str(value.text))
    if value.artifact is not None:
        return ToolResult(True, value.artifact, output=value.content)
    return value.content


def _check_injected(tool: Any, parameters: dict[str, Any]) -> None:
    if tool.args_schema is None or isinstance(tool.args_schema, dict):
        return
    shown = parameters.get("properties", {})
    for name, field in tool.args_schema.model_fields.items():
        if name not in shown and field.alias not in shown and field.is_required():
            raise DefinitionError(
                f"The parameter {name!r} of the LangChain tool {tool.name!r} is filled by LangGraph",
                hint="Give it a default, or bind it before the tool comes here.",
            )
