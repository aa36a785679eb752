"""The composition root: from settings to a wired Crib. A reader starts here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import ContextVar
from functools import cached_property
from typing import TYPE_CHECKING, Any

from toolcrib.definition.decorator import make_tool_decorator
from toolcrib.errors import NotRunningError, SourceError
from toolcrib.registry.collecting import Registrations, current_registrations
from toolcrib.registry.registry import ToolRegistry

if TYPE_CHECKING:
    import asyncio
    import logging
    from pathlib import Path

    from toolcrib.definition.context import Context
    from toolcrib.definition.deployment import Runtime
    from toolcrib.definition.ports import ArtifactStore, Runner, Source
    from toolcrib.definition.result import ToolResult
    from toolcrib.definition.tool import ToolDefinition
    from toolcrib.execution.pipeline import Pipeline
    from toolcrib.registry.services import Services
    from toolcrib.runtime.status import ToolStatus
    from toolcrib.runtime.supervisor import Supervisor
    from toolcrib.settings import Settings


class Crib:
    """Tools, where they come from, and what runs them.

    Making one costs nothing: settings, files and processes are touched when they are first needed. In-process tools
    run at any time; tools that live elsewhere run between entering and leaving ``async with crib``.

    Args:
        settings: None = from the environment, when first needed.
        registry: None = an empty one.
        sources: where further tools come from; None = what toolcrib ships, the files of ``settings.project`` and of
            ``settings.home``, and the modules, packages and documents that the settings name.

    Example:
        >>> from toolcrib import Crib
        >>> crib = Crib()
        >>> @crib.tool
        ... def double(x: int) -> int:
        ...     "Doubles a number."
        ...     return 2 * x
        >>> import asyncio
        >>> asyncio.run(crib.run("double", {"x": 21})).data
        42
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        registry: ToolRegistry | None = None,
        sources: Sequence[Source] | None = None,
    ) -> None:
        if settings is not None:
            self.__dict__["settings"] = settings
        self.registry = registry if registry is not None else ToolRegistry()
        self.tool = make_tool_decorator(self.registry.register)
        self._given_sources = sources
        self._owned: dict[int, set[str]] = {}
        self._problems: tuple[SourceError, ...] = ()
        self._told: set[tuple[str, str | None]] = set()
        self._supervisor: Supervisor | None = None
        self._stack: AsyncExitStack | None = None

    @cached_property
    def settings(self) -> Settings:
        """The settings, read from the environment when first asked for."""
        from toolcrib.settings import load_settings

        return load_settings()

    @cached_property
    def artifacts(self) -> ArtifactStore:
        """Where files are kept that travel by reference."""
        from toolcrib.storage.artifacts import FileArtifactStore

        return FileArtifactStore(self.settings.home / "artifacts")

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """Where tools come from besides ``@tool``."""
        if self._given_sources is not None:
            return tuple(self._given_sources)
        from toolcrib.registry.sources.standard import standard_sources

        return standard_sources(self.settings)

    @property
    def services(self) -> Services:
        """What tools may ask for by name, such as ``llm_client``."""
        return self.registry.services

    @property
    def problems(self) -> tuple[SourceError, ...]:
        """What is wrong in the files that define tools, as of the last `reload`."""
        return self._problems

    @property
    def supervisor(self) -> Supervisor:
        """What starts and stops tools outside this process.

        Raises:
            NotRunningError: the crib is not open.
        """
        if self._supervisor is None:
            raise NotRunningError(
                "This Crib is not open, so it runs only tools of this process",
                hint="Use it inside `async with crib:`.",
            )
        return self._supervisor

    @cached_property
    def _reloading(self) -> asyncio.Lock:
        import asyncio

        return asyncio.Lock()

    @cached_property
    def _pipeline(self) -> Pipeline:
        from toolcrib.execution.inprocess import InProcessRunner

        return self._make_pipeline({"inprocess": InProcessRunner()}, self.__dict__.get("settings"))

    def _make_pipeline(self, runners: Mapping[Runtime, Runner], settings: Settings | None) -> Pipeline:
        from toolcrib.execution.pipeline import Pipeline

        def artifacts() -> ArtifactStore:
            return self.artifacts

        if settings is None:
            return Pipeline(self.registry, runners, artifacts)
        return Pipeline(
            self.registry,
            runners,
            artifacts,
            timeout=settings.timeout,
            output_validation=settings.output_validation,
        )

    async def run(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        context: Context | None = None,
        timeout: float | None = None,
        artifacts: bool = False,
    ) -> ToolResult:
        """Run one tool, wherever it lives.

        Args:
            name: the tool's.
            arguments: by parameter.
            context: who calls.
            timeout: seconds, in place of the tool's own.
            artifacts: whether files in the result become references instead of base64.

        Returns:
            The one result; failures of any kind are results too. Only cancellation raises.
        """
        return await self._pipeline.run(name, arguments, context=context, timeout=timeout, as_references=artifacts)

    def status(self, tool: ToolDefinition) -> ToolStatus:
        """What is known of the tool's instance, for every runtime (DESIGN §11.10)."""
        from toolcrib.registry.services import waiting_reason
        from toolcrib.runtime.status import Lifecycle, ToolStatus

        if tool.runtime in ("inprocess", "mcp"):
            return ToolStatus(Lifecycle.ACTIVE, waiting_reason(tool, self.services))
        if tool.runtime == "local":
            return self._supervisor.status(tool.name) if self._supervisor else ToolStatus()
        from toolcrib.runtime.remote import status_of

        return status_of(tool)

    async def start_tool(self, name: str) -> ToolStatus:
        """Start a tool's process now instead of at its first call (contract T018).

        Raises:
            UnknownToolError: there is no such tool.
            CallError: it did not start, or lacks what a call of it needs.
        """
        tool = self.registry.resolve(name)
        if tool.runtime == "local":
            await self.supervisor.start_tool(name)
        elif tool.runtime in ("remote", "docker"):
            from toolcrib.runtime.remote import check_callable

            check_callable(tool)
        return self.status(tool)

    async def stop_tool(self, name: str) -> ToolStatus:
        """Stop a tool's process, after the calls in flight (contract T019).

        Raises:
            UnknownToolError: there is no such tool.
        """
        tool = self.registry.resolve(name)
        if tool.runtime == "local":
            await self.supervisor.stop_tool(name)
        return self.status(tool)

    def log_tail(self, name: str, lines: int = 100) -> list[str]:
        """The last lines that a tool's process printed (contract T028).

        Raises:
            UnknownToolError: there is no such tool.
        """
        tool = self.registry.resolve(name)
        return self.supervisor.log_tail(name, lines) if tool.runtime == "local" else []

    async def reload(self) -> set[str]:
        """Read all sources again and apply what changed.

        Returns:
            The ids of tools that are new, changed or gone.

        Raises:
            SettingsError: the settings name a module or a document that cannot be used.
        """
        import asyncio

        from toolcrib.registry.reload import apply

        changed: set[str] = set()
        problems: list[SourceError] = []
        async with self._reloading:
            groups = {}
            for index, source in enumerate(self.sources):
                with use(self):
                    listing = await asyncio.to_thread(source.load)
                applied = apply(self.registry, listing, self._owned.setdefault(index, set()))
                changed |= applied.changed
                problems += [*listing.problems, *applied.problems]
                groups.update({group.group_id: group for group in listing.groups})
            self.registry.set_groups(groups)
            self._problems = tuple(problems)
            self.registry.explain_absence(self._why_absent)
            if self._supervisor is not None:
                self._supervisor.update([tool for tool in self.registry if tool.runtime == "local"])
        known, self._told = self._told, {(str(problem), problem.hint) for problem in problems}
        for problem in problems:
            if (str(problem), problem.hint) not in known:
                _logger().warning("%s%s", problem, f" ({problem.hint})" if problem.hint else "")
        return changed

    def _why_absent(self, name: str) -> str | None:
        from toolcrib.registry.sources.files import ToolFiles

        reasons = (source.why_absent(name) for source in self.sources if isinstance(source, ToolFiles))
        return next(filter(None, reasons), None)

    async def __aenter__(self) -> Crib:
        async with AsyncExitStack() as stack:
            await self._open(stack)
            self._stack = stack.pop_all()
        return self

    async def __aexit__(self, *exception: object) -> None:
        stack, self._stack = self._stack, None
        if stack is not None:
            await stack.aclose()

    async def _open(self, stack: AsyncExitStack) -> None:
        from toolcrib.execution.inprocess import InProcessRunner
        from toolcrib.runtime.dispatch import Dispatcher
        from toolcrib.runtime.local import LocalRunner
        from toolcrib.runtime.remote import RemoteRunner
        from toolcrib.runtime.supervisor import Supervisor

        settings = self.settings
        self.sources  # noqa: B018 - settings that cannot be used are found before anything is started
        supervisor = Supervisor(settings)
        await supervisor.open()
        stack.push_async_callback(supervisor.close)
        dispatcher = Dispatcher(settings)
        stack.push_async_callback(dispatcher.close)
        inprocess = InProcessRunner()
        stack.callback(inprocess.close)
        remote = RemoteRunner(response_limit=settings.response_limit)
        stack.push_async_callback(remote.close)
        self._supervisor = supervisor
        stack.callback(self._forget)
        self.__dict__["_pipeline"] = self._make_pipeline(
            {"inprocess": inprocess, "local": LocalRunner(supervisor, dispatcher), "remote": remote, "docker": remote},
            settings,
        )
        if settings.watch:
            await stack.enter_async_context(self._watching())
        await self.reload()

    def _forget(self) -> None:
        self._supervisor = None
        self.__dict__.pop("_pipeline", None)

    @asynccontextmanager
    async def _watching(self) -> AsyncIterator[None]:
        import asyncio

        from toolcrib.registry.watch import watch

        async def changed() -> None:
            ids = await self.reload()
            if ids:
                _logger().info("Reloaded: %s", ", ".join(sorted(ids)))

        stop, watching = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(watch(self._watched_paths, changed, stop, watching=watching), name="toolcrib-watch")
        try:
            await watching.wait()
            yield
        finally:
            stop.set()
            await asyncio.gather(task, return_exceptions=True)

    def _watched_paths(self) -> Iterator[Path]:
        for source in self.sources:
            yield from source.paths()


def _logger() -> logging.Logger:
    import logging

    return logging.getLogger("toolcrib")


_default: Crib | None = None
_override: ContextVar[Crib | None] = ContextVar("toolcrib_crib", default=None)


def default_crib() -> Crib:
    """The crib that ``@tool`` registers in: the one in `use`, else the one default of this process.

    While a source imports a file of tools, it is a view of that crib, whose registrations the source lists.
    """
    global _default
    crib = _override.get()
    if crib is None:
        crib = _default = _default or Crib()
    registrations = current_registrations()
    return crib if registrations is None else _view(crib, registrations)


def _view(crib: Crib, registrations: Registrations) -> Crib:
    """``crib`` with another registry, and the same services."""
    registrations.services = crib.services
    return Crib(crib.__dict__.get("settings"), registry=registrations, sources=())


@contextmanager
def use(crib: Crib) -> Iterator[Crib]:
    """Make ``crib`` the default inside a ``with`` block, in this thread or task only."""
    token = _override.set(crib)
    try:
        yield crib
    finally:
        _override.reset(token)


def _register(tool: ToolDefinition) -> None:
    default_crib().registry.register(tool)


tool = make_tool_decorator(_register)


def register_service(name: str, service: object) -> None:
    """Give the default crib's tools what they ask for under ``name``; those that wait for it are told (contract N050).

    Example:
        >>> from toolcrib.crib import Crib, use
        >>> with use(Crib()):
        ...     register_service("clock", "a clock")
        ...     get_service("clock")
        'a clock'
    """
    default_crib().services.register(name, service)


def get_service(name: str) -> Any:
    """What is registered under ``name`` with the default crib, or None (contract N050)."""
    return default_crib().services.get(name)
