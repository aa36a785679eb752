"""Which language is spoken."""

from __future__ import annotations

import pytest

from toolcrib.locale import negotiate


@pytest.mark.parametrize(
    ("asked", "accept_language", "language"),
    [
        (None, None, None),
        ("", "", None),
        ("zh", None, "zh"),
        ("ZH-Hant-TW", None, "zh"),
        ("en_US", None, "en"),
        ("fr", "en", None),
        (None, "en-GB,en;q=0.9", "en"),
        (None, "zh-CN, en", "zh"),
        (None, "en;q=0.3, zh;q=0.8", "zh"),
        (None, "fr, de;q=0.9", None),
        (None, "fr, en;q=0.2", "en"),
        (None, "*", None),
        (None, "zh;q=0, en", "en"),
        (None, "zh;q=0", None),
        (None, "zh;q=nonsense, en;q=0.1", "en"),
        (None, ";;q=1,,", None),
        ("en", "zh", "en"),
    ],
)
def test_the_language_is_the_one_asked_for_else_the_one_preferred_else_none(
    asked: str | None, accept_language: str | None, language: str | None
) -> None:
    assert negotiate(asked, accept_language) == language


def test_only_offered_languages_are_answered() -> None:
    assert negotiate("en", offered=["zh"]) is None
    assert negotiate(None, "en, zh;q=0.1", offered=["zh"]) == "zh"
