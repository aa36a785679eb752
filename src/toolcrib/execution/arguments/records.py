"""What became of the calls that a provider sent."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from toolcrib.definition.call import ToolCall
from toolcrib.definition.context import Context
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import ToolcribError, TruncatedCallError, UnknownToolError
from toolcrib.execution.copies import unshared

Kind = Literal["invalid_arguments", "truncated", "unknown_tool"]


class ParsedCall(NamedTuple):
    """One call that may run.

    Attributes:
        id: unique in its message and its chat.
        tool: the tool.
        arguments: validated, as JSON.
        values: the same as the handler takes them, with instances where it has types.
        repairs: what was mended, by the names of the call record, such as ``"coerced:limit"``.
        place: its place among the message's ``tool_calls``; None for a call in the text.
    """

    id: str
    tool: ToolDefinition
    arguments: dict[str, Any]
    values: dict[str, Any]
    repairs: tuple[str, ...] = ()
    place: int | None = None

    def to_call(self, context: Context) -> ToolCall:
        """The call as the pipeline takes it; what a tool does to its arguments does not show here."""
        call = ToolCall(self.tool, self.arguments, context, self.id, list(self.repairs))
        call.values = dict(unshared(self.values))
        return call


class RefusedCall(NamedTuple):
    """One call that must not run.

    Attributes:
        id: as in `ParsedCall`.
        name: of the tool, as sent.
        error: why, and what to do about it.
        sent: the arguments as sent.
        place: as in `ParsedCall`.
    """

    id: str
    name: str
    error: ToolcribError
    sent: Any = None
    place: int | None = None

    @property
    def kind(self) -> Kind:
        """Why, in one word."""
        if isinstance(self.error, TruncatedCallError):
            return "truncated"
        return "unknown_tool" if isinstance(self.error, UnknownToolError) else "invalid_arguments"

    @property
    def message(self) -> str:
        """Why, for the model: the error and its hint."""
        return f"{self.error}\n{self.error.hint}" if self.error.hint else str(self.error)

    def to_result(self) -> ToolResult:
        """The call's one result."""
        return ToolResult.from_error(self.error)


class ParsedCalls(NamedTuple):
    """The calls of one message.

    Attributes:
        outcomes: each call, in the order in which the model made them: every one of them needs exactly one result.
        visible_text: what remains of the content for people.
    """

    outcomes: tuple[ParsedCall | RefusedCall, ...]
    visible_text: str = ""

    @property
    def calls(self) -> list[ParsedCall]:
        """Those that may run."""
        return [one for one in self.outcomes if type(one) is ParsedCall]

    @property
    def errors(self) -> list[RefusedCall]:
        """Those that must not."""
        return [one for one in self.outcomes if type(one) is RefusedCall]

    @property
    def repairs(self) -> list[str]:
        """What was mended in any of them."""
        return list(dict.fromkeys(repair for call in self.calls for repair in call.repairs))
