"""toolcrib: a `Crib` of its own, run through its whole pipeline."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from toolcrib import Crib
from toolcrib.definition.dialects import to_dialect


class Peer:
    """``Crib.run``; synchronous tools run in its threads."""

    asynchronous = True

    def __init__(self) -> None:
        self.crib = Crib(sources=[])

    def define(self, functions: Sequence[Callable[..., Any]]) -> None:
        for function in functions:
            self.crib.tool(function)

    def schemas(self) -> list[dict[str, Any]]:
        return [to_dialect(tool, "openai") for tool in self.crib.registry]

    async def open(self) -> None:
        pass

    async def call(self, name: str, arguments: str) -> str:
        result = await self.crib.run(name, json.loads(arguments))
        assert result.success, result.error
        return json.dumps(result.data)
