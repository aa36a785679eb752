"""The shell from end to end: real services, real tools, real processes."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

import psutil
import pytest

from tests.journeys.service import SLACK, Service, environment, free_port, running_service
from toolcrib.interfaces.cli.new import scaffold

pytestmark = pytest.mark.journey

MODULE = '''
from toolcrib import tool


@tool
def double(x: int) -> int:
    """Doubles a number."""
    return 2 * x
'''


class Shell:
    """Runs ``toolcrib`` in a project and with a home of its own."""

    def __init__(self, directory: Path) -> None:
        self.home = directory / "home"
        self.project = directory / "project"
        self.project.mkdir(parents=True, exist_ok=True)
        self.variables = {"TOOLCRIB_FIRST_TOOL_PORT": str(free_port()), "TOOLCRIB_LAST_TOOL_PORT": "65535"}

    def __call__(self, *arguments: str, stdin: str | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "toolcrib", *arguments],
            cwd=self.project,
            env=environment(self.home, **self.variables, **variables),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=60 * SLACK,
            check=False,
        )

    def begin(self, *arguments: str, stdout: int | TextIO = subprocess.PIPE) -> subprocess.Popen[str]:
        """Begin a command and go on."""
        return subprocess.Popen(
            [sys.executable, "-m", "toolcrib", *arguments],
            cwd=self.project,
            env=environment(self.home, **self.variables, PYTHONUNBUFFERED="1"),
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )

    def ok(self, *arguments: str, stdin: str | None = None, **variables: str) -> str:
        """Run a command that has to succeed; its standard output."""
        finished = self(*arguments, stdin=stdin, **variables)
        assert finished.returncode == 0, finished.stdout + finished.stderr
        return finished.stdout

    def scaffold(self, tool_id: str = "repeat", *, fastapi: bool = False) -> Path:
        return scaffold(tool_id, self.project / "tools" / "local", name_zh="重复", name_en="Repeat", fastapi=fastapi)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A running service whose home and project are those of ``shell``."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "my_tools.py").write_text(MODULE)
    with running_service(tmp_path, arguments=("--module", "my_tools")) as running:
        yield running


def make_slow(folder: Path) -> None:
    """Let every call of a scaffolded tool say that it has begun, and take ten minutes."""
    main = folder / "main.py"
    source = main.read_text()
    slow = 'print("begun", flush=True)\n    __import__("time").sleep(600)\n    text = params.get("text")'
    main.write_text(source.replace('text = params.get("text")', slow))


def wait_until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for what a process does in its own time."""
    limit = time.monotonic() + seconds * SLACK
    while not condition():
        assert time.monotonic() < limit, "it did not happen in time"
        time.sleep(0.02)


def processes_below(folder: Path) -> list[psutil.Process]:
    """The processes that work in a folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if Path(process.cwd()).is_relative_to(folder) and process.pid != os.getpid():
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def test_without_a_router_a_call_starts_the_tool_and_ends_it_after(shell: Shell) -> None:
    folder = shell.scaffold()
    finished = shell("call", "repeat", "text=你好", "times=2", "--verbose")
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout) == {"text": "你好 你好"}
    assert "In this process" in finished.stderr
    assert processes_below(folder) == []


def test_files_travel_in_and_out_by_name(shell: Shell) -> None:
    printed = json.loads(shell.ok("call", "qr_code", "text=hello"))
    picture = shell.project / "qr_code-1.png"
    assert printed["image"] == "qr_code-1.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    shell.ok(
        "call", "image_stitcher", f"images=@{picture}", "images=@qr_code-1.png", "spacing=20", "--output", "both.png"
    )
    assert (shell.project / "both.png").read_bytes().startswith(b"\x89PNG")
    raw = subprocess.run(
        [sys.executable, "-m", "toolcrib", "call", "qr_code", "text=hello", "--output", "-"],
        cwd=shell.project,
        env=environment(shell.home, **shell.variables),
        capture_output=True,
        timeout=60 * SLACK,
        check=True,
    )
    assert raw.stdout == picture.read_bytes()


def test_a_failed_call_is_one_line_and_a_hint(shell: Shell) -> None:
    shell.scaffold()
    for arguments in (
        ["nothing_like_it"],
        ["repeat"],
        ["repeat", "text=a", "times=11"],
        ["repeat", "text=a", "size=1"],
    ):
        failed = shell("call", *arguments)
        assert failed.returncode == 1, failed.stderr
        assert failed.stdout == ""
        assert failed.stderr.startswith("Error: ")
        assert "Traceback" not in failed.stderr
    wrong = shell("call", "repeat", "times=many")
    assert wrong.returncode == 2
    assert "times=many" in wrong.stderr


def test_arguments_come_from_standard_input_too(shell: Shell) -> None:
    shell.scaffold()
    assert json.loads(shell.ok("call", "repeat", "--json", "-", stdin='{"text": "a", "times": 3}')) == {"text": "a a a"}
    assert json.loads(shell.ok("call", "repeat", "text=@-", stdin="from a pipe")) == {"text": "from a pipe"}


def test_modules_are_served_in_process(shell: Shell) -> None:
    (shell.project / "my_tools.py").write_text(MODULE)
    assert shell.ok("call", "double", "x=21", TOOLCRIB_MODULES='["my_tools"]') == "42\n"
    missing = shell("tools", TOOLCRIB_MODULES='["no_such_module"]')
    assert missing.returncode == 2
    assert "no_such_module" in missing.stderr


def test_T012_with_a_router_the_commands_go_through_it(service: Service, shell: Shell) -> None:
    shell.home, shell.project = service.home, service.project
    record = json.loads((service.home / "run" / "router.json").read_text())
    assert record["url"] == service.url
    assert record["pid"] == service.process.pid

    called = shell("call", "double", "x=4", "-v")
    assert (called.returncode, called.stdout) == (0, "8\n"), called.stderr
    assert service.url in called.stderr

    assert "qr_code is running on port" in shell.ok("start", "qr_code")
    listed = json.loads(shell.ok("tools", "--json", "--lang", "en"))
    (item,) = (tool for tool in listed["tools"] if tool["tool_id"] == "qr_code")
    assert item["state"] == "running"
    assert str(item["port"]) in shell.ok("tools")
    shell.ok("call", "qr_code", "text=hello", "--output", "mine.png")
    assert "main.py --port" in shell.ok("logs", "qr_code")
    assert "qr_code is stopped" in shell.ok("stop", "qr_code")
    assert shell("start", "no_such_tool").returncode == 1
    assert "running at" in shell.ok("doctor")


def test_a_large_file_goes_to_the_router_by_reference(service: Service, shell: Shell) -> None:
    shell.home, shell.project = service.home, service.project
    from PIL import Image

    picture = service.project / "noise.png"
    Image.effect_noise((700, 700), 100).save(picture)
    assert picture.stat().st_size > 256 * 1024
    result = json.loads(shell.ok("call", "image_stitcher", f"images=@{picture}", f"images=@{picture}"))
    assert (result["width"], result["height"]) == (1400, 700)
    assert any((service.home / "artifacts").rglob("*"))


def test_calls_at_once_without_a_router_wait_for_each_other(shell: Shell) -> None:
    shell.scaffold()
    running = [shell.begin("call", "repeat", f"text={number}") for number in range(3)]
    answers = [process.communicate(timeout=60 * SLACK) for process in running]
    assert [json.loads(output)["text"] for output, _ in answers] == ["0", "1", "2"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_call_ends_its_tool(shell: Shell, number: signal.Signals) -> None:
    folder = shell.scaffold("slow")
    make_slow(folder)
    process = shell.begin("call", "slow", "text=a")
    log = folder / "tests" / "last_run.log"
    wait_until(lambda: log.exists() and "begun" in log.read_text())
    process.send_signal(number)
    output, errors = process.communicate(timeout=15 * SLACK)
    assert process.returncode == 130
    assert output == ""
    assert "Traceback" not in errors
    assert processes_below(folder) == []


def test_a_call_has_a_timeout_and_says_what_it_waits_for(shell: Shell) -> None:
    folder = shell.scaffold("slow")
    make_slow(folder)
    failed = shell("call", "slow", "text=a", "--timeout", "2", TOOLCRIB_STOP_GRACE="0.2")
    assert failed.returncode == 1
    assert "slow: working …" in failed.stderr
    assert "2 s" in failed.stderr
    assert processes_below(folder) == []


def test_logs_follow_what_is_written_and_the_next_run(shell: Shell) -> None:
    folder = shell.scaffold()
    shell.ok("call", "repeat", "text=a")
    path, said = folder / "tests" / "last_run.log", shell.project / "said"
    with said.open("w") as output:
        process = shell.begin("logs", "repeat", "-f", "-n", "1", stdout=output)
    try:
        wait_until(lambda: said.read_text() != "")
        with path.open("a") as log:
            log.write("a new line\n")
        wait_until(lambda: said.read_text().endswith("a new line\n"))
        path.unlink()
        path.write_text("another run\n")
        wait_until(lambda: said.read_text().endswith("another run\n"))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=15 * SLACK)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    assert "Traceback" not in errors


def test_start_and_stop_need_a_router_and_say_so(shell: Shell) -> None:
    for command in ("start", "stop"):
        failed = shell(command, "qr_code")
        assert failed.returncode == 1
        assert "No router is running" in failed.stderr
        assert "toolcrib serve" in failed.stderr


def test_logs_are_there_without_a_router(shell: Shell) -> None:
    shell.scaffold()
    never = shell("logs", "repeat")
    assert never.returncode == 1
    assert "has not run yet" in never.stderr
    shell.ok("call", "repeat", "text=a")
    assert "main.py --port" in shell.ok("logs", "repeat", "-n", "50")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_serve_ends_cleanly_when_asked(tmp_path: Path, number: signal.Signals) -> None:
    with running_service(tmp_path) as service:
        service.client.post("/run_tool", json={"tool_id": "qr_code", "params": {"text": "x"}})
        assert service.tool("qr_code")["state"] == "running"
        children = psutil.Process(service.process.pid).children(recursive=True)
        service.process.send_signal(number)
        assert service.process.wait(15 * SLACK) == 0
        said = service.log.read_text()
        assert f"toolcrib is ready at {service.url}" in said
        assert "Traceback" not in said
        assert not (service.home / "run" / "router.json").exists()
        _, alive = psutil.wait_procs(children, timeout=5 * SLACK)
        assert alive == []


def test_a_busy_port_names_its_holder(shell: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        failed = shell("serve", "--port", str(port))
        assert failed.returncode == 1
        assert f"Port {port} is taken" in failed.stderr
        assert str(os.getpid()) in failed.stderr
        assert "--port" in failed.stderr
        sick = shell("doctor", TOOLCRIB_PORT=str(port))
        assert sick.returncode == 1
        assert str(os.getpid()) in sick.stdout


def test_a_home_in_use_names_its_holder(service: Service, shell: Shell) -> None:
    shell.home = service.home
    failed = shell("serve", "--port", str(free_port()))
    assert failed.returncode == 1
    assert str(service.process.pid) in failed.stderr
    assert "Traceback" not in failed.stderr


def test_a_router_that_was_killed_is_not_believed(service: Service, shell: Shell) -> None:
    shell.home, shell.project = service.home, service.project
    service.kill()
    assert (service.home / "run" / "router.json").exists()
    shell.scaffold()
    assert json.loads(shell.ok("call", "repeat", "text=alone")) == {"text": "alone"}


def test_serve_names_what_is_wrong_and_serves_the_rest(tmp_path: Path) -> None:
    broken = tmp_path / "project" / "tools" / "local" / "broken"
    broken.mkdir(parents=True)
    (broken / "main.py").write_text("")
    (broken / "tool.toml").write_text('id = "broken"\nname = 3\n')
    with running_service(tmp_path) as service:
        assert f"{broken / 'tool.toml'}:2" in service.log.read_text()
        assert service.tool("qr_code")["state"] == "stopped"


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


def test_a_home_that_cannot_be_used_is_one_error(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    shell.home = tmp_path / "file" / "home"
    for arguments in (["serve", "--port", str(free_port())], ["call", "qr_code", "text=a"], ["check"]):
        failed = shell(*arguments)
        assert failed.returncode == 1
        assert "Error: " in failed.stderr
        assert "Traceback" not in failed.stderr
    sick = shell("doctor", "--json", TOOLCRIB_PORT=str(free_port()))
    assert sick.returncode == 1
    report = json.loads(sick.stdout)
    assert [finding["check"] for finding in report["findings"] if finding["level"] == "fail"] == ["home"]


def test_doctor_finds_nothing_wrong_where_serve_works(shell: Shell) -> None:
    shell.scaffold()
    port = str(free_port())
    said = shell.ok("doctor", TOOLCRIB_PORT=port)
    assert f":{port} is free" in said
    assert "⚠️ repeat: its environment is not prepared yet" in said
    shell.ok("prepare", "repeat")
    assert "✅ repeat: its environment is prepared" in shell.ok("doctor", TOOLCRIB_PORT=port)


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


def test_start_of_what_cannot_run_says_why_and_fails(service: Service, shell: Shell) -> None:
    shell.home = service.home
    failed = shell("start", "launch_comfy_env")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "missing credentials: RUNCOMFY_API_TOKEN" in failed.stderr
    assert "Hint: Set what is missing" in failed.stderr


def test_output_is_checked_before_anything_runs_and_its_ending_after(shell: Shell) -> None:
    folder = shell.project / "nowhere"
    refused = shell("call", "qr_code", "text=a", "-o", str(folder / "x.png"))
    assert (refused.returncode, folder.exists()) == (2, False)
    assert "nothing was run" in refused.stderr
    written = shell("call", "qr_code", "text=a", "-o", "out.jpg")
    assert written.returncode == 0
    assert "Warning: out.jpg holds image/png" in written.stderr
    assert "out.png" in written.stderr


def test_prepare_goes_on_after_a_failure(shell: Shell) -> None:
    folder = shell.scaffold("unpreparable")
    main = folder / "main.py"
    main.write_text(main.read_text().replace("dependencies = []", 'dependencies = ["/no/such/file.whl"]'))
    shell.scaffold("fine")
    finished = shell("prepare", "unpreparable", "fine", "no_such_tool")
    assert finished.returncode == 1
    assert "fine: ready" in finished.stdout
    assert "unpreparable" in finished.stderr
    assert "no_such_tool" in finished.stderr
    assert shell("prepare", "fine").returncode == 0


def test_a_base64_field_may_be_given_by_hand(shell: Shell) -> None:
    shell.ok("call", "qr_code", "text=a", "--output", "a.png")
    encoded = base64.b64encode((shell.project / "a.png").read_bytes()).decode()
    assert "width" in shell.ok("call", "image_stitcher", f"images={encoded}", "--output", "b.png")
