"""Google ADK: ``FunctionTool``s of an agent. There is no public entry for one call; this is what its flow calls."""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.events.event import Event
from google.adk.flows.llm_flows.functions import handle_function_calls_async
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.function_tool import FunctionTool
from google.genai import types


class Peer:
    """``handle_function_calls_async`` on an event with one call."""

    asynchronous = True

    def __init__(self) -> None:
        self.tools: dict[str, Any] = {}

    def define(self, functions: Sequence[Callable[..., Any]]) -> None:
        for function in functions:
            tool = FunctionTool(function)
            self.tools[tool.name] = tool

    def schemas(self) -> list[dict[str, Any]]:
        declared = (tool._get_declaration() for tool in self.tools.values())
        return [{"type": "function", "function": each.model_dump(mode="json", exclude_none=True)} for each in declared]

    async def open(self) -> None:
        service = InMemorySessionService()
        session = await service.create_session(app_name="benchmark", user_id="1")
        agent = LlmAgent(name="benchmark", model="none", tools=list(self.tools.values()))
        self.context: Any = InvocationContext(session_service=service, invocation_id="1", agent=agent, session=session)

    async def call(self, name: str, arguments: str) -> str:
        request = types.FunctionCall(id="1", name=name, args=json.loads(arguments))
        content = types.Content(role="model", parts=[types.Part(function_call=request)])
        event = Event(author="benchmark", invocation_id="1", content=content)
        answer: Any = await handle_function_calls_async(self.context, event, self.tools)
        return json.dumps(answer.content.parts[0].function_response.response)
