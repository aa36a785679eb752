"""Starting: once for all who wait, on a port of its own, and clear about why it failed."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.unit.runtime.workshop import SLACK, Workshop, lives, make_settings, until, write_main
from toolcrib.definition.call import Deadline
from toolcrib.errors import DeadlineExceeded, NotRunningError, StartFailedError, UnknownToolError
from toolcrib.runtime import health, process
from toolcrib.runtime.status import Lifecycle
from toolcrib.runtime.supervisor import Supervisor, ToolStatusManager

SENTENCE = "Tool 'x' is not running or has no active endpoint"
SHORT = 0.75 * SLACK


def test_the_documents_name_is_the_supervisor() -> None:
    assert ToolStatusManager is Supervisor


async def test_T021_a_call_starts_a_stopped_tool(workshop: Workshop) -> None:
    workshop.add("x")
    before = workshop.supervisor.status("x")
    assert (before.lifecycle, before.state, before.port, before.pid) == (Lifecycle.INACTIVE, "stopped", None, None)
    assert workshop.supervisor.get_active_endpoint("x") is None
    data = await workshop.call("x", a=1)
    status = workshop.supervisor.status("x")
    assert (status.lifecycle, status.state, status.in_flight) == (Lifecycle.ACTIVE, "running", 0)
    assert data["params"] == {"a": 1}
    assert (data["pid"], data["port"], data["path"]) == (status.pid, status.port, "/run")
    assert status.command == f"uv run main.py --port {status.port}"
    assert status.started_at is not None
    assert status.adopted is False


async def test_T018_it_runs_in_its_folder_by_its_absolute_name(workshop: Workshop) -> None:
    workshop.add("x")
    data = await workshop.call("x")
    assert data["directory"] == str(workshop.folder / "x")
    assert data["argv"] == [str(workshop.folder / "x" / "main.py"), "--port", str(data["port"])]


async def test_T017_the_endpoint_has_the_tools_own_path_and_method(workshop: Workshop) -> None:
    workshop.add("x", endpoint="/v1/stitch images", method="GET")
    endpoint = await workshop.supervisor.start_tool("x")
    assert endpoint.url == f"http://127.0.0.1:{endpoint.port}/v1/stitch%20images"
    assert workshop.supervisor.get_active_endpoint("x") == endpoint
    assert (await workshop.call("x", q="猫"))["path"] == "/v1/stitch%20images?q=%E7%8C%AB"


async def test_T018_starting_what_runs_changes_nothing(workshop: Workshop) -> None:
    workshop.add("x")
    first, second = await asyncio.gather(workshop.supervisor.start_tool("x"), workshop.supervisor.start_tool("x"))
    pid = workshop.supervisor.status("x").pid
    assert first == second == await workshop.supervisor.start_tool("x")
    assert workshop.supervisor.status("x").pid == pid
    assert workshop.supervisor.status("x").in_flight == 0


async def test_T014_fifty_first_calls_start_one_process(workshop: Workshop) -> None:
    workshop.add("x", before=f"open({str(workshop.folder)!r} + '/starts', 'a').write('x')")
    answers = await asyncio.gather(*(workshop.call("x", number=number) for number in range(50)))
    assert [answer["params"]["number"] for answer in answers] == list(range(50))
    assert len({answer["pid"] for answer in answers}) == 1
    assert (workshop.folder / "starts").read_text() == "x"


async def test_T022_twenty_tools_start_at_once_on_ports_of_their_own(workshop: Workshop) -> None:
    names = [f"tool_{number}" for number in range(20)]
    for name in names:
        write_main(workshop.folder / name)
        workshop.define(name, workshop.folder / name)
    watching = asyncio.create_task(_most_at_once(workshop, names))
    answers = await asyncio.gather(*(workshop.call(name) for name in names))
    watching.cancel()
    assert len({answer["port"] for answer in answers}) == len({answer["pid"] for answer in answers}) == 20
    assert all("in use" not in line for name in names for line in workshop.supervisor.log_tail(name))
    assert 1 <= MOST[0] <= (os.cpu_count() or 1)


MOST = [0]


async def _most_at_once(workshop: Workshop, names: list[str]) -> None:
    while True:
        starting = [name for name in names if workshop.supervisor.status(name).lifecycle is Lifecycle.STARTING]
        MOST[0] = max(MOST[0], len(starting))
        await asyncio.sleep(0.005)


async def test_T021_each_caller_has_its_own_deadline_and_the_start_goes_on(workshop: Workshop) -> None:
    workshop.add("x", before="time.sleep(1)")
    with pytest.raises(DeadlineExceeded, match=r"did not answer within 0\.1 s: it is still (queued|starting)"):
        await workshop.run("x", timeout=0.1)
    patient = asyncio.create_task(workshop.call("x"))
    hasty = asyncio.create_task(workshop.call("x"))
    await asyncio.sleep(0.05)
    hasty.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hasty
    assert (await patient)["calls"] == 1
    assert workshop.supervisor.status("x").in_flight == 0


async def test_T018_only_listed_variables_reach_a_tool(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRIB_CANARY", "canary")
    monkeypatch.setenv("CRIB_WANTED", "wanted")
    monkeypatch.setenv("VIRTUAL_ENV", "canary")
    workshop.add("x", environment=("CRIB_WANTED", "CRIB_ABSENT"))
    seen = await workshop.call("x", environment=True)
    assert "canary" not in seen.values()
    assert seen["CRIB_WANTED"] == "wanted"
    assert seen["TOOLCRIB_TOOL_ID"] == "x"
    assert seen["TOOLCRIB_HOME"] == str(workshop.settings.home)
    assert seen["PYTHONUNBUFFERED"] == "1"
    assert seen["PATH"] == os.environ["PATH"]
    assert len(seen["TOOLCRIB_INSTANCE_TOKEN"]) == 32
    assert "PYTHONDONTWRITEBYTECODE" not in seen


async def test_T021_a_tool_that_ends_at_once_says_why(workshop: Workshop) -> None:
    tool = workshop.add("x", before="print('no model file'); sys.exit(7)")
    with pytest.raises(StartFailedError) as caught:
        await workshop.call("x")
    text, hint = str(caught.value), caught.value.hint or ""
    assert text.startswith(f"{SENTENCE}: it exited with code 7\n")
    assert text.endswith("no model file\n[toolcrib] the process exited with code 7")
    assert tool.deployment is not None
    by_hand = f"cd {tool.deployment.directory} && uv run main.py --port "
    remedies = (
        "ended by itself",
        "1. Look",
        "GET /tools",
        "2. Start it by hand",
        by_hand,
        "3. Its port",
        "is not taken",
    )
    assert [hint.find(remedy) for remedy in remedies] == sorted(hint.find(remedy) for remedy in remedies)
    for remedy in (*remedies, "toolcrib logs x", "GET /tools/x/logs", "last_run.log"):
        assert remedy in hint
    status = workshop.supervisor.status("x")
    assert (status.lifecycle, status.state, status.port, status.pid) == (Lifecycle.FAILED, "stopped", None, None)
    assert "exited with code 7" in (status.lifecycle_reason or "")
    assert "no model file" in workshop.supervisor.log_tail("x")


async def test_T033_the_command_of_the_hint_can_be_pasted_whatever_the_folder(workshop: Workshop) -> None:
    directory = write_main(workshop.folder / "my tools; echo" / "x", before="sys.exit(7)")
    workshop.define("x", directory)
    with pytest.raises(StartFailedError) as caught:
        await workshop.call("x")
    assert f"cd '{directory}' && uv run main.py" in (caught.value.hint or "")
    assert "printed nothing" not in (caught.value.hint or "")


async def test_T021_a_failed_tool_is_tried_again_by_the_next_call(workshop: Workshop) -> None:
    workshop.add("x", before="if not os.path.exists('ready'): sys.exit(1)")
    results = await asyncio.gather(*(workshop.run("x") for _ in range(5)), return_exceptions=True)
    assert all(isinstance(result, StartFailedError) for result in results)
    (workshop.folder / "x" / "ready").touch()
    assert (await workshop.call("x"))["calls"] == 1


@pytest.mark.parametrize(
    ("before", "cause"),
    [
        ("health = {'status': 'loading'}", 'GET /health answered 200 {"status": "loading"}'),
        ("time.sleep(300)", "nothing listened on the port"),
    ],
)
async def test_T021_a_tool_that_never_gets_healthy_is_ended_and_says_what_it_last_said(
    workshop: Workshop, before: str, cause: str
) -> None:
    workshop.add("x", before=before + "\nprint('pid', os.getpid())", start_timeout=SHORT)
    with pytest.raises(StartFailedError) as caught:
        await workshop.call("x")
    assert str(caught.value).startswith(f"{SENTENCE}: it did not become healthy within {SHORT:g} s ({cause}")
    assert "was not ready in time; start_timeout" in (caught.value.hint or "")
    assert workshop.supervisor.status("x").pid is None


async def test_T021_a_health_that_hangs_does_not_hide_the_end_of_the_process(workshop: Workshop) -> None:
    program = """
    import os, socket, sys, time
    server = socket.create_server(("127.0.0.1", int(sys.argv[2])))
    server.accept()
    time.sleep(0.2)
    os._exit(4)
    """
    workshop.add("x", program=program)
    async with asyncio.timeout(4 * SLACK):
        with pytest.raises(StartFailedError, match="exited with code 4"):
            await workshop.call("x")


async def test_T020_waiting_for_a_slot_does_not_count_as_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    workshop = await Workshop(tmp_path / "tools", make_settings(tmp_path / "home")).open()
    try:
        for name in ("a", "b", "c"):
            workshop.add(name, before="time.sleep(0.7)", start_timeout=1.9 * SLACK)
        answers = await asyncio.gather(*(workshop.call(name) for name in ("a", "b", "c")))
        assert len(answers) == 3
    finally:
        await workshop.close()


async def test_E069_a_tool_never_gets_the_routers_port(tmp_path: Path) -> None:
    settings = make_settings(tmp_path / "home")
    settings = settings.model_copy(update={"port": settings.first_tool_port})
    workshop = await Workshop(tmp_path / "tools", settings).open()
    try:
        for name in ("a", "b"):
            workshop.add(name)
        for _ in range(2):
            ports = {(await workshop.call(name))["port"] for name in ("a", "b")}
            assert len(ports) == 2
            assert settings.port not in ports
            await workshop.supervisor.stop_tool("a")
            await workshop.supervisor.stop_tool("b")
    finally:
        await workshop.close()


async def test_T022_a_tool_gets_the_port_it_had(workshop: Workshop) -> None:
    for name in ("a", "b"):
        workshop.add(name)
    before = (await workshop.call("a"))["port"], (await workshop.call("b"))["port"]
    await workshop.supervisor.stop_tool("a")
    await workshop.supervisor.stop_tool("b")
    assert ((await workshop.call("b"))["port"], (await workshop.call("a"))["port"]) == before[::-1]


STRANGER = """
import subprocess, textwrap
stranger = '''
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        open({seen!r}, "a").write(self.path + "\\\\n")
        self.send_response(200); self.end_headers(); self.wfile.write(b'{{"status": "ok"}}')
    do_POST = do_GET
server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
print("up", flush=True)
server.serve_forever()
'''
if not os.path.exists({pid!r}):
    process = subprocess.Popen([sys.executable, "-c", stranger, str(port)], stdout=subprocess.PIPE,
                               start_new_session=True, env={{"PATH": os.environ["PATH"]}})
    process.stdout.readline()
    open({pid!r}, "w").write(str(process.pid))
"""


async def test_E067_a_stranger_on_the_port_is_never_asked_and_the_next_port_is_taken(
    workshop: Workshop, tmp_path: Path
) -> None:
    pid, seen = tmp_path / "pid", tmp_path / "seen"
    workshop.add("x", before=STRANGER.format(pid=str(pid), seen=str(seen)))
    data = await workshop.call("x")
    os.kill(int(pid.read_text()), 9)
    assert data["params"] == {}
    assert not seen.exists()


async def test_E067_a_stranger_is_not_taken_for_a_tool_that_never_listens(workshop: Workshop, tmp_path: Path) -> None:
    pid, seen = tmp_path / "pid", tmp_path / "seen"
    before = STRANGER.format(pid=str(pid), seen=str(seen)) + "\ntime.sleep(300)"
    workshop.add("x", before=before, start_timeout=SHORT)
    with pytest.raises(StartFailedError) as caught:
        await workshop.call("x")
    stranger = int(pid.read_text())
    os.kill(stranger, 9)
    assert f"(pid {stranger}: " in str(caught.value)
    assert (caught.value.hint or "").startswith("Another program has its port")
    assert not seen.exists()


async def test_E067_an_answer_of_another_instance_is_not_believed(workshop: Workshop) -> None:
    before = "Handler_answer = None\nhealth = {'status': 'ok'}"
    workshop.add("x", before=before, start_timeout=SHORT)
    main = workshop.folder / "x" / "main.py"
    text = main.read_text().replace("self.answer(health)", "self.answer(health, 200, [('X-Toolcrib-Instance', 'old')])")
    main.write_text(text)
    with pytest.raises(StartFailedError, match="answered by another instance"):
        await workshop.call("x")
    main.write_text(text.replace("'old'", "os.environ['TOOLCRIB_INSTANCE_TOKEN']"))
    assert (await workshop.call("x"))["calls"] == 1


async def test_T022_a_range_that_is_full_names_who_holds_it(tmp_path: Path) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        settings = make_settings(tmp_path / "home", first_tool_port=port, last_tool_port=port)
        workshop = await Workshop(tmp_path / "tools", settings).open()
        try:
            workshop.add("x")
            with pytest.raises(StartFailedError, match=rf"No port from {port}.*\(pid {os.getpid()}: "):
                await workshop.call("x")
        finally:
            await workshop.close()


async def test_T021_without_auto_start_a_call_gets_the_documents_sentence(tmp_path: Path) -> None:
    workshop = await Workshop(tmp_path / "tools", make_settings(tmp_path / "home", auto_start=False)).open()
    try:
        workshop.add("x")
        with pytest.raises(NotRunningError) as caught:
            await workshop.call("x")
        assert str(caught.value) == SENTENCE
        assert workshop.supervisor.status("x").lifecycle is Lifecycle.INACTIVE
        await workshop.supervisor.start_tool("x")
        assert (await workshop.call("x"))["calls"] == 1
    finally:
        await workshop.close()


async def test_T016_an_unknown_tool_is_said_to_be_unknown(workshop: Workshop) -> None:
    with pytest.raises(UnknownToolError, match="Tool not found: nobody"):
        workshop.supervisor.lease("nobody", Deadline(1))
    with pytest.raises(UnknownToolError):
        await workshop.supervisor.start_tool("nobody")
    with pytest.raises(UnknownToolError):
        await workshop.supervisor.stop_tool("nobody")
    assert workshop.supervisor.status("nobody").lifecycle is Lifecycle.INACTIVE


async def test_T018_the_documented_command_is_run_literally_where_it_is_asked_for(
    workshop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, record = tmp_path / "bin", tmp_path / "argv"
    folder.mkdir()
    (folder / "uv").write_text(f'#!/bin/sh\necho "$PWD $@" >> {record}\nshift\nexec {sys.executable} "$@"\n')
    (folder / "uv").chmod(0o755)
    workshop.add("x", launch="uv-run")
    monkeypatch.setattr("toolcrib.runtime.generation.find_uv", lambda tool_id: folder / "uv")
    data = await workshop.call("x")
    assert record.read_text() == f"{workshop.folder}/x run main.py --port {data['port']}\n"


async def test_T018_uv_itself_may_stay_in_between(workshop: Workshop) -> None:
    workshop.add("x", launch="uv-run")
    data = await workshop.call("x")
    assert data["pid"] != workshop.supervisor.status("x").pid
    await workshop.supervisor.stop_tool("x")
    assert not lives(data["pid"])


async def test_T018_preparing_does_not_start(workshop: Workshop) -> None:
    workshop.add("x")
    lines: list[str] = []
    await workshop.supervisor.prepare("x", lines.append)
    assert lines[0] == "preparing the environment"
    assert workshop.supervisor.status("x").lifecycle is Lifecycle.INACTIVE
    assert any("preparing" in line for line in workshop.supervisor.log_tail("x"))
    lines.clear()
    await workshop.supervisor.prepare("x", lines.append)
    assert lines == []


async def test_T028_the_log_begins_with_the_command_and_is_where_the_document_says(workshop: Workshop) -> None:
    workshop.add("x")
    data = await workshop.call("x", print="hello")
    path = workshop.folder / "x" / "tests" / "last_run.log"
    await until(lambda: "hello" in path.read_text())
    assert path.read_text().startswith(f"$ uv run main.py --port {data['port']}  # ")
    assert workshop.supervisor.status("x").log == path
    assert workshop.supervisor.log_tail("x", 1) == ["hello"]


async def test_T028_a_megabyte_on_stderr_blocks_nothing(workshop: Workshop) -> None:
    workshop.add("x")
    assert (await workshop.call("x", shout=1_000_000, timeout=10 * SLACK))["calls"] == 1
    state = workshop.settings.home / "logs" / "x.log"
    await until(lambda: state.stat().st_size + sum(p.stat().st_size for p in state.parent.glob("x.log.*")) > 1_000_000)


async def test_T028_a_secret_that_a_tool_prints_is_not_in_its_log(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRIB_TEST_API_KEY", "very-secret-value")
    workshop.add("x", before="print(os.environ['CRIB_TEST_API_KEY'])", environment=("CRIB_TEST_API_KEY",))
    await workshop.call("x", print="shown")
    await until(lambda: "shown" in workshop.supervisor.log_tail("x"))
    assert "***" in workshop.supervisor.log_tail("x")
    assert all("very-secret" not in line for line in workshop.supervisor.log_tail("x"))


async def test_T021_who_listens_is_looked_up_off_the_event_loop(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []
    for module, name in ((health, "listening_ports"), (process, "group_members")):
        original = getattr(module, name)

        def noted(pid: int, original: Any = original) -> Any:
            threads.append(threading.current_thread())
            return original(pid)

        monkeypatch.setattr(module, name, noted)
    workshop.add("x")
    await workshop.call("x", child="same group")
    await workshop.supervisor.stop_tool("x")
    assert threads
    assert threading.main_thread() not in threads, "reading every process of a machine takes a while"
