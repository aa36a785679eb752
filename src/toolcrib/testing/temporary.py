"""A crib for one test."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from toolcrib.crib import Crib, use
from toolcrib.definition.base_tool import BaseTool
from toolcrib.definition.deployment import Runtime
from toolcrib.definition.tool import ToolDefinition
from toolcrib.registry.registry import ToolRegistry

if TYPE_CHECKING:
    from toolcrib.definition.ports import Runner, Source
    from toolcrib.execution.inprocess import InProcessRunner
    from toolcrib.execution.pipeline import Pipeline
    from toolcrib.settings import Settings

Given = ToolDefinition | BaseTool | Callable[..., Any]
"""What stands for a tool in a test: a definition, a tool of several actions, or a function."""


@contextmanager
def temporary_crib(
    *tools: Given, sources: Sequence[Source] = (), runner: Runner | None = None, **settings: Any
) -> Iterator[Crib]:
    """A crib of its own that is the default one inside the ``with`` block, and gone after it.

    ``@tool``, `register_service` and `call` reach this crib. Its home and project are empty folders that are deleted at
    the end; no variable ``TOOLCRIB_…`` of the environment is read, and no shipped tool is there. Tools of this process
    run at once; ``async with crib:`` inside also starts what runs tools outside it.

    Args:
        *tools: registered at the beginning; a function is defined as ``@tool`` would.
        sources: where further tools come from, once the crib is open.
        runner: carries out every call in place of the real runners, such as a `FakeRunner`.
        **settings: in place of the defaults of `toolcrib.settings.Settings`, such as ``timeout=2``.

    Example:
        >>> from toolcrib import tool
        >>> from toolcrib.testing import call, temporary_crib
        >>> with temporary_crib() as crib:
        ...     @tool
        ...     def double(x: int) -> int:
        ...         "Doubles a number."
        ...         return 2 * x
        ...     call("double", x=21).data
        42

        As a fixture of pytest::

            @pytest.fixture
            def crib():
                with temporary_crib() as crib:
                    yield crib
    """
    with tempfile.TemporaryDirectory(prefix="toolcrib-test-", ignore_cleanup_errors=True) as directory:
        crib = TemporaryCrib(Path(directory), sources=sources, runner=runner, settings=settings)
        try:
            for tool in tools:
                register(crib.registry, tool)
            with use(crib):
                yield crib
        finally:
            crib.end_threads()


class TemporaryCrib(Crib):
    """The crib that `temporary_crib` makes.

    Args:
        directory: home and project are made in it.
        sources: where tools come from besides ``@tool``.
        runner: carries out every call, where given.
        settings: in place of the defaults.
    """

    def __init__(
        self,
        directory: Path,
        *,
        sources: Sequence[Source] = (),
        runner: Runner | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self._directory = directory
        self._runner = runner
        self._inprocess: list[InProcessRunner] = []
        super().__init__(isolated_settings(directory, **settings) if settings else None, sources=sources)

    @cached_property
    def settings(self) -> Settings:
        """Settings that depend on nothing outside the test."""
        return isolated_settings(self._directory)

    def _make_pipeline(self, runners: Mapping[Runtime, Runner], settings: Settings | None) -> Pipeline:
        from toolcrib.execution.inprocess import InProcessRunner

        self._inprocess += [each for each in runners.values() if isinstance(each, InProcessRunner)]
        if self._runner is not None:
            runners = dict.fromkeys(get_args(Runtime), self._runner)
        return super()._make_pipeline(runners, settings)

    def end_threads(self) -> None:
        """Let the threads that ran synchronous tools end."""
        for each in self._inprocess:
            each.close()


def isolated_settings(directory: Path, **overrides: Any) -> Settings:
    """Settings that depend on nothing but ``overrides``: home and project below ``directory``, free ports, no watching.

    Raises:
        DependencyMissingError: the extra ``serve`` is not installed.
        SettingsError: there is no such setting, or a value cannot be used.
    """
    from pydantic import ValidationError

    from toolcrib.errors import DependencyMissingError, SettingsError

    try:
        from toolcrib.settings import Settings
    except ModuleNotFoundError as error:
        raise DependencyMissingError(
            f"Settings need the package {error.name}, which is not installed",
            hint='Install the extra it belongs to: pip install "toolcrib[serve]"',
        ) from error

    class Isolated(Settings):
        @classmethod
        def settings_customise_sources(  # nothing but what is given
            cls,
            settings_cls: Any,
            init_settings: Any,
            env_settings: Any,
            dotenv_settings: Any,
            file_secret_settings: Any,
        ) -> tuple[Any, ...]:
            return (init_settings,)

    unknown = [name for name in overrides if name not in Settings.model_fields]
    if unknown:
        raise SettingsError(
            f"There is no setting {unknown[0]!r}", hint=f"The settings are {', '.join(Settings.model_fields)}."
        )
    values = {"home": directory / "home", "project": directory / "project", "watch": False, **overrides}
    if "first_tool_port" not in values:
        values |= {"first_tool_port": _free_port(), "last_tool_port": 65535}
    for name in ("home", "project"):
        Path(values[name]).mkdir(parents=True, exist_ok=True)
    try:
        return Isolated(**values)
    except ValidationError as error:
        first = error.errors()[0]
        raise SettingsError(f"The setting {first['loc'][0]} cannot be used: {first['msg']}") from error


def register(registry: ToolRegistry, tool: Given) -> None:
    """Register what stands for a tool; what is there already stays.

    Raises:
        DefinitionError: it is no tool, or its name is taken by another.
    """
    if isinstance(tool, BaseTool):
        if registry.get_tool(tool.name) is not tool:
            registry.register_tool(tool)
        return
    definition = definition_of(tool)
    if registry.get(definition.name) is not definition:
        registry.register(definition)


def definition_of(tool: ToolDefinition | Callable[..., Any]) -> ToolDefinition:
    """The definition itself, or that of a function: the one that ``@tool`` has registered for it, else a new one."""
    if isinstance(tool, ToolDefinition):
        return tool
    from toolcrib.crib import default_crib
    from toolcrib.definition.decorator import define

    return next((each for each in default_crib().registry if each.handler is tool), None) or define(tool)


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
