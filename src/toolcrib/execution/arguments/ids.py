"""Ids of calls that are unique in a chat, whatever the provider sent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolcrib.definition.call import new_id


class CallIds:
    """Gives every call of a message an id of its own.

    Args:
        taken: ids that calls of this chat have already.

    Example:
        >>> ids = CallIds(["c1"])
        >>> ids.own("c1"), ids.own("c2"), ids.own("c2")
        ('c1_2', 'c2', 'c2_2')
    """

    __slots__ = ("_next", "_taken")

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def own(self, sent: Any) -> str:
        """The id that was sent where it is one and still free, else one that resembles it, else a new one."""
        wanted = sent if isinstance(sent, str) else str(sent) if type(sent) is int else ""
        if not wanted.strip():
            return self._new()
        if wanted not in self._taken:
            self._taken.add(wanted)
            return wanted
        number = self._next.get(wanted, 2)
        while (found := f"{wanted}_{number}") in self._taken:
            number += 1
        self._next[wanted] = number + 1
        self._taken.add(found)
        return found

    def _new(self) -> str:
        found = new_id()
        self._taken.add(found)
        return found
