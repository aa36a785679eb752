"""The code of S3, as the article prints it, on top of toolcrib.

The article leaves gaps, written ``...``; they are filled from `GAPS`, and nothing else is changed.
"""

# ruff: noqa: W293

from __future__ import annotations

import ast
import logging
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from toolcrib import ToolRegistry, compat
from toolcrib.definition.base_tool import BaseTool
from toolcrib.errors import DefinitionError
from toolcrib.registry.registry import ToolRegistry as Registry
from toolcrib.registry.services import waiting_reason
from toolcrib.registry.sources.tools_json import ToolsJson

CLASS = r'''
from src.tools.base import ActionDef, BaseTool, ToolResult, ToolResultStatus


class RemoteFileShareTool(BaseTool):
    """远程文件分享工具。"""
    
    name = "remote_file_share"
    emoji = "📤"
    title = "远程文件分享"
    description = "将桌面端文件发送到 PWA 端"
    timeout = 180  # 大文件上传超时
    
    def get_actions(self) -> list[ActionDef]:
        """定义工具支持的动作列表。"""
        ...
    
    async def execute(self, action: str, params: dict) -> ToolResult:
        """执行指定动作。"""
        ...
'''

ACTIONS = r"""
def get_actions(self) -> list[ActionDef]:
    return [
        ActionDef(
            name="send_file",
            description=(
                "将桌面端本地文件发送到 PWA 端用户。"
                "当你为远程 PWA 用户生成了文件，必须调用此工具将结果发送回去。"
            ),
            parameters={
                "file_path": {
                    "type": "string",
                    "description": "要发送的本地文件绝对路径",
                },
                "description": {
                    "type": "string",
                    "description": "文件描述（会显示在 PWA 端）",
                },
                "user_id": {
                    "type": "string",
                    "description": "目标 PWA 用户 ID（留空则发送给当前会话用户）",
                },
            },
            required_params=["file_path"],
        ),
        ActionDef(
            name="send_files",
            description="将多个桌面端本地文件批量发送到 PWA 端用户。",
            parameters={
                "file_paths": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "要发送的本地文件路径列表",
                },
                # ...
            },
            required_params=["file_paths"],
        ),
        ActionDef(
            name="send_voice",
            description="将语音/音频文件作为语音消息发送到 PWA 端。",
            parameters={
                "file_path": {"type": "string", ...},
                "transcript": {"type": "string", ...},
                # ...
            },
            required_params=["file_path"],
        ),
    ]
"""

INJECTION = r'''
class RemoteFileShareTool(BaseTool):
    def __init__(self) -> None:
        self._bridge_client = None  # 延迟注入
    
    def set_bridge_client(self, bridge_client) -> None:
        """注入 RemoteBridgeClient 实例。"""
        self._bridge_client = bridge_client
    
    def _check_bridge(self) -> ToolResult | None:
        """检查 bridge 是否可用。"""
        if not self._bridge_client:
            return ToolResult(status=ToolResultStatus.ERROR,
                error="远程桥接客户端未初始化")
        if not self._bridge_client.is_connected:
            return ToolResult(status=ToolResultStatus.ERROR,
                error="远程桥接未连接")
        return None
'''

RESOLVING = r'''
def _resolve_user_id(self, params: dict) -> str:
    """解析目标用户 ID。"""
    user_id = params.get("user_id", "")
    if user_id:
        return user_id
    
    # 自动选取当前在线的 PWA 用户
    if self._bridge_client and self._bridge_client.stats.pwa_connections:
        first_conn = self._bridge_client.stats.pwa_connections[0]
        return first_conn.user_id
    
    return ""
'''

WINDOW = r"""
# gui_app.py — MainWindow 创建后
remote_bridge = getattr(self._window, '_remote_bridge', None)
if remote_bridge:
    rfs_tool = self._tool_registry.get_tool("remote_file_share")
    if rfs_tool and hasattr(rfs_tool, "set_bridge_client"):
        rfs_tool.set_bridge_client(remote_bridge)
        logger.info("已为 remote_file_share 工具注入 bridge_client")
"""

TOOLS_JSON = r"""
{
    "remote_file_share": {
        "enabled": true,
        "module": "src.tools.remote_file_share",
        "class": "RemoteFileShareTool",
        "display": {
            "name": "远程文件分享",
            "emoji": "📤",
            "description": "将桌面端本地文件发送到 PWA 端",
            "category": "communication"
        },
        "config": {},
        "security": {
            "risk_level": "low",
            "require_confirmation": false
        },
        "actions": ["send_file", "send_files", "send_voice"]
    }
}
"""

SCHEMA = r"""
{
    "type": "function",
    "function": {
        "name": "remote_file_share_send_file",
        "description": "将桌面端本地文件发送到 PWA 端用户...",
        "parameters": {
            "type": "object",
            "properties": {
                "file_path": {"type": "string", ...},
                "description": {"type": "string", ...},
                "user_id": {"type": "string", ...},
            },
            "required": ["file_path"]
        }
    }
}
"""

GAPS = {
    '"""定义工具支持的动作列表。"""\n        ...': "return get_actions(self)",
    '"""执行指定动作。"""\n        ...': """
        wrong = self._check_bridge()
        if wrong:
            return wrong
        user_id = self._resolve_user_id(params)
        sent = await self._bridge_client.send_file_to_pwa(user_id, params["file_path"], params.get("description", ""))
        return ToolResult(status=ToolResultStatus.SUCCESS, output=sent, duration_ms=12)""",
    **{
        f'"{name}": {{"type": "string", ...}}': f'"{name}": {{"type": "string", "description": "{description}"}}'
        for name, description in {
            "file_path": "要发送的本地文件绝对路径",
            "description": "文件描述（会显示在 PWA 端）",
            "user_id": "目标 PWA 用户 ID（留空则发送给当前会话用户）",
            "transcript": "语音文字",
        }.items()
    },
    "发送到 PWA 端用户...": "发送到 PWA 端用户。当你为远程 PWA 用户生成了文件，必须调用此工具将结果发送回去。",
}
"""What the article leaves out; a comment ``# ...`` is a gap that needs no filling."""


def filled(block: str) -> str:
    """A block of the article without gaps."""
    for gap, text in GAPS.items():
        block = block.replace(gap, text)
    return block


def methods(block: str) -> str:
    """The body of a class in the article."""
    return block.strip().partition("\n")[2]


SOURCE = "\n".join([filled(CLASS), methods(INJECTION), textwrap.indent(RESOLVING, "    "), filled(ACTIONS)])
"""The whole tool: the class, with the methods that later sections add to it."""


class Bridge:
    """Stands for RemoteBridgeClient."""

    def __init__(self, *online: str, is_connected: bool = True) -> None:
        self.is_connected = is_connected
        self.stats = SimpleNamespace(pwa_connections=[SimpleNamespace(user_id=user) for user in online])

    async def send_file_to_pwa(self, user_id: str, file_path: str, description: str) -> str:
        return f"{file_path} → {user_id}"


@pytest.fixture
def module() -> Iterator[ModuleType]:
    """``src.tools.remote_file_share`` with the article's tool."""
    compat.install("weclaw")
    made = ModuleType("src.tools.remote_file_share")
    sys.modules[made.__name__] = made
    exec(SOURCE, vars(made))
    yield made
    del sys.modules[made.__name__]
    compat.uninstall("weclaw")


@pytest.fixture
def tool(module: ModuleType) -> Any:
    return module.RemoteFileShareTool()


@pytest.fixture
def registry(tool: BaseTool) -> Registry:
    registry = ToolRegistry()
    registry.register_tool(tool)
    return registry


def run_window_code(registry: Registry, bridge: Bridge | None) -> None:
    """What gui_app.py does after it has made its window."""
    window = SimpleNamespace(_remote_bridge=bridge)
    myself = SimpleNamespace(_window=window, _tool_registry=registry)
    exec(WINDOW, {"self": myself, "logger": logging.getLogger("gui_app")})


def send(registry: Registry, **params: Any) -> dict[str, Any]:
    return registry.execute("remote_file_share_send_file", {"file_path": "generated/xxx.pptx", **params})


async def test_W001_the_class_with_its_gaps_is_a_class_without_actions(module: ModuleType) -> None:
    namespace: dict[str, Any] = {}
    exec(CLASS, namespace)
    tool = namespace["RemoteFileShareTool"]()
    assert (await tool.safe_execute("send_file")).error == "get_actions() of RemoteFileShareTool gave no actions"
    with pytest.raises(DefinitionError, match="gave no actions"):
        ToolRegistry().register_tool(tool)


def test_W004_the_schema_is_the_one_in_the_article(tool: BaseTool) -> None:
    schema = tool.get_schema()
    assert schema[0] == ast.literal_eval(filled(SCHEMA).strip())
    assert [each["function"]["name"] for each in schema] == [
        "remote_file_share_send_file",
        "remote_file_share_send_files",
        "remote_file_share_send_voice",
    ]
    assert schema[1]["function"]["description"] == "将多个桌面端本地文件批量发送到 PWA 端用户。"
    assert [each["function"]["parameters"]["required"] for each in schema] == [
        ["file_path"],
        ["file_paths"],
        ["file_path"],
    ]


def test_W005_every_function_has_the_facts_of_the_tool(registry: Registry) -> None:
    assert {(each.timeout, each.emoji, each.title) for each in registry} == {(180, "📤", "远程文件分享")}


def test_W022_before_the_bridge_is_there_the_tool_says_so(registry: Registry, tool: Any) -> None:
    assert send(registry) == {"success": False, "data": None, "error": "远程桥接客户端未初始化"}
    assert waiting_reason(tool, registry.services) == "waiting for bridge_client"
    run_window_code(registry, None)
    assert send(registry)["error"] == "远程桥接客户端未初始化"


def test_W021_the_window_injects_the_bridge(registry: Registry, tool: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    run_window_code(registry, Bridge("phone"))
    assert caplog.messages == ["已为 remote_file_share 工具注入 bridge_client"]
    assert send(registry)["data"] == "generated/xxx.pptx → phone"
    assert waiting_reason(tool, registry.services) is None


def test_W021_a_registered_service_is_injected_with_the_same_line(
    registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    registry.services.register("bridge_client", Bridge("phone"))
    assert caplog.messages == ["已为 remote_file_share 工具注入 bridge_client"]
    assert send(registry)["data"] == "generated/xxx.pptx → phone"


def test_W022_a_bridge_that_is_not_connected_is_an_error(registry: Registry) -> None:
    registry.services.register("bridge_client", Bridge(is_connected=False))
    assert send(registry)["error"] == "远程桥接未连接"


def test_W023_the_user_is_the_named_one_or_the_first_online(registry: Registry, tool: Any) -> None:
    registry.services.register("bridge_client", Bridge("first", "second"))
    assert send(registry, user_id="second")["data"] == "generated/xxx.pptx → second"
    assert send(registry)["data"] == "generated/xxx.pptx → first"
    registry.services.register("bridge_client", Bridge())
    assert tool._resolve_user_id({}) == ""


async def test_W003_the_result_is_as_the_tool_made_it(registry: Registry, tool: Any) -> None:
    tool.set_bridge_client(Bridge("phone"))
    result = await tool.safe_execute("send_file", {"file_path": "a.pdf"})
    assert (result.status.value, result.output, result.duration_ms) == ("success", "a.pdf → phone", 12)


def test_W006_what_is_required_is_checked_before_the_tool_runs(registry: Registry) -> None:
    outcome = registry.execute("remote_file_share_send_file", {})
    assert outcome["error"].startswith("file_path: expected string, got nothing")


def test_W019_the_function_is_traced_back_to_its_tool(registry: Registry) -> None:
    assert registry.resolve_action("remote_file_share_send_file") == ("remote_file_share", "send_file")


def test_W007_the_entry_of_the_article_loads_the_tool(module: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(TOOLS_JSON, encoding="utf-8")
    listing = ToolsJson(path, modules=["src.tools"]).load()
    assert listing.problems == ()
    assert [each.name.removeprefix("remote_file_share_") for each in listing.tools] == [
        "send_file",
        "send_files",
        "send_voice",
    ]
    assert {(each.category, each.risk, each.timeout) for each in listing.tools} == {("communication", "low", 180)}
