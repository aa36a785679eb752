"""``toolcrib serve``: the router, in the foreground."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolcrib import __version__
from toolcrib.interfaces.cli import output
from toolcrib.interfaces.cli.client import RouterRecord, process_start, read_record, record_path, write_record

if TYPE_CHECKING:
    from toolcrib.crib import Crib
    from toolcrib.settings import Settings

_PLACES = {
    "local": "local",
    "inprocess": "in process",
    "remote": "remote",
    "docker": "in Docker",
    "mcp": "of MCP servers",
}


@click.command()
@click.option("--host", metavar="ADDRESS", help="The address to listen on; default: 127.0.0.1.")
@click.option("--port", type=click.IntRange(1, 65535), help="The port to listen on; default: 8001.")
@click.option(
    "--project",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder whose registry.json, tools.json and tools/ are added to the shipped ones; default: this one.",
)
@click.option(
    "--module", "modules", multiple=True, metavar="MODULE", help="A module with @tool functions; may be repeated."
)
@click.option(
    "--openapi",
    "documents",
    multiple=True,
    metavar="FILE",
    help="An OpenAPI document, or its URL, whose operations become tools; may be repeated.",
)
def serve(
    host: str | None, port: int | None, project: Path | None, modules: tuple[str, ...], documents: tuple[str, ...]
) -> None:
    """Serve all tools behind one HTTP address, until Ctrl-C.

    Local tools start when they are first called and stop when nobody has called them for a while. Changed files of
    tools are noticed while it runs.

    \b
    Examples:
      toolcrib serve
      toolcrib serve --port 9001 --project ~/my-tools --module my_package.tools
      toolcrib serve --openapi petstore.json
    """
    from toolcrib.crib import Crib
    from toolcrib.settings import load_settings

    settings = load_settings(
        host=host,
        port=port,
        project=project and project.resolve(),
        modules=modules or None,
        openapi=tuple(map(_document, documents)) or None,
    )
    set_up_logging()
    warn_of_unknown_variables()
    crib = Crib(settings)
    with suppress(click.Abort, KeyboardInterrupt):
        output.run(_serve(crib))


def _document(named: str) -> str:
    """A document as the settings name it: a path from here does not count from the project."""
    if named.startswith(("http://", "https://")):
        return named
    path = Path(named).absolute()
    if not path.is_file():
        raise click.BadParameter(f"there is no file {named}", param_hint="--openapi")
    return str(path)


def warn_of_unknown_variables() -> None:
    """Say which environment variables look like settings and are none: a misspelt one would be missed in silence."""
    from toolcrib.settings import unknown_variables

    for name, meant in unknown_variables():
        hint = f"Did you mean {meant}?" if meant else "toolcrib serve --help and docs/settings.md name those there are."
        output.warn(f"the environment variable {name} is no setting and is ignored", hint)


def set_up_logging() -> None:
    """Let the service's log go to standard error, with the time."""
    import logging

    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", datefmt="%H:%M:%S", stream=sys.stderr
    )
    for name in ("uvicorn", "httpx2", "httpcore2", "watchfiles"):
        logging.getLogger(name).setLevel(logging.WARNING)


async def _serve(crib: Crib) -> None:
    from toolcrib.interfaces.http import server

    path = record_path(crib.settings)

    def on_ready(url: str) -> None:
        pid = os.getpid()
        write_record(path, RouterRecord(url, pid, process_start(pid) or 0.0, __version__))
        announce(crib, url, click.echo)
        gc.collect()
        gc.freeze()  # what was made by now lives as long as the service; looking through it again and again costs calls

    try:
        await server.serve(crib, on_ready=on_ready)
    finally:
        remove_record(crib.settings)


def remove_record(settings: Settings) -> None:
    """Remove the record of the router, if it is this process's."""
    path = record_path(settings)
    record = read_record(path)
    if record is not None and record.pid == os.getpid():
        path.unlink(missing_ok=True)


def announce(crib: Crib, url: str, write: Callable[[str], object]) -> None:
    """Say that the router is ready, what it has, and what is wrong with what it could not use."""
    places = Counter(tool.runtime for tool in crib.registry)
    counted = ", ".join(f"{number} {_PLACES[runtime]}" for runtime, number in places.items())
    write(f"toolcrib is ready at {url}")
    write(f"  {len(crib.registry)} tools{f': {counted}' if counted else ''}")
    write(f"  page   {url}/docs")
    write(f"  state  {crib.settings.home}")
    for problem in crib.problems:
        write(f"  ⚠ {problem}{f' ({problem.hint})' if problem.hint else ''}")
    write("  Ctrl-C ends it and the tools it started.")
    sys.stdout.flush()
