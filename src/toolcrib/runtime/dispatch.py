"""One call, sent to the tool's process and answered (contract T023, T024)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from pydantic_core import from_json, to_json

from toolcrib.definition.call import Deadline
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import (
    CallError,
    DeadlineExceeded,
    DependencyMissingError,
    InvalidParamsError,
    TooLargeError,
    UpstreamError,
)
from toolcrib.runtime.connections import ConnectionPool
from toolcrib.runtime.credentials import secret
from toolcrib.runtime.http1 import Answer, BodyTooLarge, ConnectionLost, InvalidAnswer
from toolcrib.runtime.logs import where_its_log_is
from toolcrib.runtime.status import Endpoint

if TYPE_CHECKING:
    from toolcrib.settings import Settings

EXCERPT = 200
ENVELOPE = frozenset({"status", "result", "error", "error_code", "hint"})


class Dispatcher:
    """Sends calls to tools that run and turns what they answer into results.

    Nothing is retried that may have been carried out, unless a repetition does no harm: a tool that is idempotent or
    changes nothing, whose kept connection turns out to be closed before a byte of an answer came, is asked again, once,
    on a new connection.

    Args:
        settings: ``response_limit`` bounds an answer's body.

    Example:
        >>> async def example(dispatcher, endpoint, tool):
        ...     return await dispatcher.dispatch(endpoint, tool, {"a": 1}, Deadline(600), "call_1")
    """

    def __init__(self, settings: Settings) -> None:
        self._limit = settings.response_limit
        self._pool = ConnectionPool()

    async def close(self) -> None:
        """Close every connection."""
        self._pool.close()

    async def dispatch(
        self, endpoint: Endpoint, tool: ToolDefinition, params: Mapping[str, Any], deadline: Deadline, call_id: str
    ) -> ToolResult:
        """Send one call and return its result.

        Args:
            endpoint: where the tool answers.
            tool: whose call it is.
            params: sent as JSON, or as the query of a GET.
            deadline: when the answer must be there; the tool is told what remains.
            call_id: sent along for the tool's log.

        Raises:
            InvalidParamsError: the tool refused the parameters; the text says which, a line each.
            DeadlineExceeded: no whole answer came in time.
            TooLargeError: the answer is over the limit; the tool stays up.
            UpstreamError: the tool gave no usable answer.
            DependencyMissingError: a credential is not set.
        """
        method = endpoint.method
        target = endpoint.url[endpoint.url.index("/", len("http://")) :]
        query = _query(params) if method == "GET" else []
        headers = [
            ("X-Toolcrib-Deadline-Ms", str(int(deadline.remaining() * 1000))),
            ("X-Toolcrib-Call-Id", quote(call_id, safe="")[:EXCERPT]),
            ("Accept", "application/json"),
        ]
        if tool.deployment is not None and tool.deployment.authentication is not None:
            _authenticate(tool, headers, query)
        body = b""
        if method != "GET":
            headers.append(("Content-Type", "application/json"))
            body = to_json(params)
        if query:
            target = f"{target}{'&' if '?' in target else '?'}{urlencode(query)}"
        answer = await self._ask(endpoint, tool, target, headers, body, deadline)
        return interpret(answer, tool, endpoint)

    async def _ask(
        self,
        endpoint: Endpoint,
        tool: ToolDefinition,
        target: str,
        headers: list[tuple[str, str]],
        body: bytes,
        deadline: Deadline,
    ) -> Answer:
        port, method, limit = endpoint.port, endpoint.method, self._limit
        try:
            try:
                return await self._pool.request(
                    port, method, target, headers=headers, body=body, limit=limit, seconds=deadline.remaining()
                )
            except ConnectionLost as lost:
                if not (lost.retriable and is_repeatable(tool)):
                    raise
            return await self._pool.request(
                port, method, target, headers=headers, body=body, limit=limit, seconds=deadline.remaining(), fresh=True
            )
        except TimeoutError:
            raise DeadlineExceeded(
                f"Tool {tool.name!r} did not answer within {deadline.seconds:g} s",
                hint="Allow more time with timeout, or ask for less at once; the tool may still be working on it.",
            ) from None
        except BodyTooLarge:
            raise TooLargeError(
                f"Tool {tool.name!r} answered with more than {limit} bytes",
                hint="Ask for less at once, or raise TOOLCRIB_RESPONSE_LIMIT.",
            ) from None
        except ConnectionLost as error:
            raise UpstreamError(
                f"Tool {tool.name!r} closed the connection before it had answered: {error}",
                hint=f"{carried_out(error)} {where_its_log_is(tool.name)}.",
            ) from error
        except InvalidAnswer as error:
            raise UpstreamError(
                f"Tool {tool.name!r} answered with something that is not HTTP: {error}",
                hint=f"{where_its_log_is(tool.name)}.",
            ) from error


def interpret(answer: Answer, tool: ToolDefinition, endpoint: Endpoint) -> ToolResult:
    """What an answer means; raises like `Dispatcher.dispatch`."""
    status = answer.status
    if 200 <= status < 300:
        if not answer.body and status in (204, 205):
            return ToolResult(True, None)
        try:
            value = from_json(answer.body, allow_inf_nan=False)
        except ValueError:
            raise _not_json(answer, tool) from None
        return _result(value)
    try:
        value = from_json(answer.body)
    except ValueError:
        value = None
    if _is_envelope(value):
        return _result(value)
    detail = value.get("detail") if isinstance(value, dict) else None
    if status == 422 and isinstance(detail, list):
        raise InvalidParamsError(
            "\n".join(_fault(item) for item in detail) or f"Tool {tool.name!r} refused the parameters",
            hint="Correct the parameters; GET /tools shows the tool's input_schema.",
        )
    text = _said(value) or _excerpt(answer)
    if status in (404, 405) and text in ("Not Found", "Method Not Allowed"):
        raise UpstreamError(
            f"Tool {tool.name!r} has no {endpoint.method} {urlsplit(endpoint.url).path}: it answered {status} {text}",
            hint="Correct endpoint and method in the tool's tool.toml, or its main.py.",
        )
    if 400 <= status < 500:
        return ToolResult.fail(text or f"The tool answered with HTTP status {status}")
    if 300 <= status < 400:
        place = answer.headers.get(b"location", b"").decode("latin-1")[:EXCERPT]
        raise UpstreamError(
            f"Tool {tool.name!r} answered {status} with a redirect to {place!r}, which is not followed",
            hint="Correct endpoint in the tool's tool.toml.",
        )
    raise UpstreamError(
        f"Tool {tool.name!r} failed with HTTP status {status}: {text}", hint=f"{where_its_log_is(tool.name)}."
    )


def is_repeatable(tool: ToolDefinition) -> bool:
    """Whether a call may be carried out twice where nobody knows whether it was carried out once."""
    return tool.idempotent or tool.effects in ("none", "read")


def carried_out(lost: ConnectionLost) -> str:
    """What is known of a call whose connection was lost."""
    return "The call was not carried out." if lost.unread else "The call may have been carried out."


def _not_json(answer: Answer, tool: ToolDefinition) -> UpstreamError:
    try:
        from_json(answer.body)
    except ValueError:
        return UpstreamError(
            f"Tool {tool.name!r} answered with something that is not JSON: {_excerpt(answer)}",
            hint="A tool answers with JSON: its bare result, or status, result and error.",
        )
    return UpstreamError(
        f"Tool {tool.name!r} answered with NaN or Infinity, which is not JSON: {_excerpt(answer)}",
        hint="The call was carried out. Let the tool answer null or a text where it has no number, for which Python's "
        "json.dumps(…, allow_nan=False) helps.",
    )


def _said(value: Any) -> str | None:
    """The text of an error in one of the forms that servers use; None where it has another."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return None
    for key in ("detail", "error", "message", "title"):
        said = value.get(key)
        if isinstance(said, dict):
            said = said.get("message")
        if isinstance(said, str) and said.strip():
            return said
    return None


def _is_envelope(value: object) -> bool:
    return (
        isinstance(value, dict)
        and value.get("status") in ("success", "error")
        and ("result" in value or "error" in value)
        and value.keys() <= ENVELOPE
    )


def _result(value: Any) -> ToolResult:
    """A tool's bare result, or S2's envelope, as a result."""
    if not _is_envelope(value):
        return ToolResult(True, value)
    if value["status"] == "success":
        return ToolResult(True, value.get("result"))
    error, code, hint = value.get("error"), value.get("error_code"), value.get("hint")
    return ToolResult.fail(
        error if isinstance(error, str) and error else "The tool reported an error without a text",
        code=code if isinstance(code, str) and code else CallError.code,
        hint=hint if isinstance(hint, str) else None,
    )


def _fault(item: Any) -> str:
    """One entry of FastAPI's 422 as ``path: message``."""
    if not isinstance(item, dict):
        return str(item)
    path = ""
    places = item.get("loc")
    steps = list(places) if isinstance(places, list) else []
    for step in steps[1:] if steps and steps[0] in ("body", "query", "path", "header", "cookie") else steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}" if path else str(step)
    message = item.get("msg", "is not valid")
    return f"{path}: {message}" if path else str(message)


def _excerpt(answer: Answer) -> str:
    return answer.body[: EXCERPT * 4].decode("utf-8", "replace")[:EXCERPT].strip()


def _query(params: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Parameters as a query: a list repeats its name, an object is JSON, None is left out."""
    return [
        (name, item if isinstance(item, str) else to_json(item).decode())
        for name, value in params.items()
        for item in (value if isinstance(value, list | tuple) else [value])
        if item is not None
    ]


def _authenticate(tool: ToolDefinition, headers: list[tuple[str, str]], query: list[tuple[str, str]]) -> None:
    assert tool.deployment is not None
    authentication = tool.deployment.authentication
    assert authentication is not None
    if authentication.type not in ("bearer", "header", "query") or len(authentication.secrets) != 1:
        raise DependencyMissingError(
            f"Tool {tool.name!r} needs authentication {authentication.type!r}, which local tools do not have",
            hint='Use type = "bearer", "header" or "query" with one secret.',
        )
    value = secret(tool, next(iter(authentication.secrets.values())))
    if authentication.type == "bearer":
        headers.append(("Authorization", f"Bearer {value}"))
    elif authentication.type == "header":
        headers.append((authentication.name or "X-API-Key", value))
    else:
        query.append((authentication.name or "key", value))
