"""``src.tools…`` and ``src.core…``, as S3 imports them (contract W001-W019)."""

from __future__ import annotations

from typing import Any

from toolcrib.compat.install import Layout
from toolcrib.registry.sources.tools_json import DOCUMENT_PACKAGES

LAYOUT = Layout(
    modules={
        "src": {},
        "src.core": {},
        "src.core.prompts": {
            "INTENT_CATEGORIES": "toolcrib.compat.weclaw:INTENT_CATEGORIES",
            "INTENT_PRIORITY_MAP": "toolcrib.compat.weclaw:INTENT_PRIORITY_MAP",
            "INTENT_TOOL_MAPPING": "toolcrib.compat.weclaw:INTENT_TOOL_MAPPING",
        },
        "src.core.tool_exposure": {"_extract_tool_name": "toolcrib.compat.weclaw:extract_tool_name"},
        "src.tools": {},
        "src.tools.base": {
            "ActionDef": "toolcrib.definition.base_tool:ActionDef",
            "BaseTool": "toolcrib.definition.base_tool:BaseTool",
            "ToolResult": "toolcrib:ToolResult",
            "ToolResultStatus": "toolcrib:ToolResultStatus",
        },
        "src.tools.registry": {"ToolRegistry": "toolcrib:ToolRegistry"},
    },
    packages=DOCUMENT_PACKAGES,
)


def extract_tool_name(func_name: str) -> str:
    """The tool whose function has that name, among the tools of the default crib (contract W019).

    A registered function is looked up; only an unknown name is cut, as S3 does: after the longest name of a registered
    tool that it begins with, else before its first underscore. What runs a call uses `ToolRegistry.resolve_action`,
    which never guesses.

    Example:
        >>> extract_tool_name("nosuch_do")
        'nosuch'
    """
    from toolcrib.crib import default_crib

    registry = default_crib().registry
    pair = registry.actions.pair(func_name)
    if pair is not None:
        return pair[0]
    if func_name in registry:
        return func_name
    prefixes = (name for name in registry.actions.tool_names() if func_name == name or func_name.startswith(f"{name}_"))
    return max(prefixes, key=len, default=func_name.split("_")[0])


def __getattr__(name: str) -> Any:
    """S3's three tables, generated from the tools of the default crib as they are now (contract W013-W015)."""
    if name not in LAYOUT.modules["src.core.prompts"]:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from toolcrib.crib import default_crib
    from toolcrib.exposure.intents import intent_tables

    tables = intent_tables(default_crib().registry)
    return {
        "INTENT_CATEGORIES": tables.categories,
        "INTENT_TOOL_MAPPING": tables.mapping,
        "INTENT_PRIORITY_MAP": tables.priority,
    }[name]
