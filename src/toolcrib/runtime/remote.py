"""Tools that live elsewhere: operations of HTTP APIs are called, the others are listed and say what they lack."""

from __future__ import annotations

from urllib.parse import urlsplit

from toolcrib.definition.call import Deadline, ToolCall
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import DependencyMissingError
from toolcrib.runtime.credentials import missing
from toolcrib.runtime.http_api import HttpApiRunner, check_credentials, is_http_api
from toolcrib.runtime.http_api_credentials import missing_variables
from toolcrib.runtime.status import Lifecycle, ToolStatus
from toolcrib.settings import MEBIBYTE

_SCHEME_PORTS = {"http": 80, "https": 443}


class RemoteRunner:
    """Answers for tools of the runtimes ``remote`` and ``docker`` (contract T029).

    Args:
        response_limit: bytes of an API's answer.

    Example:
        >>> import asyncio
        >>> asyncio.run(RemoteRunner().close())
    """

    def __init__(self, *, response_limit: int = 64 * MEBIBYTE) -> None:
        self._api = HttpApiRunner(response_limit=response_limit)

    async def close(self) -> None:
        """Close every connection to an API."""
        await self._api.close()

    async def run(self, call: ToolCall, deadline: Deadline) -> ToolResult:
        """Call the API that the tool is an operation of; refuse any other tool, naming what is missing.

        Raises:
            CallError: the API could not be called, or gave no usable answer.
            DependencyMissingError: this release cannot run the tool; the text names each missing credential.
        """
        if is_http_api(call.tool):
            return await self._api.run(call, deadline)
        raise _not_built(call.tool)


def check_callable(tool: ToolDefinition) -> None:
    """Make sure that a tool of one of these runtimes can be called, without calling anybody.

    Raises:
        DependencyMissingError: it cannot, with the text that a call would get.
    """
    if not is_http_api(tool):
        raise _not_built(tool)
    check_credentials(tool)


def _not_built(tool: ToolDefinition) -> DependencyMissingError:
    names = missing(tool)
    reasons = [f"missing credentials {', '.join(names)}"] if names else []
    reasons.append(f"this release has no {tool.runtime} runtime")
    return DependencyMissingError(
        f"Tool {tool.name!r} is not running or has no active endpoint: {'; '.join(reasons)}",
        hint=(f"It will need {', '.join(names)} in the environment of the service. " if names else "")
        + "Tools of the runtimes local and inprocess can be called now.",
    )


def status_of(tool: ToolDefinition) -> ToolStatus:
    """The status of a tool of one of these runtimes (DESIGN §11.10).

    A remote tool whose credentials are all there counts as running on the port of its URL; what lacks credentials or a
    runtime is stopped, and the reason says so.
    """
    names = [*missing(tool), *missing_variables(tool)]
    if names:
        return ToolStatus(Lifecycle.STOPPED, f"missing credentials: {', '.join(names)}")
    if tool.runtime != "remote":
        return ToolStatus(Lifecycle.STOPPED, f"this release has no {tool.runtime} runtime")
    return ToolStatus(Lifecycle.ACTIVE, port=_port(tool))


def _port(tool: ToolDefinition) -> int | None:
    url = tool.deployment.url if tool.deployment is not None else None
    if not url:
        return None
    parts = urlsplit(url)
    try:
        return parts.port or _SCHEME_PORTS.get(parts.scheme)
    except ValueError:
        return None
