"""One request to run one tool."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolcrib.definition.context import Context
from toolcrib.definition.tool import ToolDefinition


class Deadline:
    """A moment on the monotonic clock by which a call must have answered.

    Args:
        seconds: from now on.

    Example:
        >>> Deadline(600).remaining() > 599
        True
    """

    __slots__ = ("at", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.at = time.monotonic() + seconds

    def remaining(self) -> float:
        """Seconds left; 0.0 once it has passed."""
        return max(0.0, self.at - time.monotonic())


def _new_id() -> str:
    return f"call_{random.getrandbits(64):016x}"  # noqa: S311, RUF100 - to be told apart, not to be secret


@dataclass(slots=True)
class ToolCall:
    """One request to run one tool: what goes into the pipeline.

    Attributes:
        tool: the tool.
        arguments: its arguments by name; a stage that changes them replaces the mapping, the caller's is never mutated.
        context: who calls; never from the model.
        id: unique within its batch.
        notes: what the pipeline did to the arguments, such as ``"ignored:color"`` (names in FORMS).
    """

    tool: ToolDefinition
    arguments: Mapping[str, Any]
    context: Context = field(default_factory=Context)
    id: str = field(default_factory=_new_id)
    notes: list[str] = field(default_factory=list)
