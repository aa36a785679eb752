"""A project folder whose files of tools the tests write, break and mend."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from toolcrib.definition.ports import Listing
from toolcrib.definition.tool import ToolDefinition
from toolcrib.registry.sources.files import ToolFiles

SLACK = float(os.environ.get("TOOLCRIB_TEST_SLACK", "2"))

TOOL = """\
id = "{name}"
name = "The {name}"
description = "Does what a {name} does."

[input_schema]
type = "object"

[input_schema.properties.text]
type = "string"
"""


class Project:
    """A folder with ``tools/local`` and ``registry.json``, and the source that reads it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / "tools" / "local"
        self.registry = root / "registry.json"
        self.source = ToolFiles([self.folder], [self.registry])

    def write_tool(self, name: str, manifest: str | None = None) -> Path:
        """Write a tool's folder and return the path of its manifest."""
        directory = self.folder / name
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "main.py").write_text("print('a tool')\n")
        path = directory / "tool.toml"
        path.write_text(TOOL.format(name=name) if manifest is None else manifest, encoding="utf-8")
        return path

    def write_registry(self, *tools: dict[str, Any], groups: list[dict[str, Any]] | None = None) -> None:
        """Write ``registry.json`` with these entries, one key a line."""
        document = {"version": 1, "groups": groups or [], "tools": list(tools)}
        self.registry.write_text(json.dumps(document, ensure_ascii=False, indent=2), encoding="utf-8")

    def load(self) -> Listing:
        """What the source lists now."""
        return self.source.load()

    def tools(self) -> dict[str, ToolDefinition]:
        """The tools it lists now, which must be without problems."""
        listing = self.load()
        assert listing.problems == ()
        return {tool.name: tool for tool in listing.tools}


def remote(tool_id: str, **fields: Any) -> dict[str, Any]:
    """A complete entry of a remote tool."""
    return {
        "tool_id": tool_id,
        "name": f"The {tool_id}",
        "description": "Far away.",
        "backend_runtime": "remote",
        "url": "https://api.example.com/v1",
        "input_schema": {"type": "object"},
        **fields,
    }


def group(group_id: str, *tool_ids: str, **fields: Any) -> dict[str, Any]:
    """An entry of a group of remote tools."""
    return {
        "group_id": group_id,
        "name": {"zh": "一组", "en": "A group"},
        "description": "They belong together.",
        "backend_runtime": "remote",
        "tool_ids": list(tool_ids),
        **fields,
    }
