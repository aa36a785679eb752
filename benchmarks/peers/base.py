"""What is asked of every framework."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Peer(Protocol):
    """A framework's own way to define tools, to show them to a model and to run one."""

    asynchronous: bool
    """Whether a coroutine function can be a tool."""

    def define(self, functions: Sequence[Callable[..., Any]]) -> None:
        """Make tools of functions, beside those that are there."""
        ...

    def schemas(self) -> list[dict[str, Any]]:
        """All tools as a request to a model names them."""
        ...

    async def open(self) -> None:
        """Whatever is done once before calls: an agent, a graph, a context."""
        ...

    async def call(self, name: str, arguments: str) -> str:
        """Run a tool as the framework's agent or server does.

        Args:
            name: the tool's.
            arguments: the JSON text that a model wrote.

        Returns:
            The text that the model reads.
        """
        ...
