"""Checks of what a tool's folder says, before anything runs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import SourceError
from toolcrib.validation.findings import Finding, failed, passed, warned

STRICTEST_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_HEADER = re.compile(r"(?m)^# /// script\s*$\s(?P<content>(^#(| .*)$\s)+)^# ///$")


def check_manifest(tool: ToolDefinition | None, problems: Sequence[SourceError]) -> Iterator[Finding]:
    """``tool.toml`` is right, and says enough to choose and to try the tool."""
    for problem in problems:
        yield failed("manifest", f"{problem}{f' ({problem.hint})' if problem.hint else ''}")
    if problems or tool is None:
        if not problems:
            yield failed("manifest", "the folder defines no tool: tool.toml is missing")
        return
    yield passed("manifest", f"{tool.name}: {len(tool.parameters.get('properties', {}))} parameters")
    if not STRICTEST_NAME.fullmatch(tool.name):
        yield warned("name", "some model providers take only letters, digits, _ and -, at most 64: they see an alias")
    missing = [code for code in ("zh", "en") if not _has_words(tool, code)]
    if missing:
        yield warned("languages", f"no name and description in {' and '.join(missing)}")
    if not tool.output_schema:
        yield warned("output_schema", "missing, so nobody knows what a result looks like")


def check_header(folder: Path) -> Finding:
    """``main.py`` says what it needs, in a PEP 723 header or a pyproject.toml of its own (DESIGN §11.13)."""
    check = "dependencies"
    try:
        source = (folder / "main.py").read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return failed(check, f"main.py cannot be read: {error}")
    match = _HEADER.search(source)
    if match is None:
        if (folder / "pyproject.toml").exists():
            return passed(check, "in the folder's own pyproject.toml")
        return failed(check, "main.py has no `# /// script` header, so uv would use the environment of another project")
    lines = match["content"].splitlines(keepends=True)
    content = "".join(line[2:] if line.startswith("# ") else line[1:] for line in lines)
    try:
        dependencies = tomllib.loads(content).get("dependencies", [])
    except tomllib.TOMLDecodeError as error:
        return failed(check, f"the header of main.py is not valid TOML: {error}")
    loose = [str(text) for text in dependencies if "==" not in str(text) and "@" not in str(text)]
    if loose:
        return warned(check, f"not pinned with ==, so another day brings another version: {', '.join(loose)}")
    if not dependencies:
        return passed(check, "the standard library alone")
    return passed(check, f"{len(dependencies)} package{'s' if len(dependencies) > 1 else ''}, pinned")


def _has_words(tool: ToolDefinition, code: str) -> bool:
    words = tool.translations.get(code)
    return words is not None and bool(words.title and words.description)
