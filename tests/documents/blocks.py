"""The code blocks of the documents: word for word in ``blocks.md``, run with their gaps filled and no other change."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from pathlib import Path

_BLOCK = re.compile(r"^<!-- (?P<name>[^\n]+) -->\n```\w+\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


class Blocks:
    """The blocks of one document.

    Args:
        document: the folder that holds ``blocks.md``.
        gaps: what stands in a block in place of something left out → what is put there, by the block's name.
    """

    def __init__(self, document: str, gaps: Mapping[str, Mapping[str, str]]) -> None:
        text = (Path(__file__).parent / document / "blocks.md").read_text(encoding="utf-8")
        self._blocks = {match["name"]: match["code"] for match in _BLOCK.finditer(text)}
        self._gaps = gaps

    @property
    def names(self) -> list[str]:
        """All of them, in the document's order."""
        return list(self._blocks)

    def __getitem__(self, name: str) -> str:
        """A block with its gaps filled; every gap of the table must be in it."""
        code = self._blocks[name]
        for gap, filling in self._gaps.get(name, {}).items():
            assert gap in code, f"the block {name!r} has no gap {gap!r}"
            code = code.replace(gap, filling)
        return code

    def body(self, name: str) -> str:
        """What is inside the class or function of a block."""
        return textwrap.dedent(self[name].partition("\n")[2])
