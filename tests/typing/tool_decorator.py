"""What a type checker knows of decorated functions; checked by ``test_typing``, never run."""

from __future__ import annotations

from typing import Annotated, Any, assert_type

from toolcrib import Context, Injected, tool


@tool
def bare(a: int, *, b: str = "x") -> list[str]:
    """Bare."""
    return [b] * a


@tool(name="other", effects="read", timeout=3)
async def with_facts(a: int) -> str:
    """With facts."""
    return str(a)


@tool(name="my_tool", description="A tool.", parameters={"type": "object"}, category="custom")
def as_in_the_document(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"result": "ok"}


@tool()
def injected(path: str, context: Context, project: Annotated[str, Injected("project_id")] = "") -> str:
    """Injected."""
    return path


async def uses() -> None:
    assert_type(bare(1, b="y"), list[str])
    assert_type(await with_facts(1), str)
    assert_type(as_in_the_document({}), dict[str, Any])
    bare("1")  # type: ignore[arg-type]
    tool(nonsense=1)(bare)  # type: ignore[call-overload]
    tool(effects="maybe")(bare)  # type: ignore[call-overload]
