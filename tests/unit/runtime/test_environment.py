"""Environments: prepared once by uv, then used without it."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from tests.unit.runtime.workshop import HEADER, write_main
from toolcrib.errors import DependencyMissingError, StartFailedError
from toolcrib.runtime.environment import Environments, find_uv, read_requirements

PROJECT = '[project]\nname = "x"\nversion = "0"\nrequires-python = ">=3.11"\ndependencies = []\n'


@pytest.fixture
def environments(tmp_path: Path) -> Environments:
    """No environment yet."""
    return Environments(tmp_path / "environments")


def fake_uv(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a program called uv beside the Python that runs."""
    folder.mkdir(parents=True)
    program = folder / "uv"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (folder / "python").symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))


async def test_T018_an_environment_is_prepared_once_and_then_needs_no_uv(
    tmp_path: Path, environments: Environments, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = write_main(tmp_path / "x")
    lines: list[str] = []
    monkeypatch.setenv("VIRTUAL_ENV", "/nowhere")
    interpreter = await environments.prepare("x", directory, lines.append)
    assert os.access(interpreter, os.X_OK)
    assert lines[0] == "preparing the environment"
    assert sorted(path.name for path in directory.iterdir()) == ["main.py"], "nothing is written into the folder"
    fake_uv(tmp_path / "bin", "exit 1", monkeypatch)
    lines.clear()
    assert await environments.prepare("x", directory, lines.append) == interpreter
    assert await Environments(tmp_path / "environments").prepare("x", directory, lines.append) == interpreter
    assert lines == []


async def test_T018_a_changed_header_is_prepared_again_a_changed_program_is_not(
    tmp_path: Path, environments: Environments
) -> None:
    directory = write_main(tmp_path / "x")
    lines: list[str] = []
    await environments.prepare("x", directory, lines.append)
    with (directory / "main.py").open("a") as file:
        file.write("# another line\n")
    lines.clear()
    await environments.prepare("x", directory, lines.append)
    assert lines == []
    write_main(directory, header=HEADER.replace(">=3.11", ">=3.11,<4"))
    await environments.prepare("x", directory, lines.append)
    assert lines


async def test_T018_an_environment_that_was_removed_is_prepared_again(
    tmp_path: Path, environments: Environments
) -> None:
    directory = write_main(tmp_path / "x")
    interpreter = await environments.prepare("x", directory, lambda line: None)
    interpreter.unlink()
    assert os.access(await environments.prepare("x", directory, lambda line: None), os.X_OK)
    memory = tmp_path / "environments" / "x.json"
    memory.write_text("{broken")
    assert os.access(await environments.prepare("x", directory, lambda line: None), os.X_OK)
    assert json.loads(memory.read_text())["interpreter"]


async def test_T018_a_project_of_its_own_gets_an_environment_outside_its_folder(
    tmp_path: Path, environments: Environments
) -> None:
    directory = write_main(tmp_path / "x", header="")
    (directory / "pyproject.toml").write_text(PROJECT)
    interpreter = await environments.prepare("x", directory, lambda line: None)
    assert interpreter.is_relative_to(tmp_path / "environments")
    assert os.access(interpreter, os.X_OK)
    assert sorted(path.name for path in directory.iterdir()) == ["main.py", "pyproject.toml"]


async def test_T018_a_projects_lock_file_is_used_as_it_is(tmp_path: Path, environments: Environments) -> None:
    directory = write_main(tmp_path / "x", header="")
    (directory / "pyproject.toml").write_text(PROJECT)
    lock = 'version = 1\nrevision = 3\nrequires-python = ">=3.11"\n\n[[package]]\nname = "x"\nversion = "0"\n'
    lock += 'source = { virtual = "." }\n'
    (directory / "uv.lock").write_text(lock)
    interpreter = await environments.prepare("x", directory, lambda line: None)
    assert os.access(interpreter, os.X_OK)
    assert (directory / "uv.lock").read_text() == lock
    assert sorted(path.name for path in directory.iterdir()) == ["main.py", "pyproject.toml", "uv.lock"]


async def test_T018_a_folder_that_does_not_say_what_it_needs_is_refused(
    tmp_path: Path, environments: Environments
) -> None:
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    directory = write_main(tmp_path / "x", header="# a comment\n")
    with pytest.raises(StartFailedError, match="does not say what it needs") as caught:
        await environments.prepare("x", directory, lambda line: None)
    assert str(caught.value).startswith("Tool 'x' is not running or has no active endpoint: ")
    assert "PEP 723" in (caught.value.hint or "")
    with pytest.raises(StartFailedError, match="cannot be read"):
        read_requirements("y", tmp_path / "y")


async def test_T018_what_uv_said_is_in_the_error(
    tmp_path: Path, environments: Environments, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = tmp_path / "calls"
    fake_uv(tmp_path / "bin", f'echo "$@" >> {record}; echo "no network here" >&2; exit 2', monkeypatch)
    monkeypatch.setenv("CRIB_CANARY", "secret")
    with pytest.raises(StartFailedError, match="no network here") as caught:
        await environments.prepare("x", write_main(tmp_path / "x"), lambda line: None)
    assert "uv sync" in str(caught.value)
    assert "network" in (caught.value.hint or "")
    first, second = record.read_text().splitlines()
    assert first == f"sync --script {tmp_path}/x/main.py --no-progress --color never --offline"
    assert second == first.removesuffix(" --offline")


async def test_T018_uv_and_what_it_builds_see_no_secrets(
    tmp_path: Path, environments: Environments, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    fake_uv(tmp_path / "bin", f"env > {seen}; exit 2", monkeypatch)
    for name in ("CRIB_CANARY", "VIRTUAL_ENV", "PYTHONPATH", "UV_PROJECT_ENVIRONMENT"):
        monkeypatch.setenv(name, "canary")
    with pytest.raises(StartFailedError):
        await environments.prepare("x", write_main(tmp_path / "x"), lambda line: None)
    assert "canary" not in seen.read_text()
    assert "UV_CACHE_DIR" in seen.read_text()


async def test_T018_preparing_has_a_time_of_its_own(
    tmp_path: Path, environments: Environments, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_uv(tmp_path / "bin", "exec sleep 300", monkeypatch)
    monkeypatch.setattr("toolcrib.runtime.environment.PREPARE_SECONDS", 0.2)
    with pytest.raises(StartFailedError, match=r"not ready within 0\.2 s"):
        await environments.prepare("x", write_main(tmp_path / "x"), lambda line: None)


def test_T018_without_uv_the_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DependencyMissingError, match="uv") as caught:
        find_uv("x")
    assert "toolcrib[serve]" in (caught.value.hint or "")
