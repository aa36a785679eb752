"""Making tools of functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, TypeVar, overload

from toolcrib.definition.schema import callables
from toolcrib.definition.schema.signature import Signature
from toolcrib.definition.tool import Effects, Risk, Texts, ToolDefinition
from toolcrib.errors import DefinitionError

if TYPE_CHECKING:
    from typing import Literal

    from typing_extensions import Unpack


Handler = TypeVar("Handler", bound=Callable[..., Any])


class ToolFacts(TypedDict, total=False):
    """What can be said of a tool besides its name, description and parameters; see `ToolDefinition`."""

    category: str
    title: str | None
    emoji: str | None
    effects: Effects | None
    idempotent: bool
    risk: Risk
    require_confirmation: bool
    requires: tuple[str, ...]
    timeout: float | None
    cache: bool | float | None
    dedup: bool | None
    dedup_key: Callable[[Mapping[str, Any]], Any] | None
    reads: tuple[str, ...]
    mutates: tuple[str, ...]
    exclusive: bool
    concurrency: int | None
    run_in_thread: bool
    max_depth: int | None
    output_schema: Mapping[str, Any] | None
    examples: tuple[str, ...]
    intents: Mapping[str, Literal["recommended", "alternative"]]
    group_ids: tuple[str, ...]
    translations: Mapping[str, Texts]
    injected: Mapping[str, str]
    version: str | None
    source: str | None


class ToolDecorator(Protocol):
    """The type of ``tool``: usable bare, with facts, and as a plain call; the function comes back unchanged."""

    @overload
    def __call__(self, function: Handler, /) -> Handler: ...

    @overload
    def __call__(
        self,
        function: None = None,
        /,
        *,
        name: str | None = None,
        description: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        **facts: Unpack[ToolFacts],
    ) -> Callable[[Handler], Handler]: ...


def make_tool_decorator(register: Callable[[ToolDefinition], None]) -> ToolDecorator:
    """A decorator that defines a tool and hands it to ``register`` (contract N048).

    Example:
        >>> tools: list[ToolDefinition] = []
        >>> tool = make_tool_decorator(tools.append)
        >>> @tool(name="my_tool", description="A tool.", parameters={"type": "object"}, category="custom")
        ... def my_tool(arguments: dict) -> dict:
        ...     return {"result": "ok"}
        >>> my_tool({}), tools[0].name, tools[0].category
        ({'result': 'ok'}, 'my_tool', 'custom')
    """

    def tool(function: Any = None, /, **facts: Any) -> Any:
        if function is not None:
            register(define(function, **facts))
            return function

        def decorate(function: Handler) -> Handler:
            register(define(function, **facts))
            return function

        return decorate

    return tool


def define(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    **facts: Unpack[ToolFacts],
) -> ToolDefinition:
    """The tool that a function is, without registering it.

    With ``parameters`` the function takes the arguments as one dict; without, its parameters, their types and its
    docstring are the schema.

    Args:
        function: a function, bound method, partial or callable object; synchronous, asynchronous or a generator.
        name: None = the function's own.
        description: None = the docstring's text before its sections.
        parameters: JSON Schema of an object.
        **facts: see `ToolFacts`.

    Raises:
        DefinitionError: no tool can be made of it, or an annotation means nothing.
    """
    callables.check_callable(function)
    if isinstance(facts.get("requires"), str):
        raise DefinitionError("requires is a text", hint=f"Write requires=({facts['requires']!r},).")
    tool_name = callables.name_of(function) if name is None else name
    _check_facts(tool_name, facts)
    signature = _signature(function, tool_name, parameters, facts)
    if description is None and signature is None:
        from toolcrib.definition.docstrings import parse

        description = parse(callables.docstring_of(function)).description
    shown: Mapping[str, Any] = {}
    if parameters is not None:
        from toolcrib.definition.injection import without

        shown = without(parameters, facts.get("injected") or {})
    tool = ToolDefinition(tool_name, description or "", shown, function, signature=signature, **facts)
    if signature is not None:
        _leave_unset(tool, description, parameters, facts)
    if tool.source is None:
        tool.source = getattr(function, "__module__", None)
    return tool


def _check_facts(name: str, facts: ToolFacts) -> None:
    cache = facts.get("cache")
    if cache and facts.get("effects") in ("write", "external"):
        raise DefinitionError(
            f"The tool {name!r} has effects={facts.get('effects')!r} and cache={cache!r}: the second of two actions "
            "would not be carried out",
            hint="Leave cache out, or declare effects='read'.",
        )
    for fact in ("concurrency", "max_depth"):
        value = facts.get(fact)
        if value is not None and (not isinstance(value, int) or value < 1):
            raise DefinitionError(f"The tool {name!r} has {fact}={value!r}", hint="It is a whole number from 1 on.")


def _signature(
    function: Callable[..., Any], name: str, parameters: Mapping[str, Any] | None, facts: ToolFacts
) -> Signature | None:
    """How the function is called; None = with the arguments as one dict."""
    if parameters is not None and callables.takes_one_mapping(function, parameters):
        return None
    closed = facts.get("effects") in ("write", "external")
    return Signature(function, name, closed=closed, injected=facts.get("injected"), parameters=parameters)


def _leave_unset(
    tool: ToolDefinition, description: str | None, parameters: Mapping[str, Any] | None, facts: ToolFacts
) -> None:
    """Leave what nobody wrote down to be read from the function when it is needed; defining costs next to nothing."""
    if description is None:
        del tool.description
    if parameters is None:
        del tool.parameters
    if facts.get("output_schema") is None:
        del tool.output_schema
    del tool.injected
