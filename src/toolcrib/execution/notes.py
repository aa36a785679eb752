"""What the pipeline has to say beside a result, which its three views have no place for."""

from __future__ import annotations

from toolcrib.definition.result import ToolResult


class NotedResult(ToolResult):
    """A result with notes.

    Attributes:
        notes: such as ``"output does not fit its schema: …"``.
    """

    __slots__ = ("notes",)

    notes: tuple[str, ...]


def noted(result: ToolResult, note: str) -> NotedResult:
    """``result`` with ``note`` beside it; a tool that keeps the result it returned keeps it as it was.

    Example:
        >>> noted(ToolResult.ok(1), "output does not fit its schema: …").notes
        ('output does not fit its schema: …',)
    """
    copy = NotedResult.__new__(NotedResult)
    for name in ToolResult.__slots__:
        setattr(copy, name, getattr(result, name))
    copy.notes = (*getattr(result, "notes", ()), note)
    return copy
