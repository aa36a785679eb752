"""OpenAPI documents that the tests write, and what becomes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from toolcrib.definition.ports import Listing
from toolcrib.definition.tool import ToolDefinition
from toolcrib.registry.sources.openapi.source import OpenApiDocument

DATA = Path(__file__).parents[2] / "data" / "openapi"
BASE = "https://api.example.com"


class Api:
    """A document in a file that the tests write, break and mend."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.options: dict[str, Any] = {"base_url": BASE}
        self._source: OpenApiDocument | None = None

    def write(self, paths: Any = None, *, version: str = "3.1.0", **others: Any) -> None:
        """Write a document, one key a line."""
        document = {"openapi": version, "info": {"title": "t", "version": "1"}, "paths": paths or {}, **others}
        self.path.write_text(json.dumps(document, indent=1), encoding="utf-8")

    @property
    def source(self) -> OpenApiDocument:
        """The source that reads it, made when first asked for."""
        if self._source is None:
            self._source = OpenApiDocument(self.path, **self.options)
        return self._source

    def load(self) -> Listing:
        """What the document lists now."""
        return self.source.load()

    def tools(self) -> dict[str, ToolDefinition]:
        """The tools it lists now, which must be without problems."""
        listing = self.load()
        assert [str(problem) for problem in listing.problems] == []
        return {tool.name: tool for tool in listing.tools}

    def only(self) -> ToolDefinition:
        """The one tool it lists."""
        (tool,) = self.tools().values()
        return tool

    def problems(self) -> list[str]:
        """The problems, without the path of the file."""
        return [str(problem).removeprefix(f"{self.path}:") for problem in self.load().problems]


def operation(**fields: Any) -> dict[str, Any]:
    """An operation with a body of these fields, or whatever else it has."""
    return {"responses": {"200": {"description": "ok"}}, **fields}


def body_of(schema: Any, media_type: str = "application/json", **fields: Any) -> dict[str, Any]:
    """A required requestBody."""
    return {"required": True, "content": {media_type: {"schema": schema, **fields}}}


def example(name: str, **options: Any) -> dict[str, ToolDefinition]:
    """The tools of one of the two documents beside the tests."""
    listing = OpenApiDocument(DATA / f"{name}.json", **options).load()
    assert listing.problems == ()
    return {tool.name: tool for tool in listing.tools}


def wire(tool: ToolDefinition) -> dict[str, Any]:
    """What the tool's deployment says of its operation."""
    assert tool.deployment is not None
    found: dict[str, Any] = tool.deployment.options["openapi"]
    return found


def url(tool: ToolDefinition) -> str | None:
    """Where its API answers."""
    assert tool.deployment is not None
    return tool.deployment.url
