"""``toolcrib doctor``: would ``toolcrib serve`` work, and what could be better?"""

from __future__ import annotations

import click

from toolcrib.interfaces.cli import output


@click.command()
@click.option("--json", "as_json", is_flag=True, help="The findings as JSON.")
def doctor(as_json: bool) -> None:
    """Look for what keeps toolcrib from working here."""
