"""Parameters that the service fills, and that a model neither sees nor sets (contract N017-N019)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolcrib.errors import DefinitionError, DependencyMissingError

if TYPE_CHECKING:
    from toolcrib.definition.context import Context
    from toolcrib.definition.tool import ToolDefinition

WHOLE_CONTEXT = "*"
"""Stands for the `Context` itself where `ToolDefinition.injected` names an attribute of it."""

SERVICE = "service:"
"""Begins a value of `ToolDefinition.injected` that names a service instead."""


class Injected:
    """Marks a parameter that is filled from the `Context` of the call, or with a service.

    Args:
        name: the attribute of the context; None = the parameter's own name.
        service: the name of a service, such as ``llm_client``, in place of an attribute (contract N050).

    Raises:
        DefinitionError: both are given.

    Example:
        >>> from typing import Annotated
        >>> def file_read(path: str, project_id: Annotated[str, Injected("project_id")]) -> str:
        ...     return f"{project_id}/{path}"

        ``project_id: Injected`` and ``project_id=Injected("project_id")`` say the same; only the annotated form tells a
        type checker what the function gets.
    """

    __slots__ = ("name", "service")

    def __init__(self, name: str | None = None, *, service: str | None = None) -> None:
        if name is not None and service is not None:
            raise DefinitionError("Injected takes an attribute of the context or a service, not both")
        self.name = name
        self.service = service

    def source(self, parameter: str) -> str:
        """What `ToolDefinition.injected` says of ``parameter``, which this marks."""
        return f"{SERVICE}{self.service}" if self.service else self.name or parameter

    def __repr__(self) -> str:
        if self.service:
            return f"Injected(service={self.service!r})"
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
        optional = tool.signature is not None and tool.signature.has_default(parameter)
        if attribute.startswith(SERVICE):
            service = _service(tool, attribute.removeprefix(SERVICE), context, optional=optional)
            if service is not None:
                values[parameter] = service
            continue
        value = getattr(context, attribute, None)
        if value is None and context.extra:
            value = context.extra.get(attribute)
        if value is None and (tool.signature is None or optional):
            continue
        if value is None and not hasattr(context, attribute):
            raise DependencyMissingError(
                f"The tool {tool.name} needs {attribute!r} from the context of the call, which does not have it",
                hint=f"Pass a context that has {attribute}, or give the parameter a default.",
            )
        values[parameter] = value
    return values


def _service(tool: ToolDefinition, name: str, context: Context, *, optional: bool) -> Any:
    if context.services is None:
        if optional:
            return None
        raise DependencyMissingError(
            f"The tool {tool.name} is waiting for the service {name!r}",
            hint="Call it through a Crib or a registry, which know the services.",
        )
    return context.services.get(name) if optional else context.services.require(name, needed_by=tool.name)


def injections(tool: ToolDefinition) -> Mapping[str, str]:
    """The tool's injected parameters.

    A handler of one dict whose name starts with ``file_`` has ``project_id`` without saying so, and ``multi_agent`` has
    ``_model`` and ``_project_id``, as in S1 (§11.4).
    """
    if tool.injected or tool.signature is not None or tool.handler is None:
        return tool.injected
    implied = _IMPLIED if tool.name.startswith("file_") else _OF_AGENTS if tool.name == "multi_agent" else None
    if implied is None:
        return tool.injected
    from toolcrib.definition.base_tool import action_of

    return implied if action_of(tool) is None else tool.injected


_IMPLIED: Mapping[str, str] = {"project_id": "project_id"}
_OF_AGENTS: Mapping[str, str] = {"_model": "model", "_project_id": "project_id"}


def without(schema: Mapping[str, Any], names: Mapping[str, Any]) -> Mapping[str, Any]:
    """``schema`` without the parameters of these names; itself where it has none of them."""
    properties = schema.get("properties") or {}
    if not names or not any(name in properties for name in names):
        return schema
    result = {**schema, "properties": {name: one for name, one in properties.items() if name not in names}}
    if "required" in schema:
        result["required"] = [name for name in schema["required"] if name not in names]
    return result
