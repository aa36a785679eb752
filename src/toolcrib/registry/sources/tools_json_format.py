"""What may stand in ``tools.json``, and its published JSON Schema (contract W007-W012)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from toolcrib.definition.tool import Risk
from toolcrib.registry.sources.document import Document
from toolcrib.registry.sources.manifest import Seconds, Strict, Text
from toolcrib.registry.sources.positions import Location


class Display(Strict):
    """How a tool is shown."""

    name: str = Field("", description="A name for people; default as in the class.")
    emoji: str = Field("", description="Default as in the class.")
    description: str = Field("", description="What it is, for people.")
    category: str = Field("", description="One of categories, where those are listed.")


class Security(Strict):
    """How much care a tool needs."""

    risk_level: Risk = Field("low", description="low, medium or high; the higher of this and the class's counts.")
    require_confirmation: bool = Field(False, description="Whether a person is asked before each call of a model.")


class Dependencies(Strict):
    """How a tool goes together with others."""

    input_sources: list[str] = Field([], description="Tools whose results it works on.")
    output_for: list[str] = Field([], description="Tools that work on its results.")
    standalone: bool = Field(True, description="Whether it is of use alone.")


class ToolsJsonEntry(Strict):
    """One tool: where its class is, and what differs from what the class says."""

    enabled: bool = Field(True, description="false leaves the tool out.")
    module: Text = Field(description="The module that holds the class; one of those that may be imported.")
    class_: Text = Field(alias="class", description="A subclass of BaseTool.")
    display: Display = Field(Display.model_validate({}), description="How it is shown.")
    config: dict[str, Any] = Field({}, description="Arguments of the constructor, or values of the class's Config.")
    security: Security = Field(Security.model_validate({}), description="How much care it needs.")
    actions: list[str] | None = Field(None, description="The actions it has; only these are offered.")
    dependencies: Dependencies = Field(Dependencies.model_validate({}), description="How it goes together with others.")
    system_prompt: str = Field("", description="What the model is told while the tool is offered.")
    deprecated: bool | str = Field(False, description="Whether, or why, it should not be used any more.")


class GlobalSettings(BaseModel):
    """What holds for all tools of the file."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)

    max_concurrent_tools: int = Field(3, ge=1, description="Calls at once.")
    default_timeout: Seconds | None = Field(
        None, description="Seconds an action may take where its class says nothing."
    )
    audit_all_calls: bool = Field(True, description="Whether every call is recorded.")
    confirmation_for_high_risk: bool = Field(True, description="Whether a person is asked before calls of high risk.")


class ToolsFile(BaseModel):
    """``tools.json``: tools by name, at the top or under ``tools``."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    __pydantic_extra__: dict[str, ToolsJsonEntry]

    schema_: str = Field("", alias="$schema", description="Where an editor finds this schema.")
    version: str | int | float = Field("", description="As its author counts.")
    categories: dict[str, Any] | list[str] = Field({}, description="The categories there are, by name.")
    global_settings: GlobalSettings = Field(GlobalSettings.model_validate({}), description="What holds for all tools.")
    tools: dict[str, ToolsJsonEntry] = Field({}, description="Tools by name.")


HEAD = frozenset(field.alias or name for name, field in ToolsFile.model_fields.items())
"""Keys of the file that are no tools."""


def entries(document: Document) -> Iterator[tuple[str, Location, Any]]:
    """The tools of a file: name, place and what stands there; keys that begin with ``_`` are remarks."""
    for name, value in document.data.items():
        if name.startswith("_"):
            continue
        if name == "tools" and isinstance(value, dict) and "module" not in value:
            yield from ((inner, ("tools", inner), each) for inner, each in value.items())
        elif name not in HEAD or name == "tools":
            yield name, (name,), value


def tools_schema() -> dict[str, Any]:
    """The JSON Schema of ``tools.json``."""
    schema = ToolsFile.model_json_schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **_without_empty_defaults(schema),
        "patternProperties": {"^_": {"description": "A remark."}},
        "title": "tools.json of toolcrib",
    }


def write_tools_schema(directory: Path) -> Path:
    """Write the schema, as editors use it, into ``directory``."""
    path = directory / "tools.schema.json"
    path.write_text(json.dumps(tools_schema(), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return path


def _without_empty_defaults(value: Any) -> Any:
    """An empty default stands for "not said" and would mislead whoever reads the schema."""
    if isinstance(value, list):
        return [_without_empty_defaults(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without_empty_defaults(item)
        for key, item in value.items()
        if not (key == "default" and (item is None or item == "" or isinstance(item, dict | list)))
    }
