"""What the door answers: JSON, always with S2's keys where something went wrong (contract T009)."""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, to_json

from toolcrib.definition.result import ToolResult
from toolcrib.errors import CallError, OutputMismatchError, ToolcribError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Send

logger = logging.getLogger("toolcrib.http")

WARNING_LENGTH = 200
NOT_FINITE = "output has NaN or infinite numbers, which JSON cannot hold: they became null"

_JSON = (b"content-type", b"application/json")
_STATUS_OF_CODE = {
    "unknown_tool": 404,
    "unknown_artifact": 404,
    "too_large": 413,
    "invalid_params": 422,
    "upstream_error": 502,
    "not_running": 503,
    "start_failed": 503,
    "dependency_missing": 503,
    "timeout": 504,
    "storage_full": 507,
}


class RequestFault(ToolcribError):
    """A request that cannot be understood or is not allowed; the answer has its HTTP status.

    Args:
        status: 4xx.
        message: what is wrong with the request.
        code: a stable word for programs.
        hint: what to send in its place.
        headers: further headers of the answer.
    """

    mender = "caller"

    def __init__(
        self, status: int, message: str, *, code: str, hint: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message, hint=hint, code=code)
        self.status = status
        self.headers = dict(headers or {})


def failure(error: str, code: str, hint: str | None) -> dict[str, Any]:
    """S2's failure: ``status``, ``result``, ``error``, and beside them ``error_code`` and ``hint``."""
    return {
        "status": "error",
        "result": None,
        "error": _writable(error),
        "error_code": code,
        "hint": None if hint is None else _writable(hint),
    }


def encode(value: Any) -> bytes:
    """``value`` as strict JSON: NaN and infinities become null.

    Raises:
        PydanticSerializationError: it has no JSON form.
    """
    return to_json(value, inf_nan_mode="null")


def encode_result(result: ToolResult) -> tuple[bytes, tuple[str, ...]]:
    """A tool's outcome in S2's form, and what is to be said beside it; what JSON cannot hold is a failure.

    This is where NaN and infinities of a tool's result get their stated form (DESIGN §3.6): each becomes null, which is
    said beside the result and in the log. (A local tool that writes them into its answer has not answered with JSON at
    all, see `runtime.dispatch`; what it can write there is a number such as 1e999.)
    """
    answer = result.to_run_tool()
    notes: tuple[str, ...] = getattr(result, "notes", ())
    if not result.success:
        return encode(failure(answer["error"], answer["error_code"], answer["hint"])), notes
    try:
        body = to_json(answer, inf_nan_mode="constants")
        if b"NaN" in body or b"Infinity" in body:
            strict = encode(answer)
            if strict != body:
                body, notes = strict, (*notes, NOT_FINITE)
                logger.warning("%s", NOT_FINITE)
        return body, notes
    except (PydanticSerializationError, ValueError) as error:
        return encode(
            failure(
                f"The tool's result cannot be written as JSON: {error}",
                OutputMismatchError.code,
                "The tool has to return JSON: objects, arrays, texts, numbers, booleans and null.",
            )
        ), notes


def warning_headers(notes: tuple[str, ...]) -> tuple[tuple[bytes, bytes], ...]:
    """What there is to be said beside a result, as a header of 200 ASCII characters at most."""
    text = "; ".join(notes).encode("ascii", "backslashreplace").decode()
    text = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    return (
        (b"x-toolcrib-warning", (text if len(text) <= WARNING_LENGTH else f"{text[: WARNING_LENGTH - 3]}...").encode()),
    )


def describe(error: Exception) -> tuple[int, bytes]:
    """The HTTP status and body that an exception stands for; what nobody foresaw is logged under an error id."""
    if isinstance(error, RequestFault):
        return error.status, encode(failure(str(error), error.code, error.hint))
    if isinstance(error, CallError):
        return _STATUS_OF_CODE.get(error.code, 500), encode(failure(str(error), error.code, error.hint))
    error_id = secrets.token_hex(6)
    logger.error("Internal error %s", error_id, exc_info=error)
    return 500, encode(
        failure(
            f"Internal error {error_id} ({type(error).__name__})",
            "internal_error",
            f"This is a fault of the service, not of the request; its log says more under {error_id}.",
        )
    )


async def send_json(send: Send, status: int, body: bytes, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
    """Send one whole JSON answer."""
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [_JSON, length, *headers]})
    await send({"type": "http.response.body", "body": body, "more_body": False})


async def send_error(send: Send, error: Exception) -> None:
    """Send the answer that an exception stands for."""
    status, body = describe(error)
    headers = error.headers if isinstance(error, RequestFault) else {}
    await send_json(send, status, body, tuple((key.encode(), value.encode()) for key, value in headers.items()))


def _writable(text: str) -> str:
    # File names and programs' output can hold lone surrogates, which UTF-8 cannot.
    return text if text.isascii() else text.encode(errors="replace").decode()


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A Starlette response with ``value`` as strict JSON."""
    from starlette.responses import Response

    return Response(encode(value), status_code=status, headers=headers, media_type="application/json")


def cacheable(request: Request, body: bytes, language: str | None) -> Response:
    """JSON that a client may keep and ask about again: with ETag, and 304 where the client has it already."""
    from starlette.responses import Response

    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"etag": etag, "cache-control": "no-cache", "vary": "Accept-Language"}
    if language:
        headers["content-language"] = language
    if matches(request.headers.get("if-none-match"), etag):
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type="application/json")


def matches(if_none_match: str | None, etag: str) -> bool:
    """Whether a client's If-None-Match names ``etag``, so that 304 is the answer."""
    if if_none_match is None:
        return False
    named = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return "*" in named or etag in named
