"""A tool in a folder of its own, started for a test."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolcrib.definition.ports import Listing
from toolcrib.errors import DependencyMissingError, NotRunningError, SourceError
from toolcrib.testing.calls import CallOutcome
from toolcrib.testing.temporary import TemporaryCrib

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from toolcrib.definition.tool import ToolDefinition
    from toolcrib.runtime.status import ToolStatus


class LocalTool:
    """A tool's folder, running while the ``with`` block lasts, as the service would run it.

    It has a home, a port and a process of its own, so neither a running service nor another test is in its way. The
    first start prepares the tool's environment, which takes a while where its packages are not in uv's cache.

    Args:
        folder: holds ``main.py`` and ``tool.toml``.
        **settings: in place of the defaults of `toolcrib.settings.Settings`; a ``home`` that several tests share keeps
            the environment.

    Raises:
        DependencyMissingError: the extra ``serve`` is not installed.
        SourceError: the folder defines no tool.
        StartFailedError: it did not become healthy; the text holds the last lines that it printed.

    Example:
        ::

            def test_red_has_a_name():
                with LocalTool("tools/local/color_namer") as tool:
                    assert tool.call(color="#ff0000").data == {"name": "red"}
    """

    def __init__(self, folder: str | Path, **settings: Any) -> None:
        self.folder = Path(folder).absolute()
        self._settings = settings
        self._stack: ExitStack | None = None
        self._portal: BlockingPortal | None = None
        self._crib: TemporaryCrib | None = None
        self._definition: ToolDefinition | None = None

    def __enter__(self) -> LocalTool:
        import tempfile

        try:
            from anyio.from_thread import start_blocking_portal
        except ModuleNotFoundError as error:
            raise DependencyMissingError(
                "A local tool needs the package anyio, which is not installed",
                hint='Install the extra it belongs to: pip install "toolcrib[serve]"',
            ) from error
        with ExitStack() as stack:
            directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="toolcrib-test-"))
            crib = TemporaryCrib(Path(directory), sources=[_OneFolder(self.folder)], settings=self._settings)
            stack.callback(crib.end_threads)
            self._portal = stack.enter_context(start_blocking_portal())
            stack.enter_context(self._portal.wrap_async_context_manager(crib))
            self._definition = self._found(crib)
            self._portal.call(crib.start_tool, self.name)
            self._crib = crib
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        stack, self._stack, self._crib, self._portal = self._stack, None, None, None
        if stack is not None:
            stack.close()

    @property
    def definition(self) -> ToolDefinition:
        """What ``tool.toml`` says."""
        if self._definition is None:
            raise _not_running(self.folder)
        return self._definition

    @property
    def name(self) -> str:
        """The tool's id."""
        return self.definition.name

    @property
    def status(self) -> ToolStatus:
        """What its process is doing, and on which port."""
        _, crib = self._running()
        return crib.status(self.definition)

    def call(self, **arguments: Any) -> CallOutcome:
        """Call it through the whole pipeline and wait for the one result; files are base64, as in ``POST /run_tool``.

        Args:
            **arguments: by parameter.
        """
        portal, crib = self._running()
        result = portal.call(partial(crib.run, self.name, arguments))
        return CallOutcome(self.name, arguments, result)

    def log_tail(self, lines: int = 100) -> list[str]:
        """The last lines that its process printed."""
        _, crib = self._running()
        return crib.log_tail(self.name, lines)

    def _running(self) -> tuple[BlockingPortal, TemporaryCrib]:
        if self._portal is None or self._crib is None:
            raise _not_running(self.folder)
        return self._portal, self._crib

    def _found(self, crib: TemporaryCrib) -> ToolDefinition:
        if crib.problems:
            raise crib.problems[0]
        tools = list(crib.registry)
        if not tools:
            raise SourceError("the folder holds no tool", path=str(self.folder), hint="Write main.py and tool.toml.")
        return tools[0]


class _OneFolder:
    """A `Source` of one tool, whatever lies beside it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def load(self) -> Listing:
        from toolcrib.validation.examination import read_tool

        tool, problems = read_tool(self._folder)
        return Listing(() if tool is None else (tool,), problems=tuple(problems))

    def paths(self) -> Iterable[Path]:
        return (self._folder,)


def _not_running(folder: Path) -> NotRunningError:
    return NotRunningError(f"The tool in {folder} is not running", hint="Use it inside `with LocalTool(…) as tool:`.")
