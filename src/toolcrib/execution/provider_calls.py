"""Calls as a provider sent them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolcrib.definition.call import new_id
from toolcrib.errors import InvalidParamsError


@dataclass(slots=True)
class ProviderCall:
    """One call of a model, read.

    Attributes:
        id: as sent; made here where none was sent.
        name: of the tool.
        text: the arguments as they were sent, as JSON text.
        arguments: the arguments; None where they could not be read.
        error: why they could not be read.
        repairs: what was done to them.
    """

    id: str
    name: str
    text: str
    arguments: Mapping[str, Any] | None = None
    error: InvalidParamsError | None = None
    repairs: list[str] = field(default_factory=list)


def read_call(call: Any) -> ProviderCall:
    """A call in OpenAI's form, ``{"id", "type", "function": {"name", "arguments"}}``, whatever is missing in it.

    Example:
        >>> read_call({"id": "a", "function": {"name": "add", "arguments": '{"a": 1}'}}).arguments
        {'a': 1}
        >>> read_call({"id": "a", "function": {"name": "add", "arguments": "{"}}).error
        InvalidParamsError('Invalid JSON arguments')
    """
    if type(call) is not dict and not isinstance(call, Mapping):
        call = {}
    function = call.get("function")
    if type(function) is not dict and not isinstance(function, Mapping):
        function = call
    name, sent = function.get("name"), function.get("arguments")
    identity = call.get("id")
    text = sent if isinstance(sent, str) else _text(sent)
    if not identity or type(identity) is not str:
        identity = str(identity) if isinstance(identity, (str, int)) and identity else new_id()
    read = ProviderCall(identity, name if type(name) is str else str(name or ""), text)
    try:
        read.arguments = parse_arguments(sent)
    except InvalidParamsError as error:
        read.error = error
    return read


def parse_arguments(sent: Any) -> Mapping[str, Any]:
    """The arguments that a provider sent: an object, or the text of one; nothing at all is none.

    Raises:
        InvalidParamsError: it is neither.
    """
    if type(sent) is not str and isinstance(sent, Mapping):
        return sent
    if sent is None or sent == "":
        return {}
    try:
        value = json.loads(sent)
    except (TypeError, ValueError, RecursionError):
        raise InvalidParamsError("Invalid JSON arguments", hint="Send the arguments as one JSON object.") from None
    if not isinstance(value, dict):
        raise InvalidParamsError("Invalid JSON arguments: they are no object", hint="Send one JSON object.")
    return value


def _text(sent: Any) -> str:
    if sent is None:
        return "{}"
    try:
        return json.dumps(sent, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        from toolcrib.execution.shape import json_text

        return json_text(sent)
