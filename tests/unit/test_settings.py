"""Settings from the environment: what they may be, and what is said of those that cannot be used (contract T012)."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from toolcrib.errors import SettingsError
from toolcrib.interfaces.cli.app import cli
from toolcrib.settings import OPTIONS, Settings, load_settings, unknown_variables

LISTS = [name for name, field in Settings.model_fields.items() if isinstance(field.get_default(), tuple)]


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("one", ("one",)),
        ("one,two", ("one", "two")),
        (" one , two ,", ("one", "two")),
        ('["one", "two"]', ("one", "two")),
        ("[]", ()),
    ],
)
def test_a_list_is_json_or_names_with_commas(
    name: str, text: str, expected: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"TOOLCRIB_{name.upper()}", text)
    assert getattr(load_settings(), name) == expected


WRONG = {
    "PORT": ["eighty", "0", "70000", ""],
    "TIMEOUT": ["soon", "0", "-1"],
    "AUTO_START": ["perhaps"],
    "OUTPUT_VALIDATION": ["sometimes"],
    "MODULES": ['["unclosed', "[1]", "my_tools.py"],
    "OPENAPI": ["[1, 2]", "[oops"],
    "LAST_TOOL_PORT": ["1"],
    "HOME": ["", "~no_such_user_here/x"],
    "PROJECT": ["/no/such/folder", ""],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in WRONG.items() for text in texts])
def test_a_wrong_value_is_one_error_that_names_its_variable(
    name: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"TOOLCRIB_{name}", text)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert name.lower() in str(caught.value)
    assert caught.value.hint == f"Correct the environment variable TOOLCRIB_{name}."


@pytest.mark.parametrize(
    "arguments",
    [
        ["tools"],
        ["call", "qr_code"],
        ["check"],
        ["check", "."],
        ["doctor"],
        ["lint", "qr_code"],
        ["prepare"],
        ["serve"],
        ["start", "qr_code"],
        ["stop", "qr_code"],
        ["logs", "qr_code"],
    ],
)
@pytest.mark.parametrize(("name", "text"), [("PORT", "eighty"), ("MODULES", "[oops"), ("PROJECT", "/no/such/folder")])
def test_every_command_says_it_in_one_line_and_a_hint(
    arguments: list[str], name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOLCRIB_HOME", str(tmp_path))
    monkeypatch.setenv(f"TOOLCRIB_{name}", text)
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 2
    error, hint = result.stderr.splitlines()
    assert error.startswith(f"Error: The setting {name.lower()} cannot be used: ")
    assert hint == f"Hint: Correct the environment variable TOOLCRIB_{name}."


def test_an_option_that_is_wrong_is_named_as_the_option() -> None:
    with pytest.raises(SettingsError, match="write my_tools") as caught:
        load_settings(modules=("my_tools.py",))
    assert caught.value.hint == "Correct --module."
    with pytest.raises(SettingsError) as caught:
        load_settings(watch="perhaps")  # there is no such option
    assert caught.value.hint == "Correct the environment variable TOOLCRIB_WATCH."


def test_every_option_that_a_hint_may_name_exists() -> None:
    there = {option for parameter in cli.commands["serve"].params for option in parameter.opts}
    assert set(OPTIONS.values()) <= there


def test_a_tilde_is_the_users_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TOOLCRIB_HOME", "~/x")
    monkeypatch.setenv("TOOLCRIB_PROJECT", "~/x")
    settings = load_settings()
    assert settings.home == settings.project == tmp_path / "x"


def test_a_variable_that_is_no_setting_is_told_with_the_one_meant() -> None:
    right = [f"TOOLCRIB_{name.upper()}" for name in Settings.model_fields]
    others = ["TOOLCRIB_TEST_SLACK", "TOOLCRIB_PYTHON", "HOME", "PATH"]
    wrong = ["TOOLCRIB_MODULE", "TOOLCRIB_ZZZZZZZ"]
    assert dict(unknown_variables(dict.fromkeys([*right, *others, *wrong], ""))) == {
        "TOOLCRIB_MODULE": "TOOLCRIB_MODULES",
        "TOOLCRIB_ZZZZZZZ": None,
    }


def test_doctor_and_serve_warn_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLCRIB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TOOLCRIB_MODULE", "my_tools")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setenv("TOOLCRIB_PORT", str(listener.getsockname()[1]))
        told = CliRunner().invoke(cli, ["doctor"]).stdout
        served = CliRunner().invoke(cli, ["serve"])
    assert "TOOLCRIB_MODULE is no setting and is ignored (did you mean TOOLCRIB_MODULES?)" in told
    assert "TOOLCRIB_MODULE is no setting" in served.stderr
    assert served.exit_code == 1  # the port is taken
