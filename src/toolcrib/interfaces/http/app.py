"""The HTTP door: which route leads where (contract T001, DESIGN §7)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from toolcrib.interfaces.http.answers import RequestFault, describe
from toolcrib.interfaces.http.artifacts import Artifacts
from toolcrib.interfaces.http.guard import Guard
from toolcrib.interfaces.http.health import Health, Ready, version
from toolcrib.interfaces.http.openapi import OpenAPI
from toolcrib.interfaces.http.page import Page, to_page
from toolcrib.interfaces.http.run_tool import RunNamedTool, RunTool
from toolcrib.interfaces.http.tools import ChangeTool, Tools

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp, Receive, Scope, Send

    from toolcrib.crib import Crib


def create_app(crib: Crib) -> ASGIApp:
    """The router's ASGI application for an open crib.

    The way that every call takes, ``POST /run_tool``, leads past FastAPI's own layers, which cost as much as all that
    toolcrib itself does before the tool is asked; it passes the same checks.

    Args:
        crib: open for as long as the application is used.
    """
    host, request_limit = crib.settings.host, crib.settings.request_limit
    others = create_fastapi(crib)
    others.add_middleware(Guard, host=host, request_limit=request_limit)
    run_tool = Guard(RunTool(crib), host=host, request_limit=request_limit)

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        is_call = scope["type"] == "http" and scope["path"] == "/run_tool" and scope["method"] == "POST"
        await (run_tool if is_call else others)(scope, receive, send)

    return answer


def create_fastapi(crib: Crib) -> FastAPI:
    """The FastAPI application behind `create_app`, without its checks.

    Its routes are plain Starlette routes: bodies are checked by hand and ``/openapi.json`` is made from the registry,
    because the tools, and with them the schemas, change while the service runs.

    Example:
        >>> from toolcrib import Crib
        >>> [route.path for route in create_fastapi(Crib()).routes][:2]
        ['/run_tool', '/health']
    """
    from fastapi import FastAPI
    from starlette.exceptions import HTTPException

    app = FastAPI(
        title="toolcrib",
        version=version(),
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        routes=_routes(crib),
        telemetry={"tracing": False, "metrics": False},
        exception_handlers={HTTPException: _no_such_route},
    )
    app.router.redirect_slashes = False
    return app


def _routes(crib: Crib) -> list[BaseRoute]:
    from starlette.routing import Route

    tools, artifacts, ready, openapi, page = Tools(crib), Artifacts(crib), Ready(crib), OpenAPI(crib), Page()
    return [
        Route("/run_tool", RunTool(crib), methods=["POST"]),
        Route("/health", Health(), methods=["GET"]),
        Route("/tools", tools.list, methods=["GET"]),
        Route("/health/ready", ready.answer, methods=["GET"]),
        # A tool's name may contain slashes, hence path; the more particular routes come first.
        Route("/tools/{tool_id:path}/run", RunNamedTool(crib), methods=["POST"]),
        Route("/tools/{tool_id:path}/start", ChangeTool(crib, crib.start_tool), methods=["POST"]),
        Route("/tools/{tool_id:path}/stop", ChangeTool(crib, crib.stop_tool), methods=["POST"]),
        Route("/tools/{tool_id:path}/logs", tools.logs, methods=["GET"]),
        Route("/tools/{tool_id:path}", tools.show, methods=["GET"]),
        Route("/artifacts", artifacts.upload, methods=["POST"]),
        Route("/artifacts/{artifact_id}", artifacts.download, methods=["GET"]),
        Route("/openapi.json", openapi.answer, methods=["GET"]),
        Route("/docs", page.answer, methods=["GET"]),
        Route("/docs/{file:path}", page.answer, methods=["GET"]),
        Route("/", to_page, methods=["GET"]),
    ]


async def _no_such_route(request: Request, error: Exception) -> Response:
    from starlette.responses import Response

    status = cast("HTTPException", error).status_code
    path = request.url.path[:200]
    headers = dict(cast("HTTPException", error).headers or {})
    if status == 405:
        allowed = headers.get("Allow", "")
        fault = RequestFault(
            405, f"{path} does not answer {request.method}", code="method_not_allowed", hint=f"Use {allowed}."
        )
    else:
        fault = RequestFault(
            status, f"There is nothing at {path}", code="not_found", hint="GET /openapi.json lists what there is."
        )
    _, body = describe(fault)
    return Response(body, status_code=status, headers=headers, media_type="application/json")
