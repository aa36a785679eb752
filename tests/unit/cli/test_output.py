"""What the commands print where nobody looks at a terminal, and how they report errors."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import click
import pytest
from click.testing import CliRunner

from toolcrib import __version__
from toolcrib.errors import SettingsError, ToolcribError
from toolcrib.interfaces.cli import output
from toolcrib.interfaces.cli.app import CommandLine, cli

COMMANDS = ("serve", "prepare", "tools", "call", "start", "stop", "logs", "new", "check", "lint", "intents", "doctor")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(command: str) -> None:
    for option in ("--help", "-h"):
        result = CliRunner().invoke(cli, [command, option])
        assert result.exit_code == 0
        assert "Example" in result.stdout
        assert f"toolcrib {command}" in result.stdout


def test_the_commands_are_these() -> None:
    assert set(cli.commands) == set(COMMANDS)


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["--nonsense"],
        ["tools", "--lang", "fr"],
        ["tools", "extra"],
        ["call"],
        ["call", "x", "--timeout", "0"],
        ["call", "x", "--timeout", "soon"],
        ["start"],
        ["stop"],
        ["logs"],
        ["logs", "x", "-n", "0"],
        ["new"],
        ["new", "1st"],
        ["check", "/nonexistent"],
        ["serve", "--port", "0"],
        ["serve", "--port", "65536"],
        ["serve", "--project", "/nonexistent"],
        ["doctor", "extra"],
        ["prepare", "--nonsense"],
    ],
)
def test_wrong_usage_is_one_error_line_a_hint_and_exit_status_2(arguments: list[str]) -> None:
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    error, hint = result.stderr.splitlines()
    assert error.startswith("Error: ")
    assert hint.startswith("Hint: ")


def test_no_command_shows_the_help() -> None:
    result = CliRunner().invoke(cli, [])
    assert result.exit_code == 2
    assert "toolcrib serve" in result.output


def test_the_version() -> None:
    result = CliRunner().invoke(cli, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"toolcrib {__version__}\n")


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ToolcribError("it broke", hint="mend it"), 1),
        (SettingsError("it broke", hint="mend it"), 2),
        (click.UsageError("it broke"), 2),
        (ModuleNotFoundError("No module named 'fastapi'", name="fastapi"), 2),
        (click.Abort(), 130),
        (KeyboardInterrupt(), 130),
    ],
)
def test_an_error_becomes_a_line_and_an_exit_status(error: BaseException, status: int) -> None:
    group = CommandLine()

    @group.command()
    def fail() -> None:
        """Fails."""
        raise error

    result = CliRunner().invoke(group, ["fail"])
    assert result.exit_code == status
    assert "Traceback" not in result.output


def test_a_missing_package_names_the_extra() -> None:
    group = CommandLine()

    @group.command()
    def fail() -> None:
        """Fails."""
        raise ModuleNotFoundError("No module named 'fastapi'", name="fastapi")

    assert "toolcrib[serve]" in CliRunner().invoke(group, ["fail"]).stderr


def test_without_click_the_program_says_which_extra_to_install() -> None:
    code = "import sys; sys.modules['click'] = None\nfrom toolcrib.interfaces.cli import main\nmain()"
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert finished.returncode == 2
    assert 'pip install "toolcrib[serve]"' in finished.stderr
    assert "Traceback" not in finished.stderr


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nsys.argv = ['toolcrib', '--help']\nfrom toolcrib.interfaces.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\nprint('modules', *sorted(sys.modules))"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(finished.stdout.rpartition("modules ")[2].split())
    heavy = {
        "fastapi",
        "starlette",
        "uvicorn",
        "httpx2",
        "pydantic",
        "psutil",
        "rich",
        "asyncio",
        "jsonschema_rs",
        "watchfiles",
    }
    assert loaded & heavy == set()


def test_a_table_is_aligned_also_in_chinese(capsys: pytest.CaptureFixture[str]) -> None:
    output.print_table(("id", "title", "port"), [["a", "图片拼接", ""], ["long_id", "QR", "8002"]])
    assert capsys.readouterr().out.splitlines() == [
        "id       title     port",
        "a        图片拼接",
        "long_id  QR        8002",
    ]


def test_progress_is_told_once_and_only_when_it_takes_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = threading.Event()
    times = 0

    def describe() -> str:
        nonlocal times
        times += 1
        if times == 3:
            asked.set()
        if times == 2:
            raise OSError("nobody there")
        return "starting"

    with output.progress(describe):
        pass
    assert times == 0
    monkeypatch.setattr(output, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(output, "LOOK_SECONDS", 0.01)
    with output.progress(describe):
        assert asked.wait(10)
    assert capsys.readouterr().err == "starting\n"


def test_SIGTERM_ends_the_work_and_lets_it_clean_up() -> None:
    import asyncio

    ended = []

    async def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(60)
        finally:
            ended.append("cleaned")

    with pytest.raises(click.Abort):
        output.run(work())
    assert ended == ["cleaned"]
