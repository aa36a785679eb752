"""``toolcrib lint``: what models are sent of one tool."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from toolcrib.interfaces.cli import output

if TYPE_CHECKING:
    from toolcrib.definition.tool import ToolDefinition
    from toolcrib.settings import Settings
    from toolcrib.validation.lint import Lint


@click.command()
@click.argument("name", metavar="TOOL")
@click.option("--dialect", help="Also print what is sent in this form, such as openai_strict; all = in every form.")
@click.option("--json", "as_json", is_flag=True, help="Everything, as JSON.")
def lint(name: str, dialect: str | None, as_json: bool) -> None:
    """Explain what models are sent of TOOL, and what could be better.

    For each provider's form: the name it is sent under and about what it costs; why OpenAI's strict mode is not
    possible; parameters without a description. Exit status 1 where the schema cannot be used.

    \b
    Example:
      toolcrib lint image_stitcher --dialect gemini
    """
    from toolcrib.settings import load_settings
    from toolcrib.validation.checks_schemas import DIALECTS
    from toolcrib.validation.lint import lint as look

    if dialect not in (None, "all", *DIALECTS):
        raise click.BadParameter(f"there is no form {dialect!r}; it is all or one of {', '.join(DIALECTS)}")
    output.set_up_logging()
    found = [look(tool) for tool in output.run(_functions(name, load_settings(watch=False)))]
    if as_json:
        output.print_json({"tool": name, "functions": [each.to_dict() for each in found]})
    else:
        for each in found:
            _print(each, dialect)
    if any(each.problems for each in found):
        raise click.exceptions.Exit(1)


def _print(found: Lint, dialect: str | None) -> None:
    sent_as = f" (models see {found.alias})" if found.alias != found.name else ""
    click.echo(f"{found.name}{sent_as}")
    for each in found.sent:
        click.echo(f"  {each.dialect:16} {f'about {each.tokens} tokens' if each.error is None else f'❌ {each.error}'}")
    strict = "possible" if found.not_strict is None else f"not possible: {found.not_strict}"
    click.echo(f"  strict mode of OpenAI: {strict}")
    for problem in found.problems:
        click.echo(f"  ❌ {problem}")
    for path in found.undescribed:
        click.echo(f"  ⚠️ {path} has no description")
    for remark in found.remarks:
        click.echo(f"  ⚠️ {remark}")
    for each in found.sent:
        if dialect in ("all", each.dialect) and each.entry is not None:
            click.echo(f"{each.dialect}:")
            click.echo(json.dumps(each.entry, ensure_ascii=False, indent=2))


async def _functions(name: str, settings: Settings) -> list[ToolDefinition]:
    from toolcrib.interfaces.cli.crib_check import load_subject

    subject = await load_subject(settings)
    return subject.tools.get(name) or [subject.registry.resolve(name)]
