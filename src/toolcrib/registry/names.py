"""Which names a tool may have."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from toolcrib.errors import InvalidNameError

_NAME = re.compile(r"[A-Za-z0-9._/-]{1,128}")


def check_name(name: str) -> str:
    """Return ``name`` if a tool may have it: the rule of MCP (DESIGN §3.1).

    Raises:
        InvalidNameError: naming the first thing that is wrong.
    """
    if isinstance(name, str) and _NAME.fullmatch(name):
        return name
    if not isinstance(name, str) or not name:
        raise InvalidNameError("A tool needs a name", hint="Give it 1 to 128 of letters, digits and . _ / -")
    if len(name) > 128:
        raise InvalidNameError(f"The tool name {name[:40]!r}… has {len(name)} characters", hint="128 is the most.")
    wrong = sorted({character for character in name if not re.match(r"[A-Za-z0-9._/-]", character)})
    raise InvalidNameError(
        f"The tool name {name!r} contains {' '.join(map(repr, wrong))}",
        hint="Use letters, digits and . _ / - only; a name for people goes into title.",
    )


def nearest(name: str, names: Iterable[str], limit: int = 3) -> list[str]:
    """The names most like ``name``, for an error text; never to run something else than was asked."""
    folded = {candidate.casefold(): candidate for candidate in names}
    return [folded[match] for match in difflib.get_close_matches(name.casefold(), folded, n=limit, cutoff=0.6)]
