"""``GET /health`` and ``GET /health/ready`` (contract T002)."""

from __future__ import annotations

import os
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
            "problems": self._problems(uv),
            "uv": {"found": uv is not None, "path": uv},
        }

    def _problems(self, uv: str | None) -> list[dict[str, Any]]:
        problems: list[dict[str, Any]] = [
            {"path": problem.path, "line": problem.line, "error": str(problem), "hint": problem.hint}
            for problem in self._crib.problems
        ]
        if uv is None and any(tool.runtime == "local" for tool in self._crib.registry):
            error = "uv is not installed: local tools whose environment is not ready yet cannot be prepared"
            hint = 'Install it: pip install "toolcrib[serve]"; every other tool can be called.'
            problems.append({"path": None, "line": None, "error": error, "hint": hint})
        return problems


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
    from toolcrib.runtime.environment import uv_program

    path = uv_program()
    return None if path is None else str(path)
