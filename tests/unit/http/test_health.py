"""That the service lives, and what it is."""

from __future__ import annotations

import os

import httpx2
import pytest

from tests.unit.http.conftest import FakeCrib
from toolcrib.errors import SourceError


async def test_T002_health_is_exactly_these_bytes(client: httpx2.AsyncClient) -> None:
    answer = await client.get("/health")
    assert answer.status_code == 200
    assert answer.content == b'{"status":"ok"}'
    assert answer.headers["content-type"] == "application/json"
    assert (await client.head("/health")).status_code == 200


async def test_T002_readiness_says_what_there_is_and_what_is_wrong(client: httpx2.AsyncClient, crib: FakeCrib) -> None:
    crib.problems = (SourceError("no such runtime", path="/x/tool.toml", line=3, hint="Use local."),)
    crib.running.add("image_stitcher")

    answer = await client.get("/health/ready")
    facts = answer.json()

    assert answer.status_code == 200
    assert facts["status"] == "ready"
    assert facts["pid"] == os.getpid()
    assert facts["port"] == crib.settings.port
    assert facts["home"] == str(crib.settings.home)
    assert facts["tools"] == {
        "total": 6,
        "state": {"running": 5, "stopped": 1},
        "lifecycle": {"active": 5, "inactive": 1},
    }
    assert facts["problems"] == [
        {"path": "/x/tool.toml", "line": 3, "error": "/x/tool.toml:3: no such runtime", "hint": "Use local."}
    ]
    assert facts["uv"]["found"] is (facts["uv"]["path"] is not None)
    assert facts["started_at"] > 1.7e9


async def test_T002_without_uv_it_is_ready_and_says_what_it_cannot_do(
    client: httpx2.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolcrib.interfaces.http.health.find_uv", lambda: None)
    answer = await client.get("/health/ready")
    assert (answer.status_code, answer.json()["status"]) == (200, "ready")
    [problem] = answer.json()["problems"]
    assert "uv is not installed" in problem["error"]
    assert "cannot be prepared" in problem["error"]
    assert "toolcrib[serve]" in problem["hint"]
