"""Which calls of a batch are the same as an earlier one of it (contract N014, N022)."""

from __future__ import annotations

from collections.abc import Sequence

from toolcrib.definition.call import ToolCall
from toolcrib.definition.tool import ToolDefinition
from toolcrib.execution.cache import resources_changed, resources_read
from toolcrib.execution.keys import call_key


def is_deduplicated(tool: ToolDefinition) -> bool:
    """Whether identical calls in one batch run once: what it says, else unless it reaches outside."""
    return tool.effects != "external" if tool.dedup is None else tool.dedup


def duplicates(calls: Sequence[ToolCall | None]) -> dict[int, int]:
    """Index of each duplicate → index of the call that runs in its place.

    A call of a tool that reads is no duplicate where a writing call that may have changed what it reads stands between.

    Args:
        calls: prepared, in order; None where one cannot run.
    """
    count: dict[str, int] = {}
    for call in calls:
        if call is not None:
            count[call.tool.name] = count.get(call.tool.name, 0) + 1
    found: dict[int, int] = {}
    first: dict[str, tuple[int, int]] = {}
    changed: dict[str, int] = {}
    for index, call in enumerate(calls):
        if call is None:
            continue
        tool = call.tool
        if count[tool.name] > 1 and is_deduplicated(tool):
            if call.key is None:
                call.key = call_key(call)
            if call.key is not None:
                reads = () if tool.writes or tool.mutates else resources_read(tool)
                changes = sum(changed.get(name, 0) for name in reads)
                earlier = first.get(call.key)
                if earlier is not None and earlier[1] == changes:
                    found[index] = earlier[0]
                    continue
                first[call.key] = (index, changes)
        for name in resources_changed(tool):
            changed[name] = changed.get(name, 0) + 1
    return found
