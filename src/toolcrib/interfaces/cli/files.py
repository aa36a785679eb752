"""Files in the result of a call, written to disk instead of to the screen."""

from __future__ import annotations

import base64
import binascii
import itertools
import mimetypes
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from toolcrib.execution.references import EACH, binary_paths
from toolcrib.execution.references import Path as Place
from toolcrib.storage.media import OCTET_STREAM, display_name, media_type

_HEAD_BYTES = 64 * 1024


def separate(data: Any, schema: Mapping[str, Any] | None) -> tuple[Any, list[bytes]]:
    """Take the files out of a result.

    Args:
        data: the result.
        schema: the tool's output schema; it says with ``contentEncoding: base64`` which strings are files.

    Returns:
        The result with a mark in place of each file, for `write`, and the files' contents.
    """
    found: list[bytes] = []

    def collect(text: Any) -> Any:
        content = _decode(text)
        if content is None:
            return text
        found.append(content)
        return _Mark(len(found) - 1)

    for place in binary_paths(schema):
        data = _replace(data, place, collect)
    return data, found


def write(
    marked: Any,
    contents: list[bytes],
    schema: Mapping[str, Any] | None,
    *,
    tool_id: str,
    output: Path | None = None,
    folder: Path,
) -> tuple[Any, list[Path]]:
    """Write the files of a result.

    A file gets a fresh name, ``<tool>-<n>.<extension>``, and nothing is ever overwritten, except where ``output`` names
    the one file.

    Args:
        marked, contents: from `separate`.
        schema: the tool's output schema.
        tool_id: what the files are named after.
        output: the file; a folder where it exists as one; the beginning of the names where there are several files, or
            the folder for them, which is made, where it has no ending. What it lies in exists.
        folder: where files go that ``output`` does not place.

    Returns:
        The result with the path in place of each file, and the paths.
    """
    paths = _write(contents, _declared(schema), tool_id, output, folder)
    return _fill(marked, paths), paths


def kind_behind_wrong_ending(path: Path, content: bytes) -> str | None:
    """The MIME type of a file whose name says that it is another; None where the name is right or says nothing.

    Example:
        >>> kind_behind_wrong_ending(Path("a.jpg"), b"%PDF-1.7")
        'application/pdf'
    """
    named, _ = mimetypes.guess_type(path.name)
    kind = media_type(content[:_HEAD_BYTES], whole=len(content) <= _HEAD_BYTES, name=path.name)
    if named in (None, kind) or kind == OCTET_STREAM or (_is_text(kind) and _is_text(str(named))):
        return None
    return kind


def _is_text(kind: str) -> bool:
    return kind.startswith("text/") or kind.endswith(("json", "xml", "yaml", "javascript", "sql", "toml"))


def ending_of(kind: str) -> str:
    """The ending of names of files of that MIME type, such as ``.png``."""
    return Path(display_name(None, kind)).suffix or ".bin"


class _Mark(int):
    """Stands in a result for the file of that number."""


def _write(contents: list[bytes], declared: str | None, tool_id: str, output: Path | None, folder: Path) -> list[Path]:
    if output is not None and len(contents) == 1 and not output.is_dir():
        output.write_bytes(contents[0])
        return [output]
    stem = re.sub(r"[^A-Za-z0-9._-]", "_", tool_id)
    suffix = None
    if output is not None and contents:
        if output.suffix and not output.is_dir():
            folder, stem, suffix = output.parent, output.stem, output.suffix
        else:
            folder = output
        folder.mkdir(exist_ok=True)
    return [_write_fresh(folder, stem, suffix or _suffix(content, declared), content) for content in contents]


def _write_fresh(folder: Path, stem: str, suffix: str, content: bytes) -> Path:
    for number in itertools.count(1):
        path = folder / f"{stem}-{number}{suffix}"
        try:
            with path.open("xb") as stream:
                stream.write(content)
        except FileExistsError:
            continue
        return path
    raise AssertionError("numbers do not end")


def _suffix(content: bytes, declared: str | None) -> str:
    kind = media_type(content[:_HEAD_BYTES], whole=len(content) <= _HEAD_BYTES, declared=declared)
    return ending_of(kind)


def _declared(node: Any) -> str | None:
    """The first ``contentMediaType`` beside a ``contentEncoding`` in a schema."""
    if isinstance(node, Mapping):
        declared = node.get("contentMediaType")
        if node.get("contentEncoding") == "base64" and isinstance(declared, str):
            return declared
        return next(filter(None, map(_declared, node.values())), None)
    return next(filter(None, map(_declared, node)), None) if isinstance(node, list) else None


def _decode(text: Any) -> bytes | None:
    if not isinstance(text, str) or not text:
        return None
    if text.startswith("data:"):
        text = text.partition(",")[2]
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def _replace(value: Any, place: Place, change: Callable[[Any], Any]) -> Any:
    if not place:
        return change(value)
    head, rest = place[0], place[1:]
    if head == EACH and isinstance(value, list):
        return [_replace(item, rest, change) for item in value]
    if not isinstance(value, Mapping):
        return value
    return {key: _replace(item, rest, change) if head in (EACH, key) else item for key, item in value.items()}


def _fill(value: Any, paths: list[Path]) -> Any:
    if isinstance(value, _Mark):
        return str(paths[value])
    if isinstance(value, Mapping):
        return {key: _fill(item, paths) for key, item in value.items()}
    return [_fill(item, paths) for item in value] if isinstance(value, list) else value
