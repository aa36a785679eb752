"""One local tool over all its generations: started once for all who wait, never stopped under a call."""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from toolcrib.definition.call import Deadline
from toolcrib.definition.deployment import Deployment
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import CallError, DeadlineExceeded, NotRunningError, StartFailedError
from toolcrib.runtime import adoption
from toolcrib.runtime.backoff import Backoff
from toolcrib.runtime.environment import not_running
from toolcrib.runtime.generation import (
    AdoptedGeneration,
    Generation,
    Services,
    command_of,
    deployment_of,
    fingerprint,
    is_same_process,
    launch,
)
from toolcrib.runtime.logs import ToolLog, where_its_log_is
from toolcrib.runtime.ports import LOOPBACK
from toolcrib.runtime.status import Endpoint, Lifecycle, ToolStatus, check

logger = logging.getLogger("toolcrib.runtime")

STARTS_PER_CALL = 3
LOOK_SECONDS = 2.0

Progress = Callable[[str], None]
_T = TypeVar("_T")


class Instance:
    """A tool's life: who may use it, when it starts, when it ends.

    Everything happens in one event loop, and what is decided together is done without waiting in between: that is the
    lock under which calls are counted and draining begins. Two tasks change the life cycle, one that starts and one
    that stops, never both at a time.

    Args:
        tool: a local tool.
        services: what tools share.

    Attributes:
        tool: as defined now.
        in_flight: calls being answered.
        lifecycle: where it is in its life.
        stopped: the process that was last asked to end, by whoever.
        backoff: how long its starts pause because they fail.
        log: what its processes write.
    """

    def __init__(self, tool: ToolDefinition, services: Services) -> None:
        self.tool = tool
        self.in_flight = 0
        self.lifecycle = Lifecycle.INACTIVE
        self.stopped: Generation | None = None
        self.backoff = Backoff()
        self._closed: str | None = None
        self._services = services
        self._reason: str | None = None
        self._generation: Generation | None = None
        self._endpoint: Endpoint | None = None
        self._preferred: int | None = None
        self._fingerprint: object = None
        self._tried: object = None
        self._looked = 0.0
        self._admitting = 0
        self._starting: asyncio.Task[CallError | None] | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self._last_used = 0.0
        self._drained: asyncio.Event | None = None
        self._preparing = asyncio.Lock()
        directory = tool.deployment.directory if tool.deployment is not None else None
        self.log = ToolLog(services.settings.home / "logs", tool.name, directory)

    # What is known.

    @property
    def endpoint(self) -> Endpoint | None:
        """Where it answers, while it takes calls (contract T017)."""
        return self._endpoint if self.lifecycle is Lifecycle.ACTIVE else None

    @property
    def generation(self) -> Generation | None:
        """The process that answers for it now."""
        return self._generation

    def status(self) -> ToolStatus:
        """What is known of it at this moment."""
        generation = self._generation
        running = generation is not None and self.lifecycle in (Lifecycle.ACTIVE, Lifecycle.DRAINING)
        return ToolStatus(
            lifecycle=self.lifecycle,
            lifecycle_reason=self._reason,
            port=generation.port if generation is not None and running else None,
            pid=generation.pid if generation is not None else None,
            command=command_of(generation.port if generation is not None else self._preferred or self._first_port()),
            adopted=generation.adopted if generation is not None else False,
            in_flight=self.in_flight,
            started_at=generation.started_at if generation is not None else None,
            log=self.log.shown,
        )

    def _first_port(self) -> int:
        return self._services.settings.first_tool_port

    # Calls.

    async def admit(self, deadline: Deadline, *, start: bool) -> Generation:
        """Count a call in, once the tool takes calls; each caller waits with its own deadline.

        Args:
            deadline: how long to wait.
            start: whether to start the tool where it is not running.

        Raises:
            StartFailedError: it did not start.
            NotRunningError: it may not be started.
            DeadlineExceeded: it was not ready in time.
        """
        self._admitting += 1
        try:
            starts = 0
            while True:
                if self.lifecycle is Lifecycle.ACTIVE and self._generation is not None:
                    if not self._generation.is_ending():
                        break
                    await self._wait(self._generation.ended, deadline)
                    continue
                if self._closed is not None:
                    raise NotRunningError(
                        not_running(self.tool.name, self._closed), hint="GET /tools shows which tools there are now."
                    )
                if self._stopping is not None:
                    await self._wait(self._stopping, deadline)
                    continue
                if starts == STARTS_PER_CALL:
                    raise StartFailedError(
                        not_running(self.tool.name, f"each time it had started it {self._reason}"),
                        hint=f"{where_its_log_is(self.tool.name)}, {self.log.shown}",
                    )
                if start and self._starting is None and self._is_paused():
                    if await self._adopt_now_and_then():
                        continue
                    raise self._put_off()
                starts += 1
                if start or self._starting is not None:
                    error = await self._wait(self.start(), deadline)
                    if error is not None:
                        raise copy.copy(error)
                elif not await self.adopt():
                    raise NotRunningError(
                        f"Tool {self.tool.name!r} is not running or has no active endpoint",
                        hint=f"Start it: POST /tools/{self.tool.name}/start, or set TOOLCRIB_AUTO_START=true.",
                    )
            self.in_flight += 1
            return self._generation
        finally:
            self._admitting -= 1

    def leave(self) -> None:
        """Count a call out."""
        self.in_flight -= 1
        self._last_used = asyncio.get_running_loop().time()
        if self.in_flight == 0 and self._drained is not None:
            self._drained.set()

    def _is_paused(self) -> bool:
        if self.backoff.remaining() and fingerprint(deployment_of(self.tool)[1]) != self._tried:
            self.backoff.reset()
        return self.backoff.remaining() > 0

    async def _adopt_now_and_then(self) -> bool:
        """While starts pause somebody may start it by hand, as the error says; a look reads every process."""
        now = asyncio.get_running_loop().time()
        if now - self._looked < LOOK_SECONDS:
            return False
        self._looked = now
        return await self.adopt()

    def _put_off(self) -> CallError:
        """The last failure, and when the next try may be."""
        assert self.backoff.error is not None
        error = copy.copy(self.backoff.error)
        first, *rest = str(error).split("\n")
        wait = f"{self.backoff.remaining():.1f} s"
        error.args = ("\n".join([f"{first}; starts fail one after another, so the next try is in {wait}", *rest]),)
        error.hint = (
            f"To try now: toolcrib start {self.tool.name}, POST /tools/{self.tool.name}/start. {error.hint or ''}"
        )
        return error

    async def _wait(self, task: asyncio.Future[_T], deadline: Deadline) -> _T:
        done, _ = await asyncio.wait({task}, timeout=deadline.remaining())
        if not done:
            raise DeadlineExceeded(
                f"Tool {self.tool.name!r} did not answer within {deadline.seconds:g} s: "
                + f"it is still {self.lifecycle.value}{f' ({self._reason})' if self._reason else ''}",
                hint="Its start goes on; call it again in a moment, or allow more time with timeout.",
            )
        return task.result()

    # Starting.

    def start(self) -> asyncio.Task[CallError | None]:
        """The one start that is under way; its result is the error, and None where the tool takes calls."""
        if self._starting is None:
            self._change(Lifecycle.QUEUED, None)
            self._starting = asyncio.create_task(self._start(), name=f"start {self.tool.name}")
        return self._starting

    async def _start(self) -> CallError | None:
        try:
            if not await self.adopt():
                await self._launch()
        except CallError as error:
            self._change(Lifecycle.FAILED, str(error).splitlines()[0])
            self.backoff.failed(error)
            return error
        except asyncio.CancelledError:
            self._change(Lifecycle.STOPPED, "stopped while it started")
            return NotRunningError(
                not_running(self.tool.name, "it was stopped while it started"), hint="The next call starts it again."
            )
        except Exception as error:
            self._change(Lifecycle.FAILED, f"{type(error).__name__}: {error}")
            logger.exception("Tool %r could not be started", self.tool.name)
            return StartFailedError(
                not_running(self.tool.name, f"{type(error).__name__}: {error}"),
                hint="This is a fault of the service or of its machine, not of the tool; the service's log says more.",
            )
        finally:
            self._starting = None
        return None

    async def _launch(self) -> None:
        tool = self.tool
        self._tried = stamp = fingerprint(deployment_of(tool)[1])
        interpreter = await self._prepare(lambda line: None)
        async with self._services.slots:
            self._change(Lifecycle.STARTING, None)
            generation = await launch(tool, self._services, self.log, self._preferred, interpreter)
        self._fingerprint = stamp
        self.backoff.reset()
        self._preferred = generation.port
        self._take(generation)
        self._stop_if_changed(tool)

    async def adopt(self) -> bool:
        """Take over what somebody started by hand, if there is such a process (contract T027)."""
        directory = deployment_of(self.tool)[1]
        settings = self._services.settings
        found = await adoption.find([directory], settings.first_tool_port, settings.last_tool_port, self._services.pool)
        return directory in found and self.take_over(found[directory])

    def take_over(self, manual: adoption.ManualProcess) -> bool:
        """Use a process that was started by hand, unless one answers already."""
        free = self._generation is None and self._stopping is None and self._closed is None
        if free and self.lifecycle is not Lifecycle.STARTING:
            self._take(AdoptedGeneration(manual))
        return self.lifecycle is Lifecycle.ACTIVE

    def _take(self, generation: Generation) -> None:
        deployment, _ = deployment_of(self.tool)
        self._generation = generation
        self._endpoint = _endpoint_of(deployment, generation.port)
        self._change(Lifecycle.ACTIVE, None)
        generation.ended.add_done_callback(lambda ended: self._process_ended(generation, ended.result()))
        self._last_used = asyncio.get_running_loop().time()
        if not generation.adopted and deployment.idle_timeout > 0:
            self._arm_idle(deployment.idle_timeout)

    async def prepare(self, progress: Progress) -> None:
        """Prepare the environment only; its lines go to the log as well, where no process is writing there."""
        await self._prepare(progress)

    async def _prepare(self, progress: Progress) -> Path:
        directory = deployment_of(self.tool)[1]
        begun = False

        def note(line: str) -> None:
            nonlocal begun
            if not begun and self._generation is None:
                self.log.begin("uv sync --script main.py")
                begun = True
            if begun:
                self.log.note(line)
            if self.lifecycle is Lifecycle.QUEUED:
                self._reason = line
            progress(line)

        async with self._preparing:
            try:
                return await self._services.environments.prepare(self.tool.name, directory, note)
            finally:
                if begun:
                    self.log.close()

    # Stopping.

    def stop(self, reason: str, *, drain: float) -> asyncio.Task[None] | None:
        """Begin to stop: no further calls, those in flight get ``drain`` seconds; None where nothing runs.

        A stop that is under way is hurried: whoever asks last may grant less time, never more.
        """
        if self._stopping is None and self.lifecycle is Lifecycle.ACTIVE:
            self._change(Lifecycle.DRAINING, reason)
            self._drained = asyncio.Event()
            self._stopping = asyncio.create_task(self._stop(reason, self._drained), name=f"stop {self.tool.name}")
        if self._drained is not None:
            asyncio.get_running_loop().call_later(drain, self._drained.set)
        return self._stopping

    async def stop_completely(self, reason: str, *, drain: float) -> None:
        """Stop, wherever in its life the tool is, and wait until no process of it is left."""
        starting = self._starting
        if starting is not None:
            # A task that is cancelled before its first step could not put things in order.
            await asyncio.sleep(0)
            starting.cancel()
            await asyncio.wait({starting})
        stopping = self.stop(reason, drain=drain)
        if stopping is not None:
            await asyncio.wait({stopping})
        if self.lifecycle is Lifecycle.FAILED:
            self._change(Lifecycle.STOPPED, reason)

    async def close(self, reason: str, *, drain: float) -> None:
        """Stop for good; what was started by hand stays."""
        self._closed = reason
        generation = self._generation
        if generation is not None and generation.adopted and self.lifecycle is Lifecycle.ACTIVE:
            self._forget(Lifecycle.STOPPED, reason)
            await generation.release()
        else:
            await self.stop_completely(reason, drain=drain)

    async def _stop(self, reason: str, drained: asyncio.Event) -> None:
        generation = self._generation
        assert generation is not None
        self.stopped = generation
        try:
            if self.in_flight:
                waiting = asyncio.ensure_future(drained.wait())
                either: set[asyncio.Future[Any]] = {waiting, generation.ended}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
            self._drained = None
            self._change(Lifecycle.STOPPING, reason)
            await generation.finish(self._services.settings.stop_grace)
        finally:
            self._stopping = None
            self._forget(Lifecycle.STOPPED, reason)

    def _process_ended(self, generation: Generation, how: str) -> None:
        """The process ended by itself: known at once; what it left behind is put in order before the next start."""
        if generation is self._generation and self.lifecycle is Lifecycle.ACTIVE:
            self._forget(Lifecycle.STOPPED, how)
            self._stopping = asyncio.create_task(self._tidy(generation), name=f"tidy {self.tool.name}")

    async def _tidy(self, generation: Generation) -> None:
        try:
            await generation.finish(0.0)
        finally:
            self._stopping = None

    def _forget(self, lifecycle: Lifecycle, reason: str) -> None:
        self._generation = self._endpoint = None
        self._change(lifecycle, reason)
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def _arm_idle(self, seconds: float) -> None:
        self._idle_timer = asyncio.get_running_loop().call_later(seconds, self._look_whether_idle)

    def _look_whether_idle(self) -> None:
        """Stop if nothing has been asked for long enough; else look again when that may be so."""
        idle_timeout = deployment_of(self.tool)[0].idle_timeout
        if idle_timeout <= 0 or self.lifecycle is not Lifecycle.ACTIVE:
            return
        idle = asyncio.get_running_loop().time() - self._last_used
        if self.in_flight or self._admitting:
            self._arm_idle(idle_timeout)
        elif idle < idle_timeout:
            self._arm_idle(idle_timeout - idle)
        else:
            self.stop(f"no call for {idle_timeout:g} s", drain=0.0)

    # Changes of the definition.

    def redefine(self, tool: ToolDefinition) -> None:
        """Take a new definition; where its process would be another one, drain: the next call starts it anew."""
        before, self.tool = self.tool, tool
        if tool.deployment != before.deployment:
            self.backoff.reset()
        if self.lifecycle is Lifecycle.ACTIVE:
            self._stop_if_changed(before)

    def _stop_if_changed(self, before: ToolDefinition) -> None:
        generation = self._generation
        assert generation is not None
        deployment, directory = deployment_of(self.tool)
        self._endpoint = _endpoint_of(deployment, generation.port)
        if generation.adopted:
            return
        if not is_same_process(deployment, deployment_of(before)[0]) or fingerprint(directory) != self._fingerprint:
            self.stop("its definition or its program changed", drain=deployment.timeout)
            return
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        if deployment.idle_timeout > 0:
            idle = asyncio.get_running_loop().time() - self._last_used
            self._arm_idle(max(0.0, deployment.idle_timeout - idle))

    def _change(self, lifecycle: Lifecycle, reason: str | None) -> None:
        self.lifecycle = check(self.lifecycle, lifecycle)
        self._reason = reason


def _endpoint_of(deployment: Deployment, port: int) -> Endpoint:
    path = quote(deployment.endpoint.lstrip("/"), safe="/:@!$&'()*+,;=-._~%?")
    return Endpoint(f"http://{LOOPBACK}:{port}/{path}", port, deployment.method)
