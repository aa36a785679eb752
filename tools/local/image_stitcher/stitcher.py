"""Lay pictures out in rows and columns, draw them on one canvas and encode it."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from typing import Any

from options import Options
from pictures import Picture, PictureError, open_picture
from PIL import Image

MAX_INPUT_PIXELS = 128_000_000
MAX_OUTPUT_PIXELS = 100_000_000
LONGEST_SIDE = {"png": 1_000_000, "jpeg": 65_500, "webp": 16_383}

Size = tuple[int, int]


@dataclass(frozen=True)
class Place:
    """Where a picture goes: its size after scaling, and the cell it stands in, all in pixels."""

    size: Size
    corner: Size
    cell: Size


def stitch(files: list[bytes], options: Options) -> dict[str, Any]:
    """Join pictures into one and return it with its size.

    Every header is judged before the first pixel is decoded, and pictures are decoded one at a time.

    Args:
        files: The pictures' bytes, in order.
        options: How to lay them out.

    Raises:
        PictureError: Naming the picture that cannot be used, or the size that is too large.

    Example:
        >>> stitch([left, right], Options(columns=2, spacing=20))["width"]
        1044
    """
    pictures = [open_picture(data, f"images[{index}]") for index, data in enumerate(files)]
    if sum(width * height for width, height in (picture.size for picture in pictures)) > MAX_INPUT_PIXELS:
        hint = "send them scaled down, or join them in several calls"
        raise PictureError(
            f"images are too large together: at most {MAX_INPUT_PIXELS:,} pixels", "too_large", hint=hint
        )
    size, places = lay_out([picture.size for picture in pictures], options)
    _check_size(size, options.format)
    canvas = _draw(size, pictures, places, options)
    notes = [*options.notes, *(note for picture in pictures for note in picture.notes)]
    return {
        "image": base64.b64encode(_encode(canvas, options, notes)).decode("ascii"),
        "width": canvas.width,
        "height": canvas.height,
        "format": options.format,
        "mime_type": f"image/{options.format}",
        "notes": notes,
    }


def lay_out(sizes: list[Size], options: Options) -> tuple[Size, list[Place]]:
    """Compute the size of the whole and the place of each picture.

    A horizontal join is a grid of one row, a vertical one a grid of one column.

    Example:
        >>> lay_out([(512, 512), (512, 512)], Options(columns=2, spacing=20))[0]
        (1044, 512)
    """
    contents = _scale(sizes, options.direction) if options.fit == "scale" else sizes
    cells = _cells(contents, options)
    columns, spacing = options.columns, options.spacing
    widths = [max(width for width, _ in cells[column::columns]) for column in range(columns)]
    heights = [max(height for _, height in cells[row : row + columns]) for row in range(0, len(cells), columns)]
    lefts = [sum(widths[:column]) + spacing * column for column in range(columns)]
    tops = [sum(heights[:row]) + spacing * row for row in range(len(heights))]
    places = []
    for index, content in enumerate(contents):
        row, column = divmod(index, columns)
        places.append(Place(content, (lefts[column], tops[row]), (widths[column], heights[row])))
    return (lefts[-1] + widths[-1], tops[-1] + heights[-1]), places


def _scale(sizes: list[Size], direction: str) -> list[Size]:
    widest, tallest = _largest(sizes)
    scaled = []
    for width, height in sizes:
        by_width, by_height = widest / width, tallest / height
        factor = {"horizontal": by_height, "vertical": by_width}.get(direction, min(by_width, by_height))
        scaled.append((max(1, round(width * factor)), max(1, round(height * factor))))
    return scaled


def _cells(sizes: list[Size], options: Options) -> list[Size]:
    if options.fit == "pad" or (options.fit == "scale" and options.direction == "grid"):
        return [_largest(sizes)] * len(sizes)
    if options.fit == "crop":
        narrowest, shortest = min(width for width, _ in sizes), min(height for _, height in sizes)
        cut_widths, cut_heights = options.direction != "horizontal", options.direction != "vertical"
        return [(narrowest if cut_widths else width, shortest if cut_heights else height) for width, height in sizes]
    return sizes


def _largest(sizes: list[Size]) -> Size:
    return max(width for width, _ in sizes), max(height for _, height in sizes)


def _check_size(size: Size, output: str) -> None:
    width, height = size
    if width * height > MAX_OUTPUT_PIXELS:
        limit = f"{MAX_OUTPUT_PIXELS // 1_000_000} million"
        hint = "send smaller or fewer pictures, or less spacing"
        raise PictureError(
            f"the result is too large: {width} x {height} pixels, at most {limit}", "too_large", hint=hint
        )
    if max(size) > LONGEST_SIDE[output]:
        limit = f"{LONGEST_SIDE[output]} pixels a side"
        hint = "use direction=grid, smaller or fewer pictures" + ("" if output == "png" else ", or format=png")
        raise PictureError(
            f"the result is too large for {output}: {width} x {height}, at most {limit}", "too_large", hint=hint
        )


def _draw(size: Size, pictures: list[Picture], places: list[Place], options: Options) -> Image.Image:
    opaque = options.background[3] == 255
    canvas = Image.new("RGB" if opaque else "RGBA", size, options.background[:3] if opaque else options.background)
    for picture, place in zip(pictures, places, strict=True):
        image = picture.decode()
        if image.size != place.size:
            image = image.resize(place.size, Image.Resampling.LANCZOS)
        image = _cut(image, place.cell, options.align)
        left, top = (
            start + _offset(room - length, options.align)
            for start, room, length in zip(place.corner, place.cell, image.size, strict=True)
        )
        if image.mode == "RGBA" and not opaque:
            canvas.alpha_composite(image, (left, top))
        else:
            canvas.paste(image, (left, top), image if image.mode == "RGBA" else None)
    return canvas


def _cut(image: Image.Image, cell: Size, align: str) -> Image.Image:
    width, height = min(image.width, cell[0]), min(image.height, cell[1])
    if image.size == (width, height):
        return image
    left, top = _offset(image.width - width, align), _offset(image.height - height, align)
    return image.crop((left, top, left + width, top + height))


def _offset(spare: int, align: str) -> int:
    return {"start": 0, "center": spare // 2, "end": spare}[align]


def _encode(canvas: Image.Image, options: Options, notes: list[str]) -> bytes:
    if canvas.mode == "RGBA" and canvas.getchannel("A").getextrema() == (255, 255):
        canvas = canvas.convert("RGB")
    if canvas.mode == "RGBA" and options.format == "jpeg":
        notes.append("jpeg has no transparency: transparent parts became white")
        flat = Image.new("RGB", canvas.size, "white")
        flat.paste(canvas, mask=canvas)
        canvas = flat
    buffer = io.BytesIO()
    settings = {} if options.format == "png" else {"quality": options.quality}
    canvas.save(buffer, options.format.upper(), **settings)
    return buffer.getvalue()
