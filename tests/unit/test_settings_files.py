"""Settings in a file, with environment variables in their texts (contract M10)."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolcrib.errors import SettingsError
from toolcrib.settings import load_settings


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home and a project of their own, and no other settings."""
    for folder in ("home", "project"):
        (tmp_path / folder).mkdir()
    monkeypatch.setenv("TOOLCRIB_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TOOLCRIB_PORT", raising=False)
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "home"


def test_M10_options_go_before_variables_and_these_before_the_projects_file_and_that_before_the_homes(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_settings().port == 8001
    (home / "toolcrib.toml").write_text("port = 9001\ntimeout = 30\n")
    assert load_settings().port == 9001
    Path("toolcrib.toml").write_text("port = 9002\n")
    assert (load_settings().port, load_settings().timeout) == (9002, 30)
    monkeypatch.setenv("TOOLCRIB_PORT", "9003")
    assert load_settings().port == 9003
    assert load_settings(port=9004).port == 9004


def test_M10_a_project_named_by_an_option_brings_its_file(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "toolcrib.toml").write_text('modules = ["tools_of_ours"]\n')
    assert load_settings().modules == ()
    assert load_settings(project=other).modules == ("tools_of_ours",)


def test_M10_texts_name_environment_variables(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_API", "http://127.0.0.1:9/api.json")
    monkeypatch.setenv("EMPTY", "")
    Path("toolcrib.toml").write_text('openapi = ["${OUR_API}", "${NOBODY_SET:-spare.json}", "a${EMPTY}b$$"]\n')
    assert load_settings().openapi == ("http://127.0.0.1:9/api.json", "spare.json", "ab$$")


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("port = ", "toolcrib.toml", "Correct the file"),
        ("prot = 9001", "no setting 'prot'", "Did you mean port?"),
        ('project = "."', "no setting 'project'", "lists them"),
        ('host = "${NOBODY_SET}"', "NOBODY_SET, which is not set", "${NOBODY_SET:-otherwise}"),
        ("port = 70000", "port cannot be used", "toolcrib.toml"),
        ('auto_start = "perhaps"', "auto_start cannot be used", "toolcrib.toml"),
    ],
)
def test_M10_what_is_wrong_in_a_file_is_said_with_the_file(home: Path, text: str, said: str, hint: str) -> None:
    Path("toolcrib.toml").write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert said in str(caught.value)
    assert hint in str(caught.value.hint)
