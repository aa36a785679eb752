"""``toolcrib new`` and ``toolcrib check`` from end to end (contract T025)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.service import SLACK, Service, running_service
from tests.journeys.shell import Shell, processes_below, wait_until

pytestmark = pytest.mark.journey


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A running service whose home and project are those of ``shell``."""
    (tmp_path / "project").mkdir()
    with running_service(tmp_path) as running:
        yield running


@pytest.mark.parametrize("fastapi", [False, True])
def test_T025_a_new_tool_passes_its_check_and_its_own_tests(shell: Shell, fastapi: bool) -> None:
    folder = shell.scaffold(fastapi=fastapi)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    report = json.loads(shell.ok("check", str(folder), "--json"))
    (tool,) = report["tools"]
    assert report["ok"]
    assert [finding for finding in tool["findings"] if finding["level"] != "pass"] == []
    for path, content in before.items():
        assert path.read_bytes() == content
    assert processes_below(folder) == []
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio", "tests"],
        cwd=folder,
        env={**os.environ, "PATH": programs},
        capture_output=True,
        text=True,
        timeout=120 * SLACK,
        check=False,
    )
    assert tests.returncode == 0, tests.stdout + tests.stderr


SICKNESSES = {
    "health": ('"/health"', '"/healthy"', "did not become healthy"),
    "bad input is a fault of the tool": ("raise ToolFailure(", "raise ValueError(", "500"),
    "wrong answer": ('return {"text": " ".join([text] * times)}', 'return {"text": 5}', "output_schema"),
    "ends at a call": ("text = params.get", "__import__('os')._exit(3); text = params.get", "example"),
    "accepts anything": ("if not isinstance(text, str):", "if False:", "missing parameters"),
    "does not end when asked": (
        "signal.signal(signal_number, _interrupt_once)",
        "signal.signal(signal_number, 1)",
        "killed",
    ),
    "no header": ("# /// script", "# a comment", "dependencies"),
}


@pytest.mark.parametrize("sickness", SICKNESSES)
def test_T025_a_sick_tool_fails_its_check(shell: Shell, sickness: str) -> None:
    folder = shell.scaffold("sick")
    old, new, said = SICKNESSES[sickness]
    for name in ("main.py", "tool_server.py"):
        source = folder / name
        source.write_text(source.read_text().replace(old, new))
    manifest = folder / "tool.toml"
    manifest.write_text(manifest.read_text() + "\n", encoding="utf-8")
    if sickness == "health":
        manifest.write_text("start_timeout = 1\n" + manifest.read_text())
    failed = shell("check", str(folder), TOOLCRIB_STOP_GRACE="1")
    assert failed.returncode == 1, failed.stdout
    assert any(line.startswith("❌") and said in line for line in failed.stdout.splitlines()), failed.stdout
    assert "Traceback" not in failed.stderr
    assert processes_below(folder) == []


def test_what_is_odd_but_works_is_a_warning(shell: Shell) -> None:
    folder = shell.scaffold("odd")
    main, manifest = folder / "main.py", folder / "tool.toml"
    main.write_text(main.read_text().replace("def run(", 'open("junk", "w").close()\n\n\ndef run('))
    manifest.write_text("".join(line for line in manifest.read_text().splitlines(True) if "examples = [{" not in line))
    lines = shell.ok("check", str(folder)).splitlines()
    assert [line for line in lines if line.startswith("❌")] == []
    assert any(line.startswith("⚠️ example:") for line in lines)
    assert any(line.startswith("⚠️ folder:") and "junk" in line for line in lines)


def test_a_manifest_that_is_wrong_fails_with_its_line(shell: Shell) -> None:
    folder = shell.scaffold()
    manifest = folder / "tool.toml"
    manifest.write_text(manifest.read_text().replace('effects = "none"', 'effects = "all of them"'))
    failed = shell("check", str(folder))
    assert failed.returncode == 1
    assert f"❌ manifest: {manifest}:" in failed.stdout


def test_check_all_starts_every_local_tool_and_check_alone_looks_at_the_crib(shell: Shell) -> None:
    shell.scaffold()
    report = json.loads(shell.ok("check", "--all", "--json"))
    assert {"repeat", "image_stitcher", "qr_code"} <= {tool["tool_id"] for tool in report["tools"]}
    assert report["ok"]
    crib = json.loads(shell.ok("check", "--json"))
    assert (crib["ok"], crib["warnings"], crib["failures"]) == (True, 0, 0)


def test_the_first_steps_of_the_help_work_one_after_the_other(shell: Shell) -> None:
    steps = [line.strip() for line in shell.ok("--help").splitlines() if line.strip().startswith("toolcrib new")]
    (step,) = steps
    commands, _, _ = step.partition("   ")
    for command in commands.split("&&"):
        shell.ok(*command.split()[1:])
    said = shell.ok("check")
    assert "0 warned, 0 failed" in said


def test_T028_a_check_leaves_the_log_of_a_running_tool_alone(service: Service, shell: Shell) -> None:
    shell.home, shell.project = service.home, service.project
    folder = shell.scaffold("busy")
    wait_until(lambda: "busy" in shell.ok("tools"))
    shell.ok("call", "busy", "text=a")
    log = folder / "tests" / "last_run.log"
    before, inode = log.read_bytes(), log.stat().st_ino
    shell.ok("check", str(folder))
    assert (log.read_bytes(), log.stat().st_ino) == (before, inode)
    assert "main.py --port" in (service.home / "logs" / "check" / "busy.log").read_text()
    assert sorted(path.name for path in (folder / "tests").iterdir()) == ["last_run.log", "test_busy.py"]


def test_a_check_honours_what_registry_json_says(shell: Shell) -> None:
    folder = shell.scaffold("plain", fastapi=True)
    manifest = tomllib.loads((folder / "tool.toml").read_text("utf-8"))
    (folder / "tool.toml").unlink()
    entry = {key: manifest[key] for key in ("name", "description", "input_schema", "output_schema", "effects")}
    write = (shell.project / "registry.json").write_text
    write(json.dumps({"tools": [{"tool_id": "plain", "backend_runtime": "local", **entry}]}))
    assert "✅ manifest: plain: 2 parameters" in shell.ok("check", str(folder))
    write(json.dumps({"tools": [{"tool_id": "plain", "backend_runtime": "local", "enabled": False, **entry}]}))
    failed = shell("check", str(folder))
    assert failed.returncode == 1
    assert "registry.json:1 switches it off" in failed.stdout
