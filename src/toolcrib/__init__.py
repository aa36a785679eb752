"""toolcrib: define a tool once; it is found, shown, run safely wherever it lives, and written down.

    from toolcrib import tool

    @tool
    def add(a: int, b: int = 1) -> int:
        '''Adds two numbers.'''
        return a + b

The names below are the public API. They are imported when first used; importing this package does nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolcrib.crib import Crib as Crib
    from toolcrib.crib import get_service as get_service
    from toolcrib.crib import register_service as register_service
    from toolcrib.crib import tool as tool
    from toolcrib.definition.artifact import Artifact as Artifact
    from toolcrib.definition.base_tool import ActionDef as ActionDef
    from toolcrib.definition.base_tool import BaseTool as BaseTool
    from toolcrib.definition.context import Context as Context
    from toolcrib.definition.injection import Injected as Injected
    from toolcrib.definition.result import ToolResult as ToolResult
    from toolcrib.definition.result import ToolResultStatus as ToolResultStatus
    from toolcrib.definition.tool import ToolDefinition as Tool
    from toolcrib.definition.tool import ToolDefinition as ToolDefinition
    from toolcrib.execution.executor import ToolExecutor as ToolExecutor
    from toolcrib.registry.registry import ToolRegistry as ToolRegistry

__all__ = [
    "ActionDef",
    "Artifact",
    "BaseTool",
    "Context",
    "Crib",
    "Injected",
    "Tool",
    "ToolDefinition",
    "ToolExecutor",
    "ToolRegistry",
    "ToolResult",
    "ToolResultStatus",
    "__version__",
    "get_service",
    "register_service",
    "tool",
]

__version__ = "0.1.0"

_HOMES = {
    "ActionDef": ("definition.base_tool", "ActionDef"),
    "Artifact": ("definition.artifact", "Artifact"),
    "BaseTool": ("definition.base_tool", "BaseTool"),
    "Context": ("definition.context", "Context"),
    "Crib": ("crib", "Crib"),
    "Injected": ("definition.injection", "Injected"),
    "Tool": ("definition.tool", "ToolDefinition"),
    "ToolDefinition": ("definition.tool", "ToolDefinition"),
    "ToolExecutor": ("execution.executor", "ToolExecutor"),
    "ToolRegistry": ("registry.registry", "ToolRegistry"),
    "ToolResult": ("definition.result", "ToolResult"),
    "ToolResultStatus": ("definition.result", "ToolResultStatus"),
    "get_service": ("crib", "get_service"),
    "register_service": ("crib", "register_service"),
    "tool": ("crib", "tool"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'toolcrib' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOMES[name]
    value = getattr(import_module(f"toolcrib.{module}"), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
