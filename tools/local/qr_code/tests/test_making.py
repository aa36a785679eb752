"""Making QR codes, without a server; run with the tool's own dependencies (see README.md)."""

from __future__ import annotations

import base64

import pytest
import segno
from fastapi.exceptions import RequestValidationError
from main import QRCodeRequest, run
from pydantic import ValidationError


@pytest.mark.parametrize("text", ["hello", "你好，世界", "https://example.com/?q=1", "WIFI:T:WPA;S:我家;P:p;;"])
@pytest.mark.parametrize("level", ["L", "M", "Q", "H"])
def test_size_and_version_are_those_of_the_code(text: str, level: str) -> None:
    expected = segno.make(text, error=level, encoding="utf-8", micro=False, boost_error=False)
    result = run(QRCodeRequest(text=text, error_correction=level, scale=3, border=2))
    assert (result.width, result.height) == expected.symbol_size(3, 2)
    assert result.version == expected.version


def test_svg_is_an_svg() -> None:
    result = run(QRCodeRequest(text="hello", format="svg", light="transparent"))
    assert result.mime_type == "image/svg+xml"
    assert b"<svg" in base64.b64decode(result.image)


def test_chinese_is_utf_8_in_byte_mode() -> None:
    text = "日本" * 20
    expected = segno.make(text, error="M", mode="byte", encoding="utf-8", boost_error=False)
    assert run(QRCodeRequest(text=text)).version == expected.version


@pytest.mark.parametrize("dark", ["#f00", "#FF0000", "red", " Navy ", "transparent"])
def test_colours(dark: str) -> None:
    assert run(QRCodeRequest(text="hello", dark=dark)).image


@pytest.mark.parametrize(
    ("params", "mention"),
    [
        ({"text": ""}, "text"),
        ({"text": "\ud800"}, "unicode"),
        ({"text": "a", "dark": "reddish"}, "dark"),
        ({"text": "a", "dark": "#FFF", "light": "#fff"}, "same colour"),
        ({"text": "a", "error_correction": "X"}, "error_correction"),
        ({"text": "a", "scale": 0}, "scale"),
        ({"text": "a", "colour": "red"}, "colour"),
    ],
)
def test_errors_name_the_parameter(params: dict[str, object], mention: str) -> None:
    with pytest.raises(ValidationError, match=mention):
        QRCodeRequest.model_validate(params)


def test_too_much_text_is_refused_with_its_size() -> None:
    with pytest.raises(RequestValidationError) as caught:
        run(QRCodeRequest(text="长" * 800))
    assert "2400 bytes" in caught.value.errors()[0]["msg"]
