"""``GET /health`` and ``GET /health/ready`` (contract T002)."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from toolcrib.interfaces.http.answers import json_response, send_json

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

    from toolcrib.crib import Crib


class Health:
    """That the service answers; these bytes and no others."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send_json(send, 200, b'{"status":"ok"}')


class Ready:
    """What the service is, has and lacks."""

    def __init__(self, crib: Crib) -> None:
        self._crib = crib
        self._started_at = time.time()

    async def answer(self, request: Request) -> Response:
        """``GET /health/ready``."""
        from starlette.concurrency import run_in_threadpool

        uv = await run_in_threadpool(find_uv)
        return json_response(self._facts(uv), headers={"cache-control": "no-store"})

    def _facts(self, uv: str | None) -> dict[str, Any]:
        settings = self._crib.settings
        statuses = [self._crib.status(tool) for tool in self._crib.registry]
        return {
            "status": "ready",
            "version": version(),
            "host": settings.host,
            "port": settings.port,
            "home": str(settings.home),
            "project": str(settings.project),
            "pid": os.getpid(),
            "started_at": self._started_at,
            "tools": {
                "total": len(statuses),
                "state": {"running": 0, "stopped": 0, **Counter(status.state for status in statuses)},
                "lifecycle": dict(Counter(status.lifecycle.value for status in statuses)),
            },
            "problems": [
                {"path": problem.path, "line": problem.line, "error": str(problem), "hint": problem.hint}
                for problem in self._crib.problems
            ],
            "uv": {"found": uv is not None, "path": uv},
        }


def version() -> str:
    """The installed version of toolcrib."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("toolcrib")
    except PackageNotFoundError:
        return "0+unknown"


def find_uv() -> str | None:
    """The uv program that prepares tools' environments, if there is one."""
    try:
        from uv import find_uv_bin

        return str(find_uv_bin())
    except (ImportError, FileNotFoundError):
        return shutil.which("uv")
