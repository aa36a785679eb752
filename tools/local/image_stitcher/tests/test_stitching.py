"""The stitching itself, without a server; run with the tool's own dependencies (see README.md)."""

from __future__ import annotations

import base64
import io
from typing import Any

import pytest
from main import run
from PIL import Image
from tool_server import ToolFailure


def encoded(image: Image.Image, kind: str = "PNG", **settings: Any) -> str:
    buffer = io.BytesIO()
    image.save(buffer, kind, **settings)
    return base64.b64encode(buffer.getvalue()).decode()


def solid(width: int, height: int, colour: str = "red") -> str:
    return encoded(Image.new("RGB", (width, height), colour))


def noise(width: int, height: int) -> Image.Image:
    return Image.effect_noise((width, height), 80).convert("RGB")


def stitched(*images: str, **params: Any) -> Image.Image:
    result = run({"images": list(images), **params})
    image = Image.open(io.BytesIO(base64.b64decode(result["image"])))
    assert image.size == (result["width"], result["height"])
    return image


@pytest.mark.parametrize(
    ("params", "size", "second"),
    [
        ({}, (1024, 512), (512, 0)),
        ({"spacing": 20}, (1044, 512), (532, 0)),
        ({"spacing": 20, "direction": "vertical"}, (512, 1044), (0, 532)),
    ],
)
def test_two_pictures_are_pasted_pixel_by_pixel(
    params: dict[str, Any], size: tuple[int, int], second: tuple[int, int]
) -> None:
    left, right = noise(512, 512), noise(512, 512)
    by_hand = Image.new("RGB", size, "white")
    by_hand.paste(left, (0, 0))
    by_hand.paste(right, second)
    image = stitched(encoded(left), encoded(right), **params)
    assert image.mode == "RGB"
    assert image.tobytes() == by_hand.tobytes()


@pytest.mark.parametrize(
    ("fit", "direction", "size"),
    [
        ("none", "horizontal", (50, 40)),
        ("none", "vertical", (40, 60)),
        ("none", "grid", (50, 40)),
        ("scale", "horizontal", (90, 40)),
        ("scale", "vertical", (40, 180)),
        ("scale", "grid", (80, 40)),
        ("pad", "horizontal", (80, 40)),
        ("pad", "vertical", (40, 80)),
        ("pad", "grid", (80, 40)),
        ("crop", "horizontal", (50, 20)),
        ("crop", "vertical", (10, 60)),
        ("crop", "grid", (20, 20)),
    ],
)
def test_fit_makes_sizes_equal_on_the_stated_axis(fit: str, direction: str, size: tuple[int, int]) -> None:
    assert stitched(solid(40, 20), solid(10, 40), fit=fit, direction=direction).size == size


@pytest.mark.parametrize(("align", "top"), [("start", 0), ("center", 10), ("end", 20)])
def test_align_places_the_smaller_picture(align: str, top: int) -> None:
    image = stitched(solid(4, 30, "red"), solid(4, 10, "blue"), align=align)
    column = [image.getpixel((5, y)) for y in range(30)]
    assert column == [(0, 0, 255) if top <= y < top + 10 else (255, 255, 255) for y in range(30)]


@pytest.mark.parametrize(("align", "kept"), [("start", 0), ("center", 10), ("end", 20)])
def test_align_says_which_part_a_crop_keeps(align: str, kept: int) -> None:
    rows = Image.new("RGB", (1, 30))
    for y in range(30):
        rows.putpixel((0, y), (y, 0, 0))
    image = stitched(encoded(rows), solid(1, 10), fit="crop", align=align)
    assert [image.getpixel((0, y)) for y in range(10)] == [(kept + y, 0, 0) for y in range(10)]


@pytest.mark.parametrize(("count", "columns", "size"), [(5, None, (30, 20)), (4, None, (20, 20)), (3, 9, (30, 10))])
def test_a_grid_has_as_many_columns_as_the_root_of_the_count(
    count: int, columns: int | None, size: tuple[int, int]
) -> None:
    assert stitched(*[solid(10, 10)] * count, direction="grid", columns=columns).size == size


def test_transparent_background_is_kept_where_something_shows_through() -> None:
    image = stitched(solid(2, 2), solid(2, 1), background_color="transparent")
    assert image.mode == "RGBA"
    assert image.getpixel((2, 1)) == (0, 0, 0, 0)
    assert stitched(solid(2, 2), solid(2, 2), background_color="transparent").mode == "RGB"


def test_jpeg_result_has_no_transparency_and_says_so() -> None:
    result = run({"images": [solid(8, 8), solid(8, 4)], "background_color": "transparent", "format": "jpeg"})
    assert result["mime_type"] == "image/jpeg"
    assert "white" in result["notes"][0]


@pytest.mark.parametrize(("output", "kind"), [("png", "PNG"), ("jpeg", "JPEG"), ("webp", "WEBP")])
def test_format_is_what_was_asked_for(output: str, kind: str) -> None:
    assert stitched(solid(8, 8), format=output).format == kind


@pytest.mark.parametrize(
    ("colour", "pixel"),
    [
        ("#f00", (255, 0, 0)),
        ("#00FF00", (0, 255, 0)),
        ("#0000ffff", (0, 0, 255)),
        (" RebeccaPurple ", (102, 51, 153)),
        ("#0000ff80", (0, 0, 255, 128)),
    ],
)
def test_background_colours(colour: str, pixel: tuple[int, ...]) -> None:
    assert stitched(solid(1, 2), solid(1, 1), background_color=colour).getpixel((1, 1)) == pixel


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_pictures_are_turned_upright(kind: str, orientation: int) -> None:
    image = Image.new("RGB", (32, 16), "red")
    exif = image.getexif()
    exif[0x0112] = orientation
    assert stitched(encoded(image, kind, exif=exif)).size == ((16, 32) if orientation >= 5 else (32, 16))


def test_exif_at_the_end_of_a_png_counts_too() -> None:
    image = Image.new("RGB", (32, 16), "red")
    exif = image.getexif()
    exif[0x0112] = 6
    data = base64.b64decode(encoded(image, exif=exif))
    at = data.index(b"eXIf") - 4
    chunk = data[at : at + 12 + int.from_bytes(data[at : at + 4])]
    end = data.index(b"IEND") - 4
    moved = data[:at] + data[at + len(chunk) : end] + chunk + data[end:]
    assert stitched(base64.b64encode(moved).decode()).size == (16, 32)


@pytest.mark.parametrize("kind", ["JPEG", "TIFF"])
def test_cmyk_becomes_rgb(kind: str) -> None:
    image = stitched(encoded(Image.new("CMYK", (8, 8), (0, 255, 255, 0)), kind))
    assert image.mode == "RGB"
    assert image.getpixel((2, 2)) in [(255, 0, 0), (254, 0, 0)]


@pytest.mark.parametrize(("value", "grey"), [(0, 0), (257, 1), (32768, 128), (65535, 255)])
def test_16_bit_grey_is_scaled_not_clipped(value: int, grey: int) -> None:
    for kind in ("PNG", "TIFF"):
        assert stitched(encoded(Image.new("I;16", (2, 2), value), kind)).getpixel((0, 0)) == (grey,) * 3


def test_floating_point_grey_is_scaled_and_says_so() -> None:
    image = Image.new("F", (2, 1), -1.0)
    image.putpixel((1, 0), 1.0)
    result = run({"images": [encoded(image, "TIFF")]})
    assert "scaled" in result["notes"][0]


@pytest.mark.parametrize("mode", ["RGBA", "LA", "PA", "P", "1", "L", "RGB"])
def test_every_mode_lies_on_the_background_as_it_should(mode: str) -> None:
    image = Image.new("RGBA", (2, 2), (255, 255, 255, 255)).convert(mode)
    assert stitched(encoded(image, "TIFF" if mode == "PA" else "PNG")).getpixel((0, 0)) == (255, 255, 255)


def test_every_error_names_its_parameter() -> None:
    whole = base64.b64decode(solid(64, 64))
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({}, ["images"]),
        ({"images": "x"}, ["images"]),
        ({"images": []}, ["images"]),
        ({"images": [solid(1, 1)] * 101}, ["images", "too many"]),
        ({"images": [solid(1, 1), 7]}, ["images[1]", "string"]),
        ({"images": [solid(1, 1), "!!!"]}, ["images[1]", "base64"]),
        ({"images": ["https://example.com/a.png"]}, ["images[0]", "https"]),
        ({"images": [base64.b64encode(whole[:60]).decode()]}, ["images[0]"]),
        ({"images": [base64.b64encode(b"<svg xmlns='x'/>").decode()]}, ["images[0]", "SVG"]),
        ({"images": ["data:image/svg+xml,%3Csvg/%3E"]}, ["images[0]", "SVG"]),
        ({"images": [base64.b64encode(b"%PDF-1.7 ...").decode()]}, ["images[0]", "PDF"]),
        ({"images": [base64.b64encode(b"hello").decode()]}, ["images[0]", "image"]),
        ({"images": [solid(1, 1)], "direction": "diagonal"}, ["direction", "horizontal"]),
        ({"images": [solid(1, 1)], "spacing": -1}, ["spacing"]),
        ({"images": [solid(1, 1)], "spacing": True}, ["spacing"]),
        ({"images": [solid(1, 1)], "spacing": 1.5}, ["spacing"]),
        ({"images": [solid(1, 1)], "columns": 0}, ["columns"]),
        ({"images": [solid(1, 1)], "quality": 101}, ["quality"]),
        ({"images": [solid(1, 1)], "background_color": "#12"}, ["background_color"]),
        ({"images": [solid(1, 1)], "background_color": "rgb(300,0,0)"}, ["background_color"]),
        ({"images": [solid(1, 1)], "background_color": 3}, ["background_color"]),
        ({"images": [solid(1, 1)], "colour": "red"}, ["colour", "background_color"]),
        ({"images": [solid(8000, 1), solid(1, 8000)] * 2, "fit": "pad"}, ["result", "too large"]),
        ({"images": [solid(10000, 1)] * 2, "format": "webp"}, ["result", "webp"]),
    ]
    for params, mentions in cases:
        with pytest.raises(ToolFailure) as caught:
            run(params)
        assert all(mention in str(caught.value) for mention in mentions), (str(caught.value), mentions)


def test_pictures_are_judged_together_before_any_is_decoded() -> None:
    with pytest.raises(ToolFailure, match="too large together"):
        run({"images": [encoded(Image.new("1", (7000, 7000)))] * 3, "fit": "crop"})
