"""``toolcrib doctor``: would ``toolcrib serve`` work here, and what could be better?"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from toolcrib.errors import ServiceError, SettingsError, ToolcribError
from toolcrib.interfaces.cli import output
from toolcrib.interfaces.cli.client import RouterClient, answer_of, find_router
from toolcrib.validation.findings import Finding, failed, passed, warned

if TYPE_CHECKING:
    from toolcrib.crib import Crib
    from toolcrib.settings import Settings

UV_SECONDS = 10.0


@click.command()
@click.option("--json", "as_json", is_flag=True, help="The findings as JSON.")
def doctor(as_json: bool) -> None:
    """Look for what is missing on this machine.

    It does what `toolcrib serve` does up to the moment of answering, or asks the router that runs. Exit status 1 where
    serve would fail; warnings are about tools that would not work, or not at once.

    \b
    Example:
      toolcrib doctor
    """
    from toolcrib.settings import load_settings

    settings = load_settings(watch=False)
    output.set_up_logging()
    findings: list[Finding] = []

    def report(finding: Finding) -> None:
        findings.append(finding)
        if not as_json:
            click.echo(f"{finding.mark} {finding.check}: {finding.reason}")

    report(passed("Python", f"{platform.python_version()} ({sys.executable})"))
    report(check_uv())
    for finding in check_variables():
        report(finding)
    router = find_router(settings)
    for finding in check_router(router) if router is not None else output.run(check_service(settings)):
        report(finding)
    report(check_extras())
    ok = all(finding.level != "fail" for finding in findings)
    if as_json:
        output.print_json({"ok": ok, "findings": [finding.to_dict() for finding in findings]})
    if not ok:
        raise click.exceptions.Exit(1)


def check_uv() -> Finding:
    """uv is there, and where it keeps packages."""
    from toolcrib.interfaces.http.health import find_uv

    path = find_uv()
    if path is None:
        return warned("uv", 'not found, so local tools cannot be prepared; pip install "toolcrib[serve]" brings it')
    try:
        version, cache = (_output_of([path, *words]) for words in (["--version"], ["cache", "dir"]))
    except (OSError, subprocess.SubprocessError) as error:
        return warned("uv", f"{path} does not work: {error}")
    offline = "; it does not use the network (UV_OFFLINE)" if os.environ.get("UV_OFFLINE") else ""
    return passed("uv", f"{version.removeprefix('uv ')} ({path}), packages in {cache}{offline}")


def check_variables() -> Iterator[Finding]:
    """Environment variables that look like settings and are none."""
    from toolcrib.settings import unknown_variables

    for name, meant in unknown_variables():
        hint = f"did you mean {meant}?" if meant else "docs/settings.md lists those there are"
        yield warned("settings", f"the environment variable {name} is no setting and is ignored ({hint})")


def check_router(router: RouterClient) -> Iterator[Finding]:
    """What the running router says of itself."""
    ready: dict[str, Any] = answer_of(router.get("/health/ready"))
    yield passed("router", f"running at {router.url}, version {ready.get('version')}, pid {ready.get('pid')}")
    yield passed("home", f"{ready.get('home')}, in use by that router")
    tools = ready.get("tools", {})
    states = ", ".join(f"{number} {state}" for state, number in tools.get("state", {}).items())
    yield passed("tools", f"{tools.get('total')}: {states}")
    for problem in ready.get("problems", ()):
        hint = problem.get("hint")
        yield warned("tool files", f"{problem['error']}{f' ({hint})' if hint else ''}")


async def check_service(settings: Settings) -> list[Finding]:
    """What ``serve`` would meet: the port, the home, the files of tools and their environments."""
    from toolcrib.crib import Crib
    from toolcrib.interfaces.http.server import listen, url_of

    findings: list[Finding] = []
    crib = Crib(settings)
    try:
        with listen(settings.host, settings.port):
            findings.append(passed("port", f"{url_of(settings.host, settings.port)} is free; no router runs"))
    except ServiceError as error:
        findings.append(failed("port", _with_hint(error)))
    try:
        async with crib:
            findings.append(passed("home", f"{settings.home} can be written"))
    except SettingsError as error:
        return [*findings, failed("settings", _with_hint(error))]
    except Exception as error:
        findings.append(failed("home", _with_hint(error)))
        await crib.reload()
    findings += check_tools(crib)
    return findings


def check_tools(crib: Crib) -> Iterator[Finding]:
    """The files of tools, and the environments of local ones."""
    from toolcrib.runtime.environment import Environments, read_requirements

    yield passed("tools", f"{len(crib.registry)} found")
    for problem in crib.problems:
        yield warned("tool files", _with_hint(problem))
    environments = Environments(crib.settings.home / "environments")
    for tool in crib.registry:
        if tool.deployment is None or tool.deployment.directory is None:
            continue
        try:
            ready = environments.known(tool.name, read_requirements(tool.name, tool.deployment.directory))
        except ToolcribError as error:
            yield warned(tool.name, _with_hint(error))
            continue
        if ready is None:
            yield warned(tool.name, f"its environment is not prepared yet: toolcrib prepare {tool.name}")
        else:
            yield passed(tool.name, f"its environment is prepared ({ready})")


def check_extras() -> Finding:
    """Which optional parts are installed."""
    from importlib.metadata import PackageNotFoundError, distribution, requires

    parts: dict[str, list[str]] = {}
    for requirement in requires("toolcrib") or ():
        extra = re.search(r"extra == ['\"]([^'\"]+)['\"]", requirement)
        name = re.match(r"[A-Za-z0-9._-]+", requirement)
        if extra and name and name[0] != "toolcrib":
            parts.setdefault(extra[1], []).append(name[0])

    def installed(name: str) -> bool:
        try:
            distribution(name)
        except PackageNotFoundError:
            return False
        return True

    missing = {extra: [name for name in names if not installed(name)] for extra, names in parts.items()}
    there = [extra for extra, names in missing.items() if not names]
    absent = [f"{extra} ({', '.join(names)})" for extra, names in missing.items() if names and extra != "all"]
    reason = f"installed: {', '.join(there) or 'none'}" + (f"; not installed: {', '.join(absent)}" if absent else "")
    return passed("extras", reason)


def _output_of(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=UV_SECONDS, check=True).stdout.strip()


def _with_hint(error: Exception) -> str:
    hint = getattr(error, "hint", None)
    return f"{error}{f' ({hint})' if hint else ''}"
