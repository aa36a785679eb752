"""``GET /openapi.json``: made from the registry, so that every tool has its own schemas (OpenAPI 3.1)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from toolcrib.interfaces.http.answers import cacheable, encode
from toolcrib.interfaces.http.health import version
from toolcrib.interfaces.http.tools import language_of, words_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from toolcrib.crib import Crib
    from toolcrib.definition.tool import ToolDefinition

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string"}
_TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
_OBJECT: Schema = {"type": "object"}
_NOT_SCHEMAS = frozenset({"const", "default", "enum", "example", "examples"})


class OpenAPI:
    """The route, with the last document of each language kept until the registry changes."""

    def __init__(self, crib: Crib) -> None:
        self._crib = crib
        self._made: dict[str | None, tuple[int, bytes]] = {}

    async def answer(self, request: Request) -> Response:
        """``GET /openapi.json``."""
        language = language_of(request)
        generation = self._crib.registry.generation
        made = self._made.get(language)
        if made is None or made[0] != generation:
            made = self._made[language] = (generation, encode(openapi_document(self._crib, language)))
        return cacheable(request, made[1], language)


def openapi_document(crib: Crib, language: str | None = None) -> Schema:
    """The OpenAPI 3.1 description of the service with all its tools.

    Args:
        crib: whose tools.
        language: of titles and descriptions; None = as defined.
    """
    tools = list(crib.registry)
    keys = _component_keys(tools)
    schemas = dict(_SCHEMAS)
    for tool in tools:
        key = keys[tool.name]
        schemas[f"{key}.input"] = _embedded(tool.parameters, f"{key}.input")
        schemas[f"{key}.result"] = _embedded(tool.output_schema or {}, f"{key}.result")
        schemas[f"{key}.answer"] = _answer(_reference(f"{key}.result"))
    paths = _own_paths([_run_request(tool, keys[tool.name]) for tool in tools])
    for tool in tools:
        paths[f"/tools/{quote(tool.name, safe='')}/run"] = {"post": _run_operation(tool, keys[tool.name], language)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "toolcrib",
            "version": version(),
            "description": "Tools, wherever they live, behind one door.",
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": "tools", "description": "One operation for each tool."}, {"name": "service"}],
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _run_operation(tool: ToolDefinition, key: str, language: str | None) -> Schema:
    title, description = words_of(tool, language)
    return {
        "operationId": tool.name,
        "tags": ["tools"],
        "summary": title,
        "description": description,
        "parameters": [
            _query("timeout", {"type": "number", "exclusiveMinimum": 0}, "Seconds, in place of the tool's own."),
            _query("artifacts", {"type": "boolean", "default": False}, "Answer files by reference instead of base64."),
        ],
        "requestBody": {"required": True, "content": _json(_reference(f"{key}.input"))},
        "responses": {
            "200": _response("What became of the call.", _reference(f"{key}.answer")),
            "4XX": _response("The request cannot be understood.", _reference("Failure")),
        },
    }


def _run_request(tool: ToolDefinition, key: str) -> Schema:
    required = ["tool_id", "params"] if tool.parameters.get("required") else ["tool_id"]
    return {
        "title": tool.name,
        "type": "object",
        "properties": {
            "tool_id": {"const": tool.name},
            "params": _reference(f"{key}.input"),
            "context": _reference("Context"),
            "timeout": {"type": ["number", "null"], "exclusiveMinimum": 0, "description": "Seconds."},
            "artifacts": {"type": ["boolean", "null"], "description": "Files in the result become references."},
        },
        "required": required,
        "additionalProperties": False,
    }


def _own_paths(run_requests: list[Schema]) -> Schema:
    tool_id = {"name": "tool_id", "in": "path", "required": True, "schema": _TEXT}
    artifact_id = {"name": "artifact_id", "in": "path", "required": True, "schema": _TEXT}
    language = _query("lang", {"enum": ["zh", "en"]}, "The language of titles and descriptions; none = as defined.")
    listing = [
        _query("q", _TEXT, "Words that the tool's name or texts contain."),
        _query("category", _TEXT, "Only this category."),
        _query("state", {"enum": ["running", "stopped"]}, "Only this state."),
        _query("backend_runtime", _TEXT, "Only this runtime."),
        _query("limit", {"type": "integer", "minimum": 1, "maximum": 1000}, "The most tools in one answer."),
        _query("cursor", _TEXT, "next_cursor of the answer before."),
        language,
    ]
    lines = _query("lines", {"type": "integer", "minimum": 1, "maximum": 10000, "default": 200}, "From the end.")
    name = _query("name", _TEXT, "The file's name, for display.")
    binary: Schema = {"*/*": {"schema": {}}}
    file = {"description": "The file, or the asked range of it.", "content": binary}
    upload = {"required": True, "content": binary}
    run_body = _json({"oneOf": run_requests} if run_requests else _OBJECT)
    return {
        "/health": {"get": _operation("toolcrib_health", "That the service answers", "Health")},
        "/health/ready": {"get": _operation("toolcrib_ready", "What the service is, has and lacks", None)},
        "/tools": {"get": _operation("toolcrib_list_tools", "All tools", "ToolList", listing)},
        "/run_tool": {
            "post": {
                **_operation("toolcrib_run_tool", "Run the tool that the body names", "Answer"),
                "requestBody": {
                    "required": True,
                    "content": run_body,
                },
            }
        },
        "/tools/{tool_id}": {"get": _operation("toolcrib_show_tool", "One tool", "Tool", [tool_id, language])},
        "/tools/{tool_id}/logs": {
            "get": _operation("toolcrib_tool_logs", "The end of a tool's log", "Logs", [tool_id, lines])
        },
        "/tools/{tool_id}/start": {"post": _operation("toolcrib_start_tool", "Start a tool", "Tool", [tool_id])},
        "/tools/{tool_id}/stop": {"post": _operation("toolcrib_stop_tool", "Stop a tool", "Tool", [tool_id])},
        "/artifacts": {
            "post": {
                **_operation("toolcrib_upload", "Keep a file", "Artifact", [name], status="201"),
                "requestBody": upload,
            }
        },
        "/artifacts/{artifact_id}": {
            "get": {
                **_operation("toolcrib_download", "A kept file", None, [artifact_id]),
                "responses": {"200": file, "206": file, "4XX": _response("No such file.", _reference("Failure"))},
            }
        },
    }


def _operation(
    operation_id: str, summary: str, schema: str | None, parameters: list[Schema] | None = None, *, status: str = "200"
) -> Schema:
    operation: Schema = {
        "operationId": operation_id,
        "tags": ["service"],
        "summary": summary,
        "responses": {
            status: _response(summary + ".", _reference(schema) if schema else _OBJECT),
            "4XX": _response("The request cannot be answered.", _reference("Failure")),
            "5XX": _response("The service could not do it.", _reference("Failure")),
        },
    }
    return {**operation, "parameters": parameters} if parameters else operation


def _component_keys(tools: list[ToolDefinition]) -> dict[str, str]:
    keys: dict[str, str] = {}
    taken: set[str] = set()
    for tool in tools:
        key = base = "tool." + tool.name.replace("/", ".")
        number = 2
        while key in taken:
            key, number = f"{base}.{number}", number + 1
        taken.add(key)
        keys[tool.name] = key
    return keys


def _embedded(schema: Mapping[str, Any], key: str) -> Schema:
    """The schema as a component: references from its own root lead to where it stands now."""
    root = f"#/components/schemas/{key}"

    def moved(node: Any) -> Any:
        if isinstance(node, (list, tuple)):
            return [moved(item) for item in node]
        if not isinstance(node, Mapping):
            return node
        result = {}
        for name, value in node.items():
            if name == "$ref" and isinstance(value, str) and re.match(r"#(/|$)", value):
                result[name] = root + value[1:]
            else:
                result[name] = value if name in _NOT_SCHEMAS else moved(value)
        return result

    return {name: value for name, value in moved(schema).items() if name not in ("$schema", "$id")}


def _answer(result: Schema) -> Schema:
    success = {
        "type": "object",
        "properties": {"status": {"const": "success"}, "result": result, "error": {"type": "null"}},
        "required": ["status", "result", "error"],
    }
    return {"oneOf": [success, _reference("Failure")]}


def _reference(key: str) -> Schema:
    return {"$ref": f"#/components/schemas/{key}"}


def _json(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


def _response(description: str, schema: Schema) -> Schema:
    return {"description": description, "content": _json(schema)}


def _query(name: str, schema: Schema, description: str) -> Schema:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": description}


def _closed(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _many(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_SCHEMAS: dict[str, Schema] = {
    "Health": _closed(status={"const": "ok"}),
    "Failure": _closed(
        status={"const": "error"}, result={"type": "null"}, error=_TEXT, error_code=_TEXT, hint=_TEXT_OR_NULL
    ),
    "Answer": _answer({}),
    "Context": {
        "type": ["object", "null"],
        "properties": {"project_id": _TEXT_OR_NULL, "user_id": _TEXT_OR_NULL, "chat_id": _TEXT_OR_NULL},
        "additionalProperties": False,
        "description": "Who calls, and in which project and chat.",
    },
    "Tool": _closed(
        tool_id=_TEXT,
        name=_TEXT,
        description=_TEXT,
        category=_TEXT,
        backend_runtime=_TEXT,
        group_ids=_many(_TEXT),
        input_schema=_OBJECT,
        output_schema={"type": ["object", "null"]},
        state={"enum": ["running", "stopped"]},
        port={"type": ["integer", "null"]},
        lifecycle=_TEXT,
        lifecycle_reason=_TEXT_OR_NULL,
        emoji=_TEXT_OR_NULL,
        effects={"enum": ["none", "read", "write", "external", None]},
        risk={"enum": ["low", "medium", "high"]},
        timeout={"type": "number"},
        command=_TEXT_OR_NULL,
        examples=_many(_TEXT),
    ),
    "Runtime": _closed(backend_runtime=_TEXT, name=_TEXT, description=_TEXT),
    "Group": _closed(
        group_id=_TEXT,
        name=_TEXT,
        description=_TEXT,
        backend_runtime=_TEXT,
        tool_ids=_many(_TEXT),
        usage_order=_many(_TEXT),
    ),
    "ToolList": {
        **_closed(
            backend_runtimes=_many(_reference("Runtime")),
            groups=_many(_reference("Group")),
            tools=_many(_reference("Tool")),
            total={"type": "integer"},
        ),
    },
    "Logs": _closed(tool_id=_TEXT, log=_TEXT_OR_NULL, lines=_many(_TEXT)),
    "Artifact": _closed(
        id=_TEXT,
        reference=_TEXT,
        name=_TEXT,
        mime_type=_TEXT,
        size={"type": "integer"},
        sha256=_TEXT,
        url=_TEXT,
    ),
}
