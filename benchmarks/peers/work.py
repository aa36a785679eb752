"""The tools that every framework gets: typed functions with docstrings, in a module of their own."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HEAD = "from typing import Any, Literal\n"
TEMPLATE = '''

{kind} {name}(
    query: str, limit: int = 10, tags: list[str] | None = None, mode: Literal["fast", "full"] = "fast"
) -> dict[str, Any]:
    """Search corpus number {number} and return the best matches.

    Args:
        query: What to look for, in plain words.
        limit: How many results to return at most.
        tags: Only return results that carry one of these tags.
        mode: Whether to search quickly or fully.

    Returns:
        The matches.
    """
    return {{"query": query, "limit": limit, "tags": tags, "mode": mode}}
'''
ARGUMENTS = '{"query": "green tea", "limit": 3, "tags": ["new", "cheap"], "mode": "full"}'
EXPECTED = ("green tea", "cheap", "full")
"""What is in every right answer."""

SYNC, ASYNC = "look_up", "look_up_later"


def write_module(path: Path, count: int) -> None:
    """Write a module with ``count`` numbered functions and the four that are called or stand beside those."""
    functions = [TEMPLATE.format(kind="def", name=f"search_{number}", number=number) for number in range(count)]
    for kind, name in (("def", SYNC), ("def", "browse"), ("async def", ASYNC), ("async def", "browse_later")):
        functions.append(TEMPLATE.format(kind=kind, name=name, number=count))
    path.write_text(HEAD + "".join(functions), encoding="utf-8")


def load_functions(path: Path, count: int) -> tuple[list[Callable[..., Any]], list[Callable[..., Any]]]:
    """Import that module: its numbered functions, and the four others (synchronous ones first)."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    numbered = [getattr(module, f"search_{number}") for number in range(count)]
    return numbered, [getattr(module, name) for name in (SYNC, "browse", ASYNC, "browse_later")]
