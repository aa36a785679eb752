"""Tools for the OpenAI Agents SDK."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from toolcrib.adapters.running import content_of, failure_text, library, runner_of
from toolcrib.definition.tool import ToolDefinition

if TYPE_CHECKING:
    from toolcrib.crib import Crib


def to_openai_agents(tool: ToolDefinition, *, crib: Crib | None = None) -> Any:
    """A ``FunctionTool`` for ``Agent(tools=[…])``; a failure becomes the text that the model reads.

    Args:
        tool: the tool, wherever it lives.
        crib: where it runs; None = the default one.

    Raises:
        DependencyMissingError: openai-agents is not installed.
    """
    from toolcrib.definition.dialects import to_dialect

    entry = to_dialect(tool, "openai_strict")["function"]
    run = runner_of(tool, crib)

    async def invoke(context: Any, arguments: str) -> str:
        try:
            parsed = json.loads(arguments or "{}")
        except ValueError as error:
            return f"The arguments are not JSON: {error}"
        result = await run(parsed)
        content = content_of(result) if result.success else failure_text(result)
        return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)

    return library("agents", "openai-agents").FunctionTool(
        name=entry["name"],
        description=entry["description"],
        params_json_schema=entry["parameters"],
        on_invoke_tool=invoke,
        strict_json_schema=entry["strict"],
    )
