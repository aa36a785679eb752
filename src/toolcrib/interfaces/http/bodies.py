"""What callers send, read and checked by hand: these are the paths that every call takes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from toolcrib.definition.context import Context
from toolcrib.interfaces.http.answers import RequestFault
from toolcrib.registry.names import nearest

if TYPE_CHECKING:
    from starlette.types import Receive, Scope

_RUN_FIELDS = ("tool_id", "params", "context", "timeout", "artifacts")
_KEY_END = re.compile(rb'"[ \t\r\n]*:')
_CONTEXT_FIELDS = ("project_id", "user_id", "chat_id")
_OTHER_WORDS = {
    "tool": "tool_id",
    "tool_name": "tool_id",
    "name": "tool_id",
    "id": "tool_id",
    "arguments": "params",
    "args": "params",
    "kwargs": "params",
    "input": "params",
    "inputs": "params",
}


class ClientGone(Exception):
    """The client left before its request was complete; nobody is there to be answered."""


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The body of ``POST /run_tool`` (contract T008).

    Attributes:
        tool_id: the tool's name.
        params: its parameters.
        context: who calls; None = nobody said.
        timeout: seconds, in place of the tool's own.
        artifacts: whether files in the result become references instead of base64.
    """

    tool_id: str
    params: Mapping[str, Any]
    context: Context | None = None
    timeout: float | None = None
    artifacts: bool = False


async def chunks(receive: Receive) -> AsyncIterator[bytes]:
    """The body as it arrives.

    Raises:
        ClientGone: it never became complete.
    """
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        if body := message.get("body"):
            yield body
        if not message.get("more_body"):
            return


async def _read(receive: Receive) -> bytes:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGone
    first = bytes(message.get("body", b""))
    if not message.get("more_body"):
        return first
    return b"".join([first, *[part async for part in chunks(receive)]])


async def read_json(scope: Scope, receive: Receive, *, empty: Any = ...) -> Any:
    """The body as JSON.

    Args:
        scope: of the request.
        receive: of the request.
        empty: what no body at all stands for; ``...`` = a fault.

    Raises:
        RequestFault: 415 another content type than JSON, 400 no JSON.
        ClientGone: it never became complete.
    """
    _check_content_type(scope)
    body = await _read(receive)
    if not body and empty is not ...:
        return empty
    return parse_json(body)


def parse_json(body: bytes) -> Any:
    """Strict JSON in UTF-8, without NaN and infinities, and without a key that an object has twice.

    Raises:
        RequestFault: 400, with line and column, or with the key.
    """
    body = body.removeprefix(b"\xef\xbb\xbf")
    try:
        value = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise _malformed(body, str(error)) from None
    keys = _count_keys(value)
    # Each key is followed by a colon. Only texts with colons in them need the closer looks.
    if body.count(b":") != keys and len(_KEY_END.findall(body)) != keys:
        _refuse_duplicates(body)
    return value


def run_request(body: Any) -> RunRequest:
    """Check the body of ``POST /run_tool``.

    Raises:
        RequestFault: 422, naming the field.
    """
    fields = as_object(body, "The body")
    _refuse_unknown(fields, _RUN_FIELDS, "")
    tool_id = fields.get("tool_id")
    if not isinstance(tool_id, str) or not tool_id:
        raise _invalid(
            "tool_id is missing" if tool_id is None else "tool_id has to be a text that is not empty",
            'Send {"tool_id": "…", "params": {…}}; GET /tools lists the ids.',
        )
    params = fields.get("params")
    return RunRequest(
        tool_id,
        {} if params is None else as_object(params, "params"),
        _context(fields.get("context")),
        timeout_of(fields.get("timeout")),
        _flag(fields.get("artifacts")),
    )


def as_object(value: Any, name: str) -> dict[str, Any]:
    """``value`` if it is a JSON object.

    Raises:
        RequestFault: 422.
    """
    if isinstance(value, dict):
        return value
    raise _invalid(f"{name} has to be a JSON object, not {_kind(value)}", 'A JSON object looks like {"key": "value"}.')


def timeout_of(value: Any) -> float | None:
    """A timeout in seconds, where one is given.

    Raises:
        RequestFault: 422, no positive number.
    """
    if value is None:
        return None
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < math.inf:
        return float(value)
    raise _invalid("timeout has to be a number of seconds above 0", "Leave it out for the tool's own.")


def _context(value: Any) -> Context | None:
    if value is None:
        return None
    fields = as_object(value, "context")
    _refuse_unknown(fields, _CONTEXT_FIELDS, "context.")
    for name, given in fields.items():
        if given is not None and not isinstance(given, str):
            raise _invalid(f"context.{name} has to be a text, not {_kind(given)}", "Leave it out if there is none.")
    return Context(**fields)


def _flag(value: Any) -> bool:
    if value is None or isinstance(value, bool):
        return bool(value)
    raise _invalid("artifacts has to be true or false", "true answers files by reference instead of base64.")


def _refuse_unknown(fields: Iterable[str], known: tuple[str, ...], prefix: str) -> None:
    for name in fields:
        if name not in known:
            close = [_OTHER_WORDS[name]] if _OTHER_WORDS.get(name) in known else nearest(name, known, 1)
            hint = f"Did you mean {prefix}{close[0]}? " if close else ""
            raise _invalid(f"There is no {_shown(prefix + name)} in this request", f"{hint}Known: {', '.join(known)}.")


def _check_content_type(scope: Scope) -> None:
    for name, value in scope["headers"]:
        if name == b"content-type" and value != b"application/json":
            kind, _, parameters = value.decode("latin-1").lower().partition(";")
            kind = kind.strip()
            if kind and kind != "application/json" and not (kind.startswith("application/") and kind.endswith("+json")):
                raise _unsupported(f"The body is {kind}", "Send JSON with the header Content-Type: application/json.")
            charset = re.search(r"charset\s*=\s*\"?([^\s\";]+)", parameters)
            if charset and charset[1] not in ("utf-8", "utf8", "us-ascii"):
                raise _unsupported(f"The body is in {charset[1]}", "Send JSON in UTF-8.")
        elif name == b"content-encoding" and value.lower() != b"identity":
            raise _unsupported("The body is compressed", "Send it without Content-Encoding.")


def _unsupported(message: str, hint: str) -> RequestFault:
    return RequestFault(415, message, code="unsupported_media_type", hint=hint)


def _invalid(message: str, hint: str) -> RequestFault:
    return RequestFault(422, message, code="invalid_request", hint=hint)


def _malformed(body: bytes, reason: str) -> RequestFault:
    message, hint = f"The body is not JSON: {reason}", "Correct the JSON at that place."
    if not body.strip():
        message, hint = "The body is empty", 'Send a JSON object, such as {"tool_id": "…", "params": {}}.'
    else:
        try:
            body.decode()
        except UnicodeDecodeError as error:
            line = body.count(b"\n", 0, error.start) + 1
            column = error.start - body.rfind(b"\n", 0, error.start)
            message, hint = f"The body is not UTF-8 at line {line} column {column}", "Send JSON in UTF-8."
    return RequestFault(400, message, code="malformed_json", hint=hint)


def _count_keys(value: Any) -> int:
    """The keys of all objects in ``value``; refuses infinities.

    A literal such as 1e999 is JSON, but becomes infinite; JSON could not hold it again.
    """
    keys = 0
    pending = [value]
    while pending:
        value = pending.pop()
        kind = type(value)
        if kind is dict:
            keys += len(value)
            pending.extend(value.values())
        elif kind is list:
            pending.extend(value)
        elif kind is float and math.isinf(value):
            raise RequestFault(
                400,
                "The body has a number beyond the range of doubles",
                code="malformed_json",
                hint="Send it as a text.",
            )
    return keys


def _refuse_duplicates(body: bytes) -> None:
    def check(pairs: list[tuple[str, Any]]) -> None:
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):
            name = next(name for index, name in enumerate(names) if name in names[:index])
            raise RequestFault(
                400,
                f"The body has the key {_shown(name)} twice in one object",
                code="malformed_json",
                hint="Send it once.",
            )

    json.loads(body, object_pairs_hook=check)


def _kind(value: Any) -> str:
    names = {type(None): "null", bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "an array"}
    return names.get(type(value), "an object")


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")
