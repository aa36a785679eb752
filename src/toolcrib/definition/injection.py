"""Parameters that the service fills, and that a model neither sees nor sets (contract N017-N019)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolcrib.definition.context import Context
from toolcrib.errors import DependencyMissingError

if TYPE_CHECKING:
    from toolcrib.definition.tool import ToolDefinition

WHOLE_CONTEXT = "*"
"""Stands for the `Context` itself where `ToolDefinition.injected` names an attribute of it."""


class Injected:
    """Marks a parameter that is filled from the `Context` of the call.

    Args:
        name: the attribute of the context; None = the parameter's own name.

    Example:
        >>> from typing import Annotated
        >>> def file_read(path: str, project_id: Annotated[str, Injected("project_id")]) -> str:
        ...     return f"{project_id}/{path}"

        ``project_id: Injected`` and ``project_id=Injected("project_id")`` say the same; only the annotated form tells a
        type checker what the function gets.
    """

    __slots__ = ("name",)

    def __init__(self, name: str | None = None) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Injected({self.name!r})" if self.name else "Injected()"


def injected_values(tool: ToolDefinition, context: Context) -> dict[str, Any]:
    """The values of the tool's injected parameters.

    A parameter whose value the context does not know is left out where the function has a default for it.

    Raises:
        DependencyMissingError: it has none.
    """
    values: dict[str, Any] = {}
    for parameter, attribute in injections(tool).items():
        if attribute == WHOLE_CONTEXT:
            values[parameter] = context
            continue
        value = getattr(context, attribute, None)
        if value is None and (tool.signature is None or tool.signature.has_default(parameter)):
            continue
        if value is None and not hasattr(context, attribute):
            raise DependencyMissingError(
                f"The tool {tool.name} needs {attribute!r} from the context of the call, which does not have it",
                hint=f"Pass a context that has {attribute}, or give the parameter a default.",
            )
        values[parameter] = value
    return values


def injections(tool: ToolDefinition) -> Mapping[str, str]:
    """The tool's injected parameters.

    A handler of one dict whose name starts with ``file_`` has ``project_id`` without saying so, as in S1 (§11.4).
    """
    if tool.injected or tool.signature is not None or tool.handler is None or not tool.name.startswith("file_"):
        return tool.injected
    return _IMPLIED


_IMPLIED: Mapping[str, str] = {"project_id": "project_id"}


def without(schema: Mapping[str, Any], names: Mapping[str, Any]) -> Mapping[str, Any]:
    """``schema`` without the parameters of these names; itself where it has none of them."""
    properties = schema.get("properties") or {}
    if not names or not any(name in properties for name in names):
        return schema
    result = {**schema, "properties": {name: one for name, one in properties.items() if name not in names}}
    if "required" in schema:
        result["required"] = [name for name in schema["required"] if name not in names]
    return result
