"""``key=value`` is read the way the tool's schema declares the parameter."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import click
import pytest

from toolcrib.interfaces.cli.arguments import parse_arguments

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "count": {"type": "integer"},
        "ratio": {"type": ["number", "null"]},
        "flag": {"type": "boolean"},
        "colour": {"enum": ["red", "1"]},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "names": {"type": "array", "items": {"type": "string"}},
        "sizes": {"type": "array", "items": {"type": "integer"}},
        "images": {"type": "array", "items": {"$ref": "#/$defs/file"}},
        "file": {"$ref": "#/$defs/file"},
        "options": {"type": "object"},
        "anything": {},
    },
    "$defs": {"file": {"type": "string", "contentEncoding": "base64"}},
}


def parse(*pairs: str, given: str | None = None) -> dict[str, Any]:
    return parse_arguments(pairs, SCHEMA, given=given)


@pytest.mark.parametrize("text", ["42", "true", "null", '"quoted"', "[1]", "a=b", "a:=b", "", " x ", "你好", "-1"])
def test_a_string_is_kept_as_it_is(text: str) -> None:
    assert parse(f"text={text}") == {"text": text}


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("count=3", 3),
        ("ratio=0.5", 0.5),
        ("ratio=null", None),
        ("flag=true", True),
        ('options={"a": 1}', {"a": 1}),
        ("colour=1", "1"),
        ("either=7", "7"),
        ("anything=7", 7),
        ("anything=seven", "seven"),
        ("unknown=7", 7),
        ("unknown=seven", "seven"),
    ],
)
def test_other_types_are_json(pair: str, value: Any) -> None:
    assert list(parse(pair).values()) == [value]


@pytest.mark.parametrize("pair", ["count=three", "flag=yes", "ratio=NaN", "options={a: 1}", "sizes=1,2", "sizes=[1"])
def test_what_is_not_of_the_declared_type_is_wrong_usage_that_names_it(pair: str) -> None:
    with pytest.raises(click.UsageError) as caught:
        parse(pair)
    assert pair.partition("=")[0] in caught.value.message
    assert "expected" in caught.value.message


def test_a_list_is_a_repeated_key_or_json_or_both() -> None:
    assert parse("names=1") == {"names": ["1"]}
    assert parse("sizes=1", "sizes=2") == {"sizes": [1, 2]}
    assert parse("sizes=[1, 2]", "sizes=3") == {"sizes": [1, 2, 3]}
    assert parse('sizes:=["as it is"]') == {"sizes": ["as it is"]}


def test_a_key_that_is_no_list_is_given_once() -> None:
    with pytest.raises(click.UsageError, match="twice"):
        parse("count=1", "count=2")


def test_colon_equals_is_json_whatever_the_schema_says() -> None:
    assert parse('text:={"a": [1]}', "count:=1.5") == {"text": {"a": [1]}, "count": 1.5}
    with pytest.raises(click.UsageError, match="JSON"):
        parse("text:=bare words")


@pytest.mark.parametrize("pair", ["text", "=1", ":=1", "", "--count"])
def test_what_is_no_pair_is_wrong_usage(pair: str) -> None:
    with pytest.raises(click.UsageError, match="key=value"):
        parse(pair)


def test_at_file_is_base64_where_the_parameter_carries_files_and_text_elsewhere(tmp_path: Path) -> None:
    picture, note = tmp_path / "a.png", tmp_path / "note.txt"
    picture.write_bytes(b"\x89PNG\x00\xff")
    note.write_text("你好", encoding="utf-8")
    encoded = base64.b64encode(b"\x89PNG\x00\xff").decode()
    assert parse(f"file=@{picture}") == {"file": encoded}
    assert parse(f"images=@{picture}", f"images=@{picture}") == {"images": [encoded, encoded]}
    assert parse(f"text=@{note}") == {"text": "你好"}
    note.write_text("12")
    assert parse(f"count=@{note}") == {"count": 12}


def test_a_file_that_cannot_be_used_is_wrong_usage(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\x00")
    with pytest.raises(click.UsageError, match="cannot be read"):
        parse(f"file=@{tmp_path / 'missing.png'}")
    with pytest.raises(click.UsageError, match="cannot be read"):
        parse(f"file=@{tmp_path}")
    with pytest.raises(click.UsageError, match="UTF-8"):
        parse(f"text=@{binary}")


def test_pairs_are_added_to_the_json_file_and_win(tmp_path: Path) -> None:
    given = tmp_path / "arguments.json"
    given.write_text(json.dumps({"text": "from the file", "count": 1, "names": ["a"]}), encoding="utf-8")
    assert parse("count=2", "names=b", given=str(given)) == {"text": "from the file", "count": 2, "names": ["b"]}


@pytest.mark.parametrize("content", ["[1]", "null", "{", "", '{"a": NaN}'])
def test_a_json_file_without_an_object_is_wrong_usage(tmp_path: Path, content: str) -> None:
    given = tmp_path / "arguments.json"
    given.write_text(content)
    with pytest.raises(click.UsageError, match="--json"):
        parse(given=str(given))


def test_a_file_may_be_handed_over_in_another_way_than_base64(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"content")
    seen = []

    def encode(content: bytes, name: str) -> str:
        seen.append((content, name))
        return "artifact://1"

    assert parse_arguments([f"file=@{tmp_path / 'a.png'}"], SCHEMA, encode=encode) == {"file": "artifact://1"}
    assert seen == [(b"content", "a.png")]
