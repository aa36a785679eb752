"""One request to a tool's process, without the router in between, and what its answer means."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2

    from toolcrib.runtime.status import Endpoint


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool answered.

    Attributes:
        status: of HTTP; 0 where there was no answer.
        body: the JSON value; None where it is none.
        text: the beginning of the answer, or why there was none.
    """

    status: int
    body: Any
    text: str

    @property
    def error(self) -> str | None:
        """The error in an answer of any of the forms a tool may use; None where it answered a result."""
        body = self.body
        if isinstance(body, Mapping):
            if body.get("status") == "error" and isinstance(body.get("error"), str):
                return str(body["error"])
            if body.get("success") is False and isinstance(body.get("error"), str):
                return str(body["error"])
            if self.status >= 400 and "detail" in body:
                return _detail(body["detail"])
        return self.text if self.status != 200 else None

    @property
    def is_clear_error(self) -> bool:
        """Whether a caller can act on it: a JSON error that blames the caller, not the tool."""
        return self.error is not None and isinstance(self.body, Mapping) and (self.status == 200 or 400 <= self.status < 500)

    @property
    def result(self) -> Any:
        """The result, out of S2's envelope where it is in one."""
        body = self.body
        if isinstance(body, Mapping) and body.get("status") == "success" and "result" in body:
            return body["result"]
        return body

    def __str__(self) -> str:
        return f"HTTP {self.status}: {self.text}" if self.status else self.text


def _detail(detail: Any) -> str:
    if not isinstance(detail, list):
        return str(detail)
    return "; ".join(
        f"{'.'.join(str(part) for part in item.get('loc', ())[1:])}: {item.get('msg')}" if isinstance(item, Mapping) else str(item)
        for item in detail
    )


async def ask(
    client: httpx2.AsyncClient, endpoint: Endpoint, params: Mapping[str, Any] | None = None, *, content: bytes | None = None
) -> Answer:
    """Run the tool once.

    Args:
        client: sends the request.
        endpoint: where the tool answers.
        params: the parameters.
        content: the body in place of ``params``, whatever it is.
    """
    import httpx2

    headers = {"Content-Type": "application/json"}
    try:
        if endpoint.method == "GET":
            query = {key: value if isinstance(value, str) else json.dumps(value) for key, value in (params or {}).items()}
            response = await client.get(endpoint.url, params=query)
        else:
            body = content if content is not None else json.dumps(dict(params or {})).encode()
            response = await client.post(endpoint.url, content=body, headers=headers)
    except httpx2.HTTPError as error:
        return Answer(0, None, f"no answer: {error or type(error).__name__}")
    text = response.text[:300]
    try:
        return Answer(response.status_code, response.json(), text)
    except ValueError:
        return Answer(response.status_code, None, text)
