"""What is written down of a call, in the form that storage and streams share (contract N013-N016)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from toolcrib.definition.artifact import Artifact
from toolcrib.definition.result import ToolResult
from toolcrib.execution.shape import RESULT_LIMIT, json_text, shorten

Keep = Callable[[str], Artifact]


@dataclass(slots=True)
class CallRecord:
    """One call and its one result.

    Attributes:
        id: as the provider sent it.
        name: of the tool.
        arguments: as sent, as JSON text; what a tool does to its arguments does not show here.
        result: the outcome.
        content: the outcome as JSON text, which is what the model reads.
        skipped: whether it was not carried out, since it is a duplicate in its batch.
        duplicate_of: the id of the call it is a duplicate of.
        cached: whether the result was remembered from an earlier call.
        execution_time: seconds.
        notes: what was done to the arguments, such as ``"coerced:limit"``.
        artifact: the whole result, where ``content`` holds only a part of it.
        note: what the model is told besides.
    """

    id: str
    name: str
    arguments: str
    result: ToolResult
    content: str = ""
    skipped: bool = False
    duplicate_of: str | None = None
    cached: bool = False
    execution_time: float = 0.0
    notes: list[str] = field(default_factory=list)
    artifact: Artifact | None = None
    note: str | None = None

    @property
    def success(self) -> bool:
        """Whether the tool did what was asked."""
        return self.result.success

    def message(self) -> dict[str, Any]:
        """The message that answers the model (contract N016)."""
        return {"role": "tool", "tool_call_id": self.id, "name": self.name, "content": self.content}

    def to_dict(self) -> dict[str, Any]:
        """The unified record: S1's keys, then ours."""
        return {
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": self.arguments},
            "result": self.content,
            "success": self.result.success,
            "skipped": self.skipped,
            "execution_time": self.execution_time,
            "duration_ms": self.execution_time * 1000.0,
            "status": self.result.status.value,
            "error_code": self.result.error_code,
            "cached": self.cached,
            "duplicate_of": self.duplicate_of,
            "notes": self.notes,
            "artifact": self.artifact.to_dict() if self.artifact is not None else None,
        }

    def write_content(self, limit: int = RESULT_LIMIT, keep: Keep | None = None) -> None:
        """Write ``content``: S1's view of the result, and whatever else the model should know of it.

        Args:
            limit: characters of the data to show.
            keep: stores the whole of what is longer.
        """
        view = self.result.to_dict()
        if self.result.hint is not None:
            view["hint"] = self.result.hint
        if self.skipped:
            view.update(skipped=True, duplicate_of=self.duplicate_of)
            self.note = f"Duplicate of {self.duplicate_of}: not executed again; this is its result."
        ignored = [note.removeprefix("ignored:") for note in self.notes if note.startswith("ignored:")]
        if self.note is not None:
            view["note"] = self.note
        if ignored:
            view["ignored_arguments"] = ignored
        text = json_text(view)
        if len(text) > limit:
            text = self._shortened(view, limit, keep)
        self.content = text

    def _shortened(self, view: dict[str, Any], limit: int, keep: Keep | None) -> str:
        for part in ("data", "error"):
            value = view[part]
            whole = value if type(value) is str else json_text(value)
            if len(whole) > limit // 2:
                view[part], artifact = shorten(whole, limit // 2, keep)
                view["truncated"] = True
                self.artifact = artifact or self.artifact
                if artifact is not None:
                    view["artifact"] = artifact.to_dict()
        return json_text(view)
