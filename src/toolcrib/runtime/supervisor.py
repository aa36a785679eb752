"""The local tools of a service: which run, where, and for how long (contract T017-T028, T037)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Callable, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from toolcrib.definition.call import Deadline
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import NotRunningError, UnknownToolError
from toolcrib.runtime import adoption
from toolcrib.runtime.connections import ConnectionPool
from toolcrib.runtime.environment import Environments
from toolcrib.runtime.generation import Services, end_leftover, uninterrupted
from toolcrib.runtime.guard_process import GuardProcess
from toolcrib.runtime.instance import LOOK_SECONDS, Instance
from toolcrib.runtime.local import Lease
from toolcrib.runtime.ports import PortAllocator
from toolcrib.runtime.records import HomeLock, ProcessRecord, ProcessRecords
from toolcrib.runtime.status import Endpoint, Lifecycle, ToolStatus

if TYPE_CHECKING:
    from toolcrib.settings import Settings

logger = logging.getLogger("toolcrib.runtime")


ADOPTABLE = frozenset({Lifecycle.INACTIVE, Lifecycle.STOPPED, Lifecycle.FAILED})


def _ignore(line: str) -> None:
    pass


class Supervisor:
    """Starts, watches and stops the processes of local tools.

    It belongs to one event loop; between `open` and `close` it holds the lock of ``TOOLCRIB_HOME``. It ends every
    process it began: at `close`, when the tool is idle, and, through its guard, when this process is killed.

    Args:
        settings: home, ports, grace, whether calls start tools.

    Example:
        >>> async def example(settings: Settings, tool: ToolDefinition) -> int:
        ...     supervisor = Supervisor(settings)
        ...     await supervisor.open()
        ...     supervisor.update([tool])
        ...     try:
        ...         async with supervisor.lease(tool.name, Deadline(60)) as endpoint:
        ...             return endpoint.port
        ...     finally:
        ...         await supervisor.close()
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = HomeLock(settings.run_directory)
        self._records = ProcessRecords(settings.run_directory / "processes")
        self._instances: dict[str, Instance] = {}
        self._retired: set[Instance] = set()
        self._background: set[asyncio.Task[None]] = set()
        self._services: Services | None = None
        self._looked = 0.0
        self._look: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Take the lock, end what an earlier service left running, start the guard.

        Raises:
            HomeInUseError: another service works in the same ``TOOLCRIB_HOME``; the text names its pid.
        """
        settings = self._settings
        self._lock.acquire()
        try:
            await asyncio.gather(*(self._end_leftover(record) for record in self._records.read_all()))
            guard = GuardProcess()
            guard.start()
        except BaseException:
            self._lock.release()
            raise
        self._services = Services(
            settings=settings,
            ports=PortAllocator(settings.first_tool_port, settings.last_tool_port, excluded=(settings.port,)),
            pool=ConnectionPool(),
            records=self._records,
            guard=guard,
            environments=Environments(settings.home / "environments"),
            slots=asyncio.Semaphore(os.cpu_count() or 1),
        )

    async def close(self) -> None:
        """Let calls in flight end for a moment, end all own processes and the guard, free the lock; idempotent."""
        services, self._services = self._services, None
        if services is not None:
            await uninterrupted(self._close(services))

    async def _close(self, services: Services) -> None:
        instances = [*self._instances.values(), *self._retired]
        for task in self._background:
            task.cancel()
        try:
            await asyncio.gather(*self._background, return_exceptions=True)
            closing = (instance.close("the service ended", drain=self._settings.stop_grace) for instance in instances)
            for instance, outcome in zip(
                instances, await asyncio.gather(*closing, return_exceptions=True), strict=True
            ):
                if outcome is not None:
                    logger.error("Tool %r could not be stopped in order", instance.tool.name, exc_info=outcome)
        finally:
            services.pool.close()
            await services.guard.close()
            self._lock.release()

    async def _end_leftover(self, record: ProcessRecord) -> None:
        """End what an earlier router left; only then is its record gone, so that no interruption loses it."""
        await end_leftover(record, self._settings.stop_grace)
        self._records.remove(record)

    def update(self, tools: Iterable[ToolDefinition]) -> None:
        """Say which tools there are now; those that are not local are ignored.

        A tool whose folder, program, launch or environment changed drains and is started anew by the next call; other
        changes are taken over by the process that runs. A tool that is gone is stopped; one that somebody started by
        hand is adopted.
        """
        services = self._opened()
        given = {tool.name: tool for tool in tools if tool.runtime == "local"}
        for name in self._instances.keys() - given.keys():
            instance = self._instances.pop(name)
            self._retired.add(instance)
            self._spawn(self._retire(instance))
        new = []
        for name, tool in given.items():
            known = self._instances.get(name)
            if known is not None:
                known.redefine(tool)
            else:
                self._instances[name] = Instance(tool, services)
                new.append(self._instances[name])
        if new:
            self._spawn(self._adopt(new))

    def status(self, tool_id: str) -> ToolStatus:
        """What is known of a tool's process; of an unknown tool, that it is inactive.

        Where the last look for tools that somebody started by hand is some seconds old, the next one begins.
        """
        self._look_for_manual_starts()
        instance = self._instances.get(tool_id)
        return instance.status() if instance is not None else ToolStatus()

    def get_active_endpoint(self, tool_id: str) -> Endpoint | None:
        """Where a tool answers now; None where it does not (contract T017)."""
        instance = self._instances.get(tool_id)
        return instance.endpoint if instance is not None else None

    async def prepare(self, tool_id: str, progress: Callable[[str], None] = _ignore) -> None:
        """Prepare a tool's environment, without starting it.

        Raises:
            StartFailedError: it could not be prepared; the text says why.
            DependencyMissingError: uv is missing.
        """
        await self._instance(tool_id).prepare(progress)

    async def start_tool(self, tool_id: str) -> Endpoint:
        """Start a tool, or join the start that is under way; a tool that runs is left alone (contract T018).

        A tool whose starts pause because they fail is tried at once.

        Raises:
            UnknownToolError: there is no such tool.
            StartFailedError: it did not become healthy.
        """
        instance = self._instance(tool_id)
        instance.backoff.reset()
        endpoint = instance.endpoint
        while endpoint is None:
            await instance.admit(Deadline(float("inf")), start=True)
            endpoint = instance.endpoint
            instance.leave()
        return endpoint

    async def stop_tool(self, tool_id: str) -> None:
        """Stop a tool, adopted or not, and wait until no process of it is left (contract T019).

        Calls in flight get ``stop_grace`` seconds to end. A tool that does not run is no error.

        Raises:
            UnknownToolError: there is no such tool.
        """
        await self._instance(tool_id).stop_completely("stopped by hand", drain=self._settings.stop_grace)

    def lease(self, tool_id: str, deadline: Deadline) -> AbstractAsyncContextManager[Endpoint]:
        """Use a tool for one call: started where it must be, never stopped meanwhile (contract T021).

        Args:
            tool_id: the tool.
            deadline: how long to wait for it; a start goes on without the caller.

        Raises:
            UnknownToolError: there is no such tool.
            NotRunningError: it does not run and calls may not start it, or the service is ending.
            StartFailedError: it did not become healthy.
            DeadlineExceeded: it was not ready in time.
            ProcessEndedError: in place of one about a lost connection, where the process ended under the call.
        """
        return Lease(self._instance(tool_id), deadline, start=self._settings.auto_start)

    def log_tail(self, tool_id: str, lines: int = 100) -> list[str]:
        """The last lines of a tool's log, the oldest first (contract T028)."""
        return self._instance(tool_id).log.lines(lines)

    def _opened(self) -> Services:
        if self._services is None:
            raise NotRunningError("The service is not running", hint="Local tools run between open() and close().")
        return self._services

    def _instance(self, tool_id: str) -> Instance:
        self._opened()
        instance = self._instances.get(tool_id)
        if instance is None:
            raise UnknownToolError(f"Tool not found: {tool_id}", hint="GET /tools lists the tools.")
        return instance

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def _look_for_manual_starts(self) -> None:
        """In the background, and not often: it reads every process of the machine."""
        now = time.monotonic()
        looking = self._look is not None and not self._look.done()
        if self._services is None or looking or now - self._looked < LOOK_SECONDS:
            return
        idle = [instance for instance in self._instances.values() if instance.lifecycle in ADOPTABLE]
        with contextlib.suppress(RuntimeError):  # no event loop runs in the thread that asks
            asyncio.get_running_loop()
            self._looked = now
            self._look = self._spawn(self._adopt(idle)) if idle else None

    async def _retire(self, instance: Instance) -> None:
        await instance.close("the tool was removed", drain=self._settings.stop_grace)
        self._retired.discard(instance)

    async def _adopt(self, instances: list[Instance]) -> None:
        """Look once for all of these tools that somebody has started by hand."""
        services = self._opened()
        by_folder = {
            instance.tool.deployment.directory: instance
            for instance in instances
            if instance.tool.deployment is not None and instance.tool.deployment.directory is not None
        }
        settings = self._settings
        found = await adoption.find(by_folder, settings.first_tool_port, settings.last_tool_port, services.pool)
        for directory, manual in found.items():
            instance = by_folder[directory]
            if instance.lifecycle in ADOPTABLE:
                instance.take_over(manual)


ToolStatusManager = Supervisor
"""The document's name for it (DESIGN §11.6)."""
