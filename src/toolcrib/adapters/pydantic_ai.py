"""Tools of Pydantic AI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolcrib.adapters.running import content_of, failure_text, library, runner_of
from toolcrib.definition.decorator import define
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import DefinitionError, InvalidParamsError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from toolcrib.crib import Crib
    from toolcrib.definition.decorator import ToolFacts


def from_pydantic_ai(tool: Any, **facts: Unpack[ToolFacts]) -> ToolDefinition:
    """A tool of Pydantic AI as a definition: its function, under its name.

    Args:
        tool: a ``pydantic_ai.Tool`` that does not take Pydantic AI's ``RunContext``.
        **facts: what Pydantic AI does not know, such as ``effects``; see `ToolDefinition`.

    Raises:
        DefinitionError: it takes the context of an agent's run.
    """
    if tool.takes_ctx:
        raise DefinitionError(
            f"The tool {tool.name!r} takes the RunContext of an agent, which is only in Pydantic AI",
            hint="Take a toolcrib Context instead, or services by name.",
        )
    return define(tool.function, name=tool.name, description=tool.description, **facts)


def to_pydantic_ai(tool: ToolDefinition, *, crib: Crib | None = None) -> Any:
    """A ``pydantic_ai.Tool`` for ``Agent(tools=[…])``.

    Wrong arguments make the model retry; any other failure is told to it.

    Args:
        tool: the tool, wherever it lives.
        crib: where it runs; None = the default one.

    Raises:
        DependencyMissingError: pydantic-ai is not installed.
    """
    from toolcrib.definition.dialects import to_dialect

    theirs = library("pydantic_ai", "pydantic-ai-slim")
    entry = to_dialect(tool, "openai")["function"]
    run = runner_of(tool, crib)

    async def call(**arguments: Any) -> Any:
        result = await run(arguments)
        if result.success:
            return content_of(result)
        wrong = result.error_code == InvalidParamsError.code
        raise (theirs.ModelRetry if wrong else theirs.ToolFailed)(failure_text(result))

    return theirs.Tool.from_schema(call, entry["name"], entry["description"], entry["parameters"])
