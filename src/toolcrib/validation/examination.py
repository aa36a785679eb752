"""Examines one tool's folder, from its manifest to the end of its process (contract T025, DESIGN §11.26)."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from toolcrib.definition.call import Deadline
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import ServiceError, SourceError, ToolcribError
from toolcrib.validation.conformance import CHECKS, Subject
from toolcrib.validation.findings import Finding, failed, passed, warned
from toolcrib.validation.manifest import check_header, check_manifest

if TYPE_CHECKING:
    from toolcrib.runtime.status import Endpoint
    from toolcrib.runtime.supervisor import Supervisor
    from toolcrib.settings import Settings

SDK_CPU_SECONDS = 0.25
"""What a tool that uses our SDK may take to start, without its own imports."""

LAST_PORT = 65535
LOG_LINES = 5
OURS = frozenset({"last_run.log", "__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache", ".venv"})

Report = Callable[[Finding], None]
Progress = Callable[[str], None]


async def examine(folder: Path, settings: Settings, report: Report, progress: Progress = lambda text: None) -> None:
    """Check everything about a tool, and leave nothing of it behind.

    The tool runs under a supervisor of its own, with a temporary home and its own ports, so that a running router and
    tools started by hand are not touched.

    Args:
        folder: absolute; holds ``tool.toml`` and ``main.py``.
        settings: their grace and home are used, the latter only for prepared environments.
        report: told each finding as soon as it is known.
        progress: told what is being done.
    """
    tool, problems = read_tool(folder, registry_files(folder, settings))
    findings = [*check_manifest(tool, problems), check_header(folder)]
    for finding in findings:
        report(finding)
    if tool is None or any(finding.level == "fail" for finding in findings):
        return
    last_run, log = str(_last_run(tool)), str(check_log(tool.name, settings))

    def report_with_log(finding: Finding) -> None:
        report(replace(finding, reason=finding.reason.replace(last_run, log)))

    before = _files(folder)
    async with _supervised(tool, settings) as supervisor:
        progress("preparing its environment")
        prepared = await check_environment(supervisor, tool, progress)
        report_with_log(prepared)
        if prepared.level != "fail":
            progress("starting")
            await _examine_process(supervisor, tool, settings, report_with_log, progress)
    report(check_files(before, _files(folder)))


def read_tool(folder: Path, manifests: Sequence[Path] = ()) -> tuple[ToolDefinition | None, list[SourceError]]:
    """The tool that lives in a folder, and what is wrong in what the files say of it.

    Args:
        folder: absolute.
        manifests: the ``registry.json`` files that may say more of it, or all of it; none = what the folder says alone.
    """
    from toolcrib.registry.sources.files import ToolFiles

    source = ToolFiles([folder.parent], manifests)
    listing = source.load()
    found = next((tool for tool in listing.tools if tool.deployment and tool.deployment.directory == folder), None)
    name = found.name if found else folder.name
    problems = [
        problem
        for problem in listing.problems
        if Path(problem.path).is_relative_to(folder) or f": tool {name!r}: " in str(problem)
    ]
    if found is None and not problems and (reason := source.why_absent(name)) is not None:
        problems = [SourceError(f"the tool is not there: {reason}", path=str(folder))]
    return found, problems


def registry_files(folder: Path, settings: Settings) -> list[Path]:
    """The ``registry.json`` files that count for a tool's folder: those of the settings and of its own project."""
    from toolcrib.registry.shipped import shipped_root

    roots = [shipped_root(), settings.home, settings.project]
    if folder.parent.name == "local" and folder.parent.parent.name == "tools":
        roots.append(folder.parents[2])
    return list(dict.fromkeys(root.resolve() / "registry.json" for root in roots))


async def check_environment(supervisor: Supervisor, tool: ToolDefinition, progress: Progress) -> Finding:
    """Its environment can be prepared."""
    began = time.monotonic()
    try:
        await supervisor.prepare(tool.name, progress)
    except ToolcribError as error:
        return failed("environment", _described(error))
    return passed("environment", f"prepared ({time.monotonic() - began:.1f} s)")


async def _examine_process(
    supervisor: Supervisor, tool: ToolDefinition, settings: Settings, report: Report, progress: Progress
) -> None:
    began = time.monotonic()
    try:
        await supervisor.start_tool(tool.name)
        report(check_start(supervisor, tool, time.monotonic() - began))
        # The lease keeps it from being stopped for idleness meanwhile.
        async with supervisor.lease(tool.name, Deadline(settings.timeout)) as endpoint:
            await _ask_everything(supervisor, tool, endpoint, report, progress)
    except ToolcribError as error:
        report(failed("start", _described(error)))
        return
    progress("stopping")
    report(await check_stop(supervisor, tool, settings.stop_grace))


async def _ask_everything(
    supervisor: Supervisor, tool: ToolDefinition, endpoint: Endpoint, report: Report, progress: Progress
) -> None:
    process = supervisor.status(tool.name).pid
    subject = Subject(tool, endpoint)
    try:
        for check in CHECKS:
            progress(check.__name__.removeprefix("check_").replace("_", " "))
            finding = await check(subject)
            report(finding)
            status = supervisor.status(tool.name)
            if status.pid != process or status.state != "running":
                lines = supervisor.log_tail(tool.name, LOG_LINES)
                reason = status.lifecycle_reason or "it is gone"
                report(
                    failed(
                        "survival", f"its process ended in the check {finding.check!r}: {reason}; " + " / ".join(lines)
                    )
                )
                return
    finally:
        subject.close()


def check_start(supervisor: Supervisor, tool: ToolDefinition, seconds: float) -> Finding:
    """It became healthy, and a tool with our SDK did so without much work."""
    import psutil

    check = "start"
    status = supervisor.status(tool.name)
    try:
        times = psutil.Process(status.pid).cpu_times()
    except psutil.Error:
        return failed(check, "its process ended as soon as it was healthy")
    used = times.user + times.system
    took = f"healthy after {seconds:.2f} s, {used:.2f} CPU s"
    if used > SDK_CPU_SECONDS and _uses_sdk(tool):
        return warned(check, f"{took}: more than {SDK_CPU_SECONDS} CPU s; import heavy packages inside run()")
    return passed(check, took)


async def check_stop(supervisor: Supervisor, tool: ToolDefinition, grace: float) -> Finding:
    """It ends when asked, in time, and leaves no process and no listener behind."""
    import psutil

    from toolcrib.runtime.ports import can_bind

    check = "stop"
    status = supervisor.status(tool.name)
    family: list[psutil.Process] = []
    with suppress(psutil.Error):
        leader = psutil.Process(status.pid)
        family = [leader, *leader.children(recursive=True)]
    if not family:
        return passed(check, "its process had ended before")
    began = time.monotonic()
    await supervisor.stop_tool(tool.name)
    seconds = time.monotonic() - began
    left = [process.pid for process in family if _lives(process)]
    if left:
        return failed(check, f"processes are left: {', '.join(map(str, left))}")
    if status.port is not None and not can_bind(status.port):
        return failed(check, f"something still listens on port {status.port}")
    if seconds >= grace > 0:
        return failed(check, f"it did not end within {grace:g} s of SIGTERM and had to be killed")
    return passed(check, f"ended in {seconds:.2f} s, with everything it had started")


def check_files(before: frozenset[Path], after: frozenset[Path]) -> Finding:
    """Running it writes nothing into its folder."""
    check = "folder"
    written = sorted(str(path) for path in after - before)
    if written:
        return warned(check, f"running it wrote into its own folder: {', '.join(written[:5])}")
    return passed(check, "nothing was written into it")


@asynccontextmanager
async def _supervised(tool: ToolDefinition, settings: Settings) -> AsyncIterator[Supervisor]:
    from toolcrib.runtime.supervisor import Supervisor

    with tempfile.TemporaryDirectory(prefix="toolcrib-check-") as home:
        environments = settings.home / "environments"
        try:
            environments.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ServiceError(
                f"{environments} cannot be written: {error.strerror or error}",
                hint="Set TOOLCRIB_HOME to a folder that this user may write.",
            ) from None
        (Path(home) / "environments").symlink_to(environments.resolve(), target_is_directory=True)
        first_port = min(settings.last_tool_port + 1, LAST_PORT - 1000)
        supervisor = Supervisor(
            settings.model_copy(
                update={
                    "home": Path(home),
                    "first_tool_port": first_port,
                    "last_tool_port": LAST_PORT,
                    "auto_start": True,
                }
            )
        )
        with _own_log(tool, settings):
            await supervisor.open()
            try:
                supervisor.update([tool])
                yield supervisor
            finally:
                await supervisor.close()


def check_log(tool_id: str, settings: Settings) -> Path:
    """Where what a tool printed during its last check is kept."""
    from toolcrib.runtime.logs import file_name

    return settings.home / "logs" / "check" / f"{file_name(tool_id)}.log"


@contextmanager
def _own_log(tool: ToolDefinition, settings: Settings) -> Iterator[None]:
    """Give the check a log of its own, and put ``tests/last_run.log`` back.

    That file belongs to the tool that a router may be running, which goes on writing it. A run begins a new file of
    that name, so the one before is kept under another name until the check is over.
    """
    path = _last_run(tool)
    aside = path.with_name(f".last_run.log.{os.getpid()}")
    there, kept = path.parent.is_dir(), False
    with suppress(OSError):
        os.link(path, aside, follow_symlinks=False)
        kept = True
    try:
        yield
    finally:
        log = check_log(tool.name, settings)
        with suppress(OSError):
            log.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, log)
        with suppress(OSError):
            if kept:
                aside.replace(path)
            else:
                path.unlink(missing_ok=True)
            if not there:
                path.parent.rmdir()


def _last_run(tool: ToolDefinition) -> Path:
    assert tool.deployment is not None
    assert tool.deployment.directory is not None
    return tool.deployment.directory / "tests" / "last_run.log"


def _files(folder: Path) -> frozenset[Path]:
    found = (path.relative_to(folder) for path in folder.rglob("*"))
    return frozenset(path for path in found if not OURS.intersection(path.parts))


def _uses_sdk(tool: ToolDefinition) -> bool:
    directory = tool.deployment.directory if tool.deployment is not None else None
    return directory is not None and (directory / "tool_server.py").is_file()


def _lives(process: object) -> bool:
    import psutil

    assert isinstance(process, psutil.Process)
    with suppress(psutil.Error):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


def _described(error: ToolcribError) -> str:
    text = " / ".join(str(error).splitlines())
    return f"{text} ({error.hint})" if error.hint else text
