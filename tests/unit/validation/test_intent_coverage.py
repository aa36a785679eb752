"""Which tools have to serve an intent, and which may (contract W027, FIRST_ACTIONS 19)."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolcrib.crib import Crib
from toolcrib.definition.tool import ToolDefinition
from toolcrib.exposure.intents import intent_tables
from toolcrib.registry.registry import ToolRegistry
from toolcrib.registry.sources.files import ToolFiles
from toolcrib.validation.chain import chain_report, examine_chain
from toolcrib.validation.subject import Subject

MANIFEST = """\
id = "near"
name = {zh = "近处", en = "Near"}
description = {zh = "很近。", en = "It is near."}
effects = "none"

[input_schema]
type = "object"
"""


def plain(**fields: object) -> ToolRegistry:
    registry = ToolRegistry()
    registry.register(ToolDefinition("plain", "Does something.", {"type": "object"}, lambda arguments: 1, **fields))  # type: ignore[arg-type]
    return registry


@pytest.fixture
async def folder(tmp_path: Path) -> Crib:
    """A crib with one tool folder that declares no intent."""
    (tmp_path / "near").mkdir()
    (tmp_path / "near" / "main.py").touch()
    (tmp_path / "near" / "tool.toml").write_text(MANIFEST, encoding="utf-8")
    crib = Crib(sources=[ToolFiles([tmp_path])])
    await crib.reload()
    return crib


def level_of(subject: Subject) -> str:
    return examine_chain(subject)[0].level


async def test_W027_a_function_and_a_folder_without_intents_are_warned_of(folder: Crib) -> None:
    for registry in (plain(), folder.registry):
        subject = Subject(registry)
        assert level_of(subject) == "warn"
        assert not [outcome for outcome in examine_chain(subject) if outcome.level == "fail"]
    assert level_of(Subject(plain(intents={"file_management": "recommended"}))) == "pass"


async def test_W027_in_s3s_block_and_beside_tables_kept_by_hand_it_is_a_failure(folder: Crib) -> None:
    block, is_right = chain_report(Subject(folder.registry))
    assert not is_right
    assert "❌ [1/7]" in block
    assert level_of(Subject(plain(), tables=intent_tables([]))) == "fail"


def test_a_wrong_intent_stays_a_failure() -> None:
    outcomes = examine_chain(Subject(plain(intents={"no_such_intent": "recommended"})))
    assert "aligned_keys" in [outcome.check for outcome in outcomes if outcome.level == "fail"]
