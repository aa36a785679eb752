"""Talks to a running router."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from toolcrib.errors import NotRunningError, ServiceError, ToolcribError

if TYPE_CHECKING:
    from toolcrib.settings import Settings

HEALTH_SECONDS = 5.0
SILENCE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class RouterRecord:
    """What a running router writes into ``TOOLCRIB_HOME/run/router.json``.

    Attributes:
        url: where it answers.
        pid: of its process.
        started_at: when that process began, in seconds since the epoch; with ``pid`` it names one process for good.
        version: of toolcrib.
    """

    url: str
    pid: int
    started_at: float
    version: str

    @property
    def alive(self) -> bool:
        """Whether the process that wrote the record still runs."""
        return abs((process_start(self.pid) or 0.0) - self.started_at) < 1.0


def record_path(settings: Settings) -> Path:
    """Where the record of the router of this home lies."""
    return settings.run_directory / "router.json"


def write_record(path: Path, record: RouterRecord) -> None:
    """Write the record, all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(asdict(record)) + "\n", encoding="utf-8")
    temporary.replace(path)


def read_record(path: Path) -> RouterRecord | None:
    """The record, or None where there is none that can be read."""
    try:
        value = json.loads(path.read_text("utf-8"))
        return RouterRecord(str(value["url"]), int(value["pid"]), float(value["started_at"]), str(value["version"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def process_start(pid: int) -> float | None:
    """When a process began, in seconds since the epoch; None where there is none of that id."""
    import psutil

    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return None


def find_router(settings: Settings) -> RouterClient | None:
    """The router that runs for this home and answers, or None."""
    record = read_record(record_path(settings))
    if record is None or not record.alive:
        return None
    client = RouterClient(record.url, silence=max(SILENCE_SECONDS, 5 * settings.heartbeat))
    try:
        health = client.get("/health", timeout=HEALTH_SECONDS)
    except ServiceError:
        return None
    return client if health == {"status": "ok"} else None


def need_router(settings: Settings) -> RouterClient:
    """The running router.

    Raises:
        NotRunningError: there is none.
    """
    client = find_router(settings)
    if client is None:
        raise NotRunningError(
            "No router is running", hint="Start it in another terminal: toolcrib serve (for the same TOOLCRIB_HOME)"
        )
    return client


def answer_of(answer: Any) -> Any:
    """An answer that is no failure.

    Raises:
        ToolcribError: the failure, with the router's text, code and hint.
    """
    if isinstance(answer, dict) and answer.get("status") == "error" and "error" in answer:
        raise ToolcribError(str(answer["error"]), hint=answer.get("hint"), code=answer.get("error_code"))
    return answer


class RouterClient:
    """Requests to a router, one connection each.

    Args:
        url: where it answers.
        silence: seconds without a byte after which it is given up; a router at work sends white space meanwhile.
    """

    def __init__(self, url: str, *, silence: float = SILENCE_SECONDS) -> None:
        self.url = url.rstrip("/")
        self._silence = silence

    def get(self, path: str, query: Mapping[str, Any] | None = None, *, timeout: float | None = None) -> Any:
        """The JSON answer of a GET."""
        given = {key: value for key, value in (query or {}).items() if value is not None}
        return self._request("GET", path + (f"?{urlencode(given)}" if given else ""), None, {}, timeout)

    def post(self, path: str, body: Any = None, *, timeout: float | None = None) -> Any:
        """The JSON answer of a POST of JSON."""
        content = json.dumps(body if body is not None else {}).encode("utf-8", "backslashreplace")
        return self._request("POST", path, content, {"Content-Type": "application/json"}, timeout)

    def upload(self, content: bytes, name: str) -> str:
        """Upload a file and return its reference."""
        path = f"/artifacts?{urlencode({'name': name})}"
        answer = self._request("POST", path, content, {"Content-Type": "application/octet-stream"}, None)
        return str(answer_of(answer)["reference"])

    def _request(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], timeout: float | None
    ) -> Any:
        import http.client
        from urllib.parse import urlsplit

        address = urlsplit(self.url)
        connection = http.client.HTTPConnection(
            address.hostname or "127.0.0.1", address.port or 80, timeout=timeout or self._silence
        )
        try:
            connection.request(method, path, body, {"Accept": "application/json", **headers})
            content = connection.getresponse().read()
            return json.loads(content)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ServiceError(
                f"The router at {self.url} gave no usable answer: {error or type(error).__name__}",
                hint="Look at its terminal, or run: toolcrib doctor",
            ) from error
        finally:
            connection.close()
