"""How one call is carried out: resolve, validate, run with a deadline, shape the result (DESIGN §3)."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from toolcrib.definition.call import Deadline, ToolCall
from toolcrib.definition.context import Context
from toolcrib.definition.deployment import Runtime
from toolcrib.definition.injection import WHOLE_CONTEXT, injections
from toolcrib.definition.invoke import failure
from toolcrib.definition.ports import ArtifactStore, Runner
from toolcrib.definition.result import ToolResult, ToolResultStatus
from toolcrib.definition.tool import ToolDefinition
from toolcrib.definition.validation import output_check, validator_of
from toolcrib.errors import CallError, DeadlineExceeded, DependencyMissingError, OutputMismatchError
from toolcrib.execution import references
from toolcrib.execution.cache import ResultCache, resources_changed
from toolcrib.execution.copies import unshared
from toolcrib.execution.keys import call_key
from toolcrib.execution.limits import TimeLimit
from toolcrib.execution.nesting import RunningTool, check_depth, current_call
from toolcrib.execution.notes import noted
from toolcrib.execution.slots import Slots
from toolcrib.registry.registry import ToolRegistry

logger = logging.getLogger("toolcrib.execution")


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is derived from a tool once, not at every call."""

    tool: ToolDefinition
    runner: Runner | None
    begin: Callable[[ToolCall], ToolResult | Coroutine[Any, Any, ToolResult]] | None
    lifetime: float
    is_simple: bool
    is_flat: bool
    keeps_deadline: bool
    changes: bool
    takes_context: bool
    binary_inputs: tuple[references.Path, ...]
    binary_outputs: tuple[references.Path, ...]
    output_problems: Callable[[Any], list[str]] | None


class Pipeline:
    """Turns a name and arguments into exactly one `ToolResult`, whatever happens in between.

    Each stage is one function that reads and changes a `ToolCall`, or ends it with its result.

    Args:
        registry: where names are resolved.
        runners: who runs a tool, by the kind of place it lives in. One whose attribute ``keeps_deadline`` is true ends
            its calls in time itself; the others' are ended here.
        artifacts: gives the store that references in arguments and results point into, when there are any.
        timeout: seconds a call may take where neither caller nor tool says.
        output_validation: whether an answer that does not fit its output schema is ignored, logged or an error.
        cache: where results of tools that allow it are remembered; None = nowhere.
    """

    def __init__(
        self,
        registry: ToolRegistry,
        runners: Mapping[Runtime, Runner],
        artifacts: Callable[[], ArtifactStore],
        *,
        timeout: float = 600.0,
        output_validation: Literal["off", "warn", "error"] = "warn",
        cache: ResultCache | None = None,
    ) -> None:
        self.registry = registry
        self.cache = cache
        self._runners = runners
        self._artifacts = artifacts
        self._timeout = timeout
        self._output_validation = output_validation
        self._facts: dict[str, _Facts] = {}
        self._slots = Slots()
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
            call = ToolCall(self.registry.resolve(name), arguments, self.complete(context))
        except CallError as error:
            return ToolResult.from_error(error)
        return await self.carry_out(call, timeout=timeout, as_references=as_references)

    async def carry_out(
        self, call: ToolCall, *, timeout: float | None = None, as_references: bool = False
    ) -> ToolResult:
        """Carry out a call of a tool that is known; as `run`. It may have been prepared already."""
        try:
            if call.values is None:
                self.prepare(call)
            facts = self._facts_of(call.tool)
            call.parent = parent = current_call.get()
            seconds = timeout or call.tool.timeout or self._timeout
            if facts.lifetime and call.key is None:
                call.key = call_key(call)
            if parent is not None:
                check_depth(call, parent)
            if facts.lifetime and call.key is not None:
                result = await self._remembered(call, facts, seconds, parent)
            elif facts.is_simple:
                result = await self._run(call, facts, seconds)
            else:
                result = await self._execute(call, facts, seconds, parent)
            if result.status is not ToolResultStatus.SUCCESS:
                return result
            if facts.output_problems is not None and (problems := facts.output_problems(result.data)):
                result = noted(result, self._mismatch(facts.tool, "; ".join(problems)))
            return await self._with_references(facts, result) if as_references else result
        except CallError as error:
            return ToolResult.from_error(error)
        except Exception as error:
            logger.exception("Call of %s failed", call.tool.name)
            return failure(error)

    def prepare(self, call: ToolCall) -> None:
        """Validate and repair the arguments; what is sent for injected parameters is dropped.

        Raises:
            InvalidParamsError: they do not fit.
        """
        arguments = call.arguments if self._facts_of(call.tool).is_flat else unshared(call.arguments)
        call.arguments, call.values = validator_of(call.tool).prepare(arguments, call.notes)

    def complete(self, context: Mapping[str, Any] | Context | None) -> Context:
        """A context with the services of the registry, where it has none."""
        if not context:
            return self._nobody
        context = Context.of(context)
        if context.services is not None:
            return context
        return dataclasses.replace(context, services=self.registry.services)

    async def _remembered(self, call: ToolCall, facts: _Facts, seconds: float, parent: ToolCall | None) -> ToolResult:
        """The result of an earlier call, of one that is under way, or of this one."""
        cache, key = self.cache, call.key
        assert cache is not None
        assert key is not None
        while True:
            result = cache.get(key, call.tool)
            if result is None and parent is None:
                flight = cache.join(key)
                if flight is None:
                    return await self._fly(call, facts, seconds, cache, key)
                try:
                    async with asyncio.timeout(seconds):
                        result = await flight.wait()
                except TimeoutError as error:
                    raise _exceeded(call.tool, seconds) from error
            elif result is None:  # a call made by a tool waits for no other, so that none waits in a circle
                return await self._compute(call, facts, seconds, parent, cache, key)
            if result is not None:
                call.cached = True
                return result

    async def _fly(self, call: ToolCall, facts: _Facts, seconds: float, cache: ResultCache, key: str) -> ToolResult:
        result: ToolResult | None = None
        try:
            result = await self._compute(call, facts, seconds, None, cache, key)
            return result
        except CallError as error:
            result = ToolResult.from_error(error)
            return result
        finally:
            cache.land(key, result)

    async def _compute(
        self, call: ToolCall, facts: _Facts, seconds: float, parent: ToolCall | None, cache: ResultCache, key: str
    ) -> ToolResult:
        seen = cache.seen(call.tool)
        result = await self._execute(call, facts, seconds, parent)
        if result.success:
            cache.put(key, call.tool, result, seen)
        return result

    async def _execute(self, call: ToolCall, facts: _Facts, seconds: float, parent: ToolCall | None) -> ToolResult:
        """Run it when there is a slot for it."""
        tool = call.tool
        if facts.binary_inputs:
            await self._resolve_references(call, facts)
        if tool.concurrency is not None and not _holds_slot(parent, tool):
            await self._slots.acquire(tool.name, tool.concurrency, seconds)
            call.holds_slot = True
        running = None
        if facts.takes_context:
            running = RunningTool(call, self.run)
            call.context = dataclasses.replace(call.context, running=running)
        try:
            return await self._run(call, facts, seconds)
        finally:
            if running is not None:
                running.end()
            if call.holds_slot:
                self._slots.release(tool.name)
            if facts.changes and self.cache is not None:
                self.cache.invalidate(tool)

    async def _resolve_references(self, call: ToolCall, facts: _Facts) -> None:
        deployment = call.tool.deployment
        before = call.arguments
        call.arguments = await asyncio.to_thread(
            references.resolve,
            before,
            facts.binary_inputs,
            self._artifacts(),
            deployment.artifacts if deployment else "base64",
        )
        if call.arguments is not before:
            call.values = None

    async def _run(self, call: ToolCall, facts: _Facts, seconds: float) -> ToolResult:
        """Run it with a deadline."""
        token = current_call.set(call)
        try:
            if facts.begin is not None:
                begun = facts.begin(call)
                return begun if type(begun) is ToolResult else await self._wait(call.tool, begun, seconds)
            runner = facts.runner
            if runner is None:
                raise DependencyMissingError(
                    f"Tool '{call.tool.name}' is not running or has no active endpoint: "
                    f"the runtime {call.tool.runtime!r} is not available here",
                    hint="Tools outside this process run inside `async with crib:`, or behind `toolcrib serve`.",
                )
            running = runner.run(call, Deadline(seconds))
            return await (running if facts.keeps_deadline else self._wait(call.tool, running, seconds))
        finally:
            current_call.reset(token)
            call.ended = True

    async def _wait(self, tool: ToolDefinition, running: Any, seconds: float) -> ToolResult:
        try:
            waiting = running.send(None)
        except StopIteration as stop:
            result: ToolResult = stop.value
            return result
        limit = TimeLimit(seconds, tool.name)
        try:
            result = await limit.finish(running, waiting)
        except (TimeoutError, asyncio.CancelledError, CallError) as error:
            if not limit.expired or _is_cancelled():
                raise
            raise _exceeded(tool, seconds) from error
        if limit.expired and not result.success:
            raise _exceeded(tool, seconds)
        return result

    async def _with_references(self, facts: _Facts, result: ToolResult) -> ToolResult:
        if facts.binary_outputs:
            result.data = await asyncio.to_thread(
                references.to_references, result.data, facts.binary_outputs, self._artifacts(), facts.tool.name
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
            runner = self._runners.get(tool.runtime)
            inputs = references.binary_paths(tool.parameters)
            takes_context = WHOLE_CONTEXT in injections(tool).values()
            changes = self.cache is not None and bool(resources_changed(tool))
            facts = _Facts(
                tool,
                runner,
                getattr(runner, "begin", None),
                self.cache.lifetime(tool) if self.cache is not None else 0.0,
                not (inputs or takes_context or changes or tool.concurrency),
                _is_flat(tool.parameters),
                bool(getattr(runner, "keeps_deadline", False)),
                changes,
                takes_context,
                inputs,
                references.binary_paths(tool.output_schema),
                output_check(schema) if schema is not None else None,
            )
            self._facts[tool.name] = facts
        return facts


def _exceeded(tool: ToolDefinition, seconds: float) -> DeadlineExceeded:
    return DeadlineExceeded(
        f"Tool '{tool.name}' did not answer within {seconds:g} s",
        hint="Give the call or the tool a longer timeout, or ask for less at once.",
    )


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _holds_slot(parent: ToolCall | None, tool: ToolDefinition) -> bool:
    """Whether a caller of this call counts against the tool's limit already, and waits for it."""
    return parent is not None and any(each.holds_slot and each.tool is tool for each in parent.chain())


def _is_flat(schema: Mapping[str, Any]) -> bool:
    """Whether no argument that fits can be a list or an object."""
    return (
        "properties" in schema
        and schema.keys() <= _SIMPLE_KEYWORDS
        and all(
            isinstance(one, Mapping) and one.get("type") in _SCALAR_TYPES
            for one in (schema.get("properties") or {}).values()
        )
    )


_SIMPLE_KEYWORDS = frozenset(("type", "properties", "required", "title", "description"))
_SCALAR_TYPES = ("string", "integer", "number", "boolean", "null")
