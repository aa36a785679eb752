"""Files in a result go to disk; nothing is overwritten that was not named."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from toolcrib.interfaces.cli.files import kind_behind_wrong_ending, separate, write

PNG = b"\x89PNG\r\n\x1a\n rest"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "image": {"type": "string", "contentEncoding": "base64"},
        "pages": {
            "type": "array",
            "items": {"type": "string", "contentEncoding": "base64", "contentMediaType": "image/svg+xml"},
        },
    },
}


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def save(data: Any, folder: Path, output: Path | None = None) -> tuple[Any, list[Path]]:
    return write(*separate(data, SCHEMA), SCHEMA, tool_id="draw/it", output=output, folder=folder)


def test_a_file_gets_a_fresh_name_with_the_right_extension(tmp_path: Path) -> None:
    result, paths = save({"image": encoded(PNG), "width": 3}, tmp_path)
    again, _ = save({"image": encoded(b"%PDF-1.7")}, tmp_path)
    assert result == {"image": str(tmp_path / "draw_it-1.png"), "width": 3}
    assert again == {"image": str(tmp_path / "draw_it-1.pdf")}
    assert paths[0].read_bytes() == PNG


def test_nothing_is_overwritten_that_was_not_named(tmp_path: Path) -> None:
    (tmp_path / "draw_it-1.png").write_text("mine")
    _, paths = save({"image": encoded(PNG)}, tmp_path)
    assert paths == [tmp_path / "draw_it-2.png"]
    assert (tmp_path / "draw_it-1.png").read_text() == "mine"


def test_output_names_the_file_and_replaces_it(tmp_path: Path) -> None:
    target = tmp_path / "mine.png"
    for content in (PNG, PNG + b"2"):
        result, paths = save({"image": encoded(content)}, tmp_path, target)
        assert paths == [target]
        assert result == {"image": str(target)}
        assert target.read_bytes() == content


def test_output_may_be_a_folder_or_the_beginning_of_several_names(tmp_path: Path) -> None:
    pages = {"pages": [encoded(PNG), encoded(PNG)]}
    assert save(pages, tmp_path, tmp_path)[1] == [tmp_path / "draw_it-1.png", tmp_path / "draw_it-2.png"]
    assert save(pages, tmp_path, tmp_path / "page.png")[1] == [tmp_path / "page-1.png", tmp_path / "page-2.png"]


@pytest.mark.parametrize(
    "data", [None, "text", [1], {"image": None}, {"image": "no base64!"}, {"image": 3}, {"image": ""}]
)
def test_what_holds_no_file_is_left_alone(tmp_path: Path, data: Any) -> None:
    assert save(data, tmp_path) == (data, [])
    assert list(tmp_path.iterdir()) == []


def test_a_data_url_is_a_file(tmp_path: Path) -> None:
    _, paths = save({"image": f"data:image/png;base64,{encoded(PNG)}"}, tmp_path)
    assert paths[0].read_bytes() == PNG


def test_without_an_output_schema_nothing_is_a_file(tmp_path: Path) -> None:
    data = {"image": encoded(PNG)}
    assert separate(data, None) == (data, [])


def test_no_folder_is_made_that_was_not_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        save({"image": encoded(PNG)}, tmp_path, tmp_path / "new" / "mine.png")
    pages = {"pages": [encoded(PNG), encoded(PNG)]}
    with pytest.raises(FileNotFoundError):
        save(pages, tmp_path, tmp_path / "new" / "folder")
    assert list(tmp_path.iterdir()) == []
    assert save(pages, tmp_path, tmp_path / "named")[1][0] == tmp_path / "named" / "draw_it-1.png"


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.png", PNG, None),
        ("a.PNG", PNG, None),
        ("a.jpg", PNG, "image/png"),
        ("a.jpeg", b"\xff\xd8\xff\xe0", None),
        ("a.jpg", b"\xff\xd8\xff\xe0", None),
        ("a.pdf", PNG, "image/png"),
        ("a.txt", PNG, "image/png"),
        ("a.png", b"<svg xmlns=''/>", "image/svg+xml"),
        ("a.xml", b"<svg xmlns=''/>", None),
        ("a.txt", b"{}", None),
        ("a.csv", b"a,b", None),
        ("a.docx", b"PK\x03\x04", None),
        ("a.wav", b"RIFF\x00\x01", None),
        ("a", PNG, None),
        ("a.unheardof", PNG, None),
    ],
)
def test_a_name_that_says_another_kind_is_noticed(name: str, content: bytes, kind: str | None) -> None:
    assert kind_behind_wrong_ending(Path(name), content) == kind
