"""The shipped QR code maker, a tool in plain FastAPI (contract T025), over HTTP."""

from __future__ import annotations

import base64
import contextlib
import http.client
import io
import json
import os
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import segno
from PIL import Image

TOOL = Path(__file__).parents[2] / "tools" / "local" / "qr_code"
SLACK = float(os.environ.get("TOOLCRIB_TEST_SLACK", "2"))

Request = Callable[..., tuple[int, Any]]


@pytest.fixture(scope="module")
def request_() -> Iterator[Request]:
    """The tool, started as its documentation says; each test sends it requests."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    process = subprocess.Popen([sys.executable, "main.py", "--port", str(port)], cwd=TOOL, stderr=subprocess.DEVNULL)

    def request(method: str, path: str, body: Any = None) -> tuple[int, Any]:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, json.loads(response.read())

    try:
        await_start(request)
        yield request
    finally:
        process.terminate()
        process.wait(timeout=30)


def await_start(request: Request) -> None:
    until = time.monotonic() + 10 * SLACK
    while True:
        try:
            request("GET", "/health")
        except OSError:
            assert time.monotonic() < until
            time.sleep(0.05)
        else:
            return


@pytest.fixture
def make(request_: Request) -> Callable[..., dict[str, Any]]:
    def make(**params: Any) -> dict[str, Any]:
        status, result = request_("POST", "/run", params)
        assert status == 200, result
        made: dict[str, Any] = result
        return made

    return make


Make = Callable[..., dict[str, Any]]


def picture(result: dict[str, Any]) -> Image.Image:
    image = Image.open(io.BytesIO(base64.b64decode(result["image"], validate=True)))
    assert image.size == (result["width"], result["height"])
    return image


def test_t025_health(request_: Request) -> None:
    assert request_("GET", "/health") == (200, {"status": "ok"})


@pytest.mark.parametrize("level", ["L", "M", "Q", "H"])
@pytest.mark.parametrize(
    "text", ["12345", "HELLO", "https://example.com/?a=1&b=2", "你好，世界", "日本", "WIFI:T:WPA;S:我家;P:pass;;"]
)
def test_every_module_is_drawn_where_it_belongs(make: Make, text: str, level: str) -> None:
    code = segno.make(text, error=level, encoding="utf-8", micro=False, boost_error=False)
    result = make(text=text, error_correction=level, scale=3, border=2)
    image = picture(result).convert("L")
    drawn = [
        [image.getpixel((2 * 3 + column * 3 + 1, 2 * 3 + row * 3 + 1)) == 0 for column in range(len(code.matrix))]
        for row in range(len(code.matrix))
    ]
    assert drawn == [[bool(module) for module in row] for row in code.matrix]
    assert (result["mime_type"], result["version"]) == ("image/png", code.version)


def test_the_defaults_are_readable(make: Make) -> None:
    """Black on white, 10 pixels a module, a quiet zone of 4."""
    image = picture(make(text="hello")).convert("RGB")
    assert image.size == (290, 290)
    assert image.getpixel((39, 39)) == (255, 255, 255)
    assert image.getpixel((40, 40)) == (0, 0, 0)


def test_colours_and_transparency(make: Make) -> None:
    image = picture(make(text="hello", dark=" RED ", light="transparent", border=1, scale=2)).convert("RGBA")
    assert image.getpixel((2, 2)) == (255, 0, 0, 255)
    assert image.getpixel((0, 0))[3] == 0  # type: ignore[index]


def test_svg(make: Make) -> None:
    result = make(text="hello", format="svg", scale=4, dark="#123456")
    drawing = base64.b64decode(result["image"]).decode()
    assert result["mime_type"] == "image/svg+xml"
    assert (result["width"], result["height"]) == (116, 116)
    assert 'width="116"' in drawing
    assert "#123456" in drawing


@pytest.mark.parametrize(
    ("params", "where", "mention"),
    [
        ({}, "text", "required"),
        ({"text": ""}, "text", "at least 1"),
        ({"text": "\ud800"}, "text", "unicode"),
        ({"text": "长" * 1000, "error_correction": "H"}, "text", "3000 bytes, at level H at most about 1273"),
        ({"text": "a" * 3000, "error_correction": "L"}, "text", "too much for a QR code"),
        ({"text": "a", "dark": "reddish"}, "dark", "no colour"),
        ({"text": "a", "light": "#12345"}, "light", "no colour"),
        ({"text": "a", "dark": "#fff", "light": "#FFF"}, "body", "same colour"),
        ({"text": "a", "scale": 0}, "scale", "greater than or equal to 1"),
        ({"text": "a", "scale": "big"}, "scale", "integer"),
        ({"text": "a", "error_correction": "Z"}, "error_correction", "'L'"),
        ({"text": "a", "format": "gif"}, "format", "'svg'"),
        ({"text": "a", "colour": "red"}, "colour", "not permitted"),
    ],
)
def test_wrong_parameters_are_422_with_their_path(
    request_: Request, params: dict[str, Any], where: str, mention: str
) -> None:
    status, answer = request_("POST", "/run", params)
    assert status == 422
    assert (answer["status"], answer["result"], answer["error_code"]) == ("error", None, "invalid_params")
    assert where == "body" or answer["error"].startswith(f"{where}: ")
    assert mention in answer["error"]
    assert answer["hint"].startswith("send ")


def test_a_body_that_is_no_object_gets_the_same_kind_of_answer(request_: Request) -> None:
    for body in ([1], "text", None):
        status, answer = request_("POST", "/run", body)
        assert (status, answer["error_code"]) == (422, "invalid_params")
        assert '"text"' in answer["hint"]


def test_t036_the_examples_of_the_manifest_run(make: Make) -> None:
    manifest = tomllib.loads((TOOL / "tool.toml").read_text(encoding="utf-8"))
    assert manifest["name"] == {"zh": "二维码生成工具", "en": "QR code maker"}
    for example in manifest["input_schema"]["examples"]:
        assert sorted(make(**example)) == sorted(manifest["output_schema"]["required"])
