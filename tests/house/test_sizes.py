"""A module is short enough to be read in one sitting."""

from __future__ import annotations

from tests.house.tree import ROOT, repository_files

MOST_LINES = 500


def test_no_module_is_longer_than_500_lines() -> None:
    lines = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in repository_files()
        if path.suffix == ".py"
    }
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}
