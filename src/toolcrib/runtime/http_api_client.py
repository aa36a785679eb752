"""The HTTP client for APIs. It imports httpx2 and is imported when the first call is made."""

from __future__ import annotations

from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import quote, unquote_plus

import httpx2

from toolcrib.errors import InvalidParamsError, TooLargeError, UpstreamError
from toolcrib.runtime.http_api_credentials import Signature, without_secrets
from toolcrib.runtime.http_api_request import ApiRequest

CONNECT_SECONDS = 10.0
MOST_REDIRECTS = 5
ERROR_BYTES = 64 * 1024

_SIGNATURE = "toolcrib.signature"


@dataclass(frozen=True, slots=True)
class ApiAnswer:
    """A whole answer.

    Attributes:
        status: the HTTP status.
        reason: its words.
        headers: by lower-case name.
        body: decoded; of an error only the beginning.
    """

    status: int
    reason: str
    headers: dict[str, str]
    body: bytes


class _SigningTransport(httpx2.AsyncBaseTransport):
    """Adds credentials below everything that logs a request or keeps it in an error."""

    def __init__(self) -> None:
        self._inner = httpx2.AsyncHTTPTransport(limits=httpx2.Limits(max_connections=100, max_keepalive_connections=20))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        extensions = dict(request.extensions)
        signature: Signature | None = extensions.pop(_SIGNATURE, None)
        if signature is None:
            return await self._inner.handle_async_request(request)
        url, headers = request.url, request.headers.copy()
        if signature.query:
            added = "&".join(f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in signature.query)
            known = url.query.decode("ascii")
            url = url.copy_with(query=f"{known}&{added}".lstrip("&").encode("ascii"))
        for name, value in signature.headers:
            headers[name] = value
        if signature.cookies:
            given = [headers["Cookie"]] if "Cookie" in headers else []
            headers["Cookie"] = "; ".join([*given, *signature.cookies])
        signed = httpx2.Request(request.method, url, headers=headers, stream=request.stream, extensions=extensions)
        return await self._inner.handle_async_request(signed)

    async def aclose(self) -> None:
        await self._inner.aclose()


def open_client() -> httpx2.AsyncClient:
    """A client without proxies, retries, redirects and cookies of its own."""
    return httpx2.AsyncClient(
        transport=_SigningTransport(),
        trust_env=False,
        follow_redirects=False,
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        headers={"User-Agent": "toolcrib"},
        timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
    )


async def exchange(
    client: httpx2.AsyncClient, server: str, request: ApiRequest, signature: Signature, limit: int
) -> ApiAnswer:
    """Send a request and read its answer; the caller keeps the deadline.

    Redirects are followed to the same host only, and only where they ask for the same request or a GET after a POST
    (303).

    Args:
        client: from `open_client`.
        server: the URL that the request's target is appended to.
        request: what to send.
        signature: its credentials.
        limit: bytes of an answer's body.

    Raises:
        InvalidParamsError: no URL can be made of the arguments.
        TooLargeError: the answer is over the limit.
        UpstreamError: there is no usable answer.
    """
    try:
        headers = [(name.encode("ascii"), value.encode()) for name, value in request.headers]
        current = client.build_request(
            request.method,
            f"{server}{request.target}",
            headers=headers,
            content=request.body,
            extensions={_SIGNATURE: signature},
        )
    except (httpx2.InvalidURL, UnicodeError) as error:
        raise InvalidParamsError(f"The arguments make no usable URL or header: {error}") from None
    host = current.url.host
    try:
        for _ in range(MOST_REDIRECTS + 1):
            response = await client.send(current, stream=True)
            try:
                following = _redirection(current, response)
                if following is None:
                    return await _read(response, limit)
            finally:
                await response.aclose()
            current = _without_credentials(following, signature)
    except httpx2.HTTPError as error:
        words = without_secrets(str(error), signature.secrets) or type(error).__name__
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.UnsupportedProtocol):
            hint = "Make sure that the API is up and its URL right; nothing was sent."
            raise UpstreamError(f"The API at {host} cannot be reached: {words}", hint=hint) from None
        hint = "The call may have been carried out."
        raise UpstreamError(f"The API at {host} gave no usable answer: {words}", hint=hint) from None
    raise UpstreamError(f"The API at {host} redirected more than {MOST_REDIRECTS} times")


def _redirection(request: httpx2.Request, response: httpx2.Response) -> httpx2.Request | None:
    """The request that a redirect asks for; None where the answer is the answer."""
    following = response.next_request
    if following is None:
        return None
    here, there = request.url, following.url
    is_upgrade = (here.scheme, here.port, there.scheme, there.port) == ("http", None, "https", None)
    if here.host != there.host or not (is_upgrade or (here.scheme, here.port) == (there.scheme, there.port)):
        port = f":{there.port}" if there.port else ""
        raise UpstreamError(
            f"The API at {here.host} redirects to {there.scheme}://{there.host}{port}, which is not followed",
            hint="If the API has moved there, say so with base_url.",
        )
    if following.method != request.method and response.status_code != 303:
        raise UpstreamError(
            f"The API at {here.host} answered {request.method} with {response.status_code}, a redirect that would make "
            f"a {following.method} of it and is not followed",
            hint="Correct the server's URL or the path in the OpenAPI document; often it is a final / too much or few.",
        )
    return following


def _without_credentials(request: httpx2.Request, signature: Signature) -> httpx2.Request:
    """``request`` without the credentials that the API wrote into the URL of its redirect; they are added again."""
    names = {quote(name, safe="") for name, _ in signature.query}
    if names:
        pairs = request.url.query.decode("ascii").split("&")
        kept = "&".join(pair for pair in pairs if quote(unquote_plus(pair.partition("=")[0]), safe="") not in names)
        request.url = request.url.copy_with(query=kept.encode("ascii") or None)
    return request


async def _read(response: httpx2.Response, limit: int) -> ApiAnswer:
    body = bytearray()
    is_error = response.status_code >= 400
    most = min(limit, ERROR_BYTES) if is_error else limit
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > most:
            if is_error:
                del body[most:]
                break
            raise TooLargeError(
                f"The API at {response.request.url.host} answered with more than {limit} bytes",
                hint="Ask for less at once, or raise TOOLCRIB_RESPONSE_LIMIT.",
            )
    headers = {name.lower(): value for name, value in response.headers.items()}
    return ApiAnswer(response.status_code, response.reason_phrase, headers, bytes(body))
