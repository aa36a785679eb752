"""How many tokens a text costs a model, roughly and without a tokenizer."""

from __future__ import annotations

import json
from typing import Any

CHARACTERS_PER_TOKEN = 4
"""Of ASCII; every other character counts as a token of its own."""


def estimate_tokens(text: str) -> int:
    """About how many tokens ``text`` is, rounded up.

    Example:
        >>> estimate_tokens("send_file"), estimate_tokens("发送文件"), estimate_tokens("")
        (3, 4, 0)
    """
    wide = sum(not character.isascii() for character in text)
    return wide + -(-(len(text) - wide) // CHARACTERS_PER_TOKEN)


def schema_tokens(schema: Any) -> int:
    """About how many tokens a tool's entry in a request costs."""
    return estimate_tokens(json.dumps(schema, ensure_ascii=False, separators=(",", ":"), default=str))
