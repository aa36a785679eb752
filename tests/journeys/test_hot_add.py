"""Adding a tool to the running service is one new file; removing it removes it everywhere (contract N051, W028)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.fake_api import FakeApi, fake_api
from tests.journeys.service import SLACK, Service, running_service

pytestmark = pytest.mark.journey

GREET = '''\
from toolcrib import tool


@tool
def greet(name: str) -> str:
    """Greets somebody."""
    return f"Hello {name}"
'''

TOOLS_JSON_CLASS = """\
from toolcrib import ActionDef, BaseTool, ToolResult


class RepeaterTool(BaseTool):
    def __init__(self, times: int = 2) -> None:
        self.times = times

    def get_actions(self) -> list[ActionDef]:
        return [ActionDef("repeat", "Repeats a text.", {"text": {"type": "string"}}, ["text"])]

    async def execute(self, action: str, params: dict) -> ToolResult:
        return ToolResult(status="success", output=params["text"] * self.times)
"""


class Watched:
    """A running service, and what it says while its files change."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.project = service.project

    def write(self, name: str, text: str) -> Path:
        """Write a file of the project the way many editors do: beside it, and then in its place."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.new")
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
        return path

    def tools(self) -> dict[str, dict[str, Any]]:
        return {tool["tool_id"]: tool for tool in self.service.client.get("/tools").json()["tools"]}

    def problems(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.service.client.get("/health/ready").json()["problems"]
        return found

    def run(self, tool_id: str, **params: Any) -> Any:
        answer = self.service.client.post("/run_tool", json={"tool_id": tool_id, "params": params}).json()
        assert answer["status"] == "success", answer
        return answer["result"]

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait for what the service notices by itself."""
        limit = time.monotonic() + 15 * SLACK
        while not condition():
            assert time.monotonic() < limit, f"it was not noticed: {self.problems()}\n{self.service.log.read_text()}"
            time.sleep(0.05)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "repeaters.py").write_text(TOOLS_JSON_CLASS)
    extra = {"TOOLCRIB_TOOLS_JSON_MODULES": '["repeaters"]', "PETS_KEY": "s3cret-key"}
    with running_service(tmp_path, extra=extra) as service:
        yield Watched(service)


@pytest.fixture
def api() -> Iterator[FakeApi]:
    with fake_api() as running:
        yield running


def test_N051_one_python_file_is_a_tool_of_the_running_service(watched: Watched) -> None:
    shipped = set(watched.tools())
    path = watched.write("tools/python/greeting.py", GREET)
    watched.until(lambda: "greet" in watched.tools())
    tool = watched.tools()["greet"]
    assert (tool["backend_runtime"], tool["state"], tool["port"]) == ("inprocess", "running", None)
    assert list(tool["input_schema"]["properties"]) == ["name"]
    assert watched.run("greet", name="Ada") == "Hello Ada"

    watched.write(
        "tools/python/greeting.py",
        GREET.replace("name: str", 'name: str, word: str = "Hello"').replace('f"Hello', 'f"{word}'),
    )
    watched.until(lambda: "word" in watched.tools()["greet"]["input_schema"]["properties"])
    assert watched.run("greet", name="Ada", word="Hi") == "Hi Ada"

    watched.write("tools/python/greeting.py", GREET + "\n\nundefined\n")
    watched.until(lambda: bool(watched.problems()))
    (problem,) = watched.problems()
    assert (problem["path"], problem["line"]) == (str(path), 10)
    assert "NameError" in problem["error"]
    assert watched.run("greet", name="Ada", word="Hi") == "Hi Ada"

    watched.write("tools/python/greeting.py", GREET)
    watched.until(lambda: not watched.problems())
    assert watched.run("greet", name="Ada") == "Hello Ada"

    path.unlink()
    watched.until(lambda: "greet" not in watched.tools())
    assert set(watched.tools()) == shipped
    answer = watched.service.client.post("/run_tool", json={"tool_id": "greet", "params": {}}).json()
    assert answer["error"] == "Tool not found: greet"


def test_N051_files_that_misbehave_while_they_are_loaded_leave_the_service_alone(watched: Watched) -> None:
    watched.write("tools/python/leaving.py", "import sys\nsys.exit(1)\n")
    watched.write("tools/python/chatty.py", "while True:\n    print('again and again')\n")
    watched.write("tools/python/good.py", GREET)
    watched.until(lambda: "greet" in watched.tools() and len(watched.problems()) == 2)
    places = {Path(problem["path"]).name: problem["line"] for problem in watched.problems()}
    assert places == {"leaving.py": 2, "chatty.py": 2}
    assert watched.service.client.get("/health").json() == {"status": "ok"}
    assert watched.service.log.read_text().count("again and again") < 100


def test_W007_an_entry_of_tools_json_is_a_tool_of_the_running_service(watched: Watched) -> None:
    entry: dict[str, Any] = {"module": "repeaters", "class": "RepeaterTool"}
    path = watched.write("tools.json", json.dumps({"repeater": entry}, indent=1))
    watched.until(lambda: "repeater_repeat" in watched.tools())
    assert watched.run("repeater_repeat", text="ab") == "abab"

    watched.write("tools.json", json.dumps({"repeater": entry | {"config": {"times": 3}}}, indent=1))
    watched.until(lambda: watched.run("repeater_repeat", text="ab") == "ababab")

    watched.write("tools.json", json.dumps({"repeater": entry | {"config": {"time": 3}}}, indent=1))
    watched.until(lambda: bool(watched.problems()))
    (problem,) = watched.problems()
    assert (problem["path"], problem["line"]) == (str(path), 6)
    assert problem["hint"] == 'Did you mean "times"?'
    assert watched.run("repeater_repeat", text="ab") == "ababab"

    watched.write("tools.json", json.dumps({"repeater": entry}, indent=1))
    watched.until(lambda: not watched.problems() and watched.run("repeater_repeat", text="ab") == "abab")
    path.unlink()
    watched.until(lambda: "repeater_repeat" not in watched.tools())


def document(url: str, *parameters: str) -> str:
    """An OpenAPI document of one operation with these query parameters."""
    listed = [{"name": name, "in": "query", "schema": {"type": "string"}} for name in parameters]
    return json.dumps(
        {
            "openapi": "3.1.0",
            "servers": [{"url": url}],
            "paths": {"/pets": {"get": {"operationId": "listPets", "parameters": listed, "responses": {}}}},
            "security": [{"key": []}],
            "components": {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
        },
        indent=1,
    )


def test_an_openapi_document_is_tools_of_the_running_service(api: FakeApi, watched: Watched) -> None:
    api.answers(["Rex"])
    path = watched.write("pets.json", document(api.url, "kind"))
    entry = {"document": "pets.json", "prefix": "pet_", "auth": {"key": "env:PETS_KEY"}}
    watched.write("registry.json", json.dumps({"openapi": [entry]}))
    watched.until(lambda: "pet_listPets" in watched.tools())
    tool = watched.tools()["pet_listPets"]
    assert (tool["backend_runtime"], tool["state"], tool["port"]) == (
        "remote",
        "running",
        int(api.url.rpartition(":")[2]),
    )
    assert watched.run("pet_listPets", kind="dog") == ["Rex"]
    assert (api.only().target, api.only().header("X-Key")) == ("/pets?kind=dog", "s3cret-key")

    watched.write("pets.json", document(api.url, "kind", "colour"))
    watched.until(lambda: "colour" in watched.tools()["pet_listPets"]["input_schema"]["properties"])
    watched.write("pets.json", "{\n")
    watched.until(lambda: bool(watched.problems()))
    assert [(problem["path"], problem["line"]) for problem in watched.problems()] == [(str(path), 2)]
    assert watched.run("pet_listPets", colour="red") == ["Rex"]

    watched.write("pets.json", document(api.url))
    watched.until(lambda: not watched.problems())
    assert watched.tools()["pet_listPets"]["input_schema"]["properties"] == {}
    (watched.project / "registry.json").unlink()
    watched.until(lambda: "pet_listPets" not in watched.tools())
    assert "s3cret-key" not in watched.service.log.read_text()


def test_serve_takes_an_openapi_document_by_option(api: FakeApi, tmp_path: Path) -> None:
    api.answers(["Rex"])
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "pets.json").write_text(document(api.url).replace('"security"', '"x-security"'))
    with running_service(tmp_path, arguments=("--openapi", "pets.json")) as service:
        assert Watched(service).run("listPets") == ["Rex"]
