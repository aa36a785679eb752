"""Carries out the calls that a language model made (contract N008-N016, N021-N025)."""

from __future__ import annotations

import asyncio
import contextlib
import time
import weakref
from collections.abc import AsyncIterator, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolcrib.definition.call import ToolCall, new_id
from toolcrib.definition.context import Context
from toolcrib.definition.injection import SERVICE, WHOLE_CONTEXT, injections
from toolcrib.definition.invoke import failure
from toolcrib.definition.ports import ArtifactStore
from toolcrib.definition.result import ToolResult
from toolcrib.errors import CallError, InvalidParamsError
from toolcrib.execution.arguments.reader import CallReader, name_and_arguments
from toolcrib.execution.arguments.records import ParsedCall, RefusedCall
from toolcrib.execution.batch import run_batch
from toolcrib.execution.budgets import REFUSALS, Run
from toolcrib.execution.cache import ResultCache
from toolcrib.execution.deduplicate import duplicates
from toolcrib.execution.door import SynchronousDoor
from toolcrib.execution.inprocess import InProcessRunner
from toolcrib.execution.keys import call_key
from toolcrib.execution.pipeline import Pipeline
from toolcrib.execution.record import CallRecord
from toolcrib.execution.shape import RESULT_LIMIT, json_text
from toolcrib.registry.registry import ToolRegistry

MOST_AT_ONCE = 8
"""Calls of one batch that run at once, where the caller does not say."""

HISTORY = 1000

CallContext = Mapping[str, Any] | Context | None


@dataclass(frozen=True, slots=True)
class Progress:
    """What a running tool said about how far it is.

    Attributes:
        id, name: of the call.
        done, total: in the tool's own unit.
        message: for people.
    """

    id: str
    name: str
    done: float | None
    total: float | None
    message: str | None


@dataclass(slots=True)
class _Planned:
    """One call of a batch on its way: what is to be run, or why it is not."""

    id: str
    name: str
    text: str
    call: ToolCall | None = None
    refusal: ToolResult | None = None
    record: CallRecord | None = None


class ToolExecutor:
    """Runs batches of calls: exactly one result for each, in the order of the calls, and no exception (S1).

    In one batch identical calls run once; successful results are given again for the same arguments until they are too
    old or a writing tool has run. A failed call is never repeated by itself.

    Args:
        registry: where the tools are.
        enable_cache: whether results are remembered between batches.
        cache_ttl: seconds they are remembered, where the tool does not say.
        pipeline: carries out single calls; None = one of its own, for tools of this process.
        threads: synchronous tools that may run at once.
        timeout: seconds one call may take, where the tool does not say.
        result_limit: characters of one result that the model is shown.
        artifacts: where the whole of a longer one is kept; None = in the home folder of the settings.
        history: records kept in ``_call_history``.
        clock: seconds, for tests.

    Example:
        >>> from toolcrib.definition.tool import ToolDefinition
        >>> registry = ToolRegistry()
        >>> registry.register(ToolDefinition("add", "", {"type": "object"}, lambda arguments: sum(arguments.values())))
        >>> executor = ToolExecutor(registry)
        >>> executor.process_tool_calls([{"id": "a", "function": {"name": "add", "arguments": '{"x": 1, "y": 2}'}}])
        [{'role': 'tool', 'tool_call_id': 'a', 'name': 'add', 'content': '{"success": true, "data": 3, "error": null}'}]
    """

    def __init__(
        self,
        registry: ToolRegistry,
        enable_cache: bool = True,
        cache_ttl: float = 300,
        *,
        pipeline: Pipeline | None = None,
        threads: int = 32,
        timeout: float = 600.0,
        result_limit: int = RESULT_LIMIT,
        artifacts: Callable[[], ArtifactStore] | None = None,
        history: int = HISTORY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.registry = registry
        self._reader = CallReader(registry)
        self.enable_cache = enable_cache
        self.cache_ttl = cache_ttl
        self._artifacts = artifacts or _artifacts_of_settings()
        self._runner: InProcessRunner | None = None
        if pipeline is None:
            cache = ResultCache(cache_ttl, undeclared=True, clock=clock) if enable_cache else None
            self._runner = InProcessRunner(threads)
            weakref.finalize(self, self._runner.close).atexit = False
            pipeline = Pipeline(registry, {"inprocess": self._runner}, self._artifacts, timeout=timeout, cache=cache)
        self._pipeline = pipeline
        self._most_threads = threads
        self._result_limit = result_limit
        self._history_limit = history
        self._call_history: list[dict[str, Any]] = []
        self._door = SynchronousDoor()

    @property
    def _cache(self) -> MutableMapping[str, Any]:
        """What is remembered, by key."""
        return {} if self._pipeline.cache is None else self._pipeline.cache.entries

    # Synchronous

    def process_tool_calls(self, tool_calls: Sequence[Any], context: CallContext = None) -> list[dict[str, Any]]:
        """Carry out calls one after the other.

        It may be used with or without a running event loop. Code that has one awaits `execute_batch` instead, which
        does not hold it up.

        Args:
            tool_calls: as a provider sent them, such as ``{"id", "type", "function": {"name", "arguments"}}``, or as
                `parse_tool_calls` read them.
            context: values that tools get and a model cannot set, such as ``project_id`` and ``model``.

        Returns:
            One message ``{"role": "tool", "tool_call_id", "name", "content"}`` for each call, in their order.
        """
        records = self._door.run(self.execute_batch(tool_calls, context, most_at_once=1))
        return [record.message() for record in records]

    def process_tool_calls_parallel(
        self, tool_calls: Sequence[Any], context: CallContext = None, max_workers: int = 4
    ) -> list[dict[str, Any]]:
        """As `process_tool_calls`, up to ``max_workers`` at once; the order of the messages is that of the calls."""
        most = max(1, min(int(max_workers), self._most_threads))
        records = self._door.run(self.execute_batch(tool_calls, context, most_at_once=most))
        return [record.message() for record in records]

    def close(self) -> None:
        """Let the threads end; what runs is not waited for."""
        if self._runner is not None:
            self._runner.close()
        self._door.close()

    # Asynchronous

    async def execute(
        self,
        call: Any,
        context: CallContext = None,
        *,
        run: Run | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> CallRecord:
        """Carry out one call; as `execute_batch`."""
        planned = self._plan(call, self._pipeline.complete(context))
        try:
            return await self._carry_out(planned, run, on_progress)
        finally:
            self._note_cancelled([planned])

    async def execute_batch(
        self,
        calls: Sequence[Any],
        context: CallContext = None,
        *,
        most_at_once: int = MOST_AT_ONCE,
        run: Run | None = None,
        on_record: Callable[[CallRecord], None] | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> list[CallRecord]:
        """Carry out the calls of one message of a model.

        Args:
            calls: as a provider sent them, or the outcomes of `parse_tool_calls`, which knows of the whole answer what
                one call does not show: that it was cut off, or that it has calls in its text.
            context: who calls.
            most_at_once: calls that may run at once; 1 = one after the other.
            run: what may be spent, and the loop breaker.
            on_record: told of each record as it is finished, on the event loop.
            on_progress: told what tools say about their progress, on the event loop.

        Returns:
            One record for each call, in their order. Only cancellation of the task raises; the records of calls that
            it ended are in the history.
        """
        who = self._pipeline.complete(context)
        batch = [self._plan(call, who) for call in calls]
        doubles = duplicates([planned.call for planned in batch]) if len(batch) > 1 else {}
        exclusive = [i for i, planned in enumerate(batch) if planned.call is not None and planned.call.tool.exclusive]

        async def carry_out(index: int) -> None:
            planned = batch[index]
            if index in doubles:
                record = self._duplicate(planned, batch[doubles[index]])
            else:
                record = await self._carry_out(planned, run, on_progress)
            if on_record is not None:
                on_record(record)

        try:
            await run_batch(len(batch), carry_out, most=most_at_once, exclusive=exclusive, after=doubles)
        finally:
            self._note_cancelled(batch)
        return [planned.record for planned in batch if planned.record is not None]

    async def stream(
        self,
        calls: Sequence[Any],
        context: CallContext = None,
        *,
        most_at_once: int = MOST_AT_ONCE,
        run: Run | None = None,
    ) -> AsyncIterator[CallRecord | Progress]:
        """The records of a batch as they are finished, and what tools say in between; leaving it cancels the rest."""
        told: asyncio.Queue[CallRecord | Progress | None] = asyncio.Queue()
        task = asyncio.create_task(
            self.execute_batch(
                calls,
                context,
                most_at_once=most_at_once,
                run=run,
                on_record=told.put_nowait,
                on_progress=told.put_nowait,
            )
        )
        task.add_done_callback(lambda _: told.put_nowait(None))
        try:
            while (event := await told.get()) is not None:
                yield event
            await task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    # Stages

    def _plan(self, sent: Any, context: Context) -> _Planned:
        """Read a call, find its tool and validate its arguments."""
        if isinstance(sent, ParsedCall):
            call = sent.to_call(context)
            return _Planned(sent.id, sent.tool.name, json_text(sent.arguments), call)
        if isinstance(sent, RefusedCall):
            return _Planned(sent.id, sent.name, _text(sent.sent), refusal=sent.to_result())
        name, arguments = name_and_arguments(sent)
        text = _text(arguments)
        try:
            outcomes = self._reader.read(sent)
        except Exception as error:  # a validator of the tool's author may raise anything
            return _Planned(new_id(), name, text, refusal=failure(error))
        read = outcomes[0]
        if len(outcomes) > 1:
            return _Planned(read.id, name, text, refusal=ToolResult.from_error(_several(len(outcomes))))
        if isinstance(read, RefusedCall):
            return _Planned(read.id, name, text, refusal=read.to_result())
        return _Planned(read.id, read.tool.name, text, read.to_call(context))

    async def _carry_out(
        self, planned: _Planned, run: Run | None, on_progress: Callable[[Progress], None] | None
    ) -> CallRecord:
        call = planned.call
        started = time.perf_counter()
        try:
            if run is not None:
                if call is not None and call.key is None:
                    call.key = call_key(call)
                run.start_call(call.key if call is not None else None)
            if call is None:
                result = planned.refusal or ToolResult.fail("The call could not be read")
            else:
                if on_progress is not None:
                    call.on_progress = _on_loop(call, on_progress)
                result = await self._pipeline.carry_out(call)
        except CallError as error:
            result = ToolResult.from_error(error)
        record = self._record(planned, result)
        record.execution_time = time.perf_counter() - started
        if call is not None:
            record.cached = call.cached
        if _may_be_long(result.data):
            await asyncio.to_thread(record.write_content, self._result_limit, self._keep)
        else:
            record.write_content(self._result_limit, self._keep)
        if run is not None and call is not None and result.error_code not in REFUSALS:
            record.note = run.end_call(call.key, record.content)
            if record.note is not None:
                record.write_content(self._result_limit, self._keep)
        return self._finished(planned, record)

    def _duplicate(self, planned: _Planned, original: _Planned) -> CallRecord:
        first = original.record
        assert first is not None
        record = self._record(planned, first.result)
        record.skipped = True
        record.duplicate_of = first.id
        record.artifact = first.artifact
        record.write_content(self._result_limit)
        return self._finished(planned, record)

    def _record(self, planned: _Planned, result: ToolResult) -> CallRecord:
        notes = planned.call.notes if planned.call is not None else []
        return CallRecord(planned.id, planned.name, planned.text, result, notes=notes)

    def _keep(self, text: str) -> Any:
        return self._artifacts().put(text.encode("utf-8", "replace"), name="result.txt", mime_type="text/plain")

    def _finished(self, planned: _Planned, record: CallRecord) -> CallRecord:
        planned.record = record
        history = self._call_history
        history.append(record.to_dict())
        if len(history) > self._history_limit:
            del history[: len(history) - self._history_limit]
        return record

    def _note_cancelled(self, batch: Sequence[_Planned]) -> None:
        """Give each call that has no record one that says so."""
        for planned in batch:
            if planned.record is None:
                record = self._record(planned, ToolResult.fail("The call was cancelled", code="cancelled"))
                record.write_content(self._result_limit)
                self._finished(planned, record)

    # S1's private names

    def _prepare_call(self, call: Any, context: CallContext, seen_calls: set[str]) -> tuple[Any, ...]:
        """What is known of a call before it runs (contract N011).

        Returns:
            Its id, the tool's name, its arguments with what the context injects, its key (None = it has none), and its
            result where it need not run: it cannot, it is in ``seen_calls``, or its result is remembered.
        """
        planned = self._plan(call, Context.of(context))
        prepared = planned.call
        if prepared is None:
            assert planned.refusal is not None
            sent = name_and_arguments(call)[1]
            arguments = dict(sent) if isinstance(sent, Mapping) else {}
            return planned.id, planned.name, arguments, None, planned.refusal.to_dict()
        prepared.key = key = call_key(prepared)
        name, arguments = prepared.tool.name, dict(prepared.arguments)
        self._inject_context(name, arguments, context if isinstance(context, Mapping) else None)
        early: dict[str, Any] | None = None
        if key is not None:
            cache = self._pipeline.cache
            remembered = cache.get(key, prepared.tool) if cache is not None else None
            early = remembered.to_dict() if remembered is not None else None
            if key in seen_calls:
                early = {**(early or ToolResult.ok().to_dict()), "skipped": True}
            seen_calls.add(key)
        return planned.id, name, arguments, key, early

    def _execute_and_record(self, name: str, args: Mapping[str, Any], cache_key: str | None = None) -> dict[str, Any]:
        """Run one call, remember it under ``cache_key``, and return S1's view of its result (contract N011)."""
        tool = self.registry.get(name)
        injected = injections(tool) if tool is not None else {}
        values = {
            attribute: args[parameter]
            for parameter, attribute in injected.items()
            if parameter in args and attribute != WHOLE_CONTEXT and not attribute.startswith(SERVICE)
        }
        own = {key: value for key, value in args.items() if key not in injected}
        planned = self._plan({"function": {"name": name, "arguments": own}}, self._pipeline.complete(values))
        if planned.call is not None:
            planned.call.key = cache_key
        return self._door.run(self._carry_out(planned, None, None)).result.to_dict()

    @staticmethod
    def _inject_context(name: str, args: dict[str, Any], context: Mapping[str, Any] | None) -> None:
        """Put what the context says into ``args``, as S1 does (contract N017-N020)."""
        if not context:
            return
        if name.startswith("file_") and "project_id" in context:
            args["project_id"] = context["project_id"]
        if name == "multi_agent":
            if "model" in context:
                args["_model"] = context["model"]
            if "project_id" in context:
                args["_project_id"] = context["project_id"]


def _may_be_long(data: Any) -> bool:
    """Whether writing it down might hold up the event loop."""
    return type(data) in _SIZED and len(data) > _LONG


_SIZED = frozenset((str, bytes, list, dict, tuple))
_LONG = 8192


def _several(count: int) -> InvalidParamsError:
    """Why one call that holds several is not run: each result needs a call of its own in the chat."""
    return InvalidParamsError(
        f"Invalid JSON arguments: they are {count} objects", hint="Send each as a call of its own, with its own id."
    )


def _text(sent: Any) -> str:
    """Arguments as they were sent, as JSON text."""
    if isinstance(sent, str):
        return sent
    return "{}" if sent is None else json_text(sent)


def _on_loop(
    call: ToolCall, on_progress: Callable[[Progress], None]
) -> Callable[[float | None, float | None, str | None], None]:
    loop = asyncio.get_running_loop()

    def tell(done: float | None, total: float | None, message: str | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop ended before the tool did
            loop.call_soon_threadsafe(on_progress, Progress(call.id, call.tool.name, done, total, message))

    return tell


def _artifacts_of_settings() -> Callable[[], ArtifactStore]:
    made: list[ArtifactStore] = []

    def artifacts() -> ArtifactStore:
        if not made:
            from toolcrib.settings import load_settings
            from toolcrib.storage.artifacts import FileArtifactStore

            made.append(FileArtifactStore(load_settings().home / "artifacts"))
        return made[0]

    return artifacts
