"""Names and descriptions that every provider of models accepts."""

from __future__ import annotations

import hashlib
import re

_PROVIDER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_LONGEST = 64
_DIGITS = 8
LONGEST_DESCRIPTION = 1024


def alias(name: str) -> str:
    """The name under which a tool is sent to a model: itself where every provider accepts it.

    Else what it may not contain becomes ``_`` and a hash of the whole name follows: the alias depends on nothing but
    the name, and two tools have the same one only by a miracle (which `toolcrib.registry.names.aliases` refuses).

    Example:
        >>> alias("web_search"), alias("docs.search/v2")
        ('web_search', 'docs_search_v2_bbee096a')
    """
    if _PROVIDER_NAME.fullmatch(name):
        return name
    readable = re.sub(r"[^A-Za-z0-9_-]", "_", name)
    if not _PROVIDER_NAME.match(readable):
        readable = f"_{readable}"
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGITS]
    return f"{readable[: _LONGEST - _DIGITS - 1]}_{digest}"


def shortened(description: str, longest: int = LONGEST_DESCRIPTION) -> str:
    """A description cut after its last whole sentence that fits, with an ellipsis."""
    if len(description) <= longest:
        return description
    room = description[: longest - 2]
    ends = [match.end() for match in re.finditer(r"[.!?](?=\s)|[。！？]|\n", room)]
    cut = (
        ends[-1] if ends and ends[-1] > longest // 2 else room.rfind(" ") if " " in room[longest // 2 :] else len(room)
    )
    return room[:cut].rstrip() + " …"
