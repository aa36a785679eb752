"""A registry follows its sources (contract T015, T016)."""

from __future__ import annotations

from toolcrib.definition.deployment import Deployment
from toolcrib.definition.ports import Listing
from toolcrib.definition.tool import ToolDefinition
from toolcrib.registry.registry import ToolRegistry
from toolcrib.registry.reload import apply


def outside(name: str, category: str = "general", source: str = "registry.json") -> ToolDefinition:
    """A tool that lives elsewhere."""
    return ToolDefinition(
        name, "Far away.", {"type": "object"}, category=category, deployment=Deployment("remote"), source=source
    )


def inside(name: str) -> ToolDefinition:
    """A tool of this process."""
    return ToolDefinition(name, "Near.", {"type": "object"}, lambda arguments: arguments, source="my_module")


def test_T015_new_changed_and_gone_tools_are_told_apart() -> None:
    registry = ToolRegistry()
    owned: set[str] = set()
    first = apply(registry, Listing((outside("a"), outside("b"), outside("c"))), owned)
    assert (first.added, first.replaced, first.removed) == (("a", "b", "c"), (), ())
    second = apply(registry, Listing((outside("a"), outside("b", "other"), outside("d"))), owned)
    assert (second.added, second.replaced, second.removed) == (("d",), ("b",), ("c",))
    assert second.changed == {"b", "c", "d"}
    assert [tool.name for tool in registry] == ["a", "b", "d"]
    assert owned == {"a", "b", "d"}


def test_T015_what_is_equal_is_left_alone() -> None:
    registry = ToolRegistry()
    owned: set[str] = set()
    apply(registry, Listing((outside("a"),)), owned)
    tool, generation = registry.get("a"), registry.generation
    assert apply(registry, Listing((outside("a"),)), owned).changed == frozenset()
    assert registry.get("a") is tool
    assert registry.generation == generation


def test_T015_a_name_that_an_in_process_tool_has_is_refused() -> None:
    registry = ToolRegistry()
    near = inside("a")
    registry.register(near)
    owned: set[str] = set()
    for _ in range(2):
        changes = apply(registry, Listing((outside("a"), outside("b"))), owned)
        (problem,) = changes.problems
        assert str(problem) == "registry.json: tool 'a': an inprocess tool from my_module has that name"
        assert problem.hint == "Rename one of them."
    assert registry.get("a") is near
    assert owned == {"b"}
    assert apply(registry, Listing(), owned).removed == ("b",)
    assert registry.get("a") is near


def test_T015_a_name_that_another_source_has_is_refused() -> None:
    registry = ToolRegistry()
    mine: set[str] = set()
    theirs: set[str] = set()
    apply(registry, Listing((outside("a", source="first.json"),)), mine)
    (problem,) = apply(registry, Listing((outside("a", source="second.json"),)), theirs).problems
    assert str(problem) == "second.json: tool 'a': a remote tool from first.json has that name"
    assert (mine, theirs) == ({"a"}, set())


def test_T015_a_tool_that_was_replaced_in_process_is_not_taken_back_or_removed() -> None:
    registry = ToolRegistry()
    owned: set[str] = set()
    apply(registry, Listing((outside("a"),)), owned)
    near = inside("a")
    registry.register(near, replace=True)
    assert len(apply(registry, Listing((outside("a"),)), owned).problems) == 1
    assert owned == set()
    assert apply(registry, Listing(), owned).changed == frozenset()
    assert registry.get("a") is near


def test_T015_a_freed_name_is_taken_at_the_next_load() -> None:
    registry = ToolRegistry()
    registry.register(inside("a"))
    owned: set[str] = set()
    apply(registry, Listing((outside("a"),)), owned)
    registry.unregister("a")
    assert apply(registry, Listing((outside("a"),)), owned).added == ("a",)


def test_T015_a_name_that_no_tool_can_have_is_a_problem() -> None:
    registry = ToolRegistry()
    (problem,) = apply(registry, Listing((outside("a b"),)), set()).problems
    assert "The tool name 'a b' contains ' '" in str(problem)
