"""``POST /run_tool`` and ``POST /tools/{tool_id}/run`` (contract T008, T009, T013, T026)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib.interfaces.http.answers import RequestFault, encode_result, send_error, warning_headers
from toolcrib.interfaces.http.attend import Answer, attend
from toolcrib.interfaces.http.bodies import (
    ClientGone,
    RunRequest,
    as_object,
    read_json,
    run_request,
    timeout_of,
)

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from toolcrib.crib import Crib


class RunTool:
    """Runs the tool that the body names. What becomes of the call is HTTP 200; only a faulty request is not."""

    def __init__(self, crib: Crib) -> None:
        self._crib = crib
        self._heartbeat = crib.settings.heartbeat

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            request = await self._read(scope, receive)
        except ClientGone:
            return
        except RequestFault as fault:
            await send_error(send, fault)
            return
        await attend(self._run(request), receive, send, heartbeat=self._heartbeat)

    async def _read(self, scope: Scope, receive: Receive) -> RunRequest:
        return run_request(await read_json(scope, receive))

    async def _run(self, request: RunRequest) -> Answer:
        result = await self._crib.run(
            request.tool_id,
            request.params,
            context=request.context,
            timeout=request.timeout,
            artifacts=request.artifacts,
        )
        body, notes = encode_result(result)
        return Answer(self._status(result.error_code), body, warning_headers(notes) if notes else ())

    def _status(self, error_code: str | None) -> int:
        return 200


class RunNamedTool(RunTool):
    """Runs the tool that the path names with the body as its parameters: one operation a tool, for OpenAPI clients."""

    async def _read(self, scope: Scope, receive: Receive) -> RunRequest:
        from starlette.datastructures import QueryParams

        query = QueryParams(scope["query_string"])
        params = as_object(await read_json(scope, receive, empty={}), "The body")
        return RunRequest(
            scope["path_params"]["tool_id"],
            params,
            timeout=timeout_of(_number(query.get("timeout"))),
            artifacts=query.get("artifacts", "").lower() in ("1", "true", "yes"),
        )

    def _status(self, error_code: str | None) -> int:
        return 404 if error_code == "unknown_tool" else 200


def _number(text: str | None) -> float | str | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text
