"""The examples of the README, which are those of the documents, run as written against a real service."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from PIL import Image

from tests.journeys.namespace import can_isolate, run_isolated
from tests.journeys.service import SLACK, environment

ROOT = Path(__file__).resolve().parents[2]
DRIVER = Path(__file__).with_name("example_driver.py")
READMES = [ROOT / "README.md", ROOT / "README.zh-CN.md"]

pytestmark = [
    pytest.mark.journey,
    pytest.mark.skipif(not can_isolate(), reason="needs permission to make a network namespace"),
]


def example(readme: Path, name: str) -> str:
    """The fenced block that follows ``<!-- example: name -->``."""
    match = re.search(rf"<!-- example: {name} -->\n```\w+\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)
    assert match, f"{readme.name} has no example {name!r}"
    return match[1]


@pytest.fixture
def pictures(tmp_path: Path) -> tuple[Image.Image, Image.Image]:
    """image1.png and image2.png, 512 x 512, no two pixels of a row alike, in the working directory."""
    gradient = Image.linear_gradient("L").resize((512, 512))
    first = Image.merge("RGB", (gradient, gradient.rotate(90), Image.new("L", (512, 512), 40)))
    second = Image.merge("RGB", (gradient.rotate(180), Image.new("L", (512, 512), 200), gradient.rotate(270)))
    first.save(tmp_path / "image1.png")
    second.save(tmp_path / "image2.png")
    return first, second


def pasted(pictures: tuple[Image.Image, Image.Image], spacing: int) -> Image.Image:
    """The two pictures side by side, pasted by hand."""
    sheet = Image.new("RGB", (1024 + spacing, 512), "#FFFFFF")
    sheet.paste(pictures[0], (0, 0))
    sheet.paste(pictures[1], (512 + spacing, 0))
    return sheet


def run(kind: str, source: str, directory: Path) -> str:
    file = directory / "example.txt"
    file.write_text(source, encoding="utf-8")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = run_isolated(
        [sys.executable, str(DRIVER), kind, str(file)],
        cwd=directory,
        env=environment(directory / "home", PATH=path),
        timeout=120 * SLACK,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def stitcher_after(directory: Path) -> dict[str, object]:
    tools = json.loads((directory / "tools.json").read_text(encoding="utf-8"))["tools"]
    return next(item for item in tools if item["tool_id"] == "image_stitcher")


@pytest.mark.parametrize("readme", READMES, ids=lambda path: path.name)
def test_T012_T022_the_python_client_runs_as_written(
    readme: Path, pictures: tuple[Image.Image, Image.Image], tmp_path: Path
) -> None:
    output = run("python", example(readme, "python"), tmp_path)

    assert "拼接完成! 尺寸: 1044x512" in output
    result = Image.open(tmp_path / "result.png")
    assert result.mode == "RGB"
    assert result.tobytes() == pasted(pictures, 20).tobytes()
    after = stitcher_after(tmp_path)
    assert (after["name"], after["state"], after["port"]) == ("图片拼接工具", "running", 8002)


@pytest.mark.skipif(not (shutil.which("jq") and shutil.which("curl")), reason="needs jq and curl")
def test_T012_T028_the_curl_client_runs_as_written(pictures: tuple[Image.Image, Image.Image], tmp_path: Path) -> None:
    output = run("bash", example(READMES[0], "bash"), tmp_path)

    assert '"tool_id": "image_stitcher"' in output
    assert '"name": "图片拼接工具"' in output
    assert '"state": "stopped"' in output
    assert Image.open(tmp_path / "result.png").tobytes() == pasted(pictures, 0).tobytes()
    log = (ROOT / "tools/local/image_stitcher/tests/last_run.log").read_text(encoding="utf-8")
    assert "uv run main.py --port" in log.splitlines()[0]


def test_the_command_gives_the_same_picture(pictures: tuple[Image.Image, Image.Image], tmp_path: Path) -> None:
    run("bash", example(READMES[0], "cli"), tmp_path)

    assert Image.open(tmp_path / "result.png").tobytes() == pasted(pictures, 20).tobytes()
