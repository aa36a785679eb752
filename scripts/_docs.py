"""Writes the pages of docs/ that are made from the program itself, so that they cannot say anything else.

python scripts/_docs.py
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from pydantic.fields import FieldInfo

from toolcrib.interfaces.cli.app import cli
from toolcrib.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
WIDTH = 100
MADE_BY = "<!-- Written by scripts/docs. -->"
DEPENDS_ON_THE_PLACE = {"home": "the platform's data directory", "project": "the working directory"}


def main() -> int:
    """Write the pages that have changed."""
    for name, text in pages().items():
        path = ROOT / "docs" / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"docs/{name} is new")
    return 0


def pages() -> dict[str, str]:
    """The text of each page by its name."""
    return {"commands.md": "\n".join(commands()) + "\n", "settings.md": "\n".join(settings()) + "\n"}


def settings() -> Iterator[str]:
    """The page of settings: one row for each."""
    yield from ("# Settings", "", MADE_BY, "")
    yield (
        "Each setting is an environment variable; `toolcrib serve` takes some as options too, which win. They are read "
        "when they are first needed, never at import, and `toolcrib doctor` names the one that cannot be used."
    )
    yield ""
    yield (
        "What is not set there may stand in a file `toolcrib.toml` of the project, or else of TOOLCRIB_HOME, by its "
        "name in small letters: `port = 9001`. In its texts `${NAME}` and `${NAME:-otherwise}` stand for environment "
        "variables."
    )
    yield from ("", "| variable | default | what it is |", "|---|---|---|")
    for name, field in Settings.model_fields.items():
        yield f"| `TOOLCRIB_{name.upper()}` | {_default(name, field)} | {field.description} |"
    yield ""
    yield (
        "A list is names with commas between them, `TOOLCRIB_MODULES=my_tools,more_tools`, or JSON. A variable of that "
        "prefix that is no setting is told by `toolcrib serve` and `toolcrib doctor`. In a program the names are "
        "arguments: `Crib(Settings(port=9001))`."
    )


def _default(name: str, field: FieldInfo) -> str:
    if name in DEPENDS_ON_THE_PLACE:
        return DEPENDS_ON_THE_PLACE[name]
    value: Any = field.get_default(call_default_factory=True)
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, int) and value >= 1024 * 1024 and value % (1024 * 1024) == 0:
        return f"`{value}` ({value // (1024 * 1024)} MiB)"
    if isinstance(value, tuple):
        return "none" if not value else f"`{list(value)}`"
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def commands() -> Iterator[str]:
    """The page of commands: what each says of itself."""
    yield from ("# Commands", "", MADE_BY, "")
    yield "What `toolcrib COMMAND --help` says. A failed call exits with 1, wrong usage with 2, an interrupt with 130."
    for context in _contexts(cli, "toolcrib", None):
        heading = "#" * (2 + context.command_path.count(" ", len("toolcrib ")))
        yield from ("", f"{heading} {context.command_path}", "", "```text")
        with context.scope(cleanup=False):
            yield "\n".join(line.rstrip() for line in context.command.get_help(context).splitlines())
        yield "```"


def _contexts(command: click.Command, name: str, parent: click.Context | None) -> Iterator[click.Context]:
    """A command, and those below it in the order of the alphabet."""
    options: dict[str, Any] = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    context = click.Context(command, info_name=name, parent=parent, **options)
    yield context
    if isinstance(command, click.Group):
        for each in sorted(command.commands):
            if not command.commands[each].hidden:
                yield from _contexts(command.commands[each], each, context)


if __name__ == "__main__":
    for variable in [each for each in os.environ if each.startswith("TOOLCRIB_")]:
        del os.environ[variable]
    sys.exit(main())
