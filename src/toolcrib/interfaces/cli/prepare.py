"""``toolcrib prepare``: environments of local tools, made before anybody calls them."""

from __future__ import annotations

import click


@click.command()
@click.argument("tool_ids", nargs=-1, metavar="[TOOL]...")
def prepare(tool_ids: tuple[str, ...]) -> None:
    """Prepare local tools' environments."""
