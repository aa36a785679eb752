"""``toolcrib check --fix``: carries out changes that need no thought, in files that the user owns (contract W027)."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolcrib.registry.sources.positions import Location
from toolcrib.validation.chain_findings import Fix, Outcome, Say, is_shipped

_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True)
class Mended:
    """What became of a fix; ``refused`` says why it was not carried out."""

    fix: Fix
    refused: Say | None = None


def fixes_of(outcomes: Iterable[Outcome]) -> list[Fix]:
    """The fixes that checks offer, each once."""
    found: dict[tuple[Path, Location], Fix] = {}
    for outcome in outcomes:
        for finding in outcome.findings:
            if finding.fix is not None:
                found.setdefault((finding.fix.path, finding.fix.location), finding.fix)
    return list(found.values())


def mend(fixes: Sequence[Fix]) -> list[Mended]:
    """Carry out fixes; each file is written once, as a whole or not at all, and keeps its layout elsewhere."""
    done: list[Mended] = []
    for path in dict.fromkeys(fix.path for fix in fixes):
        own = [fix for fix in fixes if fix.path == path]
        refused = _mend_file(path.resolve(), own)
        done += [Mended(fix, refused) for fix in own]
    return done


def _mend_file(path: Path, fixes: Sequence[Fix]) -> Say | None:
    if is_shipped(path):
        return Say("toolcrib ships the file", "该文件随 toolcrib 发布")
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
        for fix in fixes:
            text = replace_value(text, fix.location, fix.value)
        mark = b"\xef\xbb\xbf" if content.startswith(b"\xef\xbb\xbf") else b""
        _write(path, mark + text.encode("utf-8"))
    except (OSError, ValueError, LookupError) as error:
        return Say(f"{type(error).__name__}: {error}", f"{type(error).__name__}: {error}")
    return None


def replace_value(text: str, location: Location, value: Any) -> str:
    """JSON text with another value at one place; a list keeps being written on one line or one item a line.

    Raises:
        LookupError: there is nothing at ``location``.
        ValueError: the text is no JSON.

    Example:
        >>> replace_value('{"a": ["x"],  "b": 1}', ("a",), ["x", "y"])
        '{"a": ["x", "y"],  "b": 1}'
    """
    start, end = _span(text, location)
    new = json.dumps(value, ensure_ascii=False)
    old = text[start:end]
    if isinstance(value, list) and value and (found := re.match(r"\[(\s*\n[ \t]*)", old)):
        last = re.search(r"(\s*)\]$", old)
        items = [json.dumps(item, ensure_ascii=False) for item in value]
        new = f"[{found[1]}{f',{found[1]}'.join(items)}{last[1] if last else ''}]"
    return text[:start] + new + text[end:]


def _span(text: str, location: Location) -> tuple[int, int]:
    """Where the value at ``location`` begins and ends."""
    decoder = json.JSONDecoder()
    start = _skip(text, 0)
    for part in location:
        start = _member(decoder, text, start, part)
    return start, decoder.raw_decode(text, start)[1]


def _member(decoder: json.JSONDecoder, text: str, start: int, part: str | int) -> int:
    is_object = isinstance(part, str)
    if text[start] != ("{" if is_object else "["):
        raise LookupError(part)
    position, index = _skip(text, start + 1), 0
    while text[position] not in "}]":
        key: object = index
        if is_object:
            key, position = decoder.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)
        if key == part:
            return position
        position = _skip(text, decoder.raw_decode(text, position)[1])
        if text[position] == ",":
            position, index = _skip(text, position + 1), index + 1
    raise LookupError(part)


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _write(path: Path, content: bytes) -> None:
    """Replace the file by another, all of it or nothing."""
    mode = path.stat().st_mode & 0o7777
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
