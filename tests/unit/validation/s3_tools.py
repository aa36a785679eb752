"""The two tools of S3's own world: `wechat` and `remote_file_share`."""

from __future__ import annotations

from typing import Any

from toolcrib.definition.base_tool import ActionDef, BaseTool
from toolcrib.definition.result import ToolResult


class WechatTool(BaseTool):
    """微信。"""

    name = "wechat"
    title = "微信"
    description = "在微信里发送和读取消息"
    effects = "external"
    risk = "medium"
    intents = {"communication": "recommended"}  # noqa: RUF012

    def get_actions(self) -> list[ActionDef]:
        text = {"type": "string", "description": "要发送的内容"}
        return [ActionDef("send", "发送一条微信消息。", {"text": text}, ["text"], examples=("发微信说我晚点到",))]

    async def execute(self, action: str, params: dict[str, Any]) -> ToolResult:
        return ToolResult(status="success", output=params["text"])


class RemoteFileShareTool(BaseTool):
    """远程文件分享。"""

    name = "remote_file_share"
    title = "远程文件分享"
    description = "将桌面端文件发送到 PWA 端"
    effects = "external"
    risk = "medium"
    timeout = 180
    intents = {"communication": "recommended"}  # noqa: RUF012

    def __init__(self, limit_mb: int = 50) -> None:
        self.limit_mb = limit_mb
        self._bridge_client: Any = None

    def set_bridge_client(self, bridge_client: Any) -> None:
        self._bridge_client = bridge_client

    def get_actions(self) -> list[ActionDef]:
        path = {"type": "string", "description": "要发送的本地文件绝对路径"}
        paths = {"type": "array", "items": {"type": "string"}, "description": "要发送的本地文件路径列表"}
        return [
            ActionDef(
                "send_file", "发送一个文件。", {"file_path": path}, ["file_path"], examples=("把报告发到手机上",)
            ),
            ActionDef("send_files", "批量发送文件。", {"file_paths": paths}, ["file_paths"]),
            ActionDef("send_voice", "发送语音消息。", {"file_path": path}, ["file_path"]),
        ]

    async def execute(self, action: str, params: dict[str, Any]) -> ToolResult:
        return ToolResult(status="error", error="远程桥接客户端未初始化")
