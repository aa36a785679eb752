"""What files mention and yet do not give: what must stay while they are broken, and why a tool is not there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import PurePath

from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import SourceError
from toolcrib.registry.sources.layers import Reading, ToolLayer, disabling, is_enabled


class Said:
    """Remembers which names each file or folder spoke of while everything in it could be told apart.

    Args:
        names: what one reading speaks of.
    """

    def __init__(self, names: Callable[[Reading], AbstractSet[str]]) -> None:
        self._names = names
        self._before: list[AbstractSet[str]] = []

    def lost(self, readings: Sequence[Reading]) -> set[str]:
        """Names that went missing in files in which an entry is so wrong that it may be any of them.

        Args:
            readings: of the same files as the last time, in the same order.
        """
        before = self._before or [frozenset[str]()] * len(readings)
        now = [self._names(reading) for reading in readings]
        self._before = [
            old | new if reading.nameless else new for reading, old, new in zip(readings, before, now, strict=True)
        ]
        pairs = zip(readings, before, now, strict=True)
        return {name for reading, old, new in pairs if reading.nameless for name in old - new}


def absences(
    tools: Mapping[str, ToolDefinition],
    layers: Mapping[str, list[ToolLayer]],
    readings: Sequence[Reading],
    undefined: Mapping[str, SourceError],
) -> dict[str, str]:
    """Why each tool that is mentioned and not listed is not listed, as the end of a sentence for whoever calls it."""
    said = {
        tool_id: f"there is a folder {PurePath(problem.path).parent} without {PurePath(problem.path).name}"
        for tool_id, problem in undefined.items()
    }
    for reading in readings:
        for tool_id in reading.broken:
            wrong = [str(problem) for problem in reading.problems if f"tool {tool_id!r}" in str(problem)]
            said[tool_id] = wrong[0] if wrong else "what the files say of it is wrong"
    for tool_id, own in layers.items():
        if not is_enabled(own) and (layer := disabling(own)) is not None:
            said[tool_id] = f"{_place(layer, 'enabled')} switches it off"
        else:
            said.setdefault(tool_id, f"{_place(own[-1])} does not define it completely")
    return {tool_id: reason for tool_id, reason in said.items() if tool_id not in tools}


def _place(layer: ToolLayer, *key: str) -> str:
    found = layer.problem(key, "")
    return f"{found.path}:{found.line}" if found.line else found.path
