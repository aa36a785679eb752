"""The thresholds of `toolcrib check`, in one place."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What is too much.

    Attributes:
        function_tokens: estimated tokens of one function's entry in a request.
        tool_tokens: of all functions of one tool.
        all_tokens: of all tools; a model is shown a few of them at a time.
        name_characters: of a name, for the strictest providers.
    """

    function_tokens: int = 1_000
    tool_tokens: int = 2_500
    all_tokens: int = 50_000
    name_characters: int = 64
