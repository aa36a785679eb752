"""``--fix`` mends what needs no thought, in files that the user owns, and touches nothing else."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.validation.world import World
from toolcrib.validation.chain import examine_chain
from toolcrib.validation.chain_findings import Fix, Say
from toolcrib.validation.mending import fixes_of, mend, replace_value

WHAT = Say("a change", "修改")
ROOT = Path(__file__).resolve().parents[3]


async def fix(world: World) -> list[str]:
    """Carry out all fixes; what was done, in words."""
    done = mend(fixes_of((await world.examine()).values()))
    assert [each.refused for each in done] == [None] * len(done)
    return [each.fix.what.en for each in done]


async def test_W027_a_usage_order_is_completed_and_the_rest_of_the_file_stays(world: World) -> None:
    world.change(world.registry, lambda document: document["groups"][0].update(usage_order=["return_machine", "gone"]))
    before = world.registry.read_text(encoding="utf-8").replace("  ", "   ")  # a layout of the user's own
    world.registry.write_text(before, encoding="utf-8")
    assert await fix(world) == ["machines: set usage_order to return_machine, rent_machine"]
    assert world.registry.read_text(encoding="utf-8") == before.replace('"gone"', '"rent_machine"')
    assert {outcome.level for outcome in (await world.examine()).values()} == {"pass"}


async def test_W012_the_actions_of_an_entry_become_those_of_the_code(world: World) -> None:
    actions = ["send_voice", "nonsense", "send_voice"]
    world.change(world.tools, lambda document: document["remote_file_share"].update(actions=actions))
    assert await fix(world) == ["remote_file_share: set actions to send_voice, send_file, send_files"]
    document = json.loads(world.tools.read_text(encoding="utf-8"))
    assert document["remote_file_share"]["actions"] == ["send_voice", "send_file", "send_files"]
    assert {outcome.level for outcome in (await world.examine()).values()} == {"pass"}


async def test_W027_double_keywords_are_taken_out(world: World) -> None:
    keywords = {"zh": ["甩到手机", "发送文件", "甩到手机"], "en": ["fling", "Ｆling", "ppt"]}
    world.change(world.intents, lambda document: document["communication"].update(keywords=keywords))
    assert len(await fix(world)) == 2
    document = json.loads(world.intents.read_text(encoding="utf-8"))
    assert document == {"communication": {"keywords": {"zh": ["甩到手机"], "en": ["fling"]}}}
    assert {outcome.level for outcome in (await world.examine()).values()} == {"pass"}


async def test_W027_what_needs_thought_is_left_alone(world: World) -> None:
    world.edit('intents = {"communication": "recommended"}', "intents = {}")
    assert await fix(world) == []


async def test_W027_mending_twice_is_mending_once(world: World) -> None:
    world.change(world.tools, lambda document: document["wechat"].update(actions=["read"]))
    await fix(world)
    content = world.tools.read_bytes()
    assert await fix(world) == []
    assert world.tools.read_bytes() == content


def test_W027_a_shipped_file_is_never_written(tmp_path: Path) -> None:
    link = tmp_path / "registry.json"
    link.symlink_to(ROOT / "registry.json")
    before = (ROOT / "registry.json").read_bytes()
    for path in (ROOT / "registry.json", link):
        (done,) = mend([Fix(path, ("groups", 0, "usage_order"), ["a"], WHAT)])
        assert done.refused is not None
    assert (ROOT / "registry.json").read_bytes() == before


def test_W027_a_file_keeps_its_mode_its_mark_and_its_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_bytes(b'\xef\xbb\xbf{\r\n  "a": [\r\n    "x"\r\n  ]\r\n}\r\n')
    path.chmod(0o640)
    (done,) = mend([Fix(path, ("a",), ["x", "y"], WHAT)])
    assert done.refused is None
    assert path.read_bytes() == b'\xef\xbb\xbf{\r\n  "a": [\r\n    "x",\r\n    "y"\r\n  ]\r\n}\r\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [each.name for each in tmp_path.iterdir()] == ["tools.json"]


@pytest.mark.parametrize("content", ['{"b": []}', "[1]", "{", ""])
def test_W027_a_file_that_has_become_another_is_refused_and_stays(tmp_path: Path, content: str) -> None:
    path = tmp_path / "tools.json"
    path.write_text(content)
    (done,) = mend([Fix(path, ("a", "actions"), ["x"], WHAT)])
    assert done.refused is not None
    assert path.read_text() == content
    (gone,) = mend([Fix(tmp_path / "none.json", ("a",), [], WHAT)])
    assert gone.refused is not None


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


def _locations(value: Any) -> list[tuple[str | int, ...]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(), *((key, *rest) for key, member in members for rest in _locations(member))]


@given(JSON, st.data(), st.lists(st.text(max_size=3), max_size=3), st.sampled_from([None, 0, 2, "\t"]))
def test_W027_a_value_is_replaced_wherever_it_stands(value: Any, data: st.DataObject, new: Any, indent: Any) -> None:
    location = data.draw(st.sampled_from(_locations(value)))
    text = replace_value(json.dumps(value, indent=indent, ensure_ascii=False), location, new)
    expected: Any = json.loads(json.dumps({"root": value}))
    parent, key = expected, "root"
    for part in location:
        parent, key = parent[key], part  # type: ignore[assignment]
    parent[key] = new
    assert json.loads(text) == expected["root"]


async def test_W027_each_fix_is_offered_once(world: World) -> None:
    world.change(world.tools, lambda document: document["wechat"].update(actions=["a", "b", "c"]))
    subject = await world.subject()
    assert len(fixes_of(examine_chain(subject))) <= 1
