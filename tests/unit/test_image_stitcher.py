"""The shipped image stitcher (contract T007, T011, T036) and the image rows of ``builtins.jsonl`` (D077 to D091).

The tool runs here with the development environment's Pillow; its own tests stand beside it.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import importlib.util
import io
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools" / "local" / "image_stitcher"
CASES = ROOT / "tests" / "cases"
FIXTURES = CASES / "fixtures"
SLACK = float(os.environ.get("TOOLCRIB_TEST_SLACK", "2"))
WHITE, RED, BLUE = (255, 255, 255), (255, 0, 0), (0, 0, 255)

Run = Callable[[dict[str, Any]], dict[str, Any]]

BOMB = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from main import run
arguments = json.load(sys.stdin)
start = time.monotonic()
try:
    run(arguments)
    error = None
except Exception as caught:
    error = str(caught)
# Not ru_maxrss: across fork and exec that also remembers how large the process was that started this one.
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
peak = int(status["VmHWM"].split()[0]) / 1024
print(json.dumps({"error": error, "ms": (time.monotonic() - start) * 1000, "peak_mb": peak}))
"""


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """The tool's handler. Its modules import each other by plain names, which are forgotten afterwards."""
    before = set(sys.modules)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(TOOL)
        spec = importlib.util.spec_from_file_location("image_stitcher_main", TOOL / "main.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module.run
    for name in {"options", "pictures", "stitcher", "tool_server"} - before:
        sys.modules.pop(name, None)


@contextlib.contextmanager
def served(**environment: str) -> Iterator[Callable[..., Any]]:
    process = subprocess.Popen(
        [sys.executable, "main.py", "--port", "0"],
        cwd=TOOL,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    words = process.stdout.readline().replace(",", "").split()
    port = int(words[words.index("port") + 1])

    def request(method: str, path: str, body: Any = None) -> Any:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            connection.request(method, path, None if body is None else json.dumps(body))
            return json.loads(connection.getresponse().read())

    try:
        yield request
    finally:
        process.terminate()
        process.communicate(timeout=30)


def arguments(case: str) -> dict[str, Any]:
    """The arguments of a row; a fixture stands for its base64."""
    rows = (json.loads(line) for line in (CASES / "builtins.jsonl").read_text(encoding="utf-8").splitlines())
    given: dict[str, Any] = next(row["input"]["arguments"] for row in rows if row["id"] == case)
    given["images"] = [
        fixture(image.removeprefix("fixture:")) if image.startswith("fixture:") else image for image in given["images"]
    ]
    return given


def fixture(name: str) -> str:
    return base64.b64encode((FIXTURES / name).read_bytes()).decode()


def encoded(image: Image.Image) -> str:
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def picture(result: dict[str, Any]) -> Image.Image:
    image = Image.open(io.BytesIO(base64.b64decode(result["image"], validate=True)))
    image.load()
    assert image.size == (result["width"], result["height"])
    assert (image.format, result["mime_type"]) == (result["format"].upper(), f"image/{result['format']}")
    return image


def refusal(run: Run, params: dict[str, Any]) -> tuple[str, str]:
    with pytest.raises(Exception, match=r"images") as caught:
        run(params)
    assert type(caught.value).__name__ == "ToolFailure"
    return str(caught.value), caught.value.code  # type: ignore[attr-defined]


# -- contract T011


@pytest.mark.parametrize(
    ("params", "size", "second"),
    [
        ({}, (1024, 512), (512, 0)),
        ({"direction": "horizontal", "spacing": 20, "background_color": "#FFFFFF"}, (1044, 512), (532, 0)),
        ({"direction": "vertical", "spacing": 20}, (512, 1044), (0, 532)),
    ],
)
def test_t011_two_pictures_of_512_are_joined_pixel_by_pixel(
    params: dict[str, Any], size: tuple[int, int], second: tuple[int, int]
) -> None:
    left, right = (Image.effect_noise((512, 512), 80).convert("RGB") for _ in range(2))
    by_hand = Image.new("RGB", size, WHITE)
    by_hand.paste(left, (0, 0))
    by_hand.paste(right, second)
    with served() as request:
        assert request("GET", "/health") == {"status": "ok"}
        result = request("POST", "/run", {"images": [encoded(left), encoded(right)], **params})
    image = picture(result)
    assert image.mode == "RGB"
    assert image.tobytes() == by_hand.tobytes()
    assert result["notes"] == []


def test_t011_pictures_of_different_height_stand_at_the_top(run: Run) -> None:
    image = picture(run({"images": [fixture("png_1x1_red.png"), fixture("png_3x2_blue.png")]}))
    assert image.size == (4, 2)
    assert [image.getpixel(at) for at in [(0, 0), (0, 1), (1, 0), (3, 1)]] == [RED, WHITE, BLUE, BLUE]


def test_t011_one_picture_is_returned_as_it_is(run: Run) -> None:
    assert picture(run({"images": [fixture("png_3x2_blue.png")]})).size == (3, 2)


def test_t011_data_urls_are_taken(run: Run) -> None:
    value = f"data:image/png;base64,{fixture('png_1x1_red.png')}"
    assert picture(run({"images": [value]})).getpixel((0, 0)) == RED


def test_t011_bad_base64_is_refused(run: Run) -> None:
    error, code = refusal(run, {"images": [fixture("png_1x1_red.png"), "not base64!"]})
    assert "images[1]" in error
    assert "base64" in error
    assert code == "invalid_params"


def test_artifact_references_arrive_as_files_below_home(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes((FIXTURES / "png_3x2_blue.png").read_bytes())
    with served(TOOLCRIB_HOME=str(tmp_path)) as request:
        assert request("POST", "/run", {"images": [(tmp_path / "a.png").as_uri()]})["width"] == 3
        refused = request("POST", "/run", {"images": [(FIXTURES / "png_3x2_blue.png").as_uri()]})
        assert (refused["status"], refused["error_code"]) == ("error", "invalid_params")
        assert "images[0]" in refused["error"]


def test_t036_the_example_of_the_manifest_runs(run: Run) -> None:
    manifest = tomllib.loads((TOOL / "tool.toml").read_text(encoding="utf-8"))
    assert manifest["name"] == {"zh": "图片拼接工具", "en": "Image stitcher"}
    assert manifest["description"]["zh"] == "将多张图片拼接成一张"
    assert (manifest["id"], manifest["category"], manifest["groups"]) == ("image_stitcher", "cv", [])
    for example in manifest["input_schema"]["examples"]:
        result = run(example)
        assert sorted(result) == sorted(manifest["output_schema"]["required"])
        assert picture(result).size == (5, 2)


# -- the rows


def test_d077_the_transparent_colour_of_a_palette_shows_the_background(run: Run) -> None:
    image = picture(run(arguments("D077")))
    assert (image.mode, image.size) == ("RGB", (4, 4))
    assert (image.getpixel((0, 0)), image.getpixel((1, 0))) == (WHITE, RED)


def test_d079_a_cmyk_jpeg_has_the_right_colours(run: Run) -> None:
    image = picture(run(arguments("D079")))
    assert (image.mode, image.size) == ("RGB", (9, 8))
    assert image.getpixel((2, 2)) == RED
    assert (image.getpixel((8, 0)), image.getpixel((8, 1))) == (RED, WHITE)


def test_d081_the_first_frame_of_an_animation_is_used_and_the_result_says_so(run: Run) -> None:
    result = run(arguments("D081"))
    assert picture(result).getpixel((0, 0)) == RED
    assert result["notes"] == ["images[0] is animated: only the first frame is used"]


def test_d083_vertical(run: Run) -> None:
    image = picture(run(arguments("D083")))
    assert image.size == (3, 3)
    assert [image.getpixel(at) for at in [(0, 0), (1, 0), (0, 1), (2, 2)]] == [RED, WHITE, BLUE, BLUE]


def test_d085_white_space_inside_base64_is_tolerated(run: Run) -> None:
    assert picture(run(arguments("D085"))).size == (1, 1)


def test_d087_percent_encoded_base64_is_understood(run: Run) -> None:
    assert picture(run(arguments("D087"))).getpixel((0, 0)) == RED


def test_d089_a_decompression_bomb_is_refused_from_its_header() -> None:
    finished = subprocess.run(
        [sys.executable, "-c", BOMB, str(TOOL)],
        input=json.dumps(arguments("D089")),
        capture_output=True,
        text=True,
        check=True,
    )
    seen = json.loads(finished.stdout)
    assert "images[0]" in seen["error"]
    assert "too large" in seen["error"]
    assert seen["peak_mb"] < 200
    assert seen["ms"] < 1000 * SLACK


def test_d091_an_empty_list_is_refused(run: Run) -> None:
    assert "images" in refusal(run, arguments("D091"))[0]


# -- the other fixtures


def test_exif_orientation_is_applied(run: Run) -> None:
    assert picture(run({"images": [fixture("exif6_jpeg_32x16.jpg")]})).size == (16, 32)


@pytest.mark.parametrize(("background", "grey"), [("#FFFFFF", 127), ("#000", 0), ("#0000FF", None)])
def test_half_transparent_pixels_mix_with_the_background(run: Run, background: str, grey: int | None) -> None:
    image = picture(run({"images": [fixture("rgba_half_png_2x2.png")], "background_color": background}))
    assert image.mode == "RGB"
    assert image.getpixel((0, 0)) == ((0, 0, 127) if grey is None else (grey, grey, grey))


def test_half_transparent_pixels_stay_so_on_a_transparent_background(run: Run) -> None:
    image = picture(run({"images": [fixture("rgba_half_png_2x2.png")], "background_color": "transparent"}))
    assert (image.mode, image.getpixel((0, 0))) == ("RGBA", (0, 0, 0, 128))


def test_16_bit_grey_is_scaled(run: Run) -> None:
    image = picture(run({"images": [fixture("gray16_png_2x1.png")]}))
    assert [image.getpixel((x, 0)) for x in range(2)] == [(0, 0, 0), (128, 128, 128)]


@pytest.mark.parametrize(("name", "mention"), [("svg.svg", "SVG"), ("truncated_png.png", "truncated")])
def test_what_is_no_whole_picture_is_refused_with_its_place_and_reason(run: Run, name: str, mention: str) -> None:
    error, code = refusal(run, {"images": [fixture("png_1x1_red.png"), fixture(name)]})
    assert error.startswith("images[1]")
    assert mention in error
    assert code == "invalid_params"


# -- every refusal says what to send instead


def noise(width: int, height: int, kind: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.effect_noise((width, height), 50).save(buffer, kind)
    return buffer.getvalue()


def flat(width: int, height: int) -> str:
    return encoded(Image.new("1", (width, height)))


def huge_png() -> bytes:
    """A PNG whose header claims 30,000 x 30,000 pixels."""
    return (FIXTURES / "bomb_png_30000x30000.png").read_bytes()


WHOLE = noise(64, 64)
DAMAGED = WHOLE[:60] + bytes(200) + WHOLE[260:]
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "no image": ({"images": [base64.b64encode(b"hello, world").decode()]}, "invalid_params", "PNG"),
    "empty": ({"images": [""]}, "invalid_params", "base64"),
    "cut off base64": ({"images": [base64.b64encode(WHOLE).decode()[:41]]}, "invalid_params", "whole"),
    "no base64": ({"images": ["not base64!"]}, "invalid_params", "base64"),
    "a number": ({"images": [5]}, "invalid_params", "base64"),
    "an address": ({"images": ["https://example.com/a.png"]}, "invalid_params", "base64"),
    "svg": ({"images": [fixture("svg.svg")]}, "invalid_params", "convert"),
    "pdf": ({"images": [base64.b64encode(b"%PDF-1.7 ...").decode()]}, "invalid_params", "convert"),
    "truncated": ({"images": [base64.b64encode(WHOLE[: len(WHOLE) // 2]).decode()]}, "invalid_params", "whole"),
    "a broken stream": ({"images": [base64.b64encode(DAMAGED).decode()]}, "invalid_params", "whole"),
    "900 megapixels": ({"images": [base64.b64encode(huge_png()).decode()]}, "too_large", "scaled down"),
    "70 megapixels": ({"images": [flat(10_000, 7_000)]}, "too_large", "scaled down"),
    "too large together": ({"images": [flat(8_000, 6_000)] * 3}, "too_large", "several calls"),
    "too large a result": (
        {"images": [flat(10, 10)] * 100, "direction": "grid", "spacing": 10_000},
        "too_large",
        "spacing",
    ),
    "too long for webp": ({"images": [flat(9_000, 10)] * 2, "format": "webp"}, "too_large", "format=png"),
    "a wrong colour": ({"images": [flat(1, 1)], "background_color": "reddish"}, "invalid_params", "#FFFFFF"),
    "a wrong direction": ({"images": [flat(1, 1)], "direction": "up"}, "invalid_params", "horizontal"),
    "a wrong number": ({"images": [flat(1, 1)], "spacing": -1}, "invalid_params", "such as 0"),
    "unknown": ({"images": [flat(1, 1)], "xyz": "red"}, "invalid_params", "leave it out"),
    "misspelt": ({"images": [flat(1, 1)], "spaceing": 1}, "invalid_params", "did you mean spacing?"),
    "nothing": ({}, "invalid_params", '"images"'),
    "none": ({"images": []}, "invalid_params", '"images"'),
    "too many": ({"images": [""] * 101}, "too_large", "several calls"),
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_t013_every_refusal_has_a_hint_that_says_what_to_send_instead(run: Run, mistake: str) -> None:
    params, code, hint = REFUSED[mistake]
    with pytest.raises(Exception, match=r"\w") as caught:
        run(params)
    assert type(caught.value).__name__ == "ToolFailure"
    assert caught.value.code == code, caught.value  # type: ignore[attr-defined]
    assert hint in str(caught.value.hint)  # type: ignore[attr-defined]
    if "megapixels" in mistake:
        assert "64 million" in str(caught.value)
