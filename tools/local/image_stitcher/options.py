"""What a caller can ask of the stitcher, checked by hand so that every error names its parameter."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass, field
from typing import Any

from pictures import PictureError
from PIL import ImageColor

MAX_IMAGES = 100
MAX_SPACING = 10_000
DIRECTIONS = ("horizontal", "vertical", "grid")
FITS = ("none", "scale", "pad", "crop")
ALIGNMENTS = ("start", "center", "end")
FORMATS = ("png", "jpeg", "webp")
NAMES = ("images", "direction", "columns", "spacing", "background_color", "fit", "align", "format", "quality")

_IMAGES = 'send "images": ["<base64 of a picture>", "<base64 of another>"]'

Colour = tuple[int, int, int, int]


@dataclass(frozen=True)
class Options:
    """The checked parameters of one call. `columns` is the number of pictures in a row, whatever the direction."""

    direction: str = "horizontal"
    columns: int = 1
    spacing: int = 0
    background: Colour = (255, 255, 255, 255)
    fit: str = "none"
    align: str = "start"
    format: str = "png"
    quality: int = 90
    notes: tuple[str, ...] = field(default=())


def read_options(params: dict[str, Any]) -> Options:
    """Check a call's parameters; None counts as not given.

    Raises:
        PictureError: Naming the parameter and what it may be.

    Example:
        >>> read_options({"images": ["…", "…", "…"], "direction": "grid"}).columns
        2
    """
    given = {name: value for name, value in params.items() if value is not None}
    if unknown := [name for name in given if name not in NAMES]:
        close = difflib.get_close_matches(str(unknown[0]), NAMES, n=1)
        hint = f"did you mean {close[0]}?" if close else f"leave it out; there are {', '.join(NAMES)}"
        raise PictureError(f"unknown parameter {unknown[0]!r}; known are {', '.join(NAMES)}", hint=hint)
    count = _count_images(given)
    direction = _choice(given, "direction", DIRECTIONS, "horizontal")
    output = _choice(given, "format", FORMATS, "png")
    columns = _integer(given, "columns", 1, MAX_IMAGES, math.isqrt(count - 1) + 1)
    notes = []
    if direction != "grid" and "columns" in given:
        notes.append("columns was ignored: it is for direction=grid")
    if output == "png" and "quality" in given:
        notes.append("quality was ignored: png keeps every pixel as it is")
    return Options(
        direction=direction,
        columns={"horizontal": count, "vertical": 1}.get(direction, min(columns, count)),
        spacing=_integer(given, "spacing", 0, MAX_SPACING, 0),
        background=_colour(given.get("background_color", "#FFFFFF")),
        fit=_choice(given, "fit", FITS, "none"),
        align=_choice(given, "align", ALIGNMENTS, "start"),
        format=output,
        quality=_integer(given, "quality", 1, 100, 90),
        notes=tuple(notes),
    )


def _count_images(given: dict[str, Any]) -> int:
    images = given.get("images")
    if not isinstance(images, list):
        raise PictureError(
            "images is required: a list of pictures as base64, data: URLs or artifact references", hint=_IMAGES
        )
    if not images:
        raise PictureError("images is empty: give at least one picture", hint=_IMAGES)
    if len(images) > MAX_IMAGES:
        raise PictureError(
            f"images holds {len(images)} pictures, which is too many: at most {MAX_IMAGES}",
            "too_large",
            hint=f"join them in several calls of at most {MAX_IMAGES}, and then the results",
        )
    return len(images)


def _choice(given: dict[str, Any], name: str, allowed: tuple[str, ...], default: str) -> str:
    value = given.get(name, default)
    if value not in allowed:
        listed = ", ".join(allowed)
        hint = f"send one of {listed}, or leave {name} out for {default}"
        raise PictureError(f"{name} must be one of {listed}, not {_shown(value)}", hint=hint)
    return str(value)


def _integer(given: dict[str, Any], name: str, low: int, high: int, default: int) -> int:
    value = given.get(name, default)
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole or not low <= value <= high:
        hint = f"send a number such as {min(max(default, low), high)}, or leave {name} out"
        raise PictureError(f"{name} must be a whole number from {low} to {high}, not {_shown(value)}", hint=hint)
    return int(value)


def _colour(value: Any) -> Colour:
    name = value.strip().lower() if isinstance(value, str) else ""
    if name == "transparent":
        return (0, 0, 0, 0)
    try:
        channels = ImageColor.getrgb(name)
        bytes(channels)  # a ValueError where a channel is above 255
    except ValueError:
        raise PictureError(
            f"background_color {_shown(value)} is no colour: use #RRGGBB, #RRGGBBAA, #RGB, a CSS name or transparent",
            hint="send a colour such as #FFFFFF, white or transparent",
        ) from None
    return (*channels[:3], channels[3] if len(channels) == 4 else 255)


def _shown(value: Any) -> str:
    return repr(value)[:60]
