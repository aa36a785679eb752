"""What docstrings say, in the usual styles (contract N048)."""

from __future__ import annotations

import pytest

from toolcrib.definition.docstrings import parse

GOOGLE = """Find it.

    Slowly.

    Args:
        query (str, optional): what to look for,
            in words.
        *rest: more
        mode: One of:
            - fast: quick
            - deep: slow

    Returns:
        list: the rows

    Raises:
        ValueError: never

    Note:
        Costs money.
    """
NUMPY = """Find it.

    Slowly.

    Parameters
    ----------
    query : str, optional
        what to look for,
        in words.
    *rest
        more
    mode : {"fast", "deep"}
        One of:

        - fast: quick
        - deep: slow

    Returns
    -------
    list
        the rows

    Note:
        Costs money.
    """
SPHINX = """Find it.

    Slowly.

    :param str query: what to look for,
        in words.
    :type query: str
    :param rest: more
    :param mode: One of:
        - fast: quick
        - deep: slow
    :returns: the rows
    :raises ValueError: never

    Note:
        Costs money.
    """


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_N048_three_styles_say_the_same(text: str) -> None:
    found = parse(text)

    assert found.description == "Find it.\n\nSlowly.\n\nNote:\n    Costs money."
    assert found.parameters == {
        "query": "what to look for, in words.",
        "rest": "more",
        "mode": "One of:\n- fast: quick\n- deep: slow",
    }


def test_N048_chinese_headings_and_punctuation() -> None:
    found = parse("查天气。\n\n参数：\n    city：城市\n    days (int): 天数\n\n返回：\n    文字")

    assert found.description == "查天气。"
    assert found.parameters == {"city": "城市", "days": "天数"}


@pytest.mark.parametrize(
    ("text", "description", "parameters"),
    [
        (None, "", {}),
        ("One line.", "One line.", {}),
        ("\n    Args:\n        q: the question\n    ", "", {"q": "the question"}),
        ("Do.\n\nArgs:\nq: not indented\nn: either\n\nMore.", "Do.\n\nMore.", {"q": "not indented", "n": "either"}),
        ("Do: this.\n\nRatio: 3.", "Do: this.\n\nRatio: 3.", {}),
        ("Do.\n\nArgs:\n    a, b: both", "Do.", {}),
        (":param q: only this", "", {"q": "only this"}),
    ],
)  # fmt: skip
def test_N048_short_missing_and_sloppy_ones(text: str | None, description: str, parameters: dict[str, str]) -> None:
    found = parse(text)

    assert (found.description, found.parameters) == (description, parameters)
