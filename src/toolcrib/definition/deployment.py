"""Where a tool lives when it lives outside this process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Runtime = Literal["inprocess", "local", "docker", "remote", "mcp"]
Launch = Literal["python", "uv-run"]


@dataclass(frozen=True, slots=True)
class Authentication:
    """How requests to a tool are signed; the secrets themselves stay references (contract T023).

    Attributes:
        type: ``bearer``, ``header`` (under ``name``), ``query`` (under ``name``) or ``hmac``.
        secrets: references by role, such as ``{"token": "env:MY_TOKEN"}``.
        name: the header or query parameter that carries the secret.
    """

    type: Literal["bearer", "header", "query", "hmac"]
    secrets: Mapping[str, str]
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Deployment:
    """Everything a runtime needs to reach a tool; two equal deployments need no restart (contract T017-T024).

    Attributes:
        runtime: the kind of place it lives in.
        directory: a local tool's folder, absolute; it holds ``main.py``.
        endpoint: the path that runs it, without the leading slash.
        method: POST sends the parameters as JSON, GET as a query string.
        launch: ``python`` executes the prepared environment's interpreter, ``uv-run`` the documented command literally.
        artifacts: how an artifact reference reaches the tool: as a ``file://`` URI (``path``) or inlined (``base64``).
        timeout: seconds one call may take.
        idle_timeout: seconds without a call after which it is stopped; 0 = never.
        start_timeout: seconds from the start of the process to its first healthy answer.
        environment: names of environment variables that are passed on besides the allow-list.
        authentication: how requests are signed.
        url: a remote tool's base URL.
        options: what only one runtime knows (image, container id, job API …).
    """

    runtime: Runtime
    directory: Path | None = None
    endpoint: str = "run"
    method: Literal["POST", "GET"] = "POST"
    launch: Launch = "python"
    artifacts: Literal["path", "base64"] = "base64"
    timeout: float = 600.0
    idle_timeout: float = 600.0
    start_timeout: float = 60.0
    environment: tuple[str, ...] = ()
    authentication: Authentication | None = None
    url: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
