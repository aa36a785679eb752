"""Which names a tool may have."""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolcrib.errors import DuplicateToolError, InvalidNameError

_SHORTEST_PART = 4
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
    import difflib

    folded = {candidate.casefold(): candidate for candidate in names}
    wanted = name.casefold()
    close = difflib.get_close_matches(wanted, folded, n=limit, cutoff=0.6)
    parts = [one for one in folded if min(len(one), len(wanted)) >= _SHORTEST_PART and (wanted in one or one in wanted)]
    return [folded[match] for match in dict.fromkeys([*close, *parts])][:limit]


def aliases(names: Iterable[str]) -> dict[str, str]:
    """The names under which tools are sent to a model, back to the tools' own (DESIGN §3.1).

    Most names are their own alias; the others get one that depends on nothing but the name, so that it is the same in
    every process and prompts stay cacheable.

    Raises:
        DuplicateToolError: two tools would be sent under one name.

    Example:
        >>> aliases(["ping", "docs.search"])
        {'ping': 'ping', 'docs_search_a7e557a3': 'docs.search'}
    """
    from toolcrib.definition.dialects.alias import alias

    found: dict[str, str] = {}
    for name in names:
        sent = alias(name)
        if sent in found and found[sent] != name:
            raise DuplicateToolError(
                f"The tools {found[sent]!r} and {name!r} would both be sent to a model as {sent!r}",
                hint="Give one of them another name.",
            )
        found[sent] = name
    return found
