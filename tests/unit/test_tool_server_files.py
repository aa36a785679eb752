"""`read_bytes`: how a tool gets the bytes of a file that a caller sent (contract T011)."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from toolcrib.tool_server import ToolFailure, read_bytes

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
TEXT = base64.b64encode(PNG).decode()


@pytest.mark.parametrize(
    "value",
    [
        TEXT,
        f"  {TEXT}\n",
        "\r\n".join(TEXT[at : at + 20] for at in range(0, len(TEXT), 20)),
        TEXT.rstrip("="),
        base64.urlsafe_b64encode(PNG).decode(),
        TEXT.replace("+", "%2B").replace("/", "%2f").replace("=", "%3D"),
        f"data:image/png;base64,{TEXT}",
        f"DATA:image/png;charset=utf-8;BASE64,{TEXT}",
        "data:," + "".join(f"%{byte:02X}" for byte in PNG),
    ],
)
def test_read_bytes_takes_every_usual_spelling(value: str) -> None:
    assert read_bytes(value) == PNG


@pytest.mark.parametrize(
    ("value", "mention"),
    [
        (7, "must be a string, not int"),
        (None, "must be a string"),
        ("", "is empty"),
        ("data:image/png;base64,", "is empty"),
        ("data:image/png;base64", "comma"),
        ("ab!d", "not base64"),
        ("ab=dAAAA", "not base64"),
        ("AAAAA", "cut off"),
        ("图片", "not base64"),
        ("https://example.com/a.png", "https: address"),
        ("artifact://123", "artifact: address"),
    ],
)
def test_read_bytes_says_what_is_wrong(value: object, mention: str) -> None:
    with pytest.raises(ToolFailure) as caught:
        read_bytes(value, name="images[3]")
    assert str(caught.value).startswith("images[3] ")
    assert mention in str(caught.value)
    assert caught.value.code == "invalid_params"
    assert caught.value.hint is not None
    assert "base64" in caught.value.hint


@pytest.mark.parametrize("value", [TEXT, f"data:;base64,{TEXT}", "data:," + "x" * 100])
def test_read_bytes_has_a_limit(value: str) -> None:
    with pytest.raises(ToolFailure, match="at most 99 bytes") as caught:
        read_bytes(value, limit=99)
    assert caught.value.code == "too_large"
    assert caught.value.hint == "send a smaller file: at most 99 bytes"


def test_read_bytes_reads_files_only_below_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, outside = tmp_path / "home", tmp_path / "secret"
    (home / "sub dir").mkdir(parents=True)
    file = home / "sub dir" / "图.png"
    file.write_bytes(PNG)
    outside.write_bytes(b"secret")
    (home / "link").symlink_to(outside)
    os.mkfifo(home / "pipe")

    monkeypatch.delenv("TOOLCRIB_HOME", raising=False)
    refused(file.as_uri(), "outside TOOLCRIB_HOME")
    monkeypatch.setenv("TOOLCRIB_HOME", str(home))
    assert read_bytes(file.as_uri()) == PNG
    assert read_bytes(file.as_uri().replace("file:///", "file://localhost/")) == PNG
    refused(outside.as_uri(), "outside")
    refused((home / "link").as_uri(), "outside")
    refused(f"{home.as_uri()}/../secret", "outside")
    refused(f"{home.as_uri()}/%2e%2e/secret", "outside")
    refused("file://elsewhere/home/x", "outside")
    refused(f"{home.as_uri()}/nul%00", "cannot be read")
    refused((home / "pipe").as_uri(), "does not exist")
    refused((home / "missing").as_uri(), "does not exist")
    with pytest.raises(ToolFailure, match="too large"):
        read_bytes(file.as_uri(), limit=10)


def refused(uri: str, mention: str) -> None:
    with pytest.raises(ToolFailure, match=mention) as caught:
        read_bytes(uri)
    assert "upload the file again" in str(caught.value.hint)
