"""Lines of keys and values (contract T015)."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolcrib.registry.sources.positions import json_duplicate, json_lines, nearest_line, toml_lines

JSON = """\
{
  "a": {"b": 1,
        "c": [true, {"d,}": "x\\"]{"},
              []]},
  "e":
    null
}"""

TOML = '''\
id = "x" # not [a] table
dotted . "key one" = 3
list = [1, # one
  "two ] #",
  { inline = [
    4 ] }]
date = 1979-05-27 07:32:00Z
text = """
id = 1
[name]
"""
literal = \'\'\'
it''s [no] table\'\'\'
[name]
zh = '名'
[[rows]]
k = 1
[[rows]]
k = 2
[rows.sub]
z = 1
[[rows.deep]]
y = 1
'''


def test_T015_every_key_and_element_of_a_json_file_has_its_line() -> None:
    lines = json_lines(JSON)
    assert lines[("a",)] == lines[("a", "b")] == 2
    assert lines[("a", "c")] == lines[("a", "c", 0)] == lines[("a", "c", 1, "d,}")] == 3
    assert lines[("a", "c", 2)] == 4
    assert lines[("e",)] == 5


def test_T015_every_key_and_element_of_a_toml_file_has_its_line() -> None:
    lines = toml_lines(TOML)
    assert lines[("id",)] == 1
    assert lines[("dotted", "key one")] == 2
    assert (lines[("list", 0)], lines[("list", 1)], lines[("list", 2, "inline")], lines[("list", 2, "inline", 0)]) == (
        3,
        4,
        5,
        6,
    )
    assert (lines[("date",)], lines[("text",)], lines[("literal",)]) == (7, 8, 12)
    assert (lines[("name",)], lines[("name", "zh")]) == (14, 15)
    assert (lines[("rows", 0, "k")], lines[("rows", 1, "k")]) == (17, 19)
    assert (lines[("rows", 1, "sub", "z")], lines[("rows", 1, "deep", 0, "y")]) == (21, 23)
    assert len(lines) == 23


def test_T015_what_is_missing_is_placed_where_it_should_stand() -> None:
    assert nearest_line(json_lines(JSON), ("a", "c", 1, "missing")) == 3
    assert nearest_line(json_lines(JSON), ("missing",)) == 1


def test_T015_a_key_that_stands_twice_is_found_at_its_second_place() -> None:
    assert json_duplicate('{"a": {"x": 1},\n "b": 2,\n "a": 3}') == (("a",), 3)
    assert json_duplicate('[{"a": 1}, {"a": 1}]') is None


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@given(value=st.dictionaries(st.text(max_size=5), values, max_size=4))
def test_T015_the_line_of_any_json_key_is_the_line_it_was_written_on(value: dict[str, Any]) -> None:
    text = json.dumps(value, indent=1)
    written = text.split("\n")
    for location, line in json_lines(text).items():
        if location and isinstance(location[-1], str):
            assert written[line - 1].strip().startswith(json.dumps(location[-1]) + ":")
