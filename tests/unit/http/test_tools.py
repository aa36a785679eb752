"""GET /tools and what there is to do with one tool."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from tests.unit.http.conftest import FakeCrib

S2_KEYS = [
    "tool_id",
    "name",
    "description",
    "category",
    "backend_runtime",
    "group_ids",
    "input_schema",
    "output_schema",
    "state",
    "port",
]


async def get(client: httpx2.AsyncClient, url: str, **options: Any) -> Any:
    answer = await client.get(url, **options)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_T003_the_list_has_exactly_four_keys_and_counts_its_tools(client: httpx2.AsyncClient) -> None:
    listing = await get(client, "/tools")
    assert list(listing) == ["backend_runtimes", "groups", "tools", "total"]
    assert listing["total"] == len(listing["tools"]) == 6


async def test_T004_the_documented_runtimes_come_first_word_for_word(client: httpx2.AsyncClient) -> None:
    runtimes = (await get(client, "/tools"))["backend_runtimes"]
    assert runtimes[:3] == [
        {
            "backend_runtime": "local",
            "name": "本地 Python 运行时",
            "description": "使用 uv 管理的本地 Python 进程",
        },
        {"backend_runtime": "docker", "name": "Docker 容器运行时", "description": "运行在 Docker 容器中"},
        {"backend_runtime": "remote", "name": "远程 API / 云端服务", "description": "调用外部 API"},
    ]
    assert [runtime["backend_runtime"] for runtime in runtimes[3:]] == ["inprocess", "mcp"]


async def test_T005_a_group_has_its_six_keys(client: httpx2.AsyncClient) -> None:
    assert (await get(client, "/tools"))["groups"] == [
        {
            "group_id": "runcomfy_lifecycle",
            "name": "ComfyUI 生命周期管理",
            "description": "启动、执行、停止 ComfyUI 环境",
            "backend_runtime": "remote",
            "tool_ids": ["launch_comfy_env", "runcomfy_stop_env"],
            "usage_order": ["launch_comfy_env", "runcomfy_stop_env"],
        }
    ]


async def test_T006_every_tool_has_all_keys_always(client: httpx2.AsyncClient) -> None:
    for tool in (await get(client, "/tools"))["tools"]:
        assert list(tool)[: len(S2_KEYS)] == S2_KEYS
        assert {"lifecycle", "lifecycle_reason", "emoji", "effects", "risk", "timeout", "command", "examples"} <= set(
            tool
        )


async def test_T013_the_sample_tool_is_found_as_the_document_finds_it(client: httpx2.AsyncClient) -> None:
    tools = await get(client, "/tools")
    tool = next(t for t in tools["tools"] if t["tool_id"] == "image_stitcher")
    assert tool["name"] == "图片拼接工具"
    assert tool["description"] == "将多张图片拼接成一张"
    assert (tool["category"], tool["backend_runtime"], tool["group_ids"]) == ("cv", "local", [])
    assert (tool["state"], tool["port"], tool["lifecycle"]) == ("stopped", None, "inactive")
    assert "images" in tool["input_schema"]["properties"]
    assert tool["output_schema"]["properties"] == {"image": {"type": "string"}}
    assert tool["examples"] == ["把这两张图横着拼起来"]


async def test_tools_of_this_process_run_and_have_no_port(client: httpx2.AsyncClient) -> None:
    echo = await get(client, "/tools/echo")
    assert (echo["state"], echo["port"], echo["name"], echo["output_schema"]) == ("running", None, "echo", None)


async def test_a_running_tool_shows_its_port_and_command(client: httpx2.AsyncClient, crib: FakeCrib) -> None:
    crib.running.add("image_stitcher")
    tool = await get(client, "/tools/image_stitcher")
    assert (tool["state"], tool["port"], tool["command"]) == ("running", 8002, "uv run main.py --port 8002")


@pytest.mark.parametrize(
    ("url", "headers", "name", "runtime"),
    [
        ("/tools", {}, "图片拼接工具", "本地 Python 运行时"),
        ("/tools?lang=zh", {}, "图片拼接工具", "本地 Python 运行时"),
        ("/tools?lang=en", {}, "Image stitcher", "Local Python runtime"),
        ("/tools", {"Accept-Language": "en-US,en;q=0.9"}, "Image stitcher", "Local Python runtime"),
        ("/tools?lang=zh", {"Accept-Language": "en"}, "图片拼接工具", "本地 Python 运行时"),
        ("/tools", {"Accept-Language": "fr"}, "图片拼接工具", "本地 Python 运行时"),
        ("/tools?lang=tlh", {}, "图片拼接工具", "本地 Python 运行时"),
    ],
)
async def test_T004_a_translation_is_shown_only_where_it_is_asked_for(
    client: httpx2.AsyncClient, url: str, headers: dict[str, str], name: str, runtime: str
) -> None:
    listing = await get(client, url, headers=headers)
    assert listing["tools"][0]["name"] == name
    assert listing["backend_runtimes"][0]["name"] == runtime


async def test_a_text_without_translation_stays_as_defined(client: httpx2.AsyncClient) -> None:
    group = (await get(client, "/tools?lang=en"))["groups"][0]
    assert (group["name"], group["description"]) == ("ComfyUI life cycle", "启动、执行、停止 ComfyUI 环境")


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("q=拼接", ["image_stitcher"]),
        ("q=PICTURES+several", ["image_stitcher"]),
        ("q=zzz", []),
        ("category=cv", ["image_stitcher"]),
        ("state=stopped", ["image_stitcher", "never_healthy"]),
        ("backend_runtime=local&q=never", ["never_healthy"]),
        ("backend_runtime=mcp", []),
        ("colour=red&q=echo", ["echo"]),
        ("limit=2", ["image_stitcher", "never_healthy"]),
    ],
)
async def test_T003_filters_narrow_the_list(client: httpx2.AsyncClient, query: str, ids: list[str]) -> None:
    listing = await get(client, f"/tools?{query}")
    assert [tool["tool_id"] for tool in listing["tools"]] == ids
    assert listing["total"] == len(ids)


async def test_T003_pages_cover_everything_once(client: httpx2.AsyncClient) -> None:
    seen: list[str] = []
    cursor = ""
    while cursor is not None:
        page = await get(client, "/tools", params={"limit": 4, "cursor": cursor})
        seen += [tool["tool_id"] for tool in page["tools"]]
        cursor = page["next_cursor"]
    assert seen == [tool["tool_id"] for tool in (await get(client, "/tools"))["tools"]]


@pytest.mark.parametrize(
    ("query", "mentions"),
    [
        ("limit=0", "limit"),
        ("limit=many", "limit"),
        ("limit=99999999999999999999", "limit"),
        ("limit=-1", "limit"),
        ("limit=٣", "limit"),
        ("cursor=!!!", "cursor"),
        ("cursor=6Z2i", "cursor"),
        ("state=runing", "running"),
        ("backend_runtime=locale", "local"),
    ],
)
async def test_a_filter_that_means_nothing_is_refused(client: httpx2.AsyncClient, query: str, mentions: str) -> None:
    answer = await client.get(f"/tools?{query}")
    assert answer.status_code == 422
    assert list(answer.json()) == ["status", "result", "error", "error_code", "hint"]
    assert mentions in answer.text


async def test_T003_what_a_client_has_already_is_not_sent_again(client: httpx2.AsyncClient, crib: FakeCrib) -> None:
    first = await client.get("/tools")
    etag = first.headers["etag"]
    for named in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        again = await client.get("/tools", headers={"If-None-Match": named})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)

    crib.running.add("image_stitcher")
    changed = await client.get("/tools", headers={"If-None-Match": etag})
    assert changed.status_code == 200
    assert changed.headers["etag"] != etag


async def test_T016_one_tool_is_shown_as_in_the_list(client: httpx2.AsyncClient) -> None:
    listing = await get(client, "/tools")
    assert await get(client, "/tools/image_stitcher") == listing["tools"][0]


async def test_T016_an_unknown_tool_is_404_with_the_nearest_names(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/tools/image_sticher")
    assert answer.status_code == 404
    assert answer.json() == {
        "status": "error",
        "result": None,
        "error": "Tool not found: image_sticher",
        "error_code": "unknown_tool",
        "hint": "Did you mean 'image_stitcher'?",
    }


async def test_a_name_with_a_slash_has_its_routes(client: httpx2.AsyncClient, crib: FakeCrib) -> None:
    crib.add("maths/add", lambda arguments: sum(arguments["numbers"]))
    for written in ("maths/add", "maths%2Fadd"):
        assert (await get(client, f"/tools/{written}"))["tool_id"] == "maths/add"
        answer = await client.post(f"/tools/{written}/run", json={"numbers": [1, 2]})
        assert answer.json() == {"status": "success", "result": 3, "error": None}


async def test_starting_and_stopping_answer_the_tool(client: httpx2.AsyncClient) -> None:
    started = await client.post("/tools/image_stitcher/start")
    assert (started.status_code, started.json()["state"], started.json()["port"]) == (200, "running", 8002)
    stopped = await client.post("/tools/image_stitcher/stop", content=b"ignored")
    assert (stopped.status_code, stopped.json()["state"], stopped.json()["port"]) == (200, "stopped", None)


async def test_T009_a_failed_start_says_so_in_the_documented_form(client: httpx2.AsyncClient) -> None:
    answer = await client.post("/tools/never_healthy/start")
    assert answer.status_code == 503
    body = answer.json()
    assert (body["status"], body["result"], body["error_code"]) == ("error", None, "start_failed")
    assert body["error"].startswith("Tool 'never_healthy' is not running or has no active endpoint")


@pytest.mark.parametrize("what", ["start", "stop", "run"])
async def test_nothing_can_be_done_with_an_unknown_tool(client: httpx2.AsyncClient, what: str) -> None:
    answer = await client.post(f"/tools/nothing/{what}")
    assert (answer.status_code, answer.json()["error"]) == (404, "Tool not found: nothing")


async def test_T028_the_end_of_the_log_is_shown(client: httpx2.AsyncClient) -> None:
    assert (await get(client, "/tools/image_stitcher/logs?lines=2"))["lines"] == ["line 299", "line 300"]
    assert len((await get(client, "/tools/image_stitcher/logs"))["lines"]) == 200
    assert (await client.get("/tools/image_stitcher/logs?lines=0")).status_code == 422
    assert (await client.get("/tools/nothing/logs")).status_code == 404
