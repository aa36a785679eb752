"""Agno: functions of an agent, run as its model class does."""

# mypy: disable-error-code="import-not-found"
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agno.tools.function import Function
from agno.utils.functions import get_function_call


class Peer:
    """``FunctionCall.aexecute``."""

    asynchronous = True

    def __init__(self) -> None:
        self.functions: dict[str, Any] = {}

    def define(self, functions: Sequence[Callable[..., Any]]) -> None:
        for each in functions:
            function = Function.from_callable(each)
            function.process_entrypoint()
            self.functions[function.name] = function

    def schemas(self) -> list[dict[str, Any]]:
        return [{"type": "function", "function": each.to_dict()} for each in self.functions.values()]

    async def open(self) -> None:
        pass

    async def call(self, name: str, arguments: str) -> str:
        call: Any = get_function_call(name, arguments, "1", self.functions)
        outcome = await call.aexecute()
        assert outcome.status == "success", outcome
        return str(outcome.result)
