"""What the documentation shows is true.

A fenced block that follows ``<!-- run -->`` is run: the blocks of a page in order, in one namespace, in an empty folder
and a crib of their own. ``<!-- run: needs MODULE -->`` has those that need a library run together where it is
installed, ``<!-- run: PATH -->`` writes the block to a file. What is printed must be what the comments ``# → …`` say.
"""

from __future__ import annotations

import ast
import asyncio
import importlib
import importlib.util
import inspect
import json
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from toolcrib import compat
from toolcrib.testing import call, temporary_crib

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "README.zh-CN.md"]
GUIDES = ["from-langchain-mcp", "from-nanoclaw", "from-weclaw", "testing"]
MULTILINE = re.MULTILINE | re.DOTALL
BLOCK = re.compile(r"^<!-- run(?:: (?P<how>[^\n]+?))? -->\n```\w+\n(?P<code>.*?)^```$", MULTILINE)


@dataclass(frozen=True)
class Block:
    """A block to be run: its code, and a module it needs or a file it becomes."""

    page: Path
    code: str
    line: int
    needs: str = ""
    file: str = ""


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page that are to be run, in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        how = match["how"] or ""
        needs = how.removeprefix("needs ") if how.startswith("needs ") else ""
        line = text.count("\n", 0, match.start("code"))
        found.append(Block(page, match["code"], line, needs, "" if needs else how))
    return found


def sessions() -> Iterator[Any]:
    """The blocks that are run together."""
    for page in PAGES:
        blocks = blocks_of(page)
        for needs in dict.fromkeys(each.needs for each in blocks):
            name = str(page.relative_to(ROOT)) + (f" {needs}" if needs else "")
            yield pytest.param([each for each in blocks if each.needs == needs], id=name)


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty folder to work in, and no module left of it afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOOLCRIB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TOOLCRIB_WATCH", "false")
    monkeypatch.setattr(
        sys, "path", [str(tmp_path), *(each for each in sys.path if Path(each or ".").resolve() != ROOT)]
    )
    importlib.invalidate_caches()
    before = set(sys.modules)
    yield
    compat.uninstall("nanoclaw")
    compat.uninstall("weclaw")
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("src", "backend"):
            del sys.modules[name]


@pytest.mark.parametrize("blocks", [*sessions()])
def test_the_blocks_of_a_page_run_and_print_what_they_say(blocks: list[Block], tmp_path: Path) -> None:
    if blocks[0].needs:
        pytest.importorskip(blocks[0].needs)
    names: dict[str, Any] = {"__name__": "__example__"}
    with temporary_crib():
        for block in blocks:
            if block.file:
                path = tmp_path / block.file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.code, encoding="utf-8")
            else:
                expected = re.findall(r"# → (.+)$", block.code, re.MULTILINE)
                assert printed_by(block, names).splitlines() == expected
        for name, value in names.items():
            if name.startswith("test_"):
                value()


def printed_by(block: Block, names: dict[str, Any]) -> str:
    """What a block prints; ``await`` at its top level works, as in a notebook."""
    code = compile(
        "\n" * block.line + block.code, str(block.page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True
    )
    output = StringIO()
    with redirect_stdout(output):
        value = eval(code, names)
        if inspect.iscoroutine(value):
            asyncio.run(value)
    return output.getvalue()


@pytest.mark.parametrize("guide", GUIDES)
@pytest.mark.parametrize("folder", ["docs", "docs/zh"])
def test_no_code_of_a_guide_is_left_out(guide: str, folder: str) -> None:
    text = (ROOT / folder / f"{guide}.md").read_text(encoding="utf-8")
    shown: list[str] = re.findall(r"^```(?:python|json)\n(.*?)^```$", text, MULTILINE)
    run = {match["code"] for match in BLOCK.finditer(text)}
    left = [each for each in shown if each not in run]
    # What only pytest or a real folder can run is shown in the unit tests of toolcrib.testing.
    assert [each for each in left if "LocalTool" not in each and "@pytest.fixture" not in each] == []


@pytest.mark.parametrize("guide", [*GUIDES, "index"])
def test_a_guide_says_the_same_in_both_languages(guide: str) -> None:
    def shape(text: str) -> list[str]:
        return re.findall(r"^#+ |^```\w*|^<!-- .+ -->$|^\|", text, re.MULTILINE)

    english, chinese = ((ROOT / folder / f"{guide}.md").read_text(encoding="utf-8") for folder in ("docs", "docs/zh"))
    assert shape(english) == shape(chinese)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=MULTILINE)
    links = [each.partition("#")[0] for each in re.findall(r"\]\(([^)\s]+)\)", text)]
    local = [each for each in links if each and not re.match(r"[a-z]+:", each)]
    assert [each for each in local if not (page.parent / each).exists()] == []


@pytest.mark.parametrize("name", ["README.md", "README.zh-CN.md"])
def test_the_function_of_the_readme_is_a_tool(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    found = re.search(r"<!-- example: module -->\n```python\n(.*?)^```$", text, MULTILINE)
    assert found is not None
    with temporary_crib():
        exec(compile(found[1], name, "exec"), {"__name__": "my_tools"})
        assert call("word_count", text="to be or not to be").data == 6
        assert call("word_count", text="to be or not to be", unique=True).data == 4


def fenced(page: str, language: str) -> list[str]:
    """The blocks of a page in one language."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, MULTILINE)


def test_the_folder_of_the_page_on_folders_is_a_tool(tmp_path: Path) -> None:
    from toolcrib.validation.examination import read_tool
    from toolcrib.validation.manifest import check_header

    folder = tmp_path / "color_namer"
    folder.mkdir()
    (folder / "main.py").write_text(fenced("tool-folders.md", "python")[0], encoding="utf-8")
    (folder / "tool.toml").write_text(fenced("tool-folders.md", "toml")[0], encoding="utf-8")
    tool, problems = read_tool(folder)
    assert problems == []
    assert tool is not None
    assert (tool.name, tool.effects, tool.timeout) == ("color_namer", "none", 600)
    assert check_header(folder).level == "pass"


def test_the_registry_of_the_page_on_registries_fits_its_schema() -> None:
    schemas = pytest.importorskip("jsonschema_rs")
    schema = json.loads((ROOT / "docs" / "schemas" / "registry.schema.json").read_text(encoding="utf-8"))
    for block in fenced("registry.md", "json"):
        schemas.validate(schema, json.loads(block))


def test_what_a_guide_calls_missing_is_missing() -> None:
    """When this fails, take the sentence out of from-nanoclaw.md in both languages."""
    compat.install("nanoclaw")
    with pytest.raises(ImportError, match="not in this version of toolcrib yet"):
        exec("from backend.tools import init_tools", {})
    assert importlib.util.find_spec("toolcrib.builtin") is None
