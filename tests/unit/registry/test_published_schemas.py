"""The JSON Schemas that editors use (contract T015)."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from toolcrib.registry.sources.manifest import registry_schema, tool_schema, write_schemas

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", ["registry.schema.json", "tool.schema.json"])
def test_T015_the_published_schemas_are_current(name: str, tmp_path: Path) -> None:
    """Write them again with ``write_schemas(Path("docs/schemas"))``."""
    write_schemas(tmp_path)
    assert (ROOT / "docs" / "schemas" / name).read_text(encoding="utf-8") == (tmp_path / name).read_text(
        encoding="utf-8"
    )


def test_T015_the_shipped_files_fit_the_published_schemas() -> None:
    registry = json.loads((ROOT / "registry.json").read_text(encoding="utf-8"))
    jsonschema_rs.validator_for(registry_schema()).validate(registry)
    for path in (ROOT / "tools" / "local").glob("*/tool.toml"):
        jsonschema_rs.validator_for(tool_schema()).validate(tomllib.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "no id"},
        {"tool_id": "x", "timout": 1},
        {"tool_id": "x", "method": "PUT"},
        {"tool_id": "x", "auth": {"type": "bearer", "token": "sk-secret"}},
    ],
)
def test_T015_the_published_schema_refuses_what_the_source_refuses(entry: dict[str, Any]) -> None:
    validator = jsonschema_rs.validator_for(registry_schema())
    assert validator.is_valid({"version": 1, "tools": [{"tool_id": "x", "timeout": 1}]})
    assert not validator.is_valid({"version": 1, "tools": [entry]})


def test_T015_every_key_is_described() -> None:
    for schema in (registry_schema(), tool_schema()):
        for model in (schema, *schema["$defs"].values()):
            assert all(field.get("description") for field in model["properties"].values())
