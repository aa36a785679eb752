"""The main road over HTTP: a real service, real tool processes (contract T001-T028)."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest

from tests.journeys.namespace import can_isolate, run_isolated
from tests.journeys.service import SLACK, Service, environment, running_service
from tests.journeys.tools import make_tool

pytestmark = pytest.mark.journey
BROKEN = ["exits", "sick", "noisy", "fails", "prose", "large", "huge", "hangs", "dies"]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service with well-behaved and misbehaving tools."""
    directory = tmp_path_factory.mktemp("router")
    project = directory / "project"
    for tool_id in [*BROKEN, "pid", "home", "informed"]:
        make_tool(project, tool_id, manifest={"sick": "start_timeout = 1", "hangs": "timeout = 1"}.get(tool_id, ""))
    for number in range(20):
        make_tool(project, f"twin{number}", "pid")
    make_tool(project, "restless", "pid", manifest="idle = 1")
    (directory / "project" / "crowd.py").write_text(
        "from toolcrib import tool\n\n\n@tool\ndef add(a: int, b: int = 1) -> int:\n    'Adds.'\n    return a + b\n",
        encoding="utf-8",
    )
    with running_service(
        directory, arguments=("--module", "crowd"), extra={"PYTHONPATH": str(project), "CANARY": "s3cret"}
    ) as it:
        yield it


def run(service: Service, tool_id: str, params: dict[str, Any] | None = None, **extra: Any) -> dict[str, Any]:
    answer = service.client.post("/run_tool", json={"tool_id": tool_id, "params": params or {}, **extra})
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.json()
    return result


async def run_many(service: Service, calls: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    limits = httpx2.Limits(max_connections=None)
    async with httpx2.AsyncClient(base_url=service.url, timeout=60 * SLACK, limits=limits, trust_env=False) as client:
        answers = await asyncio.gather(
            *(client.post("/run_tool", json={"tool_id": tool_id, "params": params}) for tool_id, params in calls)
        )
    return [answer.json() for answer in answers]


def is_alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def gone_within(pids: list[int], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while any(map(is_alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(map(is_alive, pids))


def test_T002_health_is_exactly_that(service: Service) -> None:
    assert service.client.get("/health").content == b'{"status":"ok"}'


def test_T003_T006_every_tool_has_every_key(service: Service) -> None:
    answer = service.client.get("/tools").json()
    assert answer["total"] == len(answer["tools"])
    keys = {"tool_id", "name", "description", "category", "backend_runtime", "group_ids"}
    keys |= {"input_schema", "output_schema", "state", "port"}
    assert all(keys <= item.keys() for item in answer["tools"])
    assert [item["name"] for item in answer["backend_runtimes"][:3]] == [
        "本地 Python 运行时",
        "Docker 容器运行时",
        "远程 API / 云端服务",
    ]
    group = next(item for item in answer["groups"] if item["group_id"] == "runcomfy_lifecycle")
    assert group["usage_order"] == ["launch_comfy_env", "runcomfy_workflow_executor", "runcomfy_stop_env"]


def test_T014_T021_fifty_first_callers_share_one_start(service: Service) -> None:
    answers = asyncio.run(run_many(service, [("pid", {})] * 50))

    assert {answer["status"] for answer in answers} == {"success"}
    assert len({answer["result"]["pid"] for answer in answers}) == 1
    folder = str(service.project / "tools/local/pid")
    processes = [p.pid for p in psutil.process_iter(["cwd"]) if p.info["cwd"] == folder]
    assert processes == [answers[0]["result"]["pid"]]


def test_T022_T037_twenty_tools_start_at_once_on_ports_of_their_own(service: Service) -> None:
    names = [f"twin{number}" for number in range(20)]

    answers = asyncio.run(run_many(service, [(name, {}) for name in names]))

    assert [answer["error"] for answer in answers] == [None] * 20
    ports = {service.tool(name)["port"] for name in names}
    assert len(ports) == 20
    assert None not in ports


def test_T019_idle_never_means_during_a_call(service: Service) -> None:
    answer = run(service, "restless", {"sleep": 3})
    assert answer["status"] == "success"
    assert gone_within([answer["result"]["pid"]], 10 * SLACK)
    assert service.tool("restless")["state"] == "stopped"


def test_T018_a_tool_is_told_its_home_and_its_name_and_nothing_else_of_ours(service: Service) -> None:
    seen = run(service, "home")["result"]
    main = service.project / "tools/local/home/main.py"
    assert (seen["TOOLCRIB_HOME"], seen["TOOLCRIB_TOOL_ID"], seen["argv"][0]) == (str(service.home), "home", str(main))
    assert "CANARY" not in seen


def test_T016_in_process_tools_answer_through_the_same_endpoint(service: Service) -> None:
    assert run(service, "add", {"a": 2, "b": 3}) == {"status": "success", "result": 5, "error": None}
    item = service.tool("add")
    assert (item["backend_runtime"], item["state"], item["port"]) == ("inprocess", "running", None)


@pytest.mark.parametrize(
    ("tool_id", "code", "text"),
    [
        ("exits", "start_failed", "cannot find the licence file"),
        ("sick", "start_failed", "warming up"),
        ("fails", "upstream_error", "disk on fire"),
        ("prose", "upstream_error", "hello"),
        ("huge", "too_large", ""),
        ("hangs", "timeout", "1 s"),
        ("dies", "upstream_error", "out of luck"),
    ],
)
def test_T009_T021_a_tool_that_misbehaves_says_why_and_harms_nobody(
    service: Service, tool_id: str, code: str, text: str
) -> None:
    answer = run(service, tool_id)

    assert answer.keys() == {"status", "result", "error", "error_code", "hint"}
    assert (answer["status"], answer["result"], answer["error_code"]) == ("error", None, code)
    assert text in answer["error"]
    if code == "start_failed":
        assert answer["error"].startswith(f"Tool '{tool_id}' is not running or has no active endpoint")
        assert "uv run main.py --port" in answer["hint"]
    assert run(service, "add", {"a": 1})["result"] == 2


def test_T024_large_answers_come_through_whole(service: Service) -> None:
    assert len(run(service, "large")["result"]) == 60_000_000


def test_T028_a_megabyte_on_stderr_blocks_nothing(service: Service) -> None:
    assert run(service, "noisy")["result"] == "heard"
    log = service.project / "tools/local/noisy/tests/last_run.log"
    assert log.read_text(encoding="utf-8").startswith("$ uv run main.py --port")


def test_E073_a_tool_killed_from_outside_is_seen_and_started_again(service: Service) -> None:
    first = run(service, "pid")["result"]["pid"]
    os.kill(first, signal.SIGKILL)

    deadline = time.monotonic() + 1 * SLACK
    while service.tool("pid")["state"] == "running" and time.monotonic() < deadline:
        time.sleep(0.02)

    assert service.tool("pid")["state"] == "stopped"
    assert run(service, "pid")["result"]["pid"] != first


def test_E073_a_call_at_once_after_kill_9_is_answered(service: Service) -> None:
    pids = {run(service, "pid")["result"]["pid"]}
    for _ in range(5):
        os.kill(max(pids, key=is_alive), signal.SIGKILL)
        pids.add(run(service, "pid")["result"]["pid"])
    assert len(pids) == 6


def test_T015_a_broken_registry_keeps_the_last_good_one_and_names_the_line(service: Service) -> None:
    registry = service.project / "registry.json"
    registry.write_text('{"tools": [\n  {"tool_id": "pid", "category": "renamed"}\n]}', encoding="utf-8")
    wait_for(lambda: service.tool("pid")["category"] == "renamed")

    registry.write_text('{"tools": [\n  {"tool_id": "pid", "categry": "x"}\n]}', encoding="utf-8")
    problems = wait_for(lambda: service.client.get("/health/ready").json()["problems"])
    assert "registry.json:2" in str(problems)
    assert service.tool("pid")["category"] == "renamed"

    registry.write_text('{"tools": [', encoding="utf-8")
    wait_for(lambda: "registry.json:1" in str(service.client.get("/health/ready").json()["problems"]))
    assert service.tool("pid")["category"] == "renamed"

    registry.unlink()
    wait_for(lambda: service.tool("pid")["category"] == "test")
    assert service.client.get("/health/ready").json()["problems"] == []


def test_T036_a_new_folder_is_a_new_tool_and_gone_again_when_removed(service: Service) -> None:
    folder = make_tool(service.project, "newcomer", "pid")
    wait_for(lambda: "newcomer" in service.client.get("/tools").text)
    pid = run(service, "newcomer")["result"]["pid"]

    for file in sorted(folder.rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    folder.rmdir()

    wait_for(lambda: "newcomer" not in service.client.get("/tools").text)
    assert run(service, "newcomer")["error"] == "Tool not found: newcomer"
    assert gone_within([pid], 10 * SLACK)


def test_T013_T014_the_documents_gather_gets_both_answers_with_the_default_timeout(service: Service) -> None:
    async def call_tool(tool_id: str, params: dict[str, Any]) -> httpx2.Response:
        async with httpx2.AsyncClient(trust_env=False) as client:
            return await client.post(f"{service.url}/run_tool", json={"tool_id": tool_id, "params": params})

    async def both() -> tuple[httpx2.Response, httpx2.Response]:
        return await asyncio.gather(
            call_tool("pid", {"sleep": 7}), call_tool("liblibai_controlnet", {"prompt": "a cat"})
        )

    slow, remote = (answer.json() for answer in asyncio.run(both()))

    assert slow["status"] == "success"
    assert "LIBLIB_ACCESS_KEY" in remote["error"]


def test_a_client_that_leaves_cancels_its_call(service: Service) -> None:
    with pytest.raises(httpx2.ReadTimeout):
        httpx2.post(
            f"{service.url}/run_tool",
            json={"tool_id": "hangs", "params": {}, "timeout": 60},
            timeout=httpx2.Timeout(30, read=0.7),
            trust_env=False,
        )
    wait_for(lambda: service.tool("hangs").get("in_flight", 0) == 0)


def wait_for(question: Any, seconds: float = 10.0) -> Any:
    deadline = time.monotonic() + seconds * SLACK
    while not (answer := question()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
    return answer


def test_T019_the_tools_of_a_router_that_was_killed_are_gone_and_the_next_one_starts_clean(tmp_path: Path) -> None:
    make_tool(tmp_path / "project", "forks")
    with running_service(tmp_path) as first:
        answer = run(first, "forks")["result"]
        port = first.tool("forks")["port"]
        first.kill()
        assert gone_within([answer["pid"], answer["child"]], 2 * SLACK)

    with running_service(tmp_path, extra={"TOOLCRIB_FIRST_TOOL_PORT": str(port)}) as second:
        assert (second.tool("forks")["state"], second.tool("forks")["port"]) == ("stopped", None)
        assert run(second, "forks")["status"] == "success"
        assert second.tool("forks")["port"] == port


def test_T027_a_tool_started_by_hand_is_adopted_and_survives_the_router(tmp_path: Path) -> None:
    folder = make_tool(tmp_path / "project", "pid")
    with running_service(tmp_path) as service:
        first_port = psutil.Process(service.process.pid).environ()["TOOLCRIB_FIRST_TOOL_PORT"]
        by_hand = subprocess.Popen(
            ["uv", "run", "main.py", "--port", first_port],
            cwd=folder,
            env=environment(tmp_path / "other", PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"),
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            assert by_hand.stdout is not None
            assert "listening" in by_hand.stdout.readline()
            pid = run(service, "pid")["result"]["pid"]
            assert psutil.Process(pid).ppid() == by_hand.pid or pid == by_hand.pid
            assert (service.tool("pid")["state"], service.tool("pid")["port"]) == ("running", int(first_port))
            service.process.terminate()
            service.process.wait(15 * SLACK)
            assert is_alive(pid)
        finally:
            os.killpg(by_hand.pid, signal.SIGTERM)
            by_hand.communicate(timeout=15 * SLACK)


@pytest.mark.skipif(not can_isolate(), reason="needs permission to make a network namespace")
def test_T018_without_a_network_the_first_start_says_what_is_missing(tmp_path: Path) -> None:
    main = make_tool(tmp_path / "project", "pid") / "main.py"
    main.write_text(main.read_text(encoding="utf-8").replace("dependencies = []", 'dependencies = ["six==1.16.0"]'))

    done = run_isolated(
        [sys.executable, "-m", "toolcrib", "call", "pid"],
        cwd=tmp_path / "project",
        env=environment(tmp_path / "home", UV_CACHE_DIR=str(tmp_path / "cache")),
        timeout=60 * SLACK,
    )

    assert done.returncode == 1
    assert "Tool 'pid' is not running or has no active endpoint" in done.stderr
    assert "six" in done.stderr


def test_T024_a_tool_is_told_the_calls_id_and_what_remains_of_its_time(service: Service) -> None:
    first, second = (run(service, "informed", timeout=30)["result"] for _ in range(2))

    assert first["id"].startswith("call_")
    assert first["id"] != second["id"]
    assert 0 < first["seconds"] <= 30
