"""Calls put together from the pieces of a streamed answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

_STRUCTURE = re.compile(r'[{}\[\]"]')
_STRING_END = re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)


def assemble(deltas: Iterable[Any]) -> list[dict[str, Any]]:
    """The ``tool_calls`` of a message from its deltas, in the order in which they began.

    Pieces belong together by ``index``, else by ``id``, else by their order. A new id under a known index, or a new
    name after complete arguments, begins another call; ids and names that are repeated or empty in later pieces do not.

    Args:
        deltas: as sent: ``{"index", "id", "function": {"name", "arguments"}}``, or with name and arguments flat.

    Example:
        >>> assemble([{"index": 0, "id": "a", "name": "f", "arguments": '{"x"'}, {"index": 0, "arguments": ": 1}"}])
        [{'id': 'a', 'type': 'function', 'function': {'name': 'f', 'arguments': '{"x": 1}'}}]
    """
    calls: list[_Call] = []
    by_index: dict[Any, _Call] = {}
    by_id: dict[str, _Call] = {}
    last: _Call | None = None
    for delta in deltas:
        if not isinstance(delta, Mapping):
            continue
        function = delta.get("function")
        function = function if isinstance(function, Mapping) else delta
        index, call_id, name = delta.get("index"), delta.get("id") or None, function.get("name") or None
        if index is not None:
            call = by_index.get(index)
        elif call_id is not None:
            call = by_id.get(call_id)
        else:
            call = last
        if call is not None and call.is_over(index, call_id, name, function.get("arguments")):
            call = None
        if call is None:
            call = _Call()
            calls.append(call)
        call.add(call_id, name, function.get("arguments"))
        if index is not None:
            by_index[index] = call
        if call_id is not None:
            by_id[call_id] = call
        last = call
    return [call.sent() for call in calls]


class _Call:
    """One call while its pieces arrive."""

    def __init__(self) -> None:
        self.id: str | None = None
        self.name = ""
        self.pieces: list[str] = []
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._complete = False

    def is_over(self, index: Any, call_id: str | None, name: str | None, arguments: Any) -> bool:
        """Whether a piece begins another call."""
        if call_id is not None and self.id is not None:
            return call_id != self.id
        if name is None or not self.name:
            return False
        if name == self.name:
            return self._complete and (index is None or bool(arguments))
        return index is None or bool(self.pieces)

    def add(self, call_id: str | None, name: str | None, arguments: Any) -> None:
        """Take one piece."""
        self.id = self.id or call_id
        if name is not None and name != self.name:
            self.name += name
        if isinstance(arguments, (Mapping, list)):
            arguments = json.dumps(arguments, ensure_ascii=False)
        if isinstance(arguments, str) and arguments:
            self.pieces.append(arguments)
            self._follow(arguments)

    def _follow(self, piece: str) -> None:
        """Keep track of whether the arguments are a complete object so far."""
        at = 0
        if self._escaped:
            self._escaped = False
            at = 1
        while at < len(piece):
            if self._in_string:
                match = _STRING_END.match(piece, at)
                at = match.end() if match else at
                if at < len(piece) and piece[at] == '"':
                    self._in_string = False
                    at += 1
                else:
                    self._escaped = at < len(piece)
                    return
                continue
            found = _STRUCTURE.search(piece, at)
            if found is None:
                return
            at = found.end()
            if found[0] == '"':
                self._in_string = True
            elif found[0] in "{[":
                self._depth += 1
                self._complete = False
            else:
                self._depth -= 1
                self._complete = self._depth == 0

    def sent(self) -> dict[str, Any]:
        """The call as a whole message has it."""
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": "".join(self.pieces)}}
