"""Read pictures of the usual kinds into plain RGB or RGBA, upright, and never more pixels than there is room for."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from PIL import Image, ImageCms, UnidentifiedImageError

MAX_BYTES = 32 * 1024 * 1024
MAX_PIXELS = 64_000_000
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "AVIF", "JPEG2000", "ICO", "PPM")

_ORIENTATION = 0x0112
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}

_KINDS = ", ".join(FORMATS[:5])
_SMALLER = f"send it scaled down to at most {MAX_PIXELS // 1_000_000} million pixels, such as 8000 x 8000"

# Pillow's own check meets pictures inside of pictures too. It warns above this, and raises only above twice as much.
Image.MAX_IMAGE_PIXELS = MAX_PIXELS
warnings.filterwarnings("error", category=Image.DecompressionBombWarning)


class PictureError(ValueError):
    """A parameter or a picture that cannot be used.

    Args:
        message: What is wrong; it names the parameter.
        code: ``invalid_params`` or ``too_large``.
        hint: What to send instead.
    """

    def __init__(self, message: str, code: str = "invalid_params", *, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.hint = hint


@dataclass
class Picture:
    """A picture of which only the header has been read.

    Attributes:
        name: What errors and notes call it, such as ``images[0]``.
        size: Width and height in pixels as people see it, turned upright.
        notes: What a person should know about how it was read.
    """

    name: str
    size: tuple[int, int]
    notes: list[str] = field(default_factory=list)
    _file: Image.Image | None = field(kw_only=True, repr=False)
    _orientation: int = field(kw_only=True, repr=False)

    def decode(self) -> Image.Image:
        """Decode the first frame to RGB, or to RGBA where anything is transparent. Possible once.

        Raises:
            PictureError: Where the file is cut off or damaged.
        """
        image, self._file = self._file, None  # so that only one picture at a time is held decoded
        assert image is not None
        with _errors_named(self.name):
            image.load()
            deep = image.mode in ("I", "F") or image.mode.startswith("I;16")
            upright = _to_srgb(self._to_8_bits(image) if deep else image)
            turn = _TURNS.get(self._orientation)
            return upright if turn is None else upright.transpose(turn)

    def _to_8_bits(self, image: Image.Image) -> Image.Image:
        key = image.info.get("transparency")
        wide = image.convert("I") if image.mode.startswith("I;16") else image
        low, high = wide.getextrema()
        assert isinstance(low, int | float)
        assert isinstance(high, int | float)
        if wide.mode == "I" and low >= 0 and high <= 65535:
            low, step = 0, 257.0
        else:
            step = (high - low) / 255 or 1.0
            self.notes.append(f"{self.name}: grey values {low:g} to {high:g} were scaled to 0 to 255")
        grey = wide.point(lambda value: value * (1 / step) + (0.5 - low / step)).convert("L")
        if not isinstance(key, int):
            grey.info.pop("transparency", None)
            return grey
        alpha = wide.point([0 if value == key else 255 for value in range(65536)], "L")
        return Image.merge("LA", (grey, alpha))


def open_picture(data: bytes, name: str) -> Picture:
    """Read a picture's header, without decoding a pixel.

    Args:
        data: The file's bytes.
        name: What errors and notes call it.

    Raises:
        PictureError: ``invalid_params`` where it is no picture of `FORMATS`, ``too_large`` above `MAX_PIXELS`.

    Example:
        >>> open_picture(png_bytes, "images[0]").size
        (512, 512)
    """
    with _errors_named(name):
        if problem := _foreign(data):
            raise PictureError(f"{name} {problem}; send {_KINDS}", hint=f"convert it and send {_KINDS}")
        file = Image.open(io.BytesIO(data), formats=FORMATS)
        width, height = file.size
        orientation = _read_orientation(file, data)
        notes = []
        if getattr(file, "is_animated", False) and file.format != "MPO":
            kind = "has several pages" if file.format == "TIFF" else "is animated"
            notes.append(f"{name} {kind}: only the first {'page' if file.format == 'TIFF' else 'frame'} is used")
        size = (height, width) if orientation >= 5 else (width, height)
        return Picture(name, size, notes, _file=file, _orientation=orientation)


@contextmanager
def _errors_named(name: str) -> Iterator[None]:
    try:
        yield
    except PictureError:
        raise
    except UnidentifiedImageError:
        hint = f"send the whole file of a picture as base64: {_KINDS}"
        raise PictureError(f"{name} is not an image this tool can read; send {_KINDS}", hint=hint) from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        found = re.search(r"\((\d+) pixels\)", str(error))
        size = f"{int(found[1]) / 1_000_000:.0f} million pixels, " if found else ""
        limit = f"at most {MAX_PIXELS // 1_000_000} million"  # Pillow's text may name another
        raise PictureError(f"{name} is too large: {size}{limit}", "too_large", hint=_SMALLER) from None
    except Exception as error:  # decoders raise whatever their parsing runs into
        hint = "the file is cut off or damaged: send it again, whole, or save it anew as PNG or JPEG"
        raise PictureError(f"{name} cannot be decoded: {error or type(error).__name__}", hint=hint) from error


def _foreign(data: bytes) -> str | None:
    """Name the kinds that people send and this tool cannot read."""
    start = data[:1024].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if start.startswith(b"<") and b"<svg" in start:
        return "is an SVG drawing, which has no pixels"
    if start.startswith(b"%pdf"):
        return "is a PDF document"
    if start[4:12] in (b"ftypheic", b"ftypheix", b"ftypmif1", b"ftyphevc"):
        return "is a HEIC photo, which this tool cannot read"
    return "is a web page, not an image" if start.startswith((b"<!doctype html", b"<html")) else None


def _read_orientation(file: Image.Image, data: bytes) -> int:
    if file.format == "TIFF":
        return 1  # Pillow turns these itself
    if file.format == "PNG" and (exif := _find_png_exif(data)):
        file.info["exif"] = b"Exif\0\0" + exif
    try:
        # Not the PNG reader's own method, which would decode the picture to look for a chunk at its end.
        orientation = Image.Image.getexif(file).get(_ORIENTATION, 1)
    except Exception:  # damaged EXIF data is no reason to refuse the picture
        return 1
    return orientation if orientation in _TURNS else 1


def _find_png_exif(data: bytes) -> bytes | None:
    position = 8
    while position + 8 <= len(data):
        size = int.from_bytes(data[position : position + 4])
        if data[position + 4 : position + 8] == b"eXIf":
            return data[position + 8 : position + 8 + size]
        position += size + 12
    return None


def _to_srgb(image: Image.Image) -> Image.Image:
    profile = image.info.get("icc_profile")
    if not image.has_transparency_data:
        return _apply_profile(image if image.mode == "CMYK" else _to_rgb(image), profile)
    blended = image.convert("RGBA")
    colours, alpha = _apply_profile(blended.convert("RGB"), profile), blended.getchannel("A")
    if alpha.getextrema() != (255, 255):
        colours.putalpha(alpha)
    return colours


def _apply_profile(image: Image.Image, profile: bytes | None) -> Image.Image:
    if profile:
        try:
            source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
            if "sRGB" not in ImageCms.getProfileDescription(source):
                converted = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
                return converted or _to_rgb(image)
        except (ImageCms.PyCMSError, OSError):
            return _to_rgb(image)  # a damaged profile, or one for other channels
    return _to_rgb(image)


def _to_rgb(image: Image.Image) -> Image.Image:
    return image if image.mode == "RGB" else image.convert("RGB")  # which would copy
