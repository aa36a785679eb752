"""``toolcrib new``: the folder of a tool that works and has tests from the first minute (contract T025, T034, T036)."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from toolcrib.errors import DefinitionError, DuplicateToolError, InvalidNameError
from toolcrib.interfaces.cli import output

if TYPE_CHECKING:
    from toolcrib.definition.tool import ToolDefinition
    from toolcrib.settings import Settings
    from toolcrib.validation.chain_findings import Place

DESCRIPTION_ZH = "把一段文字重复若干次"
DESCRIPTION_EN = "Repeats a text a number of times."
SDK_ROW = "| `tool_server.py` | the tool SDK, a copy; `main.py` needs nothing else to be served |\n"

_TOOL_ID = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")


@click.command()
@click.argument("tool_id")
@click.option("--fastapi", is_flag=True, help="A FastAPI application in place of one function.")
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("tools/local"),
    show_default=True,
    help="Where the folder is made.",
)
@click.option("--name-zh", help="The tool's name for people, in Chinese.")
@click.option("--name-en", help="The tool's name for people, in English.")
def new(tool_id: str, fastapi: bool, directory: Path, name_zh: str | None, name_en: str | None) -> None:
    """Make the folder of a new local tool.

    It runs, passes `toolcrib check` and has tests at once; then it becomes yours by changing run() in main.py, the
    schemas in tool.toml and the tests.

    \b
    Example:
      toolcrib new word_counter --name-en "Word counter" --name-zh "字数统计"
    """
    english = name_en or re.sub(r"[_-]+", " ", tool_id).strip().capitalize()
    if not (directory / tool_id).exists():
        refuse_taken(tool_id)
    folder = scaffold(tool_id, directory, name_zh=name_zh or english, name_en=english, fastapi=fastapi)
    click.echo(f"Made {folder}")
    click.echo("Next:")
    for command in (
        f"toolcrib check {shlex.quote(str(folder))}",
        f"toolcrib call {tool_id} text=hello",
        f"uvx pytest {shlex.quote(str(folder / 'tests'))}",
    ):
        click.echo(f"  {command}")
    if directory != Path("tools/local"):
        output.say(f"Note: `toolcrib serve` and `call` look in tools/local of the project, not in {directory}.")


def refuse_taken(tool_id: str) -> None:
    """Make sure that no tool of the crib here has the id.

    Raises:
        DuplicateToolError: one has, and where it is defined.
    """
    from toolcrib.settings import load_settings

    output.set_up_logging()
    tool, place = output.run(_find(load_settings(watch=False), tool_id))
    if tool is not None:
        raise DuplicateToolError(
            f"There is a {tool.runtime} tool {tool_id!r} already{f', in {place}' if place else ''}",
            hint="Choose another id; nothing was made.",
        )


async def _find(settings: Settings, tool_id: str) -> tuple[ToolDefinition | None, Place | None]:
    from toolcrib.interfaces.cli.crib_check import load_subject

    subject = await load_subject(settings)
    tool = subject.registry.get(tool_id)
    return tool, subject.places.of(tool) if tool is not None else None


def scaffold(tool_id: str, directory: Path, *, name_zh: str, name_en: str, fastapi: bool = False) -> Path:
    """Write the folder ``directory/tool_id`` of a new tool.

    Args:
        tool_id: a letter, then letters, digits, ``_`` and ``-``.
        directory: made where it does not exist.
        name_zh, name_en: for people.
        fastapi: whether ``main.py`` is a FastAPI application instead of one function.

    Returns:
        The folder.

    Raises:
        InvalidNameError: the id cannot be a folder's and a tool's name.
        DefinitionError: the folder exists, or cannot be made.
    """
    from importlib.metadata import version
    from importlib.resources import files

    if not _TOOL_ID.fullmatch(tool_id):
        raise InvalidNameError(
            f"{tool_id!r} cannot be the id of a local tool",
            hint="Use a letter, then up to 63 letters, digits, _ or -, such as word_counter.",
        )
    folder = directory / tool_id
    # The versions that this installation runs with are known to work, and are in uv's cache already.
    words = {
        "tool_id": tool_id,
        "fastapi_version": version("fastapi"),
        "uvicorn_version": version("uvicorn"),
        "description_en": DESCRIPTION_EN,
        "sdk_row": "" if fastapi else SDK_ROW,
    }
    quoted = {
        "example_zh": f"用{name_zh}把“你好”重复三次",
        "example_en": f"Repeat hello three times with {name_en}",
        "name_zh": name_zh,
        "name_en": name_en,
        "description_zh": DESCRIPTION_ZH,
        "description_en": DESCRIPTION_EN,
    }
    contents = {
        "pytest.ini": _fill("pytest.ini", {}),
        "main.py": _fill("main_fastapi.py" if fastapi else "main_function.py", words),
        "tool.toml": _fill("tool.toml", words | {key: _toml_string(text) for key, text in quoted.items()}),
        f"tests/test_{tool_id.replace('-', '_')}.py": _fill("test.py", words),
        "README.md": _fill("README.md", words),
        ".gitignore": _fill("gitignore", words),
    }
    if not fastapi:
        contents["tool_server.py"] = (files("toolcrib") / "tool_server.py").read_text("utf-8")
    _write(folder, contents)
    return folder


def _write(folder: Path, contents: dict[str, str]) -> None:
    try:
        folder.mkdir(parents=True)
        (folder / "tests").mkdir()
        for name, text in contents.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    except FileExistsError:
        raise DefinitionError(
            f"{folder} exists already", hint="Choose another id, or remove it first; nothing was changed."
        ) from None
    except OSError as error:
        raise DefinitionError(f"{folder} cannot be written: {error.strerror or error}") from error


def _fill(name: str, words: dict[str, str]) -> str:
    from importlib.resources import files
    from string import Template

    template = (files("toolcrib.interfaces.cli") / "templates" / f"{name}.template").read_text("utf-8")
    return Template(template).substitute(words)


def _toml_string(text: str) -> str:
    # JSON's strings are TOML's, but for the one control character that JSON leaves bare.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
