"""All sources of tools in one crib (contract N050, N051, W007-W012, W028)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolcrib.crib import Crib, use
from toolcrib.errors import SettingsError
from toolcrib.registry.sources.openapi.entries import OpenApiEntries
from toolcrib.settings import Settings
from toolcrib.testing.temporary import isolated_settings

PYTHON = """\
from toolcrib import tool
@tool
def {name}() -> str:
    "Says its name."
    return "{name}"
"""

CLASS = """\
from toolcrib import ActionDef, BaseTool, ToolResult
class {name}(BaseTool):
    _llm_client = None
    def set_llm_client(self, client):
        self._llm_client = client
    def get_actions(self):
        return [ActionDef("ask", "Asks.")]
    async def execute(self, action, params):
        return ToolResult(status="success", output=self._llm_client)
"""


def api(*names: str, **more: Any) -> str:
    """An OpenAPI document with a GET operation of each name."""
    paths = {f"/{name}": {"get": {"operationId": name, "responses": {}}} for name in names}
    return json.dumps(
        {"openapi": "3.1.0", "servers": [{"url": "http://127.0.0.1:9"}], "paths": paths, **more}, indent=1
    )


class Place:
    """A project and a home whose files a test writes, and a crib over them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.project, self.home = root / "project", root / "home"
        self.project.mkdir()
        self.home.mkdir()

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def registry(self, *entries: Any, where: str = "project") -> Path:
        return self.write(f"{where}/registry.json", json.dumps({"openapi": entries}, indent=1))

    def settings(self, **more: Any) -> Settings:
        return isolated_settings(self.root, entry_points=False, **more)

    async def crib(self, **settings: Any) -> Crib:
        crib = Crib(self.settings(**settings))
        await crib.reload()
        return crib


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """An empty project and home, without what toolcrib ships."""
    monkeypatch.setattr("toolcrib.registry.sources.standard.shipped_root", lambda: tmp_path / "shipped")
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield Place(tmp_path)
    for name in set(sys.modules) - before:
        if name.startswith("wired_"):
            del sys.modules[name]


def names(crib: Crib) -> list[str]:
    return [tool.name for tool in crib.registry]


async def test_N051_tools_of_every_source_are_in_one_registry_in_a_fixed_order(place: Place) -> None:
    place.write("project/wired_a.py", PYTHON.format(name="from_module"))
    place.write("project/tools/python/b.py", PYTHON.format(name="from_project"))
    place.write("home/tools/python/c.py", PYTHON.format(name="from_home"))
    place.write("project/wired_d.py", CLASS.format(name="ListedTool"))
    place.write("project/tools.json", json.dumps({"listed": {"module": "wired_d", "class": "ListedTool"}}))
    place.write("project/named.json", api("from_settings"))
    place.write("project/apis/e.json", api("from_registry"))
    place.registry({"document": "apis/e.json", "prefix": "e_"})
    settings = {"modules": ("wired_a",), "tools_json_modules": ("wired_d",), "openapi": ("named.json",)}
    for _ in range(2):
        crib = await place.crib(**settings)
        assert crib.problems == ()
        expected = ["from_module", "from_project", "from_home", "listed_ask", "from_settings", "e_from_registry"]
        assert names(crib) == expected
        assert await crib.reload() == set()
    assert (await crib.run("from_home", {})).data == "from_home"


async def test_N003_a_name_in_two_sources_is_refused_for_the_later_one_naming_both(place: Place) -> None:
    first = place.write("project/tools/python/a.py", PYTHON.format(name="ping"))
    second = place.write("home/tools/python/b.py", PYTHON.format(name="ping"))
    third = place.write("project/api.json", api("ping"))
    place.registry({"document": "api.json"})
    crib = await place.crib()
    assert names(crib) == ["ping"]
    assert [str(problem) for problem in crib.problems] == [
        f"{second}: tool 'ping': an inprocess tool from {first} has that name",
        f"{third}: tool 'ping': an inprocess tool from {first} has that name",
    ]
    first.unlink()
    assert await crib.reload() == {"ping"}
    assert [tool.source for tool in crib.registry] == [str(second)]


async def test_N050_services_reach_tools_of_files_before_and_after_them(place: Place) -> None:
    crib = await place.crib()
    crib.services.register("llm_client", "early")
    place.write("project/tools/python/a.py", CLASS.format(name="AskerTool"))
    await crib.reload()
    assert (await crib.run("asker_ask", {})).output == "early"
    crib.services.register("llm_client", "late")
    assert (await crib.run("asker_ask", {})).output == "late"
    place.write("project/tools/python/a.py", CLASS.format(name="AskerTool").replace("Asks.", "Asks again."))
    assert await crib.reload() == {"asker_ask"}
    assert (await crib.run("asker_ask", {})).output == "late"


async def test_N050_a_file_may_register_and_use_services_while_it_is_loaded(place: Place) -> None:
    text = "from toolcrib import get_service, register_service\n"
    text += "register_service('clock', 'tick')\nCLOCK = get_service('given')\n"
    path = place.write("project/tools/python/a.py", text + PYTHON.format(name="ping").replace('"ping"', "CLOCK"))
    crib = Crib(place.settings())
    crib.services.register("given", "a clock")
    await crib.reload()
    assert crib.services.get("clock") == "tick"
    assert (await crib.run("ping", {})).data == "a clock"
    path.unlink()
    assert await crib.reload() == {"ping"}


async def test_N051_nothing_reaches_another_crib(place: Place) -> None:
    place.write("project/tools/python/a.py", PYTHON.format(name="ping"))
    with use(Crib(sources=())) as other:
        crib = await place.crib()
    assert (names(crib), names(other)) == (["ping"], [])


async def test_W007_nothing_of_the_project_is_imported_for_tools_json_unless_it_is_allowed(place: Place) -> None:
    place.write("project/wired_e.py", "raise SystemExit\n")
    path = place.write("project/config/tools.json", json.dumps({"x": {"module": "wired_e", "class": "X"}}, indent=1))
    crib = await place.crib()
    (problem,) = crib.problems
    assert (problem.path, problem.line) == (str(path), 3)
    assert "wired_e may not be imported: only toolcrib.builtin" in str(problem)
    assert "wired_e" not in sys.modules


async def test_W007_tools_json_of_the_home_counts_too_and_is_read_again(place: Place) -> None:
    place.write("project/wired_f.py", CLASS.format(name="ListedTool"))
    entry = {"listed": {"module": "wired_f", "class": "ListedTool"}}
    path = place.write("home/tools.json", json.dumps(entry))
    crib = await place.crib(tools_json_modules=("wired_f",))
    assert names(crib) == ["listed_ask"]
    path.write_text(json.dumps({"listed": {**entry["listed"], "enabled": False}}))
    assert await crib.reload() == {"listed_ask"}
    assert names(crib) == []


# --- settings ---------------------------------------------------------------------------------------------------------


async def test_a_module_that_is_not_there_is_a_wrong_setting(place: Place) -> None:
    with pytest.raises(SettingsError, match="There is no module wired_nowhere in ") as caught:
        await place.crib(modules=("wired_nowhere",))
    assert caught.value.hint is not None
    with pytest.raises(SettingsError, match="wired_nowhere"):
        async with Crib(place.settings(modules=("wired_nowhere",), watch=True)):
            pass


async def test_T015_a_module_with_an_error_is_a_problem_and_the_rest_is_there(place: Place) -> None:
    path = place.write("project/wired_g.py", "import json\n1 / 0\n")
    place.write("project/tools/python/a.py", PYTHON.format(name="ping"))
    crib = await place.crib(modules=("wired_g",))
    assert [(problem.path, problem.line) for problem in crib.problems] == [(str(path), 2)]
    assert names(crib) == ["ping"]
    path.write_text(PYTHON.format(name="mended"))
    assert await crib.reload() == {"mended"}


async def test_a_document_that_cannot_be_one_is_a_wrong_setting(place: Place) -> None:
    with pytest.raises(SettingsError, match="secrets go into auth") as caught:
        await place.crib(openapi=("https://ada:secret@example.com/api.json",))
    assert "secret@" not in str(caught.value)


def test_serve_refuses_a_document_that_is_not_there(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from toolcrib.interfaces.cli.app import cli

    finished = CliRunner().invoke(cli, ["serve", "--project", str(tmp_path), "--openapi", "nowhere.json"])
    assert (finished.exit_code, "there is no file nowhere.json" in finished.output) == (2, True)


# --- APIs in registry.json --------------------------------------------------------------------------------------------


async def test_an_api_of_registry_json_comes_changes_breaks_is_mended_and_goes(place: Place) -> None:
    crib = await place.crib()
    document = place.write("project/api.json", api("one", "two"))
    place.registry({"document": "api.json", "exclude": ["two"]})
    assert await crib.reload() == {"one"}
    assert crib.status(crib.registry.resolve("one")).port == 9
    document.write_text("{")
    assert await crib.reload() == set()
    assert [(problem.path, problem.line) for problem in crib.problems] == [(str(document), 1)]
    document.write_text(api("one", "three"))
    assert await crib.reload() == {"three"}
    assert ["exclude has 'two', which fits no operation" in str(problem) for problem in crib.problems] == [True]
    place.registry()
    assert await crib.reload() == {"one", "three"}
    assert (names(crib), crib.problems) == ([], ())


def test_an_entry_that_has_not_changed_keeps_its_tools_while_another_is_wrong(place: Place) -> None:
    place.write("project/a.json", api("a"))
    place.write("project/b.json", api("b"))
    path = place.registry({"document": "a.json"}, {"document": "b.json"})
    source = OpenApiEntries([path])
    good = source.load()
    assert [tool.name for tool in good.tools] == ["a", "b"]
    assert set(source.paths()) == {path, place.project / "a.json", place.project / "b.json"}
    for wrong, line, message in (
        ({"document": "a.json", "prefx": "x"}, 5, "API 'a.json': unknown key \"prefx\""),
        ({"document": "a.json", "auth": {"key": "s3cret"}}, 6, "a secret is named, never written down"),
        ({"document": "a.json", "auth": {"key": {"username": "env:A"}}}, 6, '"password" is missing'),
        ({"document": "a.json", "base_url": "example.com"}, 5, "this is no usable URL"),
        ({"documents": "a.json"}, 3, '"document" is missing'),
        ("a.json", 3, "API number 1: it should be an object"),
    ):
        place.registry(wrong, {"document": "b.json"})
        listing = source.load()
        assert {tool.name: tool for tool in listing.tools} == {tool.name: tool for tool in good.tools}
        assert any(message in str(problem) and problem.line == line for problem in listing.problems), listing.problems
        assert "s3cret" not in str(listing.problems)
    path.write_text("{")
    assert len(source.load().tools) == 2
    path.unlink()
    assert source.load().tools == ()


def test_an_entry_that_is_edited_keeps_the_tools_while_its_document_is_broken(place: Place) -> None:
    document = place.write("project/a.json", api("a"))
    path = place.registry({"document": "a.json"})
    source = OpenApiEntries([path])
    source.load()
    document.write_text("{")
    place.registry({"document": "a.json", "prefix": "my_"})
    assert [tool.name for tool in source.load().tools] == ["a"]
    document.write_text(api("a"))
    assert [tool.name for tool in source.load().tools] == ["my_a"]


def test_two_documents_with_operations_of_one_name(place: Place) -> None:
    for name in ("a", "b"):
        place.write(f"project/{name}.json", api("same"))
    path = place.registry({"document": "a.json"}, {"document": "b.json"})
    listing = OpenApiEntries([path]).load()
    assert [tool.source for tool in listing.tools] == [str(place.project / "a.json")]
    (problem,) = listing.problems
    assert str(problem) == f"{place.project / 'b.json'}: tool 'same' is defined in {place.project / 'a.json'} already"


async def test_what_an_api_lacks_is_said_where_its_state_is_shown(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WIRED_KEY", raising=False)
    schemes = {"securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}}
    place.write("project/api.json", api("one", components=schemes, security=[{"key": []}]))
    place.registry({"document": "api.json", "auth": {"key": "env:WIRED_KEY"}})
    crib = await place.crib()
    status = crib.status(crib.registry.resolve("one"))
    assert (status.state, status.lifecycle_reason) == ("stopped", "missing credentials: WIRED_KEY")
    async with crib:
        result = await crib.run("one", {})
    assert (result.error_code, "WIRED_KEY" in str(result.error)) == ("dependency_missing", True)
    monkeypatch.setenv("WIRED_KEY", "x")
    assert crib.status(crib.registry.resolve("one")).state == "running"
