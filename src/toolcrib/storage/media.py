"""What a file is, by its bytes, and what it may be called."""

from __future__ import annotations

import json
import mimetypes
import re
import unicodedata

OCTET_STREAM = "application/octet-stream"
TEXT = "text/plain"
_LONGEST_NAME = 200

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
)
_RECOGNISED = {kind for _, kind in _MAGIC} | {"image/webp"}
_ZIP_BASED = re.compile(r"application/(vnd\.openxmlformats-.+|vnd\.oasis\.opendocument\..+|epub\+zip|java-archive)")
_TEXTUAL = re.compile(r"text/.+|application/(json|xml|yaml|toml|sql|javascript|x-ndjson|.+\+(json|xml))|image/svg\+xml")
_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}")
_EXTENSIONS = {
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "image/jpeg": ".jpg",
    "image/webp": ".webp",
    OCTET_STREAM: "",
}


def media_type(head: bytes, *, whole: bool, declared: str | None = None, name: str | None = None) -> str:
    """The MIME type of a file.

    The bytes decide. A declaration, then the name's extension, only refine what bytes leave open: which kind of text,
    which format inside a zip, or what binary data is.

    Args:
        head: the first bytes.
        whole: whether these are all of them.
        declared: a Content-Type.
        name: a file name.

    Example:
        >>> media_type(b"%PDF-1.7", whole=False, declared="image/png")
        'application/pdf'
        >>> media_type(b"a,b", whole=True, name="table.csv")
        'text/csv'
    """
    sniffed = _sniff(head, whole)
    by_name, compression = mimetypes.guess_type(name or "")
    for candidate in (_essence(declared), None if compression else by_name):
        if candidate is not None and _refines(candidate, sniffed):
            return candidate
    return sniffed


def display_name(name: str | None, mime_type: str) -> str:
    """``name`` as it may be shown and offered for download; never to be used as a path.

    Control characters, bidirectional overrides and lone surrogates go; path separators become ``_``; what names
    nothing becomes ``file`` with the extension of ``mime_type``.

    Example:
        >>> display_name("../../etc/cron.d/x", "text/plain")
        '.._.._etc_cron.d_x'
        >>> display_name(None, "image/png")
        'file.png'
    """
    shown = "".join(character for character in name or "" if not _is_unsafe(character))
    shown = shown.replace("/", "_").replace("\\", "_").strip()
    if not shown.strip("._ "):
        return "file" + _extension(mime_type)
    return _shorten(shown)


def _refines(candidate: str, sniffed: str) -> bool:
    if sniffed == TEXT:
        return _TEXTUAL.fullmatch(candidate) is not None
    if sniffed == "application/zip":
        return _ZIP_BASED.fullmatch(candidate) is not None
    return sniffed == OCTET_STREAM and candidate not in _RECOGNISED and not _TEXTUAL.fullmatch(candidate)


def _sniff(head: bytes, whole: bool) -> str:
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    text = _as_text(head, whole)
    if text is None:
        return OCTET_STREAM
    start = text.lstrip("\ufeff \t\r\n")
    if start.startswith(("<?xml", "<svg")):
        return "image/svg+xml" if re.search(r"<svg[\s/>]", start[:4096]) else "application/xml"
    if whole and start[:1] in ("{", "["):
        try:
            json.loads(start)
        except (ValueError, RecursionError):
            return TEXT
        return "application/json"
    return TEXT


def _as_text(head: bytes, whole: bool) -> str | None:
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        if whole or error.start < len(head) - 3:
            return None
        text = head[: error.start].decode()
    return None if re.search(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]", text) else text


def _essence(declared: str | None) -> str | None:
    kind = (declared or "").partition(";")[0].strip().lower()
    return kind if _TYPE.fullmatch(kind) else None


def _is_unsafe(character: str) -> bool:
    if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp"):
        return True
    return unicodedata.bidirectional(character) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI") or (
        character in "\u200e\u200f\u061c\ufeff"
    )


def _extension(mime_type: str) -> str:
    known = _EXTENSIONS.get(mime_type)
    return known if known is not None else mimetypes.guess_extension(mime_type) or ""


def _shorten(name: str) -> str:
    if len(name.encode()) <= _LONGEST_NAME:
        return name
    stem, dot, extension = name.rpartition(".")
    tail = dot + extension if stem and len(extension.encode()) <= 16 else ""
    kept = name.encode()[: _LONGEST_NAME - len(tail.encode())].decode(errors="ignore")
    return kept + tail
