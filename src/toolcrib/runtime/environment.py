"""The Python environment of a local tool, prepared once and then used without uv (contract T018, T025)."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import sys
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from toolcrib.errors import CallError, DependencyMissingError, StartFailedError
from toolcrib.runtime.logs import file_name
from toolcrib.runtime.process import base_environment

Progress = Callable[[str], None]

PREPARE_SECONDS = 600.0
LINE_LIMIT = 1024 * 1024
SHOWN_LINES = 15

_HEADER = re.compile(r"^# /// script[ \t]*\r?\n(?:^#(?: .*)?\r?\n)*?^# ///[ \t]*\r?$", re.MULTILINE)
_UV_VARIABLES = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME", "NETRC")
LAUNCH_VARIABLES = (
    "UV_CACHE_DIR",
    "UV_OFFLINE",
    "UV_PYTHON_DOWNLOADS",
    "UV_PYTHON_INSTALL_DIR",
    "UV_PYTHON_PREFERENCE",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
)
"""What a literal ``uv run`` needs besides a tool's own variables; none of them can hold a secret."""


@dataclass(frozen=True, slots=True)
class Requirements:
    """What a tool's folder says that it needs.

    Attributes:
        directory: the folder.
        project: whether a pyproject.toml says it; else the header of main.py.
        key: changes whenever the environment has to be prepared again.
    """

    directory: Path
    project: bool
    key: str


class Environments:
    """The environments of all local tools, remembered in ``TOOLCRIB_HOME/environments``.

    Args:
        folder: where that is.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def known(self, tool_id: str, requirements: Requirements) -> Path | None:
        """The interpreter of an environment that is ready for these requirements; None = it has to be prepared."""
        try:
            memory = json.loads(self._memory(tool_id).read_bytes())
            interpreter = Path(memory["interpreter"])
            ready = memory["key"] == requirements.key and os.access(interpreter, os.X_OK)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return interpreter if ready else None

    async def prepare(self, tool_id: str, directory: Path, progress: Progress) -> Path:
        """Make sure the environment is ready and return its interpreter.

        A ready environment costs three file reads and no uv. Else uv builds it, from its cache where that is enough,
        else over the network, within 600 s; its lines go to ``progress``.

        Raises:
            StartFailedError: the folder does not say what it needs, or uv failed; the text has uv's last lines.
            DependencyMissingError: there is no uv.
        """
        requirements = read_requirements(tool_id, directory)
        interpreter = self.known(tool_id, requirements)
        if interpreter is None:
            interpreter = await self._build(tool_id, requirements, progress)
            self._remember(tool_id, requirements, interpreter)
        return interpreter

    async def _build(self, tool_id: str, requirements: Requirements, progress: Progress) -> Path:
        uv = find_uv(tool_id)
        progress("preparing the environment")
        try:
            async with asyncio.timeout(PREPARE_SECONDS):
                if requirements.project:
                    return await self._build_project(uv, tool_id, requirements, progress)
                return await _build_script(uv, tool_id, requirements, progress)
        except TimeoutError:
            raise _failed(
                tool_id, f"its environment was not ready within {PREPARE_SECONDS:g} s", [], requirements.directory
            ) from None

    async def _build_project(self, uv: Path, tool_id: str, requirements: Requirements, progress: Progress) -> Path:
        """An environment under our own folder: nothing is written into the tool's."""
        directory = requirements.directory
        target = self._folder / file_name(tool_id)
        interpreter = target / "bin" / "python"
        if (directory / "uv.lock").is_file():
            variables = {"UV_PROJECT_ENVIRONMENT": str(target)}
            commands = [["sync", "--frozen", "--no-dev", "--no-install-project", "--project", str(directory)]]
        else:
            # `uv sync` would write a lock file beside pyproject.toml.
            variables = {}
            commands = [
                ["venv", "--clear", str(target)],
                ["pip", "install", "--python", str(interpreter), "--requirements", str(directory / "pyproject.toml")],
            ]
        for command in commands:
            await _run_uv(uv, tool_id, command, directory, progress, variables)
        return interpreter

    def _remember(self, tool_id: str, requirements: Requirements, interpreter: Path) -> None:
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._memory(tool_id)
            temporary = path.with_name(f".{path.name}.{os.getpid()}")
            temporary.write_text(json.dumps({"key": requirements.key, "interpreter": str(interpreter)}))
            temporary.replace(path)

    def _memory(self, tool_id: str) -> Path:
        return self._folder / f"{file_name(tool_id)}.json"


def read_requirements(tool_id: str, directory: Path) -> Requirements:
    """What the folder says that its tool needs: the PEP 723 header of main.py, else a pyproject.toml of its own.

    Raises:
        StartFailedError: there is no main.py, or neither of the two, in which case ``uv run`` would silently use
            whatever project surrounds the folder.
    """
    main = directory / "main.py"
    try:
        header = _HEADER.search(main.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        raise StartFailedError(
            not_running(tool_id, f"{main} cannot be read: {error.strerror}"), hint=f"Put a main.py into {directory}."
        ) from None
    said = hashlib.sha256(f"{sys.platform}\0{os.environ.get('UV_PYTHON', '')}\0{directory}\0".encode())
    if header is not None:
        said.update(header[0].encode())
        _add_file(said, directory / "main.py.lock")
        return Requirements(directory, False, said.hexdigest())
    if not _add_file(said, directory / "pyproject.toml"):
        raise StartFailedError(
            not_running(tool_id, f"{main} does not say what it needs"),
            hint="Begin main.py with a PEP 723 header, the lines # /// script, # dependencies = [] and # ///, "
            "or put a pyproject.toml beside it.",
        )
    _add_file(said, directory / "uv.lock")
    return Requirements(directory, True, said.hexdigest())


def _add_file(digest: hashlib._Hash, path: Path) -> bool:
    try:
        digest.update(path.read_bytes())
    except OSError:
        return False
    return True


def not_running(tool_id: str, cause: str) -> str:
    """S2's sentence, then the cause (DESIGN §11.9)."""
    return f"Tool {tool_id!r} is not running or has no active endpoint: {cause}"


def find_uv(tool_id: str) -> Path:
    """The uv that prepares tools' environments.

    Raises:
        DependencyMissingError: there is none.
    """
    path = uv_program()
    if path is None:
        raise DependencyMissingError(
            not_running(tool_id, "it needs uv, which is not installed"),
            hint='Install it: pip install "toolcrib[serve]", or see https://docs.astral.sh/uv/',
        )
    return path


def uv_program() -> Path | None:
    """The uv beside this Python, else the one on PATH."""
    beside = Path(sys.executable).with_name("uv")
    if os.access(beside, os.X_OK):
        return beside
    found = shutil.which("uv")
    return None if found is None else Path(found).absolute()


async def _build_script(uv: Path, tool_id: str, requirements: Requirements, progress: Progress) -> Path:
    """uv's own environment for the script, the one that ``uv run main.py`` uses too."""
    directory = requirements.directory
    main = str(directory / "main.py")
    await _run_uv(uv, tool_id, ["sync", "--script", main], directory, progress)
    lines = await _run_uv(uv, tool_id, ["python", "find", "--script", main], directory, lambda line: None)
    interpreter = Path(lines[-1].strip()) if lines else Path()
    if not os.access(interpreter, os.X_OK) or not interpreter.is_absolute():
        raise _failed(tool_id, "uv did not say where its environment is", lines, directory)
    return interpreter


async def _run_uv(
    uv: Path,
    tool_id: str,
    arguments: list[str],
    directory: Path,
    progress: Progress,
    variables: Mapping[str, str] | None = None,
) -> list[str]:
    """Run uv without the network where its cache is enough, else with it; its last lines."""
    environment = base_environment(_UV_VARIABLES) | dict(variables or {})
    environment |= {
        name: value
        for name, value in os.environ.items()
        if name.startswith("UV_") and name != "UV_PROJECT_ENVIRONMENT" and name not in environment
    }
    lines: list[str] = []
    for offline in (["--offline"], []):
        code, lines = await _run(
            [str(uv), *arguments, "--no-progress", "--color", "never", *offline],
            directory,
            environment,
            (lambda line: None) if offline else progress,
        )
        if code == 0:
            return lines
    raise _failed(tool_id, f"uv {' '.join(arguments[:2])} ended with code {code}", lines, directory)


async def _run(
    argv: list[str], directory: Path, environment: Mapping[str, str], progress: Progress
) -> tuple[int, list[str]]:
    process = await asyncio.create_subprocess_exec(
        *argv,
        cwd=directory,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
        limit=LINE_LIMIT,
    )
    assert process.stdout is not None
    lines: deque[str] = deque(maxlen=SHOWN_LINES)
    try:
        async for raw in process.stdout:
            line = raw.decode("utf-8", "replace").rstrip()
            if line:
                lines.append(line)
                progress(line)
        return await process.wait(), list(lines)
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        await process.wait()
        raise


def _failed(tool_id: str, cause: str, lines: list[str], directory: Path) -> CallError:
    text = not_running(tool_id, f"its environment could not be prepared: {cause}")
    if lines:
        text += "\n" + "\n".join(lines)
    return StartFailedError(
        text,
        hint="A first start needs the network, or a cache that has what the tool needs. "
        f"Try it: {by_hand_command(directory, 8002)}",
    )


def by_hand_command(directory: Path, port: int) -> str:
    """What a person pastes into a shell to run a tool by hand."""
    return f"cd {shlex.quote(str(directory))} && uv run main.py --port {port}"
