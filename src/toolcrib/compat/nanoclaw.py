"""``backend.tools…``, as S1 imports it (contract N048-N053)."""

from __future__ import annotations

from toolcrib.compat.install import Layout

LAYOUT = Layout(
    modules={
        "backend": {},
        "backend.tools": {
            "ToolDefinition": "toolcrib:ToolDefinition",
            "ToolExecutor": "toolcrib:ToolExecutor",
            "ToolRegistry": "toolcrib:ToolRegistry",
            "ToolResult": "toolcrib:ToolResult",
            "get_service": "toolcrib:get_service",
            "init_tools": "toolcrib:init_tools",
            "register_service": "toolcrib:register_service",
            "registry": "toolcrib.crib:default_crib().registry",
            "tool": "toolcrib:tool",
        },
        "backend.tools.builtin": {},
        "backend.tools.executor": {"ToolExecutor": "toolcrib:ToolExecutor"},
        "backend.tools.factory": {"tool": "toolcrib:tool"},
    },
    packages={"backend.tools.builtin": "toolcrib.builtin"},
)
