"""How one call is carried out: resolve, validate, run with a deadline, shape the result (DESIGN §3)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from toolcrib.definition.call import Deadline, ToolCall
from toolcrib.definition.context import Context
from toolcrib.definition.deployment import Runtime
from toolcrib.definition.ports import ArtifactStore, Runner
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.definition.validation import output_check, validate
from toolcrib.errors import CallError, DeadlineExceeded, DependencyMissingError, OutputMismatchError
from toolcrib.execution import references
from toolcrib.execution.notes import noted
from toolcrib.registry.registry import ToolRegistry

logger = logging.getLogger("toolcrib.execution")


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is derived from a tool once, not at every call."""

    tool: ToolDefinition
    binary_inputs: tuple[references.Path, ...]
    binary_outputs: tuple[references.Path, ...]
    output_problems: Callable[[Any], list[str]] | None


class Pipeline:
    """Turns a name and arguments into exactly one `ToolResult`, whatever happens in between.

    Args:
        registry: where names are resolved.
        runners: who runs a tool, by the kind of place it lives in. One whose attribute ``keeps_deadline`` is true ends
            its calls in time itself; the others' are ended here.
        artifacts: gives the store that references in arguments and results point into, when there are any.
        timeout: seconds a call may take where neither caller nor tool says.
        output_validation: whether an answer that does not fit its output schema is ignored, logged or an error.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        runners: Mapping[Runtime, Runner],
        artifacts: Callable[[], ArtifactStore],
        *,
        timeout: float = 600.0,
        output_validation: Literal["off", "warn", "error"] = "warn",
    ) -> None:
        self._registry = registry
        self._runners = runners
        self._artifacts = artifacts
        self._timeout = timeout
        self._output_validation = output_validation
        self._facts: dict[str, _Facts] = {}
        self._nobody = Context(services=registry.services)

    async def run(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        context: Context | None = None,
        timeout: float | None = None,
        as_references: bool = False,
    ) -> ToolResult:
        """Carry out one call.

        Args:
            name: the tool's.
            arguments: by parameter; never mutated.
            context: who calls.
            timeout: seconds, in place of the tool's own.
            as_references: whether files in the result become artifact references.

        Returns:
            The one result. Only cancellation of the task raises.
        """
        try:
            tool = self._registry.resolve(name)
            call = ToolCall(tool, arguments, self._known(context))
            await self._prepare(call)
            deadline = Deadline(timeout or tool.timeout or self._timeout)
            result = await self._run(call, deadline)
            return await self._shape(tool, result, as_references)
        except CallError as error:
            return ToolResult.from_error(error)
        except Exception as error:
            logger.exception("Call of %s failed", name)
            return ToolResult.from_error(error)

    def _known(self, context: Context | None) -> Context:
        """The caller's context with the services that tools may ask for."""
        if context is None:
            return self._nobody
        return context if context.services is not None else replace(context, services=self._registry.services)

    async def _prepare(self, call: ToolCall) -> None:
        call.arguments = validate(call.tool, call.arguments, call.notes)
        facts = self._facts_of(call.tool)
        if facts.binary_inputs:
            deployment = call.tool.deployment
            call.arguments = await asyncio.to_thread(
                references.resolve,
                call.arguments,
                facts.binary_inputs,
                self._artifacts(),
                deployment.artifacts if deployment else "base64",
            )

    async def _run(self, call: ToolCall, deadline: Deadline) -> ToolResult:
        runner = self._runners.get(call.tool.runtime)
        if runner is None:
            raise DependencyMissingError(
                f"Tool '{call.tool.name}' is not running or has no active endpoint: "
                f"the runtime {call.tool.runtime!r} is not available here",
                hint="Tools outside this process run inside `async with crib:`, or behind `toolcrib serve`.",
            )
        if getattr(runner, "keeps_deadline", False):
            return await runner.run(call, deadline)
        try:
            async with asyncio.timeout(deadline.remaining()) as limit:
                return await runner.run(call, deadline)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise DeadlineExceeded(
                f"Tool '{call.tool.name}' did not answer within {deadline.seconds:g} s",
                hint="Give the call or the tool a longer timeout, or ask for less at once.",
            ) from error

    async def _shape(self, tool: ToolDefinition, result: ToolResult, as_references: bool) -> ToolResult:
        if not result.success:
            return result
        facts = self._facts_of(tool)
        if facts.output_problems is not None and (problems := facts.output_problems(result.data)):
            result = noted(result, self._mismatch(tool, "; ".join(problems)))
        if as_references and facts.binary_outputs:
            result.data = await asyncio.to_thread(
                references.to_references, result.data, facts.binary_outputs, self._artifacts(), tool.name
            )
        return result

    def _mismatch(self, tool: ToolDefinition, problems: str) -> str:
        text = f"The answer of '{tool.name}' does not fit its output schema: {problems}"
        if self._output_validation == "error":
            raise OutputMismatchError(text, hint="Correct the tool or its output_schema.")
        logger.warning("%s", text)
        return f"output does not fit its schema: {problems}"

    def _facts_of(self, tool: ToolDefinition) -> _Facts:
        facts = self._facts.get(tool.name)
        if facts is None or facts.tool is not tool:
            schema = tool.output_schema if self._output_validation != "off" else None
            facts = _Facts(
                tool,
                references.binary_paths(tool.parameters),
                references.binary_paths(tool.output_schema),
                output_check(schema) if schema is not None else None,
            )
            self._facts[tool.name] = facts
        return facts
