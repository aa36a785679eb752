"""``GET /docs``: the service's own page, whose every byte comes from this package."""

from __future__ import annotations

import hashlib
from functools import cached_property
from importlib import resources
from typing import TYPE_CHECKING

from toolcrib.interfaces.http.answers import RequestFault, matches

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_FILES = {
    "api.html": "text/html; charset=utf-8",
    "api.css": "text/css; charset=utf-8",
    "api.js": "text/javascript; charset=utf-8",
    "schema.js": "text/javascript; charset=utf-8",
    "texts.js": "text/javascript; charset=utf-8",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Page:
    """The page and what it loads, read once."""

    @cached_property
    def _contents(self) -> dict[str, bytes]:
        folder = resources.files(__package__) / "static"
        return {name: (folder / name).read_bytes() for name in _FILES}

    async def answer(self, request: Request) -> Response:
        """``GET /docs`` and ``GET /docs/{file}``."""
        from starlette.responses import Response

        name = request.path_params.get("file", "api.html")
        if name not in _FILES:
            raise RequestFault(404, f"There is no /docs/{name[:80]}", code="not_found", hint="The page is at /docs.")
        content = self._contents[name]
        etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        headers = {
            "etag": etag,
            "cache-control": "no-cache",
            "content-security-policy": _POLICY,
            "referrer-policy": "no-referrer",
            "content-type": _FILES[name],
        }
        if matches(request.headers.get("if-none-match"), etag):
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers)


async def to_page(request: Request) -> Response:
    """``GET /``."""
    from starlette.responses import RedirectResponse

    return RedirectResponse("/docs", status_code=307)
