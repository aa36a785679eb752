"""Microsoft Agent Framework core. There is no public entry for one call; this is what its chat clients call."""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agent_framework import Content, tool
from agent_framework._tools import (
    _try_execute_function_call_groups,
    normalize_function_invocation_configuration,
)


class Peer:
    """One group of function calls, which holds one call."""

    asynchronous = True

    def __init__(self) -> None:
        self.tools: list[Any] = []

    def define(self, functions: Sequence[Callable[..., Any]]) -> None:
        self.tools += [tool(function) for function in functions]

    def schemas(self) -> list[dict[str, Any]]:
        return [each.to_json_schema_spec() for each in self.tools]

    async def open(self) -> None:
        self.settings: Any = normalize_function_invocation_configuration(None)

    async def call(self, name: str, arguments: str) -> str:
        request: Any = Content.from_function_call(call_id="1", name=name, arguments=arguments)
        groups, _ = await _try_execute_function_call_groups({}, [request], self.tools, self.settings)
        answer: Any = groups[0][0]
        assert answer.exception is None, answer
        return str(answer.result)
