"""Secrets of HTTP APIs: read when a call needs them, and kept out of everything that people and models see."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import DependencyMissingError
from toolcrib.registry.sources.openapi.wire import HttpCredential, HttpOperation

SHORTEST_SECRET = 4
"""Characters of a secret that is recognised in texts; shorter ones would be found everywhere."""

REMOVED = "***"


@dataclass(frozen=True, slots=True, repr=False)
class Signature:
    """What the credentials of an operation add to its request.

    Attributes:
        headers, query: names and values, not yet encoded.
        cookies: pairs ``name=value``.
        secrets: every form in which a secret may come back.
    """

    headers: tuple[tuple[str, str], ...] = ()
    query: tuple[tuple[str, str], ...] = ()
    cookies: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()


def missing_variables(tool: ToolDefinition) -> list[str]:
    """The variables and files that a tool of an HTTP API needs and does not have, and schemes that nobody gave."""
    operation: HttpOperation | None = tool.deployment.options.get("openapi") if tool.deployment is not None else None
    names: list[str] = []
    for credential in operation["credentials"] if operation else ():
        if not credential["secrets"]:
            names.append(f"auth for {credential['scheme']!r}")
        names += [ref.partition(":")[2] for ref in credential["secrets"].values() if _value(ref) is None]
    return list(dict.fromkeys(names))


def sign(tool: ToolDefinition, credentials: list[HttpCredential]) -> Signature:
    """What these credentials add to a request.

    Raises:
        DependencyMissingError: one is not there or cannot be sent; it names scheme and variable, never a value.
    """
    headers: list[tuple[str, str]] = []
    query: list[tuple[str, str]] = []
    cookies: list[str] = []
    secrets: list[str] = []
    for credential in credentials:
        values = {role: _required(tool, credential, reference) for role, reference in _references(tool, credential)}
        kind, name = credential["kind"], credential["name"]
        if kind == "basic":
            pair = values.get("token") or f"{values['username']}:{values['password']}"
            secret = base64.b64encode(pair.encode()).decode()
            headers.append((name, f"Basic {secret}"))
            secrets += [pair, pair.partition(":")[2]]
        else:
            secret = values["token"]
            _check_sendable(tool, credential, secret)
            if kind == "bearer":
                headers.append((name, f"Bearer {secret}"))
            elif kind == "header":
                headers.append((name, secret))
            elif kind == "query":
                query.append((name, secret))
            else:
                cookies.append(f"{name}={secret}")
        secrets.append(secret)
    return Signature(tuple(headers), tuple(query), tuple(cookies), _forms(secrets))


def without_secrets(value: Any, secrets: tuple[str, ...]) -> Any:
    """A text, or JSON, in which every secret is replaced by ``***``."""
    if not secrets:
        return value
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, REMOVED)
        return value
    if isinstance(value, list):
        return [without_secrets(item, secrets) for item in value]
    if isinstance(value, Mapping):
        return {without_secrets(key, secrets): without_secrets(item, secrets) for key, item in value.items()}
    return value


def _references(tool: ToolDefinition, credential: HttpCredential) -> list[tuple[str, str]]:
    scheme = credential["scheme"]
    if not credential["secrets"]:
        suggestion = "".join(c if c.isascii() and c.isalnum() else "_" for c in scheme).upper()
        raise DependencyMissingError(
            f"Tool {tool.name!r} needs a credential for the security scheme {scheme!r}, and none is named",
            hint=f'Where the OpenAPI document is named, say auth: {{"{scheme}": "env:{suggestion}"}}, and set '
            f"{suggestion} in the environment of the service.",
        )
    return list(credential["secrets"].items())


def _required(tool: ToolDefinition, credential: HttpCredential, reference: str) -> str:
    value = _value(reference)
    if value is not None:
        return value
    kind, _, name = reference.partition(":")
    what = "the environment variable" if kind == "env" else "the file"
    mend = f"Set {name} in the environment of the service and start it again." if kind == "env" else f"Write {name}."
    raise DependencyMissingError(
        f"Tool {tool.name!r} needs {what} {name} for the security scheme {credential['scheme']!r}, and it is not set",
        hint=mend,
    )


def _value(reference: str) -> str | None:
    kind, _, name = reference.partition(":")
    if kind == "env":
        return os.environ.get(name) or None
    try:
        return Path(name).expanduser().read_text(encoding="utf-8").strip() or None
    except (OSError, ValueError):
        return None


def _check_sendable(tool: ToolDefinition, credential: HttpCredential, value: str) -> None:
    forbidden = ' ;,"\\' if credential["kind"] == "cookie" else ""
    if (
        value.isascii()
        and value.isprintable()
        and value == value.strip()
        and not any(one in value for one in forbidden)
    ):
        return
    (reference,) = credential["secrets"].values()
    raise DependencyMissingError(
        f"{reference.partition(':')[2]}, which tool {tool.name!r} needs for the security scheme "
        f"{credential['scheme']!r}, cannot be sent",
        hint="It contains a space, a line break or another character that no credential of this kind has.",
    )


def _forms(secrets: list[str]) -> tuple[str, ...]:
    forms = {
        form
        for secret in secrets
        for form in (secret, quote(secret, safe=""), quote(secret), json.dumps(secret)[1:-1])
        if len(secret) >= SHORTEST_SECRET
    }
    return tuple(sorted(forms, key=len, reverse=True))
