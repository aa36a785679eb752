"""The pages that the program writes about itself are those it would write now."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from toolcrib.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
REMEDY = "run scripts/docs and keep what it writes"


def writer() -> ModuleType:
    """``scripts/_docs.py``."""
    spec = importlib.util.spec_from_file_location("docs_writer", ROOT / "scripts" / "_docs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", ["settings.md", "commands.md"])
def test_a_written_page_is_current(page: str) -> None:
    assert (ROOT / "docs" / page).read_text(encoding="utf-8") == writer().pages()[page], REMEDY


def test_a_written_page_depends_on_nothing_outside(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before = writer().pages()
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TOOLCRIB_PORT", "9999")
    monkeypatch.setenv("TOOLCRIB_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert writer().pages() == before


def test_every_setting_has_a_row_and_a_description() -> None:
    text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    for name, field in Settings.model_fields.items():
        assert f"| `TOOLCRIB_{name.upper()}` |" in text, REMEDY
        assert field.description
