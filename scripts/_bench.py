"""Runs benchmarks and puts their tables into docs/benchmarks.md.

    python scripts/_bench.py [NAME …]     benchmarks/NAME.py, or all of them

A benchmark is a module that can be run. It prints a Markdown table or plain lines on standard output, its progress on
standard error. Its place in the page is between ``<!-- benchmark: NAME -->`` and ``<!-- end: NAME -->``; a new one gets
a place at the end. One that fails leaves its table as it was.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BENCHMARKS = ROOT / "benchmarks"
PAGE = ROOT / "docs" / "benchmarks.md"


def main(names: Sequence[str]) -> int:
    """Run the benchmarks of these names, or all; the exit code."""
    known = sorted(path.stem for path in BENCHMARKS.glob("*.py") if '__name__ == "__main__"' in path.read_text("utf-8"))
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"No benchmark {', '.join(unknown)}. There are: {', '.join(known) or 'none yet'}", file=sys.stderr)
        return 2
    failed = [name for name in names or known if not measure(name)]
    if failed:
        print(f"Failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def measure(name: str) -> bool:
    """Run one benchmark, show its table and write it into the page; False where it failed."""
    print(f"=== {name} ===", file=sys.stderr, flush=True)
    command = [sys.executable, "-m", f"benchmarks.{name}"]
    finished = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    table = finished.stdout.strip()
    if finished.returncode != 0 or not table:
        return False
    print(table, flush=True)
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else "# Benchmarks\n"
    PAGE.write_text(with_table(page, name, table), encoding="utf-8")
    return True


def with_table(page: str, name: str, table: str) -> str:
    """The page with a benchmark's table in its place; plain lines stand in a block."""
    if "|--" not in table:
        table = f"```text\n{table}\n```"
    place = f"<!-- benchmark: {name} -->\n\n{table}\n\n<!-- end: {name} -->"
    old = re.compile(rf"<!-- benchmark: {re.escape(name)} -->.*?<!-- end: {re.escape(name)} -->", re.DOTALL)
    if old.search(page):
        return old.sub(lambda _: place, page, count=1)
    return f"{page.rstrip()}\n\n## {name}\n\n{place}\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
