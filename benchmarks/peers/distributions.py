"""Which distributions a distribution brings, read from what is installed."""

from __future__ import annotations

import re
from importlib import metadata

REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)\s*(?:\[(?P<extras>[^\]]*)\])?[^;]*(?:;(?P<marker>.*))?")
EXTRA = re.compile(r"extra\s*==\s*[\"']([^\"']+)")


def installed_version(name: str) -> str:
    """The version of an installed distribution."""
    return metadata.version(name)


def needed_distributions(name: str) -> set[str]:
    """The distribution itself and all that it requires, optional ones aside.

    What a marker asks of the platform is not evaluated: a requirement counts where it is installed.
    """
    needed: dict[str, set[str]] = {}
    waiting = [(name, frozenset[str]())]
    while waiting:
        wanted, extras = waiting.pop()
        wanted = normal(wanted)
        if wanted in needed and extras <= needed[wanted]:
            continue
        try:
            requirements = metadata.requires(wanted) or []
        except metadata.PackageNotFoundError:
            continue
        needed.setdefault(wanted, set()).update(extras)
        waiting += required(requirements, extras)
    return set(needed)


def required(requirements: list[str], extras: frozenset[str]) -> list[tuple[str, frozenset[str]]]:
    """The names and extras that requirements ask for, given the extras that are wanted."""
    found = []
    for text in requirements:
        parts = REQUIREMENT.match(text)
        assert parts is not None, text
        optional = {normal(extra) for extra in EXTRA.findall(parts["marker"] or "")}
        if not optional or optional & extras:
            asked = frozenset(normal(extra) for extra in (parts["extras"] or "").split(",") if extra.strip())
            found.append((parts["name"], asked))
    return found


def normal(name: str) -> str:
    """A name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()
