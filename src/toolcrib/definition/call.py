"""One request to run one tool."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping
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


def new_id() -> str:
    """An id for a call that has none."""
    return f"call_{random.getrandbits(64):016x}"  # noqa: S311, RUF100 - to be told apart, not to be secret


@dataclass
class ToolCall:
    """One request to run one tool: what goes into the pipeline.

    Attributes:
        tool: the tool.
        arguments: its arguments by name; a stage that changes them replaces the mapping, the caller's is never mutated.
        context: who calls; never from the model.
        id: unique within its batch.
        notes: what the pipeline did to the arguments, such as ``"ignored:color"`` (names in FORMS).
        values: the validated arguments as the handler gets them; None = not validated yet, or no longer what they are.
        key: what makes another call the same as this; None = nothing does, or it is not known yet.
        cached: whether the result was remembered instead of computed.
        parent: the call whose tool made this one; None = no tool did.
        ended: whether nobody waits for it any more.
        holds_slot: whether it counts against the tool's ``concurrency``.
        on_progress: told what the tool says about its progress: done, total, message.
    """

    tool: ToolDefinition
    arguments: Mapping[str, Any]
    context: Context = field(default_factory=Context)
    id: str = field(default_factory=new_id)
    notes: list[str] = field(default_factory=list)
    values: dict[str, Any] | None = field(default=None, init=False)
    key: str | None = field(default=None, init=False)
    cached: bool = field(default=False, init=False)
    parent: ToolCall | None = field(default=None, init=False, repr=False)
    ended: bool = field(default=False, init=False)
    holds_slot: bool = field(default=False, init=False)
    on_progress: Callable[[float | None, float | None, str | None], None] | None = field(
        default=None, init=False, repr=False
    )

    def chain(self) -> Iterator[ToolCall]:
        """This call, the one whose tool made it, the one whose tool made that …"""
        call: ToolCall | None = self
        while call is not None:
            yield call
            call = call.parent
