"""Which language to speak (DESIGN §11.15)."""

from __future__ import annotations

from collections.abc import Iterable

LANGUAGES = ("zh", "en")


def negotiate(
    asked: str | None = None, accept_language: str | None = None, *, offered: Iterable[str] = LANGUAGES
) -> str | None:
    """The language to answer in, or None for the texts as they were defined.

    Args:
        asked: what the caller named outright, such as the query parameter ``lang``; it wins.
        accept_language: the header of that name.
        offered: languages there are texts in, by their primary code.

    Returns:
        One of ``offered``; None where nothing was asked for, or nothing that is offered.

    Example:
        >>> negotiate(None, "fr-CH, en;q=0.4, zh-CN;q=0.9")
        'zh'
        >>> negotiate("en-GB", "zh-CN")
        'en'
        >>> negotiate(None, None) is None
        True
    """
    languages = set(offered)
    if asked and asked.strip():
        code = _primary(asked)
        return code if code in languages else None
    for code in _by_preference(accept_language or ""):
        if code in languages:
            return code
    return None


def _primary(tag: str) -> str:
    return tag.strip().replace("_", "-").partition("-")[0].lower()


def _by_preference(header: str) -> list[str]:
    ranked = []
    for position, entry in enumerate(header.split(",")):
        tag, *parameters = entry.split(";")
        quality = _quality(parameters)
        if tag.strip() and quality > 0:
            ranked.append((-quality, position, _primary(tag)))
    return [code for _, _, code in sorted(ranked)]


def _quality(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
