"""``GET /tools`` and what there is to do with one tool (contract T003-T006, T013, T016, T028)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, get_args

from toolcrib.definition.deployment import Runtime
from toolcrib.interfaces.http.answers import RequestFault, cacheable, encode, json_response
from toolcrib.interfaces.http.attend import Answer, attend
from toolcrib.interfaces.http.bodies import ClientGone, chunks
from toolcrib.locale import negotiate
from toolcrib.registry.names import nearest

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import Receive, Scope, Send

    from toolcrib.crib import Crib
    from toolcrib.definition.tool import ToolDefinition, ToolGroup

_RUNTIMES: tuple[tuple[Runtime, Mapping[str, tuple[str, str]]], ...] = (
    (
        "local",
        {
            "zh": ("本地 Python 运行时", "使用 uv 管理的本地 Python 进程"),
            "en": ("Local Python runtime", "A local Python process in an environment that uv manages"),
        },
    ),
    (
        "docker",
        {"zh": ("Docker 容器运行时", "运行在 Docker 容器中"), "en": ("Docker runtime", "Runs in a Docker container")},
    ),
    (
        "remote",
        {"zh": ("远程 API / 云端服务", "调用外部 API"), "en": ("Remote API / cloud service", "Calls an external API")},
    ),
    (
        "inprocess",
        {
            "zh": ("进程内运行时", "在本服务进程内运行的 Python 函数"),
            "en": ("In process", "A Python function of this service"),
        },
    ),
    (
        "mcp",
        {"zh": ("MCP 服务器", "由外部 MCP 服务器提供的工具"), "en": ("MCP server", "A tool of an external MCP server")},
    ),
)
_MOST_LINES = 10_000
_MOST_TOOLS = 1_000


def tool_item(crib: Crib, tool: ToolDefinition, language: str | None = None) -> dict[str, Any]:
    """One tool as it stands in ``GET /tools``: S2's ten keys first, then what toolcrib adds."""
    status = crib.status(tool)
    title, description = words_of(tool, language)
    parameters, output_schema = schemas_of(tool, language)
    deployment = tool.deployment
    return {
        "tool_id": tool.name,
        "name": title,
        "description": description,
        "category": tool.category,
        "backend_runtime": tool.runtime,
        "group_ids": tool.group_ids,
        "input_schema": parameters,
        "output_schema": output_schema,
        "state": status.state,
        "port": status.port,
        "lifecycle": status.lifecycle.value,
        "lifecycle_reason": status.lifecycle_reason,
        "emoji": tool.emoji,
        "effects": tool.effects,
        "risk": tool.risk,
        "timeout": tool.timeout or (deployment.timeout if deployment else crib.settings.timeout),
        "command": status.command,
        "examples": tool.examples,
    }


class Tools:
    """The routes below ``/tools``."""

    def __init__(self, crib: Crib) -> None:
        self._crib = crib

    async def list(self, request: Request) -> Response:
        """``GET /tools``: everything as S2 shows it, or what the filters leave."""
        language = language_of(request)
        query = request.query_params
        tools = list(_filtered(self._crib, query))
        page, cursor = _page(tools, query)
        listing: dict[str, Any] = {
            "backend_runtimes": [
                {"backend_runtime": runtime, "name": words[0], "description": words[1]}
                for runtime, texts in _RUNTIMES
                for words in (texts[language or "zh"],)
            ],
            "groups": [_group_item(group, language) for group in self._crib.registry.groups.values()],
            "tools": [tool_item(self._crib, tool, language) for tool in page],
            "total": len(page),
        }
        if "limit" in query:
            listing["next_cursor"] = cursor
        return cacheable(request, encode(listing), language)

    async def show(self, request: Request) -> Response:
        """``GET /tools/{tool_id}``."""
        language = language_of(request)
        tool = self._crib.registry.resolve(request.path_params["tool_id"])
        return cacheable(request, encode(tool_item(self._crib, tool, language)), language)

    async def logs(self, request: Request) -> Response:
        """``GET /tools/{tool_id}/logs?lines=200``: the end of the log of the last run (contract T028)."""
        from starlette.concurrency import run_in_threadpool

        tool = self._crib.registry.resolve(request.path_params["tool_id"])
        lines = _count(request.query_params, "lines", 200, _MOST_LINES)
        tail = await run_in_threadpool(self._crib.log_tail, tool.name, lines)
        log = self._crib.status(tool).log
        answer = {"tool_id": tool.name, "log": None if log is None else str(log), "lines": tail}
        return json_response(answer, headers={"cache-control": "no-store"})


class ChangeTool:
    """``POST /tools/{tool_id}/start`` and ``/stop``: do it, then show the tool."""

    def __init__(self, crib: Crib, change: Callable[[str], Coroutine[Any, Any, Any]]) -> None:
        self._crib = crib
        self._change = change

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        from starlette.requests import Request

        language = language_of(Request(scope))
        try:
            async for _ in chunks(receive):
                pass  # a body means nothing here, and `attend` wants it read
        except ClientGone:
            return
        work = self._do(scope["path_params"]["tool_id"], language)
        await attend(work, receive, send, heartbeat=self._crib.settings.heartbeat)

    async def _do(self, tool_id: str, language: str | None) -> Answer:
        tool = self._crib.registry.resolve(tool_id)
        await self._change(tool_id)
        return Answer(200, encode(tool_item(self._crib, tool, language)))


def schemas_of(tool: ToolDefinition, language: str | None) -> tuple[Mapping[str, Any], Mapping[str, Any] | None]:
    """The tool's schemas with their descriptions in ``language``, where it has them so."""
    texts = tool.translations.get(language) if language else None
    if texts is None:
        return tool.parameters, tool.output_schema
    return texts.parameters or tool.parameters, texts.output_schema or tool.output_schema


def words_of(tool: ToolDefinition, language: str | None) -> tuple[str, str]:
    """Title and description in ``language``, or as defined where it has none."""
    texts = tool.translations.get(language) if language else None
    title = (texts and texts.title) or tool.title or tool.name
    return title, (texts and texts.description) or tool.description


def _group_item(group: ToolGroup, language: str | None) -> dict[str, Any]:
    texts = group.translations.get(language) if language else None
    return {
        "group_id": group.group_id,
        "name": (texts and texts.title) or group.name,
        "description": (texts and texts.description) or group.description,
        "backend_runtime": group.backend_runtime,
        "tool_ids": group.tool_ids,
        "usage_order": group.usage_order,
    }


def language_of(request: Request) -> str | None:
    """The language that a request asks for, by ``?lang=`` or Accept-Language; None = texts as defined."""
    return negotiate(request.query_params.get("lang"), request.headers.get("accept-language"))


def _filtered(crib: Crib, query: QueryParams) -> Iterable[ToolDefinition]:
    wanted = {
        "category": query.get("category"),
        "state": _one_of(query, "state", ("running", "stopped")),
        "backend_runtime": _one_of(query, "backend_runtime", get_args(Runtime)),
    }
    words = query.get("q", "").casefold().split()
    for tool in crib.registry:
        if wanted["category"] and tool.category != wanted["category"]:
            continue
        if wanted["backend_runtime"] and tool.runtime != wanted["backend_runtime"]:
            continue
        if words and not _mentions(tool, words):
            continue
        if wanted["state"] and crib.status(tool).state != wanted["state"]:
            continue
        yield tool


def _mentions(tool: ToolDefinition, words: Iterable[str]) -> bool:
    texts = [tool.name, tool.title, tool.description, tool.category]
    for translation in tool.translations.values():
        texts += [translation.title, translation.description]
    text = "\n".join(filter(None, texts)).casefold()
    return all(word in text for word in words)


def _page(tools: list[ToolDefinition], query: QueryParams) -> tuple[list[ToolDefinition], str | None]:
    start = 0
    if cursor := query.get("cursor"):
        after = _decode_cursor(cursor)
        names = [tool.name for tool in tools]
        if after not in names:
            raise RequestFault(
                422,
                "The cursor belongs to another list",
                code="invalid_request",
                hint="Begin again without cursor; the filters have to stay the same from page to page.",
            )
        start = names.index(after) + 1
    limit = _count(query, "limit", len(tools) or 1, _MOST_TOOLS) if "limit" in query else len(tools)
    page = tools[start : start + limit]
    more = start + limit < len(tools) and page
    return page, base64.urlsafe_b64encode(page[-1].name.encode()).decode() if more else None


def _decode_cursor(cursor: str) -> str | None:
    try:
        return base64.urlsafe_b64decode(cursor.encode()).decode()
    except ValueError:
        return None


def _count(query: QueryParams, name: str, default: int, most: int) -> int:
    text = query.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or not 1 <= int(text[:9]) <= most:
        raise RequestFault(
            422,
            f"{name} has to be a whole number from 1 to {most}, not {text[:40]!r}",
            code="invalid_request",
            hint=f"Correct it or leave {name} out.",
        )
    return int(text)


def _one_of(query: QueryParams, name: str, values: tuple[str, ...]) -> str | None:
    value = query.get(name)
    if not value or value in values:
        return value or None
    close = nearest(value, values, 1)
    raise RequestFault(
        422,
        f"There is no {name} {value[:40]!r}",
        code="invalid_request",
        hint=f"Did you mean {close[0]}?" if close else f"Known: {', '.join(values)}.",
    )
