"""The pages about where tools come from are true, and the same in both languages."""

from __future__ import annotations

import ast
import json
import re
import shutil
import textwrap
from pathlib import Path

import pytest

from tests.journeys.fake_api import fake_api
from toolcrib.definition.result import ToolResult
from toolcrib.registry.sources.manifest import OpenApiEntry

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["openapi-source", "python-tools", "registry", "tool-folders"]
MULTILINE = re.MULTILINE | re.DOTALL


def text_of(name: str, folder: str = "docs") -> str:
    return (ROOT / folder / f"{name}.md").read_text(encoding="utf-8")


def blocks(name: str, language: str, folder: str = "docs") -> list[str]:
    """The fenced blocks of a page in one language of programs."""
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", text_of(name, folder), MULTILINE)
    return found


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_the_same_parts_in_both_languages(name: str) -> None:
    def shape(text: str) -> list[str]:
        return re.findall(r"^#+ |^```\w*|^<!-- .+ -->$|^\||^- ", text, re.MULTILINE)

    assert shape(text_of(name)) == shape(text_of(name, "docs/zh"))


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("language", ["python", "json", "toml"])
def test_the_code_is_the_same_in_both_languages(name: str, language: str) -> None:
    def without_remarks(block: str) -> str:
        if language != "python":
            return re.sub(r" *#.*", "", block)
        return ast.dump(ast.parse(f"async def main():\n{textwrap.indent(block, '    ')}"))

    english, chinese = (blocks(name, language, folder) for folder in ("docs", "docs/zh"))
    assert [*map(without_remarks, english)] == [*map(without_remarks, chinese)]


async def test_the_program_of_the_page_on_openapi_calls_the_api(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(ROOT / "tests" / "data" / "openapi" / "petstore.json", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLCRIB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TOOLCRIB_WATCH", "false")
    monkeypatch.setenv("SHOP_KEY", "s3cret")
    (code,) = blocks("openapi-source", "python")
    with fake_api() as api:
        api.answers({"id": 7, "name": "Rex"})
        names: dict[str, object] = {}
        source = code.replace("https://shop.example.com", api.url)
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        await eval(compile(source, "openapi-source.md", "exec", flags=flags), names)
        assert names["result"] == ToolResult.ok({"id": 7, "name": "Rex"})
        assert api.only().header("X-Api-Key") == "s3cret"


@pytest.mark.parametrize("name", ["openapi-source", "registry"])
def test_the_entries_of_apis_are_right(name: str) -> None:
    for block in blocks(name, "json"):
        entries = json.loads(block)["openapi"]
        assert [OpenApiEntry.model_validate(entry).prefix for entry in entries] == ["pet_"]
