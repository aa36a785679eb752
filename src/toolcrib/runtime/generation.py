"""One run of a tool's process, from its port to its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from toolcrib.definition.deployment import Deployment
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import StartFailedError
from toolcrib.runtime import adoption
from toolcrib.runtime.adoption import ManualProcess
from toolcrib.runtime.connections import ConnectionPool
from toolcrib.runtime.environment import LAUNCH_VARIABLES, Environments, by_hand_command, find_uv, not_running
from toolcrib.runtime.guard_process import GuardProcess
from toolcrib.runtime.health import NotHealthyError, exit_text, wait_until_healthy
from toolcrib.runtime.logs import ToolLog, where_its_log_is
from toolcrib.runtime.ports import NoPortError, PortAllocator, can_bind, holder_of
from toolcrib.runtime.process import ExitWatch, ToolProcess, base_environment, end_group, kill_marked
from toolcrib.runtime.records import TOKEN_VARIABLE, ProcessRecord, ProcessRecords, boot_id

if TYPE_CHECKING:
    from toolcrib.settings import Settings

LOG_LINES = 15
PORT_RETRIES = 3
EXIT_PORT_TAKEN = 98

_PORT_TAKEN = re.compile(r"address already in use|EADDRINUSE|Errno (98|48)\b", re.IGNORECASE)
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Services:
    """What all tools of a supervisor share.

    Attributes:
        settings: of the service.
        ports: hands out ports.
        pool: carries the questions for health.
        records: what is kept on disk for the next router.
        guard: ends the processes when this router is killed.
        environments: the prepared Python environments.
        slots: how many tools may be starting at a time.
    """

    settings: Settings
    ports: PortAllocator
    pool: ConnectionPool
    records: ProcessRecords
    guard: GuardProcess
    environments: Environments
    slots: asyncio.Semaphore


class Cause(Enum):
    """Why a start failed, as far as the remedy depends on it."""

    ENDED = "its program ended"
    UNHEALTHY = "it did not become healthy"
    PORT = "another program has its port"


class Generation(Protocol):
    """A running process that answers for a tool, whoever started it.

    Attributes:
        port: where it answers.
        pid: its process id.
        adopted: whether somebody else started it.
        started_at: seconds since the epoch.
        ended: done when the process has ended; the result says how.
        last_lines: of its log, once it has ended.
    """

    port: int
    pid: int
    adopted: bool
    started_at: float
    ended: asyncio.Future[str]
    last_lines: list[str]

    def is_ending(self) -> bool:
        """Whether the process has ended or is about to, asked of the system."""
        ...

    async def finish(self, grace: float) -> None:
        """End the process and everything it began, and give back what it held."""
        ...

    async def release(self) -> None:
        """Be done with it at the end of the service: an adopted process stays, an own one is ended."""
        ...


class OwnGeneration:
    """A process that this router started (see `Generation`)."""

    adopted = False

    def __init__(self, tool: ToolDefinition, argv: list[str], port: int, services: Services, log: ToolLog) -> None:
        deployment, directory = deployment_of(tool)
        self.port = port
        self.token = secrets.token_hex(16)
        self.started_at = time.time()
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.last_lines: list[str] = []
        self._tool_id = tool.name
        self._services = services
        self._log = log
        variables = self._variables(deployment)
        hidden = [
            value for name, value in variables.items() if name in deployment.environment and _is_secret(name, value)
        ]
        log.begin(command_of(port), secrets=hidden)
        self.process = ToolProcess([*argv, "--port", str(port)], directory, variables, log.write)
        self.pid = self.process.pid
        services.guard.add(self.pid, self.process.started, f"{TOKEN_VARIABLE}={self.token}")
        self._record = ProcessRecord(tool.name, self.pid, self.process.started, boot_id(), port, self.token)
        with contextlib.suppress(OSError):
            services.records.write(self._record)
        self.process.exited.add_done_callback(self._exited)

    def _variables(self, deployment: Deployment) -> dict[str, str]:
        names = (*deployment.environment, *(LAUNCH_VARIABLES if deployment.launch == "uv-run" else ()))
        return base_environment(names) | {
            "TOOLCRIB_HOME": str(self._services.settings.home),
            "TOOLCRIB_TOOL_ID": self._tool_id,
            TOKEN_VARIABLE: self.token,
            "PYTHONUNBUFFERED": "1",
        }

    def _exited(self, exited: asyncio.Future[int]) -> None:
        text = exit_text(exited.result())
        self.last_lines = self._log.tail(LOG_LINES)
        self._log.note(f"the process {text}")
        self.ended.set_result(text)

    def is_ending(self) -> bool:
        """Whether the process has ended or is about to."""
        return self.process.is_ending()

    async def finish(self, grace: float) -> None:
        """End the group, and what left it; free the port, the record and the log."""
        await self.process.stop(grace)
        await asyncio.to_thread(kill_marked, TOKEN_VARIABLE, self.token)
        self._services.guard.remove(self.pid)
        self._services.records.remove(self._record)
        self._services.ports.release(self.port)
        self._log.close()

    async def release(self) -> None:
        """End it."""
        await self.finish(self._services.settings.stop_grace)


class AdoptedGeneration:
    """A process that somebody started by hand (see `Generation`)."""

    adopted = True

    def __init__(self, manual: ManualProcess) -> None:
        self.port = manual.port
        self.pid = manual.pid
        self.started_at = manual.created
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.last_lines: list[str] = []
        self._manual = manual
        self._watch = ExitWatch(manual.pid, lambda: self.ended.set_result("ended, having been started by hand"))

    def is_ending(self) -> bool:
        """Whether the process has ended or is about to."""
        return self._watch.is_ending()

    async def finish(self, grace: float) -> None:
        """End it all the same: somebody asked for that."""
        await adoption.end(self._manual, grace)
        self._watch.close()

    async def release(self) -> None:
        """Let it go; it stays as it was found."""
        self._watch.close()


async def launch(
    tool: ToolDefinition, services: Services, log: ToolLog, preferred: int | None, interpreter: Path
) -> OwnGeneration:
    """Start a tool's process on a port that is free and wait until it is healthy (contract T018, T021, T022).

    A process that ends because its port was taken in the meantime is started again on the next, at most three times.

    Args:
        tool: a local tool.
        services: what tools share.
        log: takes what the process writes.
        preferred: the port it had.
        interpreter: the Python that runs main.py.

    Raises:
        StartFailedError: it did not become healthy; its processes are gone.
    """
    deployment, directory = deployment_of(tool)
    argv = [str(interpreter), str(directory / "main.py")]
    if deployment.launch == "uv-run":
        argv = [str(find_uv(tool.name)), "run", "main.py"]
    tried: list[int] = []
    while True:
        port = await _reserve(tool, services, preferred, tried)
        try:
            generation = OwnGeneration(tool, argv, port, services, log)
        except BaseException as error:
            services.ports.release(port)
            log.close()
            if isinstance(error, OSError):
                raise start_failed(tool, f"it could not be started: {error}", log, port, Cause.ENDED) from error
            raise
        try:
            await wait_until_healthy(
                generation.process, port, generation.token, deployment.start_timeout, services.pool
            )
        except BaseException as error:
            exited = generation.process.exited.done()
            await uninterrupted(generation.finish(0.0 if exited else services.settings.stop_grace))
            if not isinstance(error, NotHealthyError):
                raise
            taken = exited and _port_was_taken(generation)
            tried.append(port)
            if taken and len(tried) <= PORT_RETRIES:
                continue
            text, cause = str(error), Cause.ENDED if exited else Cause.UNHEALTHY
            if taken or not can_bind(port):
                text, cause = f"{text}; {await asyncio.to_thread(holder_of, port)}", Cause.PORT
            raise start_failed(tool, text, log, port, cause) from None
        return generation


async def uninterrupted(work: Coroutine[Any, Any, None]) -> None:
    """Do all of ``work``, and only then be cancelled, where that was asked for meanwhile."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


async def _reserve(tool: ToolDefinition, services: Services, preferred: int | None, tried: list[int]) -> int:
    try:
        return services.ports.reserve(preferred, avoid=tried)
    except NoPortError as error:
        holder = await asyncio.to_thread(holder_of, services.ports.first)
        raise StartFailedError(
            not_running(tool.name, f"{error}; {holder}"),
            hint="Widen the range: TOOLCRIB_FIRST_TOOL_PORT to TOOLCRIB_LAST_TOOL_PORT.",
        ) from None


def _port_was_taken(generation: OwnGeneration) -> bool:
    code = generation.process.exited.result()
    if code == EXIT_PORT_TAKEN or _PORT_TAKEN.search("\n".join(generation.last_lines)):
        return True
    return not can_bind(generation.port)


def start_failed(tool: ToolDefinition, text: str, log: ToolLog, port: int, cause: Cause) -> StartFailedError:
    """The error of a failed start: S2's sentence, the cause, the log's end, S2's three remedies (DESIGN §11.9).

    The remedies stay in S2's order; what helps against this cause is said first.
    """
    lines = log.tail(LOG_LINES)
    text = not_running(tool.name, text)
    if lines:
        text += "\nThe last lines of its log:\n" + "\n".join(lines)
    look = "1. Look at its state: GET /tools."
    by_hand = f"2. Start it by hand: {by_hand_command(deployment_of(tool)[1], port)}"
    if cause is Cause.PORT:
        hint = f"Another program has its port: end that one, or start the tool on another. {look} {by_hand}. "
        hint += f"3. See whether port {port} is taken."
    elif cause is Cause.ENDED:
        hint = "Its program ended by itself; " + ("the end of its log is above. " if lines else "it printed nothing. ")
        hint += f"{look} {by_hand}, and see what it prints. 3. Its port {port} is not taken."
    else:
        hint = f"Its program ran, but was not ready in time; start_timeout in tool.toml allows more. {look} {by_hand}, "
        hint += f"and ask it GET /health. 3. Port {port} is not taken by another program."
    return StartFailedError(text, hint=f"{hint} {where_its_log_is(tool.name)}, {log.shown}")


def deployment_of(tool: ToolDefinition) -> tuple[Deployment, Path]:
    """A local tool's deployment and folder.

    Raises:
        StartFailedError: it has none.
    """
    if tool.deployment is None or tool.deployment.directory is None:
        raise StartFailedError(
            not_running(tool.name, "it has no folder"), hint="A local tool is a folder with main.py."
        )
    return tool.deployment, tool.deployment.directory


def command_of(port: int) -> str:
    """What a person types to run a tool on a port."""
    return f"uv run main.py --port {port}"


def is_same_process(one: Deployment, other: Deployment) -> bool:
    """Whether a process that was started for one deployment serves another: what it was given at its start is the same.

    Timeouts, the path and method of its endpoint and its credentials are read at each call.
    """
    facts = [(it.directory, it.launch, frozenset(it.environment), it.options.get("revision")) for it in (one, other)]
    return facts[0] == facts[1]


def _is_secret(name: str, value: str) -> bool:
    return len(value) >= 6 and _SECRET_NAME.search(name) is not None


async def end_leftover(record: ProcessRecord, grace: float) -> None:
    """End what an earlier router left running, if it is still what the record says."""
    if record.is_alive():
        await end_group(record.pid, grace)
    await asyncio.to_thread(kill_marked, TOKEN_VARIABLE, record.token)


def fingerprint(directory: Path) -> tuple[tuple[int, int] | None, ...]:
    """Changes whenever main.py or what it declares to need was edited."""
    return tuple(_stamp(directory / name) for name in ("main.py", "main.py.lock", "pyproject.toml", "uv.lock"))


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - once per file and reload
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
