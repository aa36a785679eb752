"""``toolcrib intents``: S3's three tables, generated from the tools (contract W013-W015)."""

from __future__ import annotations

from typing import Literal

import click

from toolcrib.interfaces.cli import output


@click.command()
@click.option("--format", "form", type=click.Choice(["python", "json"]), default="python", show_default=True)
@click.option(
    "--names",
    type=click.Choice(["toolcrib", "weclaw"]),
    default="toolcrib",
    show_default=True,
    help="Whose names of intents to use.",
)
def intents(form: str, names: Literal["toolcrib", "weclaw"]) -> None:
    """Print INTENT_CATEGORIES, INTENT_TOOL_MAPPING and INTENT_PRIORITY_MAP.

    They follow from what the tools declare and from intents.json; there is nothing to keep up to date by hand.

    \b
    Example:
      toolcrib intents --format json
    """
    from toolcrib.exposure.intents import intent_tables, tables_as_json, tables_as_python
    from toolcrib.interfaces.cli.crib_check import load_subject
    from toolcrib.settings import load_settings

    output.set_up_logging()
    subject = output.run(load_subject(load_settings(watch=False)))
    tables = intent_tables(subject.definitions, subject.intents, names=names)
    click.echo(tables_as_json(tables) if form == "json" else tables_as_python(tables), nl=False)
