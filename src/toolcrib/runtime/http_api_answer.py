"""What an API's answer means."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from toolcrib.definition.result import ToolResult
from toolcrib.errors import UpstreamError
from toolcrib.registry.sources.openapi.bodies import kind_of
from toolcrib.registry.sources.openapi.wire import HttpOperation
from toolcrib.runtime.http_api_credentials import REMOVED, without_secrets

if TYPE_CHECKING:
    from toolcrib.runtime.http_api_client import ApiAnswer

EXCERPT = 300
RATE_LIMITED = "rate_limited"


def interpret(answer: ApiAnswer, operation: HttpOperation, secrets: tuple[str, ...]) -> ToolResult:
    """The result of a call: what the API returned, or why it refused; secrets are removed from both.

    Raises:
        UpstreamError: the answer is neither.
    """
    if not 200 <= answer.status < 300:
        return _failure(answer, operation, secrets)
    if operation["method"] == "HEAD":
        headers = {name: value for name, value in answer.headers.items() if name != "set-cookie"}
        return ToolResult.ok(without_secrets({"status": answer.status, "headers": headers}, secrets))
    if not answer.body:
        return ToolResult.ok(None)
    content_type = answer.headers.get("content-type", "")
    kind = kind_of(content_type) if content_type else _guessed(answer.body)
    if kind == "json":
        return ToolResult.ok(without_secrets(_json(answer), secrets))
    if kind in ("text", "form"):
        return ToolResult.ok(without_secrets(_text(answer), secrets))
    body = answer.body
    for secret in secrets:
        body = body.replace(secret.encode(), b"*" * len(secret))
    mime_type = content_type.split(";")[0].strip() or "application/octet-stream"
    return ToolResult.ok({"content": base64.b64encode(body).decode("ascii"), "mime_type": mime_type})


def _failure(answer: ApiAnswer, operation: HttpOperation, secrets: tuple[str, ...]) -> ToolResult:
    status = answer.status
    name = f"{status} {answer.reason or _reason(status)}".strip()
    detail = without_secrets(_detail(answer), secrets)
    detail = detail if len(detail) <= EXCERPT else f"{detail[:EXCERPT]}…"
    text = f"The API answered {name}: {detail}" if detail else f"The API answered {name}"
    code, hint = UpstreamError.code, None
    if status in (401, 403):
        hint = _credential_hint(operation)
    elif status == HTTPStatus.TOO_MANY_REQUESTS:
        code, hint = RATE_LIMITED, _patience(answer)
    elif status >= 500:
        hint = _patience(answer) if "retry-after" in answer.headers else "The fault is on the side of the API."
    return ToolResult.fail(text, code=code, hint=hint, data={"status": status})


def _credential_hint(operation: HttpOperation) -> str:
    if not operation["credentials"]:
        return "No credential was sent: the OpenAPI document asks for none here, or none is named under auth."
    said = [
        f"{credential['scheme']!r} ({', '.join(credential['secrets'].values())})"
        for credential in operation["credentials"]
    ]
    return f"Check the credential of the security scheme {' and '.join(said)}, and what it is allowed to do."


def _patience(answer: ApiAnswer) -> str:
    said = answer.headers.get("retry-after", "").strip()
    seconds: float | None = None
    if said.isascii() and said.isdigit():
        seconds = float(said)
    elif said:
        try:
            seconds = max(0.0, (parsedate_to_datetime(said) - datetime.now(UTC)).total_seconds())
        except (ValueError, TypeError):
            seconds = None
    return "Try again later." if seconds is None else f"Try again after {seconds:.0f} s."


def _detail(answer: ApiAnswer) -> str:
    """The words of a problem document (RFC 9457), or the beginning of what was sent."""
    content_type = answer.headers.get("content-type", "")
    if (kind_of(content_type) if content_type else _guessed(answer.body)) == "json":
        try:
            value = json.loads(answer.body)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            words = [value[key] for key in ("title", "detail") if isinstance(value.get(key), str) and value[key]]
            if words:
                return ": ".join(dict.fromkeys(words))
    if content_type and kind_of(content_type) in ("binary", "multipart"):
        return ""
    return " ".join(_text(answer)[: 8 * EXCERPT].split())


def _reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _json(answer: ApiAnswer) -> Any:
    try:
        return json.loads(answer.body, parse_constant=lambda name: None)
    except (ValueError, RecursionError):
        pass
    try:
        return json.loads(_text(answer), parse_constant=lambda name: None)
    except (ValueError, RecursionError):
        raise UpstreamError(
            f"The API answered {answer.status} with something that is not the JSON it is said to be",
            hint="The call was carried out; only its answer cannot be read.",
        ) from None


def _text(answer: ApiAnswer) -> str:
    charset = "utf-8"
    for part in answer.headers.get("content-type", "").split(";")[1:]:
        name, _, value = part.partition("=")
        if name.strip().lower() == "charset":
            charset = value.strip(" \"'")
    try:
        return answer.body.decode(charset, "replace").removeprefix("\ufeff")
    except LookupError:
        return answer.body.decode("utf-8", "replace").removeprefix("\ufeff")


def _guessed(body: bytes) -> str:
    """What an answer without a Content-Type is."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return "binary"
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return "binary" if "\0" in text else "text"
    return "json"


__all__ = ["EXCERPT", "RATE_LIMITED", "REMOVED", "interpret"]
