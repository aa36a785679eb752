"""A runner that answers as a test says."""

from __future__ import annotations

import asyncio
import copy
import inspect
import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolcrib.definition.call import Deadline, ToolCall
from toolcrib.definition.result import ToolResult
from toolcrib.errors import NotRunningError


@dataclass(frozen=True, slots=True)
class _Answer:
    value: Any
    delay: float


class FakeRunner:
    """Stands for every place where tools run: it remembers the calls and gives the answers that the test wrote.

    Everything around it is real, so arguments are validated and deadlines kept. Give it to `temporary_crib`.

    Args:
        answers: the answer of each tool, by name; see `answer`.

    Attributes:
        calls: what was run, in order, with validated arguments.

    Example:
        >>> from toolcrib import ToolDefinition
        >>> from toolcrib.testing import call, temporary_crib
        >>> weather = ToolDefinition("weather", "The weather.", {"properties": {"city": {"type": "string"}}})
        >>> runner = FakeRunner({"weather": {"sky": "clear"}})
        >>> with temporary_crib(weather, runner=runner):
        ...     call("weather", city="Oslo").data
        {'sky': 'clear'}
        >>> runner.arguments("weather")
        [{'city': 'Oslo'}]
    """

    def __init__(self, answers: Mapping[str, Any] | None = None) -> None:
        self.calls: list[ToolCall] = []
        self._answers: dict[str, deque[_Answer]] = {}
        for tool, value in (answers or {}).items():
            self.answer(tool, value)

    def answer(self, tool: str, *answers: Any, delay: float = 0.0) -> FakeRunner:
        """Say what a tool answers, one call after the other; the last answer is given again and again.

        Args:
            tool: its name.
            *answers: each the data of a success, a `ToolResult`, an exception to be raised, or a function that is
                called with the arguments and gives one of these.
            delay: seconds before each of these answers; ``math.inf`` = it never comes, so the deadline ends the call.

        Returns:
            The runner itself.

        Example:
            >>> runner = FakeRunner().answer("flaky", ConnectionError("gone"), {"rows": 3})
            >>> runner.answer("echo", lambda arguments: arguments["text"]).answer("slow", "late", delay=math.inf)
            FakeRunner(answers for echo, flaky, slow; 0 calls)
        """
        self._answers.setdefault(tool, deque()).extend(_Answer(value, delay) for value in answers)
        return self

    def arguments(self, tool: str) -> list[dict[str, Any]]:
        """What a tool was called with, in order."""
        return [dict(call.arguments) for call in self.calls if call.tool.name == tool]

    async def run(self, call: ToolCall, deadline: Deadline) -> ToolResult:
        """Remember the call and give its answer.

        Raises:
            NotRunningError: the test wrote no answer for the tool.
            BaseException: the exception that is the answer.
        """
        self.calls.append(call)
        answers = self._answers.get(call.tool.name)
        if not answers:
            raise NotRunningError(
                f"FakeRunner has no answer for {call.tool.name!r}", hint=f"Write runner.answer({call.tool.name!r}, …)."
            )
        answer = answers.popleft() if len(answers) > 1 else answers[0]
        if math.isinf(answer.delay):
            await asyncio.Event().wait()
        elif answer.delay:
            await asyncio.sleep(answer.delay)
        value = answer.value
        if callable(value) and not isinstance(value, type):
            value = value(dict(call.arguments))
            value = await value if inspect.isawaitable(value) else value
        if isinstance(value, BaseException) or (isinstance(value, type) and issubclass(value, BaseException)):
            raise value
        return ToolResult.of(copy.copy(value) if isinstance(value, ToolResult) else copy.deepcopy(value))

    def __repr__(self) -> str:
        return f"FakeRunner(answers for {', '.join(sorted(self._answers)) or 'nothing'}; {len(self.calls)} calls)"
