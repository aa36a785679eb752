"""Where an API answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from toolcrib.registry.sources.openapi.document import ApiProblem
from toolcrib.registry.sources.positions import Location
from toolcrib.registry.sources.problems import shown


def server_url(servers: Any, at: Location, *, base_url: str | None, document_url: str | None) -> str:
    """The URL that paths are appended to, without a trailing slash: that of the first server.

    Args:
        servers: the ``servers`` that count; None = none are named.
        at: where they stand.
        base_url: takes the place of the server. Where it has no path of its own, a relative server's path is appended.
        document_url: where the document came from, for relative servers; None = from a file.

    Raises:
        ApiProblem: there is no such URL.

    Example:
        >>> server_url([{"url": "/v1"}], (), base_url="http://localhost:9", document_url=None)
        'http://localhost:9/v1'
    """
    if base_url is not None and urlsplit(base_url).path not in ("", "/"):
        return base_url.rstrip("/")
    url, place = _first(servers, at)
    try:
        if base_url is not None:
            full = base_url if urlsplit(url).scheme else urljoin(base_url, url)
        else:
            full = urljoin(document_url, url) if document_url else url
        is_relative = not urlsplit(full).scheme
    except ValueError:
        raise ApiProblem(place, "the server has a URL that cannot be read") from None
    if is_relative:
        hint = 'Say where the API answers, for example base_url = "https://api.example.com".'
        raise ApiProblem(place, f"the server {shown(url)} is relative, and the document is a file", hint)
    mistake = url_mistake(full)
    if mistake:
        raise ApiProblem(place, f"the server {mistake}")
    return full.rstrip("/")


def url_mistake(url: str) -> str | None:
    """What keeps ``url`` from being one that an API can answer at; None where nothing does."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises where it is no number
    except ValueError:
        return "has a URL that cannot be read"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return f"has the URL {shown(url.split('@')[-1])}, which is not one of http or https"
    if parts.username is not None or parts.password is not None:
        return "has a URL with a user name or password; secrets go into auth"
    if parts.query or parts.fragment:
        return f"has the URL {shown(url)}, which does not end in a path"
    if re.search(r"[\s\x00-\x1f\x7f{}]", url):
        return f"has the URL {shown(url)}, which contains characters that no URL has"
    return None


def _first(servers: Any, at: Location) -> tuple[str, Location]:
    if servers is None or servers == []:
        return "/", at
    if not isinstance(servers, list) or not isinstance(servers[0], Mapping):
        raise ApiProblem(at, '"servers" should be a list of objects')
    server, place = servers[0], (*at, 0)
    url = server.get("url")
    if not isinstance(url, str) or not url:
        raise ApiProblem((*place, "url"), 'a server has no "url"')
    variables = server.get("variables")
    variables = variables if isinstance(variables, Mapping) else {}

    def value(match: re.Match[str]) -> str:
        variable = variables.get(match[1])
        default = variable.get("default") if isinstance(variable, Mapping) else None
        if default is None:
            raise ApiProblem((*place, "url"), f"the server's variable {{{match[1]}}} has no default")
        return str(default)

    return re.sub(r"\{([^{}]*)\}", value, url), (*place, "url")
