"""``toolcrib new`` makes a folder that is right at once (contract T034, T036)."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from toolcrib.errors import DefinitionError, InvalidNameError
from toolcrib.interfaces.cli.app import cli
from toolcrib.interfaces.cli.crib_check import check_crib
from toolcrib.interfaces.cli.new import scaffold
from toolcrib.registry.sources.folder import read_folder
from toolcrib.registry.sources.layers import FileMemory
from toolcrib.settings import Settings
from toolcrib.validation.manifest import check_header

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("fastapi", [False, True])
def test_T036_the_folder_holds_what_a_tool_needs(tmp_path: Path, fastapi: bool) -> None:
    folder = scaffold("word_counter", tmp_path, name_zh="字数统计", name_en="Word counter", fastapi=fastapi)
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    expected = {"main.py", "tool.toml", "README.md", ".gitignore", "pytest.ini", "tests/test_word_counter.py"}
    assert names == expected | (set() if fastapi else {"tool_server.py"})
    assert "/tests/last_run.log" in (folder / ".gitignore").read_text().splitlines()
    for source in folder.rglob("*.py"):
        compile(source.read_text("utf-8"), str(source), "exec")
    assert check_header(folder).level == "pass"


def test_the_sdk_is_copied_unchanged(tmp_path: Path) -> None:
    folder = scaffold("a", tmp_path, name_zh="甲", name_en="A")
    assert (folder / "tool_server.py").read_bytes() == (ROOT / "src/toolcrib/tool_server.py").read_bytes()


@pytest.mark.parametrize("name", ["Word counter", 'a "quoted" \\ name', "字数\t统计", "\x7f", "'''"])
def test_any_name_is_valid_in_the_manifest(tmp_path: Path, name: str) -> None:
    folder = scaffold("a", tmp_path, name_zh=name, name_en=name)
    assert tomllib.loads((folder / "tool.toml").read_text("utf-8"))["name"] == {"zh": name, "en": name}


def test_T036_the_manifest_is_right(tmp_path: Path) -> None:
    scaffold("word_counter", tmp_path, name_zh="字数统计", name_en="Word counter")
    reading = read_folder(tmp_path, FileMemory())
    assert reading.problems == ()
    assert [layer.tool_id for layer in reading.tools] == ["word_counter"]


@pytest.mark.parametrize(
    "tool_id", ["", "1st", "_private", ".hidden", "a/b", "../up", "a b", "字数", "-x", "a" * 65, "a.py"]
)
def test_a_bad_id_is_refused_and_nothing_is_made(tmp_path: Path, tool_id: str) -> None:
    with pytest.raises(InvalidNameError) as caught:
        scaffold(tool_id, tmp_path, name_zh="甲", name_en="A")
    assert caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(DefinitionError, match="exists already"):
        scaffold("mine", tmp_path, name_zh="甲", name_en="A")
    assert list((tmp_path / "mine").iterdir()) == []


def test_the_command_says_what_to_do_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    result = runner.invoke(cli, ["new", "word_counter"])
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "Made tools/local/word_counter",
        "Next:",
        "  toolcrib check tools/local/word_counter",
        "  toolcrib call word_counter text=hello",
        "  uvx pytest tools/local/word_counter/tests",
    ]
    again = runner.invoke(cli, ["new", "word_counter"])
    assert again.exit_code == 1
    assert again.stderr.splitlines()[0] == "Error: tools/local/word_counter exists already"


def test_a_folder_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DefinitionError, match=r"cannot be written|exists already"):
        scaffold("a", tmp_path / "file", name_zh="甲", name_en="A")


@pytest.mark.parametrize(
    ("name_zh", "name_en"), [("我的工具", "My tool"), ("甲", "A"), ("“引”", 'The "quoted" one'), ("X", "X")]
)
@pytest.mark.parametrize("fastapi", [False, True])
def test_W027_a_new_tool_passes_every_check_of_the_crib_without_a_warning(
    tmp_path: Path, name_zh: str, name_en: str, fastapi: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    scaffold("my_tool", tmp_path / "tools" / "local", name_zh=name_zh, name_en=name_en, fastapi=fastapi)
    assert check_crib(Settings(project=tmp_path, home=tmp_path / "home", watch=False), as_json=True)
    report = json.loads(capsys.readouterr().out)
    findings = [finding for check in report["checks"] for finding in check["findings"] if finding["tool"] == "my_tool"]
    assert [finding for finding in findings if finding["severity"] != "note"] == []
    manifest = tomllib.loads((tmp_path / "tools/local/my_tool/tool.toml").read_text("utf-8"))
    assert name_zh in manifest["examples"][0]
    assert name_en in manifest["examples"][1]


def test_the_folder_has_pytest_settings_of_its_own(tmp_path: Path) -> None:
    folder = scaffold("a", tmp_path, name_zh="甲", name_en="A")
    shipped = ROOT / "tools" / "local" / "image_stitcher" / "pytest.ini"
    assert (folder / "pytest.ini").read_bytes() == shipped.read_bytes()


@pytest.mark.parametrize("tool_id", ["launch_comfy_env", "qr_code"])
def test_an_id_that_is_taken_is_refused_with_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool_id: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLCRIB_HOME", str(tmp_path / "home"))
    result = CliRunner().invoke(cli, ["new", tool_id])
    assert result.exit_code == 1
    error, hint = result.stderr.splitlines()
    assert f"tool {tool_id!r} already, in " in error
    assert "registry.json:" in error or "tool.toml" in error
    assert "nothing was made" in hint
    assert not (tmp_path / "tools").exists()


def test_commands_to_copy_are_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLCRIB_HOME", str(tmp_path / "home"))
    result = CliRunner().invoke(cli, ["new", "mine", "--directory", "a b"])
    assert "  toolcrib check 'a b/mine'" in result.stdout.splitlines()
    assert "  uvx pytest 'a b/mine/tests'" in result.stdout.splitlines()
