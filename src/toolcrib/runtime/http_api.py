"""Carries out calls of tools that are operations of an HTTP API."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from toolcrib.definition.call import Deadline, ToolCall
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import DeadlineExceeded, DependencyMissingError, UpstreamError
from toolcrib.registry.sources.openapi.wire import HttpOperation
from toolcrib.runtime.http_api_answer import interpret
from toolcrib.runtime.http_api_credentials import sign
from toolcrib.runtime.http_api_request import build_request
from toolcrib.settings import MEBIBYTE

if TYPE_CHECKING:
    from httpx2 import AsyncClient

OPTION = "openapi"


def is_http_api(tool: ToolDefinition) -> bool:
    """Whether a tool is an operation of an HTTP API, for `HttpApiRunner` to run."""
    return tool.deployment is not None and OPTION in tool.deployment.options


def check_credentials(tool: ToolDefinition) -> None:
    """Make sure that the credentials of an API's operation are there.

    Raises:
        DependencyMissingError: one is not; the text names it.
    """
    sign(tool, _operation(tool)[0]["credentials"])


class HttpApiRunner:
    """A `Runner` for tools whose deployment says what to send to which API.

    One client and its connections serve all calls of one event loop. Nothing is sent twice: there are no retries, and a
    redirect is followed on the same host only. Proxies of the environment are not used.

    Args:
        response_limit: bytes of an answer's body.

    Example:
        >>> import asyncio
        >>> asyncio.run(HttpApiRunner().close())
    """

    def __init__(self, *, response_limit: int = 64 * MEBIBYTE) -> None:
        self._limit = response_limit
        self._client: AsyncClient | None = None

    async def close(self) -> None:
        """Close every connection."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def run(self, call: ToolCall, deadline: Deadline) -> ToolResult:
        """Send the request and return what the API answered.

        Raises:
            DependencyMissingError: a credential is not there; nothing was sent.
            InvalidParamsError: an argument cannot be sent.
            DeadlineExceeded: no whole answer came in time.
            TooLargeError: the answer is over the limit.
            UpstreamError: the API could not be reached or gave no usable answer.
        """
        from toolcrib.runtime.http_api_client import exchange, open_client

        tool = call.tool
        operation, server = _operation(tool)
        signature = sign(tool, operation["credentials"])
        request = build_request(operation, call.arguments)
        if self._client is None:
            self._client = open_client()
        try:
            async with asyncio.timeout(deadline.remaining()) as scope:
                answer = await exchange(self._client, server, request, signature, self._limit)
        except TimeoutError as error:
            if not scope.expired():
                raise UpstreamError(f"Tool {tool.name!r} could not reach its API: {type(error).__name__}") from None
            raise DeadlineExceeded(
                f"Tool {tool.name!r} did not answer within {deadline.seconds:g} s",
                hint="Allow more time with timeout, or ask for less at once; the API may still be working on it.",
            ) from None
        return interpret(answer, operation, signature.secrets)


def _operation(tool: ToolDefinition) -> tuple[HttpOperation, str]:
    if tool.deployment is None or OPTION not in tool.deployment.options or not tool.deployment.url:
        raise DependencyMissingError(f"Tool {tool.name!r} does not say which operation of which API it is")
    operation: HttpOperation = tool.deployment.options[OPTION]
    return operation, tool.deployment.url
