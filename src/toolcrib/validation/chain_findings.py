"""What a check of the crib found out, who can mend it, and what can be mended mechanically."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from toolcrib.registry.shipped import shipped_root
from toolcrib.registry.sources.positions import Location

Severity = Literal["note", "warn", "fail"]
Language = Literal["zh", "en"]
Mender = Literal["author", "operator", "toolcrib"]
Level = Literal["pass", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Say:
    """The same words in both languages."""

    en: str
    zh: str

    def __getitem__(self, language: Language) -> str:
        return self.zh if language == "zh" else self.en


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands; ``line`` counts from 1."""

    path: str
    line: int | None = None

    def __str__(self) -> str:
        return self.path if self.line is None else f"{self.path}:{self.line}"


@dataclass(frozen=True, slots=True)
class Fix:
    """A change of a JSON file that needs no thought.

    Attributes:
        path: the file.
        location: the value to replace.
        value: what to put there.
        what: the change, in words.
    """

    path: Path
    location: Location
    value: Any
    what: Say


@dataclass(frozen=True, slots=True)
class ChainFinding:
    """One thing that a check found.

    Attributes:
        severity: ``fail``, ``warn`` (it works, but somebody will stumble over it) or ``note`` (good to know).
        message: what it is.
        place: where it stands, where that is known.
        mender: the ``author`` of the tool, the ``operator`` of this crib, or ``toolcrib`` for what it ships.
        hint: what to do.
        tool: the tool it is about.
        fix: a mechanical change that mends it.
    """

    severity: Severity
    message: Say
    place: Place | None = None
    mender: Mender = "author"
    hint: Say | None = None
    tool: str | None = None
    fix: Fix | None = None

    def text(self, language: Language) -> str:
        """The finding in one line."""
        where = f" ({self.place})" if self.place else ""
        hint = f" — {self.hint[language]}" if self.hint else ""
        return f"{self.message[language]}{where}{hint}"

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON."""
        return {
            "severity": self.severity,
            "tool": self.tool,
            "message": {"en": self.message.en, "zh": self.message.zh},
            "hint": {"en": self.hint.en, "zh": self.hint.zh} if self.hint else None,
            "path": self.place.path if self.place else None,
            "line": self.place.line if self.place else None,
            "mender": self.mender,
            "fixable": self.fix is not None,
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one check found.

    Attributes:
        check: its stable name.
        number: its place among all checks, from 1.
        title: what it looks at.
        summary: what it says where all is well; may be empty.
        findings: what it found.
    """

    check: str
    number: int
    title: Say
    summary: Say
    findings: Sequence[ChainFinding] = ()

    @property
    def level(self) -> Level:
        """The worst of the findings; notes do no harm."""
        severities = {finding.severity for finding in self.findings}
        return "fail" if "fail" in severities else "warn" if "warn" in severities else "pass"

    @property
    def mark(self) -> str:
        """A sign for the level."""
        return {"pass": "✅", "warn": "⚠️", "fail": "❌"}[self.level]

    def to_dict(self) -> dict[str, Any]:
        """The outcome as JSON."""
        return {
            "check": self.check,
            "number": self.number,
            "level": self.level,
            "title": {"en": self.title.en, "zh": self.title.zh},
            "findings": [finding.to_dict() for finding in self.findings],
        }


def counts(outcomes: Sequence[Outcome]) -> Mapping[Level, int]:
    """How many checks passed, warned and failed."""
    levels = [outcome.level for outcome in outcomes]
    return {"pass": levels.count("pass"), "warn": levels.count("warn"), "fail": levels.count("fail")}


def is_shipped(path: str | Path) -> bool:
    """Whether toolcrib ships the file, so that nobody else mends it."""
    resolved = Path(path).resolve()
    root = shipped_root().resolve()
    package = Path(__file__).resolve().parents[1]
    return (
        resolved == root / "registry.json"
        or resolved.is_relative_to(root / "tools" / "local")
        or resolved.is_relative_to(package)
    )


def mender_of(place: Place | None) -> Mender:
    """Who mends what stands there."""
    return "toolcrib" if place is not None and is_shipped(place.path) else "author"
