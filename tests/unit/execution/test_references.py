"""Artifact references in arguments and results (contract M05, DESIGN §11.25)."""

from __future__ import annotations

import base64
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

from toolcrib.errors import InvalidParamsError
from toolcrib.execution.references import binary_paths, resolve, to_references
from toolcrib.storage.artifacts import FileArtifactStore

IMAGES = {"type": "object", "properties": {"images": {"type": "array", "items": {"contentEncoding": "base64"}}}}


@pytest.fixture
def store(tmp_path: Path) -> FileArtifactStore:
    return FileArtifactStore(tmp_path / "artifacts")


def test_binary_fields_are_found_through_lists_maps_unions_and_references() -> None:
    schema = {
        "properties": {
            "one": {"anyOf": [{"type": "null"}, {"contentEncoding": "base64"}]},
            "many": {"items": {"$ref": "#/$defs/file"}},
            "named": {"additionalProperties": {"$ref": "#/$defs/file"}},
            "text": {"type": "string"},
        },
        "$defs": {"file": {"contentEncoding": "base64"}},
    }
    assert binary_paths(schema) == (("one",), ("many", "*"), ("named", "*"))


def test_a_schema_that_contains_itself_ends() -> None:
    node = {"properties": {"content": {"contentEncoding": "base64"}, "next": {"$ref": "#/$defs/node"}}}
    assert ("content",) in binary_paths({"$ref": "#/$defs/node", "$defs": {"node": node}})


def test_M05_a_reference_becomes_a_file_or_its_content(store: FileArtifactStore) -> None:
    artifact = store.put(b"\x89PNG...", name="a.png")
    arguments = {"images": [artifact.reference, "aGVsbG8="]}

    as_path = resolve(arguments, binary_paths(IMAGES), store, "path")
    inlined = resolve(arguments, binary_paths(IMAGES), store, "base64")

    assert Path(unquote(urlparse(as_path["images"][0]).path)).read_bytes() == b"\x89PNG..."
    assert base64.b64decode(inlined["images"][0]) == b"\x89PNG..."
    assert as_path["images"][1] == inlined["images"][1] == "aGVsbG8="
    assert arguments == {"images": [artifact.reference, "aGVsbG8="]}


def test_text_that_looks_like_a_reference_stays_text(store: FileArtifactStore) -> None:
    schema = {"properties": {"text": {"type": "string"}}}
    assert resolve({"text": "artifact://x"}, binary_paths(schema), store, "path") == {"text": "artifact://x"}


def test_an_unknown_artifact_is_named_with_its_place(store: FileArtifactStore) -> None:
    with pytest.raises(InvalidParamsError, match=r"images\[1\]"):
        resolve({"images": ["aGVsbG8=", "artifact://gone"]}, binary_paths(IMAGES), store, "path")


def test_a_caller_cannot_name_a_file_of_this_machine(store: FileArtifactStore) -> None:
    with pytest.raises(InvalidParamsError, match=r"images\[0\]"):
        resolve({"images": ["file:///etc/passwd"]}, binary_paths(IMAGES), store, "path")


def test_results_become_references_where_asked(store: FileArtifactStore) -> None:
    schema = {"properties": {"image": {"contentEncoding": "base64"}, "width": {"type": "integer"}}}
    data = {"image": base64.b64encode(b"content").decode(), "width": 3}

    result = to_references(data, binary_paths(schema), store, "stitcher")

    assert result["width"] == 3
    assert store.path(result["image"]["id"]).read_bytes() == b"content"
    assert data["image"] != result["image"]
