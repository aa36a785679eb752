#!/usr/bin/env python3
"""Checks that tools, intents and their tables fit together, in seven checks; exit status 1 where one fails.

    python scripts/validate_tool_chain.py                    the tools of this crib
    python scripts/validate_tool_chain.py config/tools.json  the tools that a tools.json names

`toolcrib check` looks at the same and more.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolcrib.exposure.intents import IntentTables
    from toolcrib.validation.subject import Subject

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ["toolcrib.builtin", "src.tools"]


def main(arguments: list[str] | None = None) -> int:
    """Print the block of seven checks, and return the exit status."""
    options = parse(arguments)
    use_environment()
    import asyncio
    import logging

    from toolcrib.errors import ToolcribError
    from toolcrib.validation.chain import chain_report

    logging.getLogger("toolcrib").addHandler(logging.NullHandler())
    try:
        subject = asyncio.run(subject_of(options))
    except ToolcribError as error:
        print(f"❌ {error}{f' — {error.hint}' if error.hint else ''}", file=sys.stderr)
        return 1
    block, is_right = chain_report(subject)
    print(block)
    unreadable = [each for each in subject.problems if each.path == str(options.tools_json) and not subject.listed]
    for problem in unreadable:
        print(f"❌ {problem}", file=sys.stderr)
    return 0 if is_right and not unreadable else 1


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tools_json", nargs="?", type=lambda text: Path(text).absolute(), metavar="TOOLS_JSON")
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="PACKAGE",
        help="may be imported, besides " + ", ".join(PACKAGES),
    )
    parser.add_argument("--tables", metavar="MODULE", help="check the tables of this module instead of generated ones")
    options = parser.parse_args(arguments)
    if options.tools_json is not None and not options.tools_json.is_file():
        parser.error(f"there is no file {options.tools_json}")
    return options


def use_environment() -> None:
    """Go on in the repository's .venv where this Python has no toolcrib."""
    if importlib.util.find_spec("toolcrib") and importlib.util.find_spec("pydantic_settings"):
        return
    python = ROOT / ".venv" / "bin" / "python"
    if Path(sys.prefix) == ROOT / ".venv" or not python.exists():
        sys.exit("toolcrib is not installed for this Python; scripts/serve or scripts/test sets it up.")
    os.execv(python, [str(python), *sys.argv])


async def subject_of(options: argparse.Namespace) -> Subject:
    """What is to be checked."""
    from toolcrib.crib import Crib, use
    from toolcrib.exposure.intent_data import FILE_NAME, load_intents
    from toolcrib.interfaces.cli.crib_check import load_subject
    from toolcrib.registry.sources.tools_json import ToolsJson
    from toolcrib.settings import load_settings
    from toolcrib.validation.subject import Subject

    if options.tools_json is None:
        settings = load_settings(watch=False, tools_json_modules=(*PACKAGES, *options.allow))
        sys.path.insert(0, str(settings.project))
        stand_in_for_documents()
        return await load_subject(settings)
    project = options.tools_json.parent
    project = project.parent if project.name == "config" else project
    sys.path.insert(0, str(project))
    stand_in_for_documents()
    crib = Crib(sources=[ToolsJson(options.tools_json, modules=[*PACKAGES, *options.allow])])
    with use(crib):
        await crib.reload()
    return Subject(
        crib.registry,
        sources=crib.sources,
        problems=crib.problems,
        intents=load_intents([project / FILE_NAME]),
        tables=tables_of(options.tables) if options.tables else None,
    )


def stand_in_for_documents() -> None:
    """Let ``from src.tools.base import BaseTool`` find toolcrib's, unless the project has such modules itself."""
    from toolcrib import compat
    from toolcrib.compat.install import CompatibilityError

    for package in ("src", "src.tools"):  # the project's own packages stay, with what is missing in them added
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(package)
    try:
        compat.install("weclaw")
    except CompatibilityError as error:
        print(f"⚠️ {error}", file=sys.stderr)


def tables_of(module_name: str) -> IntentTables:
    """The tables that a module keeps by hand."""
    from toolcrib.exposure.intents import IntentTables

    module = importlib.import_module(module_name)
    return IntentTables(module.INTENT_CATEGORIES, module.INTENT_TOOL_MAPPING, module.INTENT_PRIORITY_MAP)


if __name__ == "__main__":
    sys.exit(main())
