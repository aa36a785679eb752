# /// script
# requires-python = ">=3.11"
# dependencies = ["fastapi==0.165.0", "segno==1.6.6", "uvicorn==0.54.0"]
# ///
"""Make QR codes: ``uv run main.py --port 8003``. A tool in plain FastAPI, without the tool SDK."""

from __future__ import annotations

import argparse
import base64
import io
from typing import Annotated, Literal

import segno
import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

# Bytes that the largest QR code (version 40) holds.
CAPACITY = {"L": 2953, "M": 2331, "Q": 1663, "H": 1273}
COLOUR_HINT = "send a colour such as #000000, navy or transparent"
HINTS = {
    "text": "send a text of 1 to 2953 bytes; less at the levels M, Q and H",
    "error_correction": "send L, M, Q or H",
    "scale": "send a whole number from 1 to 40",
    "border": "send a whole number from 0 to 40",
    "dark": COLOUR_HINT,
    "light": COLOUR_HINT,
    "format": "send png or svg",
    "body": 'send an object such as {"text": "hello", "dark": "#000000", "light": "#FFFFFF"} and no other parameters',
}
MIME_TYPES = {"png": "image/png", "svg": "image/svg+xml"}

app = FastAPI(title="QR code maker")


def _check_colour(value: str) -> str:
    colour = value.strip().lower()
    if colour != "transparent":
        try:
            segno.make("colour", micro=False).save(io.BytesIO(), kind="png", dark=colour)
        except ValueError:
            raise ValueError(f"{value!r} is no colour: use #RGB, #RRGGBB, a CSS name or transparent") from None
    return colour


Colour = Annotated[str, Field(max_length=40), AfterValidator(_check_colour)]


class QRCodeRequest(BaseModel):
    """What goes into the code, and how it looks."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(min_length=1, max_length=7089, description="Text, web address, or a WIFI: or vCard string")
    error_correction: Literal["L", "M", "Q", "H"] = Field("M", description="Share that may be damaged: 7 to 30 %")
    scale: int = Field(10, ge=1, le=40, description="Pixels a module")
    border: int = Field(4, ge=0, le=40, description="Quiet zone in modules; readers expect 4")
    dark: Colour = Field("#000000", description="Colour of the dark modules")
    light: Colour = Field("#FFFFFF", description="Colour of the light modules and the border")
    format: Literal["png", "svg"] = "png"

    @model_validator(mode="after")
    def _check_contrast(self) -> QRCodeRequest:
        if self.dark == self.light:
            raise ValueError("dark and light are the same colour, so nothing could be read")
        return self


class QRCodeResult(BaseModel):
    """The picture as base64, its size in pixels, and the code's version (1 to 40)."""

    image: str
    mime_type: str
    width: int
    height: int
    version: int


@app.exception_handler(RequestValidationError)
async def explain(request: Request, error: RequestValidationError) -> JSONResponse:
    """Say what is wrong and where, and what to send instead; never the input, which may not even be valid text."""
    problems = [(str(problem["loc"][-1]), problem["msg"].removeprefix("Value error, ")) for problem in error.errors()]
    hints = [HINTS.get(name, HINTS["body"]) for name, _ in problems]
    return JSONResponse(
        {
            "status": "error",
            "result": None,
            "error": "\n".join(message if name == "body" else f"{name}: {message}" for name, message in problems),
            "error_code": "invalid_params",
            "hint": "; ".join(dict.fromkeys(hints)),
        },
        status_code=422,
    )


@app.get("/health")
async def health() -> dict[str, str]:
    """Say that the tool is ready."""
    return {"status": "ok"}


@app.post("/run")
def run(request: QRCodeRequest) -> QRCodeResult:
    """Encode a text as a QR code."""
    code = _encode(request)
    width, height = code.symbol_size(scale=request.scale, border=request.border)
    buffer = io.BytesIO()
    code.save(
        buffer,
        kind=request.format,
        scale=request.scale,
        border=request.border,
        dark=None if request.dark == "transparent" else request.dark,
        light=None if request.light == "transparent" else request.light,
    )
    return QRCodeResult(
        image=base64.b64encode(buffer.getvalue()).decode("ascii"),
        mime_type=MIME_TYPES[request.format],
        width=int(width),
        height=int(height),
        version=int(code.version),
    )


def _encode(request: QRCodeRequest) -> segno.QRCode:
    level = request.error_correction
    try:
        # UTF-8 by name: left alone, Chinese text may become Shift JIS, which phones show as something else.
        return segno.make(request.text, error=level, encoding="utf-8", micro=False, boost_error=False)
    except segno.DataOverflowError:
        size = len(request.text.encode())
        problem = f"too much for a QR code: {size} bytes, at level {level} at most about {CAPACITY[level]}"
        raise RequestValidationError([{"type": "value_error", "loc": ("body", "text"), "msg": problem}]) from None


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Serve the QR code maker over HTTP.")
    parser.add_argument("--port", type=int, default=8003)
    uvicorn.run(app, host="127.0.0.1", port=parser.parse_args().port)
