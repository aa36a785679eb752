"""``POST /artifacts`` and ``GET /artifacts/{id}``: files by reference (contract M05)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib.interfaces.http.answers import RequestFault, json_response, matches
from toolcrib.interfaces.http.bodies import ClientGone, chunks

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from toolcrib.crib import Crib

# A file that somebody made must not act as a page of this service, whatever its type.
_HARMLESS = {"content-security-policy": "sandbox; default-src 'none'", "cache-control": "private, no-cache"}
_FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")


class Artifacts:
    """The routes below ``/artifacts``."""

    def __init__(self, crib: Crib) -> None:
        self._crib = crib

    async def upload(self, request: Request) -> Response:
        """``POST /artifacts?name=picture.png``: the raw body is the file, its Content-Type the declared type."""
        from starlette.responses import Response

        declared = request.headers.get("content-type", "").partition(";")[0].strip().lower() or None
        if declared in _FORMS:
            raise RequestFault(
                415,
                "A form is not a file",
                code="unsupported_media_type",
                hint="Send the file itself as the body: curl --data-binary @picture.png -H 'Content-Type: image/png'.",
            )
        try:
            artifact = await self._crib.artifacts.put_stream(
                chunks(request.receive), name=request.query_params.get("name"), mime_type=declared
            )
        except ClientGone:
            return Response(status_code=400)
        facts = artifact.to_dict()
        return json_response(facts, 201, {"location": facts["url"]})

    async def download(self, request: Request) -> Response:
        """``GET|HEAD /artifacts/{id}``: the file, whole or a range of it."""
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import FileResponse, Response

        artifact_id = request.path_params["artifact_id"]
        artifact = await run_in_threadpool(self._crib.artifacts.get, artifact_id)
        etag = f'"{artifact.sha256}"'
        headers = {**_HARMLESS, "etag": etag}
        if matches(request.headers.get("if-none-match"), etag):
            return Response(status_code=304, headers=headers)
        path = await run_in_threadpool(self._crib.artifacts.path, artifact_id)
        return FileResponse(path, headers=headers, media_type=artifact.mime_type, filename=artifact.name)
