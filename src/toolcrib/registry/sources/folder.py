"""Tools that lie in folders of their own: ``tools/local/<tool_id>/tool.toml`` beside ``main.py`` (contract T036)."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from toolcrib.errors import InvalidNameError, SourceError
from toolcrib.registry.names import check_name
from toolcrib.registry.sources.document import Document
from toolcrib.registry.sources.layers import FileMemory, Reading, ToolLayer, schema_problems
from toolcrib.registry.sources.manifest import ToolManifest
from toolcrib.registry.sources.problems import validation_problems

MANIFEST = "tool.toml"
PROGRAM = "main.py"

IGNORED_DIRECTORIES = frozenset(
    {"__pycache__", ".venv", "venv", ".git", "node_modules", ".pytest_cache", ".ruff_cache", ".mypy_cache"}
)
"""Folders below a tool's that hold nothing an author writes."""


def read_folder(folder: Path, memory: FileMemory) -> Reading:
    """What lies in a folder of tools; a folder that does not exist is empty."""
    try:
        directories = sorted(path for path in folder.iterdir() if path.is_dir() and path.name[0] not in "._")
    except FileNotFoundError:
        return Reading()
    except OSError as error:
        return Reading(
            problems=(SourceError(f"cannot be read: {error.strerror or error}", path=str(folder)),), nameless=True
        )
    readings = [_read_tool(directory, memory) for directory in directories]
    return Reading(
        tools=tuple(layer for reading in readings for layer in reading.tools),
        problems=tuple(problem for reading in readings for problem in reading.problems),
        broken=frozenset().union(*(reading.broken for reading in readings)),
        places={directory.name: directory for directory in directories},
        undefined={name: problem for reading in readings for name, problem in reading.undefined.items()},
    )


def _read_tool(directory: Path, memory: FileMemory) -> Reading:
    path = directory / MANIFEST
    reading = memory.read(path, lambda document: _interpret(document, directory))
    if reading.nameless:  # the folder's name says which tool it is
        reading = replace(reading, nameless=False, broken=frozenset({directory.name}))
    if not path.exists() and (directory / PROGRAM).exists():
        problem = SourceError(
            f"tool {directory.name!r}: {MANIFEST} is missing beside {PROGRAM}",
            path=str(path),
            hint=_hint_for_missing(directory.name),
        )
        return replace(reading, undefined={directory.name: problem})
    return reading


def _interpret(document: Document, directory: Path) -> Reading:
    name = directory.name
    try:
        facts = ToolManifest.model_validate(document.data)
    except ValidationError as error:
        problems = validation_problems(error, ToolManifest, document, (), f"tool {name!r}")
        return Reading(problems=tuple(problems), broken=frozenset({name}))
    layer = ToolLayer(name, facts, document, (), directory)
    problems = schema_problems(layer)
    if facts.id != name:
        hint = f"Rename the folder to {facts.id}." if legal_id(name) != name else _hint_for_names(name, facts.id)
        problems.append(layer.problem("id", f"its id is {facts.id!r}, and its folder is named {name!r}", hint=hint))
    if problems:
        return Reading(problems=tuple(problems), broken=frozenset({name}))
    return Reading(tools=(layer,))


def legal_id(name: str) -> str:
    """A tool's id that is as close to ``name`` as may be; ``name`` itself where it is one.

    Example:
        >>> legal_id("my tool (2)")
        'my_tool_2'
    """
    try:
        return check_name(name)
    except InvalidNameError:
        return re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_-")[:64] or "my_tool"


def _hint_for_missing(name: str) -> str:
    legal = legal_id(name)
    rename = "" if legal == name else f"Rename the folder to {legal}, since {name!r} cannot be an id. "
    return f'{rename}Write one with id = "{legal}", name, description and [input_schema].'


def _hint_for_names(name: str, said: str) -> str:
    either = f", or rename the folder to {said}" if "/" not in said else ""
    return f'Write id = "{name}"{either}.'
