"""What a check found out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["pass", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check.

    Attributes:
        check: what was looked at, in a few words.
        level: ``pass``, ``warn`` (it works, but somebody will stumble over it) or ``fail``.
        reason: what was found.
    """

    check: str
    level: Level
    reason: str = ""

    @property
    def mark(self) -> str:
        """A sign for the level."""
        return {"pass": "✅", "warn": "⚠️", "fail": "❌"}[self.level]

    def to_dict(self) -> dict[str, str]:
        """The finding as JSON."""
        return {"check": self.check, "level": self.level, "reason": self.reason}


def passed(check: str, reason: str = "") -> Finding:
    """All is well."""
    return Finding(check, "pass", reason)


def warned(check: str, reason: str) -> Finding:
    """It works, but."""
    return Finding(check, "warn", reason)


def failed(check: str, reason: str) -> Finding:
    """It does not behave."""
    return Finding(check, "fail", reason)
