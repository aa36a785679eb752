"""From what a provider sent to the calls that may run (DESIGN §3.1, §3.2; contract N006)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from toolcrib.definition.schema.check import Compiler
from toolcrib.definition.tool import ToolDefinition
from toolcrib.definition.validation import declared_keys, validator_of
from toolcrib.errors import InvalidParamsError, ToolcribError, TruncatedCallError
from toolcrib.execution.arguments import strict
from toolcrib.execution.arguments.content import find_calls
from toolcrib.execution.arguments.envelopes import inner
from toolcrib.execution.arguments.ids import CallIds
from toolcrib.execution.arguments.markup import TextCall
from toolcrib.execution.arguments.names import Named, ToolNames, Tools
from toolcrib.execution.arguments.objects import Objects, read
from toolcrib.execution.arguments.records import ParsedCall, ParsedCalls, RefusedCall
from toolcrib.execution.arguments.strict import CutOff, Malformed
from toolcrib.execution.copies import unshared

CUT_REASONS = frozenset(
    [
        *("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded", "incomplete"),
        *("content_filter", "safety", "recitation", "refusal", "error"),
    ]
)
"""What providers give as ``finish_reason`` of an answer that ends before it was complete."""

_CALL_REASONS = frozenset(("tool_calls", "tool_use", "function_call"))
_ARGUMENTS = ("arguments", "args", "input", "parameters")
_OUTER = frozenset((*_ARGUMENTS, "kwargs", "params"))
_MOST_BESIDE = 4
_DECODED = ("coerced:", "decoded:")
_CUT_HINT = "Nothing was run. Send the call again; where it is long, as several shorter calls."
_NO_ARGUMENTS: dict[str, Any] = {}

Outcome = ParsedCall | RefusedCall


def parse_tool_calls(
    message: Mapping[str, Any],
    tools: Tools,
    *,
    finish_reason: str | None = None,
    history_ids: Iterable[str] = (),
) -> ParsedCalls:
    """The calls of a model's answer: those that may run, with validated arguments, and why the others may not.

    What is strict JSON and fits its tool is never changed. What is damaged is mended where nothing is lost or guessed,
    and each repair is noted. What was cut off is refused, whatever ``finish_reason`` says; where that says that the
    answer was cut, its last call is refused even if it looks complete.

    Args:
        message: the answer: ``tool_calls`` as any provider sends them, and ``content``.
        tools: those that the model was offered; a `ToolRegistry`, a mapping by name, or the tools.
        finish_reason: why the provider says that the answer ended.
        history_ids: ids of the chat's earlier calls.

    Returns:
        One outcome for each call, in order. No exception escapes on account of what a model wrote.

    Example:
        >>> add = ToolDefinition("add", "Adds.", {"type": "object", "properties": {"a": {"type": "integer"}}})
        >>> sent = {"id": "c1", "function": {"name": "Add", "arguments": '{"a": "1",}'}}
        >>> (call,) = parse_tool_calls({"tool_calls": [sent]}, [add]).calls
        >>> call.arguments, call.repairs
        ({'a': 1}, ('name_normalised', 'trailing_comma', 'coerced:a'))
    """
    return CallReader(tools).parse(message, finish_reason=finish_reason, history_ids=history_ids)


class CallReader:
    """`parse_tool_calls` for many answers: knows the tools' names once.

    Args:
        tools: as there; a registry may change between answers.
    """

    def __init__(self, tools: Tools) -> None:
        self._names = ToolNames(tools)

    def parse(
        self, message: Mapping[str, Any], *, finish_reason: str | None = None, history_ids: Iterable[str] = ()
    ) -> ParsedCalls:
        """As `parse_tool_calls`."""
        reason = finish_reason.lower() if finish_reason else ""
        ids = CallIds(history_ids)
        text, sent = _parts(message)
        if not sent:
            return self._of_text(text, reason, ids)
        outcomes: list[Outcome] = []
        own = [ids.own(call.get("id") if type(call) is dict or isinstance(call, Mapping) else None) for call in sent]
        last = len(sent) - 1 if reason in CUT_REASONS else -1
        for place, call in enumerate(sent):
            quick = self._quick(call, own[place], place) if place != last else None
            if quick is not None:
                outcomes.append(quick)
            else:
                outcomes.extend(self._native(call, own[place], place, ids, cut=place == last))
        return ParsedCalls(tuple(outcomes), self._without_echo(text, outcomes) if text else text)

    def read(self, call: Any) -> list[Outcome]:
        """The outcomes of one entry of ``tool_calls``, whose id stays as it was sent: most often one.

        Args:
            call: the entry, in any provider's form; what is nothing of the kind is refused.
        """
        ids = CallIds()
        call_id = ids.own(call.get("id") if type(call) is dict or isinstance(call, Mapping) else None)
        quick = self._quick(call, call_id, 0)
        return [quick] if quick is not None else list(self._native(call, call_id, 0, ids, cut=False))

    def _quick(self, call: Any, call_id: str, place: int) -> Outcome | None:
        """The outcome where name and JSON are in order, else None; it decides nothing that `_native` would not."""
        try:
            function = call["function"]
            name = function["name"]
            tool = self._names.exact(name)
            sent = function["arguments"]
            if tool is None or type(sent) is not str:
                return None
            value = strict.decode_object(sent)
        except (KeyError, TypeError, AttributeError, Malformed):
            return None
        if value is None or (len(value) <= _MOST_BESIDE and not _OUTER.isdisjoint(value)):
            return None
        notes: list[str] = []
        try:
            arguments, values = validator_of(tool).prepare(value, notes)
        except ToolcribError as error:
            return RefusedCall(call_id, name, error, sent, place)
        return ParsedCall(call_id, tool, arguments, values, tuple(notes), place)

    def _native(self, call: Any, call_id: str, place: int, ids: CallIds, *, cut: bool) -> Iterator[Outcome]:
        """The outcomes of one entry of ``tool_calls``: most often one."""
        name, sent = name_and_arguments(call)
        if cut:
            yield RefusedCall(call_id, name, _last_of_cut_answer(), sent, place)
            return
        named = self._names.find(name)
        try:
            objects = read(sent) if type(sent) is not dict else Objects([unshared(sent)], [])
        except (CutOff, Malformed) as problem:
            error = self._names.unknown(name) if named is None and isinstance(problem, Malformed) else None
            yield RefusedCall(call_id, name, error or _unreadable(name, sent, problem), sent, place)
            return
        targets = [named] * len(objects.values) if named else self._names.split(name, len(objects.values))
        if targets is None:
            yield RefusedCall(call_id, name, self._names.unknown(name), sent, place)
            return
        for position, (target, value) in enumerate(zip(targets, objects.values, strict=True)):
            one_id = call_id if position == 0 else ids.own(call_id)
            yield self._checked(target, name, value, objects.repairs, one_id, place)
        if objects.cut:
            yield RefusedCall(ids.own(call_id), name, _unreadable(name, sent, CutOff()), sent, place)

    def _checked(
        self, named: Named, name: str, value: dict[str, Any], repairs: Iterable[str], call_id: str, place: int | None,
        *, texts: bool = False,
    ) -> Outcome:  # fmt: skip
        """One call's arguments, held against the schema of its tool."""
        tool = named.tool
        notes: list[str] = []
        try:
            if texts:
                value = _typed(tool, value)
            elif value:
                value = self._opened(tool, value, notes)
            arguments, values = validator_of(tool).prepare(value, notes)
        except ToolcribError as error:
            return RefusedCall(call_id, name, error, value, place)
        except (CutOff, Malformed) as problem:
            return RefusedCall(call_id, name, _unreadable(name, value, problem), value, place)
        if texts:
            notes = [note for note in notes if not note.startswith(_DECODED)]
        return ParsedCall(call_id, tool, arguments, values, (*named.repairs, *repairs, *notes), place)

    def _opened(self, tool: ToolDefinition, value: dict[str, Any], notes: list[str]) -> dict[str, Any]:
        """Arguments without the envelope of a whole call, or text in place of an object, around them."""
        if len(value) > _MOST_BESIDE or _OUTER.isdisjoint(value):
            return value
        declared = declared_keys(tool.parameters)
        if declared is None:
            return value
        envelope = inner(value, declared)
        if envelope is not None:
            name, key, within = envelope
            named = self._names.find(name)
            if named is not None and named.tool is tool:
                value = {key: within}
        if len(value) != 1:
            return value
        ((key, within),) = value.items()
        if key in declared or key not in _OUTER:
            return value
        if isinstance(within, str):
            objects = read(within)
            if len(objects.values) != 1 or objects.cut:
                return value
            notes += [*objects.repairs, *(["double_encoded"] if "double_encoded" not in objects.repairs else [])]
            within = objects.values[0]
        if envelope is None or not isinstance(within, dict):
            return {key: within}
        notes.append(f"unwrapped:{key}")
        return within

    def _of_text(self, text: str, reason: str, ids: CallIds) -> ParsedCalls:
        """The calls that an answer without ``tool_calls`` has in its text."""
        found = find_calls(text, self._is_known, expected=reason in _CALL_REASONS)
        outcomes = [self._written(call, ids.own(None)) for call in found.calls]
        if found.ends and reason in CUT_REASONS and outcomes and isinstance(last := outcomes[-1], ParsedCall):
            outcomes[-1] = RefusedCall(last.id, last.tool.name, _last_of_cut_answer(), last.arguments)
        return ParsedCalls(tuple(outcomes), found.visible)

    def _written(self, call: TextCall, call_id: str) -> Outcome:
        if call.problem is not None:
            return RefusedCall(call_id, call.name, _unreadable(call.name, call.sent, call.problem), call.sent)
        named = self._names.find(call.name)
        assert named is not None, "find_calls gives those of known tools"
        try:
            objects = read(call.sent)
            if len(objects.values) != 1 or objects.cut:
                raise Malformed("one object belongs there, and there are several")
        except (CutOff, Malformed) as problem:
            return RefusedCall(call_id, call.name, _unreadable(call.name, call.sent, problem), call.sent)
        repairs = ("from_content", *call.repairs, *objects.repairs)
        return self._checked(named, call.name, objects.values[0], repairs, call_id, None, texts=call.texts)

    def _is_known(self, name: str) -> bool:
        return self._names.find(name) is not None

    def _without_echo(self, text: str, outcomes: list[Outcome]) -> str:
        """The text of an answer without calls that are among its ``tool_calls`` as well; they run once."""
        found = find_calls(text, self._is_known)
        ran = [(one.tool.name, one.arguments) for one in outcomes if isinstance(one, ParsedCall)]
        for call in found.calls:
            outcome = self._written(call, "echo")
            if isinstance(outcome, RefusedCall) or (outcome.tool.name, outcome.arguments) not in ran:
                return text
        return found.visible


def _parts(message: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """The text of a message and the calls beside it, whatever form its provider gives them."""
    sent = message.get("tool_calls")
    calls: list[Any] = list(sent) if isinstance(sent, (list, tuple)) else [sent] if isinstance(sent, Mapping) else []
    if calls and message.get("content") is None:
        return "", calls
    if not calls and isinstance(message.get("function_call"), Mapping):
        calls = [message["function_call"]]
    content = message.get("content")
    if isinstance(content, str):
        return content, calls
    texts: list[str] = []
    for block in content if isinstance(content, (list, tuple)) else ():
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, Mapping):
            if isinstance(block.get("text"), str):
                texts.append(block["text"])
            elif block.get("type") == "tool_use":
                calls.append(block)
    return "".join(texts), calls


def name_and_arguments(call: Any) -> tuple[str, Any]:
    """Name and arguments of an entry of ``tool_calls``."""
    if not isinstance(call, Mapping):
        return "", call
    function = call.get("function")
    if not isinstance(function, Mapping):
        function = call
    name = function.get("name")
    sent = function.get("arguments")
    if sent is None:
        sent = next((function[key] for key in _ARGUMENTS if function.get(key) is not None), _NO_ARGUMENTS)
    return name if isinstance(name, str) else "", sent


def _typed(tool: ToolDefinition, texts: dict[str, Any]) -> dict[str, Any]:
    """Values that were written as text, read as JSON where the schema does not take the text itself."""
    compiler = Compiler(tool.parameters, exact=True)
    declared: Mapping[str, Any] = tool.parameters.get("properties") or {}
    values: dict[str, Any] = {}
    for key, text in texts.items():
        values[key] = text
        if not isinstance(text, str) or key not in declared:
            continue
        if text == "null" and compiler.fits(declared[key], None):
            values[key] = None
        elif not compiler.fits(declared[key], text):
            try:
                values[key] = strict.decode(text.strip())
            except ValueError:
                continue
    return values


def _last_of_cut_answer() -> ToolcribError:
    return TruncatedCallError("The answer was cut off before its end, and this is its last call", hint=_CUT_HINT)


def _unreadable(name: str, sent: Any, problem: CutOff | Malformed) -> ToolcribError:
    """The error for arguments that are no JSON, or not all of it."""
    if isinstance(problem, CutOff):
        where = f" after {len(sent)} characters" if isinstance(sent, str) else ""
        return TruncatedCallError(f"Invalid JSON arguments: they were cut off{where}", hint=_CUT_HINT)
    return InvalidParamsError(
        f"Invalid JSON arguments: {problem}", hint=f"Send those of {name or 'the call'} again as one JSON object."
    )
