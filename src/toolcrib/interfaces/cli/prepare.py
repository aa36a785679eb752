"""``toolcrib prepare``: environments of local tools, made before anybody calls them (DESIGN §11.14)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from toolcrib.errors import ToolcribError
from toolcrib.interfaces.cli import output

if TYPE_CHECKING:
    from toolcrib.definition.tool import ToolDefinition
    from toolcrib.runtime.environment import Environments
    from toolcrib.settings import Settings


@click.command()
@click.argument("tool_ids", nargs=-1, metavar="[TOOL]...")
def prepare(tool_ids: tuple[str, ...]) -> None:
    """Prepare local tools' environments.

    Of the tools named, or of all there are; what is ready already costs nothing. Afterwards a first call is quick and
    needs no network. Exit status 1 if one could not be prepared; the others are prepared all the same.

    \b
    Example:
      toolcrib prepare image_stitcher qr_code
    """
    from toolcrib.settings import load_settings

    settings = load_settings(watch=False)
    output.set_up_logging()
    if not output.run(_prepare_all(settings, tool_ids)):
        raise click.exceptions.Exit(1)


async def _prepare_all(settings: Settings, tool_ids: tuple[str, ...]) -> bool:
    from toolcrib.crib import Crib
    from toolcrib.runtime.environment import Environments

    crib = Crib(settings)
    await crib.reload()
    for problem in crib.problems:
        output.warn(str(problem), problem.hint)
    environments = Environments(settings.home / "environments")
    ok = True
    for tool_id in tool_ids or [tool.name for tool in crib.registry if tool.runtime == "local"]:
        try:
            await _prepare(environments, crib.registry.resolve(tool_id))
        except ToolcribError as error:
            output.report(str(error), error.hint)
            ok = False
    return ok


async def _prepare(environments: Environments, tool: ToolDefinition) -> None:
    deployment = tool.deployment
    if deployment is None or deployment.directory is None:
        click.echo(f"✅ {tool.name}: needs no environment")
        return
    began = time.monotonic()
    doing = ["looking"]
    with output.progress(lambda: f"{tool.name}: {doing[0]}"):
        await environments.prepare(tool.name, deployment.directory, lambda line: doing.__setitem__(0, line))
    output.print_line(f"✅ {tool.name}: ready ({time.monotonic() - began:.1f} s)")
