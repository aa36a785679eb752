"""``toolcrib tools``, ``start``, ``stop`` and ``logs``: what there is, and its processes."""

from __future__ import annotations

import os
import shlex
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import quote

import click

from toolcrib.errors import NotRunningError
from toolcrib.interfaces.cli import output
from toolcrib.interfaces.cli.client import RouterClient, answer_of, find_router, need_router

if TYPE_CHECKING:
    from toolcrib.settings import Settings

COLUMNS = ("id", "title", "category", "runtime", "state", "port")
FOLLOW_SECONDS = 0.25


@click.command()
@click.option("--lang", type=click.Choice(["zh", "en"]), help="The language of titles.")
@click.option("--json", "as_json", is_flag=True, help="Everything that is known, as JSON.")
def tools(lang: str | None, as_json: bool) -> None:
    """List the tools there are.

    \b
    Example:
      toolcrib tools --lang en
    """
    from toolcrib.settings import load_settings

    settings = load_settings(watch=False)
    output.set_up_logging()
    router = find_router(settings)
    listing = answer_of(router.get("/tools", {"lang": lang})) if router else output.run(_list_here(settings, lang))
    if as_json:
        output.print_json(listing)
        return
    rows = [
        [
            tool["tool_id"],
            tool["name"],
            tool["category"],
            tool["backend_runtime"],
            tool["state"],
            str(tool["port"] or ""),
        ]
        for tool in listing["tools"]
    ]
    output.print_table(COLUMNS, rows)


@click.command()
@click.argument("tool_id", metavar="TOOL")
def start(tool_id: str) -> None:
    """Start a tool in the running router, before anybody calls it.

    \b
    Example:
      toolcrib start image_stitcher
    """
    router = _router()
    with output.progress(lambda: f"{tool_id}: starting …"):
        tool = answer_of(router.post(f"/tools/{quote(tool_id, safe='')}/start", timeout=600.0))
    if tool.get("state") != "running":
        reason = tool.get("lifecycle_reason") or f"it is {tool.get('lifecycle', 'stopped')}"
        raise NotRunningError(
            f"Tool '{tool_id}' did not start: {reason}", hint=f"What it printed: toolcrib logs {shlex.quote(tool_id)}"
        )
    place = f" on port {tool['port']}" if tool.get("port") else ""
    click.echo(f"{tool_id} is running{place}")


@click.command()
@click.argument("tool_id", metavar="TOOL")
def stop(tool_id: str) -> None:
    """Stop a tool in the running router; the next call starts it again.

    \b
    Example:
      toolcrib stop image_stitcher
    """
    router = _router()
    with output.progress(lambda: f"{tool_id}: stopping …"):
        tool = answer_of(router.post(f"/tools/{quote(tool_id, safe='')}/stop", timeout=600.0))
    click.echo(f"{tool_id} is {tool.get('state', 'stopped')}")


@click.command()
@click.argument("tool_id", metavar="TOOL")
@click.option("--lines", "-n", type=click.IntRange(1, 10_000), default=200, show_default=True, help="How many.")
@click.option("--follow", "-f", is_flag=True, help="Go on with what is written from now on, until Ctrl-C.")
def logs(tool_id: str, lines: int, follow: bool) -> None:
    """Show the end of the log of a tool's last run.

    \b
    Example:
      toolcrib logs image_stitcher -n 20 -f
    """
    from toolcrib.settings import load_settings

    settings = load_settings(watch=False)
    output.set_up_logging()
    path = output.run(_log_file(settings, tool_id))
    if path is None:
        raise NotRunningError(
            f"Tool '{tool_id}' has no log: it has not run yet", hint=f"Run it: toolcrib call {tool_id}"
        )
    stream = path.open("rb")
    try:
        for text in stream.read().decode("utf-8", "replace").splitlines(keepends=True)[-lines:]:
            click.echo(text, nl=False)
        while follow:
            time.sleep(FOLLOW_SECONDS)
            content = stream.read()
            if content:
                click.echo(content, nl=False)
            elif _is_replaced(path, stream):
                stream.close()
                stream = path.open("rb")
    finally:
        stream.close()


async def _log_file(settings: Settings, tool_id: str) -> Path | None:
    """The file with the tool's last run: in its own folder, or under the home where that cannot be written."""
    from toolcrib.crib import Crib
    from toolcrib.runtime.logs import ToolLog

    crib = Crib(settings)
    await crib.reload()
    tool = crib.registry.resolve(tool_id)
    if tool.deployment is None or tool.deployment.directory is None:
        raise NotRunningError(
            f"Tool '{tool_id}' has no process of its own, so it has no log", hint="Only local tools do."
        )
    candidates = [
        tool.deployment.directory / "tests" / "last_run.log",
        ToolLog(settings.home / "logs", tool_id).path,
    ]
    found = [path for path in candidates if path.is_file()]
    return max(found, key=lambda path: path.stat().st_mtime) if found else None


async def _list_here(settings: Settings, lang: str | None) -> dict[str, Any]:
    """What a router would list, from the files alone."""
    from toolcrib.crib import Crib
    from toolcrib.interfaces.http.tools import tool_item

    crib = Crib(settings)
    await crib.reload()
    for problem in crib.problems:
        output.warn(str(problem), problem.hint)
    found = [tool_item(crib, tool, lang) for tool in crib.registry]
    return {"tools": found, "total": len(found)}


def _is_replaced(path: Path, stream: BinaryIO) -> bool:
    """Whether another file has taken the place of the one that is being read, or it was cut."""
    with suppress(FileNotFoundError):
        now = path.stat()
        return now.st_ino != os.fstat(stream.fileno()).st_ino or now.st_size < stream.tell()
    return False


def _router() -> RouterClient:
    from toolcrib.settings import load_settings

    return need_router(load_settings())
