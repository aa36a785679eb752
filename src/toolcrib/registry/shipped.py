"""Where the tools that toolcrib ships lie: inside the wheel, or in the checkout that is being worked on."""

from __future__ import annotations

from pathlib import Path


def shipped_root() -> Path:
    """The folder that holds the shipped ``registry.json`` and ``tools/local``."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "shipped"
    return inside if inside.is_dir() else package.parents[1]
