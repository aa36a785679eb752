"""Tools of the runtimes that come later: listed, and clear about what they lack."""

from __future__ import annotations

from pathlib import Path

import httpx2
import pytest

from toolcrib.crib import Crib
from toolcrib.definition.call import Deadline, ToolCall
from toolcrib.definition.deployment import Authentication, Deployment
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import DependencyMissingError
from toolcrib.interfaces.http.app import create_app
from toolcrib.runtime.remote import RemoteRunner, status_of
from toolcrib.runtime.status import Lifecycle
from toolcrib.settings import Settings

SECRETS = {"access_key": "env:CRIB_TEST_ACCESS", "secret_key": "env:CRIB_TEST_SECRET"}


def remote(url: str | None = "https://example.org/api") -> ToolDefinition:
    """A remote tool that needs two credentials."""
    deployment = Deployment("remote", url=url, authentication=Authentication("hmac", SECRETS))
    return ToolDefinition("liblibai_controlnet", "For a test.", {}, deployment=deployment)


async def test_T029_a_call_names_each_missing_credential(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CRIB_TEST_ACCESS", raising=False)
    monkeypatch.delenv("CRIB_TEST_SECRET", raising=False)
    with pytest.raises(DependencyMissingError) as caught:
        await RemoteRunner().run(ToolCall(remote(), {}), Deadline(60))
    text = str(caught.value)
    assert text.startswith("Tool 'liblibai_controlnet' is not running or has no active endpoint: ")
    assert "CRIB_TEST_ACCESS, CRIB_TEST_SECRET" in text
    monkeypatch.setenv("CRIB_TEST_ACCESS", "a")
    with pytest.raises(DependencyMissingError) as caught:
        await RemoteRunner().run(ToolCall(remote(), {}), Deadline(60))
    assert "CRIB_TEST_ACCESS" not in str(caught.value)


async def test_T018_a_start_says_what_a_call_would_say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CRIB_TEST_ACCESS", raising=False)
    crib = Crib(Settings(home=tmp_path))
    crib.registry.register(remote())
    crib.registry.register(ToolDefinition("box", "For a test.", {}, deployment=Deployment("docker")))
    transport = httpx2.ASGITransport(create_app(crib))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8001") as client:
        for name in ("liblibai_controlnet", "box"):
            with pytest.raises(DependencyMissingError) as caught:
                await RemoteRunner().run(ToolCall(crib.registry.resolve(name), {}), Deadline(60))
            answer = await client.post(f"/tools/{name}/start")
            assert answer.status_code == 503
            assert answer.json() == {
                "status": "error",
                "result": None,
                "error": str(caught.value),
                "error_code": "dependency_missing",
                "hint": caught.value.hint,
            }


def test_T029_status_without_and_with_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CRIB_TEST_ACCESS", raising=False)
    monkeypatch.setenv("CRIB_TEST_SECRET", "s")
    status = status_of(remote())
    assert (status.state, status.port) == ("stopped", None)
    assert status.lifecycle_reason == "missing credentials: CRIB_TEST_ACCESS"
    monkeypatch.setenv("CRIB_TEST_ACCESS", "a")
    assert (status_of(remote()).state, status_of(remote()).port) == ("running", 443)
    assert status_of(remote("http://10.0.0.1:8188/")).port == 8188
    assert status_of(remote("http://10.0.0.1:port/")).port is None
    assert status_of(remote(None)).port is None


def test_docker_is_stopped_and_says_that_it_comes_later() -> None:
    status = status_of(ToolDefinition("x", "For a test.", {}, deployment=Deployment("docker")))
    assert status.lifecycle is Lifecycle.STOPPED
    assert "docker" in (status.lifecycle_reason or "")
