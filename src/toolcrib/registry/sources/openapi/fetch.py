"""Gets an OpenAPI document from a URL."""

from __future__ import annotations

from toolcrib.errors import SourceError

MOST_BYTES = 64 * 1024 * 1024
SECONDS = 30.0


def fetch(url: str) -> bytes:
    """The document at ``url``; no redirects, no proxies of the environment.

    Raises:
        SourceError: it cannot be had.
    """
    import time
    from urllib.parse import urlsplit

    import httpx2

    label = url.partition("?")[0]
    host = urlsplit(url).hostname
    until = time.monotonic() + SECONDS
    content = bytearray()
    accept = {"Accept": "application/json, application/yaml;q=0.9, */*;q=0.1"}
    try:
        with (
            httpx2.Client(trust_env=False, timeout=SECONDS / 3) as client,
            client.stream("GET", url, headers=accept) as response,
        ):
            if response.status_code != 200:
                hint = "Correct the URL, or save the document as a file."
                raise SourceError(f"the server answered {response.status_code}", path=label, hint=hint)
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > MOST_BYTES or time.monotonic() > until:
                    limit = f"{MOST_BYTES} bytes" if len(content) > MOST_BYTES else f"{SECONDS:g} s"
                    raise SourceError(f"it takes more than {limit}", path=label, hint="Save it as a file.")
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        hint = "Make sure that the server runs, or save the document as a file."
        raise SourceError(f"{host} gives no answer: {type(error).__name__}: {error}", path=label, hint=hint) from error
    return bytes(content)
