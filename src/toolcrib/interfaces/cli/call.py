"""``toolcrib call``: one tool, once, through the running router or in a crib of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from toolcrib.errors import HomeInUseError
from toolcrib.interfaces.cli import output
from toolcrib.interfaces.cli.arguments import encode_file, parse_arguments
from toolcrib.interfaces.cli.client import RouterClient, answer_of, find_router

if TYPE_CHECKING:
    from toolcrib.crib import Crib
    from toolcrib.settings import Settings

UPLOAD_BYTES = 256 * 1024
HOME_PATIENCE_SECONDS = 30.0

Outcome = tuple[Mapping[str, Any], Mapping[str, Any] | None]
Read = Callable[[Mapping[str, Any], Callable[[bytes, str], str]], dict[str, Any]]


@click.command()
@click.argument("tool_id", metavar="TOOL")
@click.argument("pairs", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--json", "given", metavar="FILE", help="A JSON object with the arguments; - = standard input.")
@click.option(
    "--output",
    "-o",
    "path",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Where a file in the result goes; - = standard output. A file of that name is replaced.",
)
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS", help="In place of the tool's own."
)
@click.option("--verbose", "-v", is_flag=True, help="Say who runs the tool.")
def call(
    tool_id: str, pairs: tuple[str, ...], given: str | None, path: Path | None, timeout: float | None, verbose: bool
) -> None:
    """Run one tool and print its result.

    A value is read as the tool's schema declares it: text stays as it is, anything else is JSON. key:=JSON always is
    JSON, key=@FILE is the content of a file, and a key is repeated for a list. Files in the result are written to the
    working directory under fresh names.

    It goes through the running router of this TOOLCRIB_HOME, else the tool is started for this call and ended after it.

    \b
    Examples:
      toolcrib call qr_code text=hello --output hello.png
      toolcrib call image_stitcher images=@a.png images=@b.png spacing=20
      echo '{"text": "hello"}' | toolcrib call qr_code --json -
    """
    from toolcrib.settings import load_settings

    settings = load_settings(watch=False)
    output.set_up_logging(verbose)
    if path is not None and str(path) != "-" and not path.parent.is_dir():
        raise click.BadParameter(
            f"there is no folder {path.parent}; nothing was run", ctx=click.get_current_context(), param_hint="--output"
        )

    def read(schema: Mapping[str, Any], encode: Callable[[bytes, str], str]) -> dict[str, Any]:
        return parse_arguments(pairs, schema, given=given, encode=encode)

    router = find_router(settings)
    if router is None:
        outcome = output.run(call_here(settings, tool_id, read, timeout, verbose))
        router = outcome if isinstance(outcome, RouterClient) else None
    if router is not None:
        outcome = call_router(router, tool_id, read, timeout, verbose)
    assert not isinstance(outcome, RouterClient)
    show(tool_id, *outcome, path)


def call_router(router: RouterClient, tool_id: str, read: Read, timeout: float | None, verbose: bool) -> Outcome:
    """Run a tool through a router; its answer in S2's form, and the tool's output schema."""
    if verbose:
        output.say(f"Through the router at {router.url}")
    tool = answer_of(router.get(f"/tools/{quote(tool_id, safe='')}"))

    def encode(content: bytes, name: str) -> str:
        return router.upload(content, name) if len(content) > UPLOAD_BYTES else encode_file(content, name)

    def describe() -> str:
        now = router.get(f"/tools/{quote(tool_id, safe='')}", timeout=2.0)
        return _words(tool_id, str(now.get("lifecycle")), now.get("lifecycle_reason"))

    request: dict[str, Any] = {"tool_id": tool_id, "params": read(tool["input_schema"], encode)}
    if timeout is not None:
        request["timeout"] = timeout
    with output.progress(describe):
        return router.post("/run_tool", request), tool.get("output_schema")


async def call_here(
    settings: Settings, tool_id: str, read: Read, timeout: float | None, verbose: bool
) -> Outcome | RouterClient:
    """Run a tool in a crib that lives as long as the call.

    Returns:
        Its answer in S2's form, and the tool's output schema; the router where one has appeared meanwhile.
    """
    from toolcrib.crib import Crib

    crib = Crib(settings)
    await crib.reload()
    tool = crib.registry.resolve(tool_id)
    async with AsyncExitStack() as stack:
        if tool.runtime != "inprocess":
            router = await _open(crib, stack)
            if router is not None:
                return router
        # Only now, because standard input can be read but once.
        arguments = read(tool.parameters, encode_file)
        if verbose:
            output.say(f"In this process; no router runs for {settings.home}")

        def describe() -> str:
            now = crib.status(tool)
            return _words(tool_id, now.lifecycle.value, now.lifecycle_reason)

        with output.progress(describe):
            result = await crib.run(tool_id, arguments, timeout=timeout)
    return result.to_run_tool(), tool.output_schema


async def _open(crib: Crib, stack: AsyncExitStack) -> RouterClient | None:
    """Enter the crib; where another process works in its home, wait for it, or return the router that it is."""
    import asyncio

    until = asyncio.get_running_loop().time() + HOME_PATIENCE_SECONDS
    told = False
    while True:
        try:
            await stack.enter_async_context(crib)
        except HomeInUseError as error:
            router = await asyncio.to_thread(find_router, crib.settings)
            if router is not None:
                return router
            if asyncio.get_running_loop().time() > until:
                raise
            if not told:
                output.say(f"Waiting: {error}")
                told = True
            await asyncio.sleep(0.1)
        else:
            return None


def show(
    tool_id: str,
    answer: Mapping[str, Any],
    schema: Mapping[str, Any] | None,
    path: Path | None,
    *,
    folder: Path | None = None,
) -> None:
    """Print an answer in S2's form: files to disk, the rest to standard output, an error to standard error.

    Raises:
        click.exceptions.Exit: with status 1, for a failed call.
    """
    from toolcrib.interfaces.cli import files

    if answer.get("status") != "success":
        output.report(str(answer.get("error")), answer.get("hint"))
        raise click.exceptions.Exit(1)
    marked, contents = files.separate(answer.get("result"), schema)
    if path is not None and not contents:
        output.say(f"The result holds no file; nothing was written to {path}.")
    if path is not None and str(path) == "-" and contents:
        stream = sys.stdout.buffer
        stream.write(contents[0])
        stream.flush()
        return
    try:
        result, written = files.write(marked, contents, schema, tool_id=tool_id, output=path, folder=folder or Path())
    except OSError as error:
        output.report(f"The file of the result cannot be written: {error}", "Name another place with --output.")
        raise click.exceptions.Exit(1) from error
    for file, content in zip(written, contents, strict=True):
        output.say(f"Wrote {file} ({file.stat().st_size:,} bytes)")
        if (kind := files.kind_behind_wrong_ending(file, content)) is not None:
            right = file.with_suffix(files.ending_of(kind))
            output.warn(f"{file} holds {kind}, which its name does not say", f"Name it {right}: nothing converts it.")
    if isinstance(result, str):
        click.echo(result)
    else:
        output.print_json(result)


def _words(tool_id: str, lifecycle: str, reason: str | None) -> str:
    doing = {"inactive": "waiting", "stopped": "waiting", "active": "working", "draining": "working"}.get(
        lifecycle, lifecycle
    )
    return f"{tool_id}: {reason or doing} …"
