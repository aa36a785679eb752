"""The shell from end to end: real services, real tools, real processes."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.journeys.service import SLACK, Service, environment, free_port, running_service
from tests.journeys.shell import Shell, processes_below, wait_until

pytestmark = pytest.mark.journey

MODULE = '''
from toolcrib import tool


@tool
def double(x: int) -> int:
    """Doubles a number."""
    return 2 * x
'''


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


def test_start_of_what_cannot_run_says_why_and_fails(service: Service, shell: Shell) -> None:
    shell.home = service.home
    failed = shell("start", "launch_comfy_env")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "missing credentials RUNCOMFY_API_TOKEN" in failed.stderr
    assert "Hint: It will need RUNCOMFY_API_TOKEN" in failed.stderr


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
