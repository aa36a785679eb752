"""A small crib of in-process tools, behind the real door."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest

from toolcrib.crib import Crib
from toolcrib.definition.context import Context
from toolcrib.definition.deployment import Deployment
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import Texts, ToolDefinition, ToolGroup
from toolcrib.errors import InvalidParamsError, SourceError, StartFailedError, ToolcribError
from toolcrib.interfaces.http.app import create_app
from toolcrib.registry.registry import ToolRegistry
from toolcrib.runtime.status import Lifecycle, ToolStatus
from toolcrib.settings import Settings, load_settings
from toolcrib.storage.artifacts import FileArtifactStore

SLACK = float(os.environ.get("TOOLCRIB_TEST_SLACK", "2"))


class FakeCrib:
    """What the door needs of a `Crib`: it calls handlers directly, and its local tools start in no time."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.registry = ToolRegistry()
        self.artifacts = FileArtifactStore(settings.home / "artifacts")
        self.problems: tuple[SourceError, ...] = ()
        self.running: set[str] = set()
        self.calls: list[tuple[str, Mapping[str, Any], dict[str, Any]]] = []
        self.open = False

    async def __aenter__(self) -> FakeCrib:
        self.open = True
        return self

    async def __aexit__(self, *exception: object) -> None:
        self.open = False

    async def run(
        self,
        name: str,
        arguments: Mapping[str, Any],
        *,
        context: Context | None = None,
        timeout: float | None = None,
        artifacts: bool = False,
    ) -> ToolResult:
        self.calls.append((name, arguments, {"context": context, "timeout": timeout, "artifacts": artifacts}))
        if name == "broken_service":
            raise RuntimeError("a fault of the service itself")
        try:
            tool = self.registry.resolve(name)
            missing = [key for key in tool.parameters.get("required", ()) if key not in arguments]
            if missing:
                raise InvalidParamsError(f"{missing[0]}: is missing", hint="It is required.")
            assert tool.handler is not None
            answer = tool.handler(arguments)
            return ToolResult.of(await answer if asyncio.iscoroutine(answer) else answer)
        except ToolcribError as error:
            return ToolResult.from_error(error)

    def status(self, tool: ToolDefinition) -> ToolStatus:
        if tool.runtime == "inprocess":
            return ToolStatus(lifecycle=Lifecycle.ACTIVE)
        if tool.name in self.running:
            return ToolStatus(lifecycle=Lifecycle.ACTIVE, port=8002, command="uv run main.py --port 8002")
        return ToolStatus(command="uv run main.py --port 8002")

    async def start_tool(self, tool_id: str) -> None:
        if tool_id == "never_healthy":
            raise StartFailedError(f"Tool '{tool_id}' is not running or has no active endpoint: exited", hint="Log.")
        self.running.add(tool_id)

    async def stop_tool(self, tool_id: str) -> None:
        self.running.discard(tool_id)

    def log_tail(self, tool_id: str, lines: int) -> list[str]:
        return [f"line {number}" for number in range(1, 301)][-lines:]

    @property
    def as_crib(self) -> Crib:
        return cast(Crib, self)

    def add(self, name: str, handler: Callable[..., Any] | None = None, **facts: Any) -> ToolDefinition:
        facts.setdefault("parameters", {"type": "object"})
        tool = ToolDefinition(name, facts.pop("description", f"Does {name}."), handler=handler, **facts)
        self.registry.register(tool)
        return tool


def add_tools(crib: FakeCrib) -> None:
    """S2's sample tool and group, and a few that behave in telling ways."""
    crib.add(
        "image_stitcher",
        title="图片拼接工具",
        description="将多张图片拼接成一张",
        category="cv",
        parameters={
            "type": "object",
            "properties": {"images": {"type": "array", "items": {"type": "string", "contentEncoding": "base64"}}},
            "required": ["images"],
        },
        output_schema={"type": "object", "properties": {"image": {"type": "string"}}},
        translations={"en": Texts("Image stitcher", "Joins several pictures into one")},
        deployment=Deployment("local", directory=Path("/nowhere")),
        examples=("把这两张图横着拼起来",),
    )
    crib.add("never_healthy", deployment=Deployment("local", directory=Path("/nowhere")))
    crib.add("echo", lambda arguments: dict(arguments), description="Answers what it is given.")
    crib.add("fails", lambda arguments: ToolResult.fail("No such city", code="unknown_city", hint="Try another."))
    crib.add("nan", lambda arguments: {"value": float("nan"), "other": float("inf")})
    crib.add("strange", lambda arguments: {"value": object()})
    crib.registry.set_groups(
        {
            "runcomfy_lifecycle": ToolGroup(
                group_id="runcomfy_lifecycle",
                name="ComfyUI 生命周期管理",
                description="启动、执行、停止 ComfyUI 环境",
                backend_runtime="remote",
                tool_ids=("launch_comfy_env", "runcomfy_stop_env"),
                usage_order=("launch_comfy_env", "runcomfy_stop_env"),
                translations={"en": Texts("ComfyUI life cycle")},
            )
        }
    )


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(
        home=tmp_path / "home", project=tmp_path, port=free_port(), request_limit=200_000, heartbeat=0.1
    )


@pytest.fixture
def crib(settings: Settings) -> FakeCrib:
    crib = FakeCrib(settings)
    add_tools(crib)
    return crib


@pytest.fixture
async def client(crib: FakeCrib) -> AsyncIterator[httpx2.AsyncClient]:
    """A client that calls the application without a network."""
    transport = httpx2.ASGITransport(create_app(crib.as_crib))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8001") as client:
        yield client


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@asynccontextmanager
async def serving(crib: FakeCrib) -> AsyncIterator[str]:
    """The real server in a thread of its own, and its URL."""
    from toolcrib.interfaces.http.server import serve

    ready = threading.Event()
    urls: list[str] = []
    stop: list[Callable[[], object]] = []

    def on_ready(url: str) -> None:
        urls.append(url)
        ready.set()

    async def run() -> None:
        task = asyncio.create_task(serve(crib.as_crib, on_ready=on_ready))
        loop = asyncio.get_running_loop()
        stop.append(lambda: loop.call_soon_threadsafe(task.cancel))
        with contextlib.suppress(asyncio.CancelledError):
            await task

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    try:
        assert await asyncio.to_thread(ready.wait, 10 * SLACK)
        yield urls[0]
    finally:
        for end in stop:
            end()
        await asyncio.to_thread(thread.join, 10 * SLACK)
        assert not thread.is_alive()


@pytest.fixture
def serve_crib() -> Iterator[Callable[[FakeCrib], Any]]:
    return serving  # type: ignore[return-value]
