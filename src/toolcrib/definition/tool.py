"""What a tool is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from toolcrib.definition.decorator import ToolFacts
    from toolcrib.definition.deployment import Deployment, Runtime
    from toolcrib.definition.schema.signature import Signature
    from toolcrib.definition.validation import Validator

Effects = Literal["none", "read", "write", "external"]
Risk = Literal["low", "medium", "high"]

READ_FROM_FUNCTION = ("description", "parameters", "output_schema", "injected")
"""Fields of a tool made from a typed function that are left unset until they are needed."""


@dataclass(frozen=True, slots=True)
class Texts:
    """A tool's words in one language.

    Attributes:
        title: its name for people.
        description: what it does.
        parameters: the whole schema with its descriptions in this language; None = it has no words of its own.
        output_schema: likewise.
    """

    title: str | None = None
    description: str | None = None
    parameters: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | None = None


@dataclass(slots=True, kw_only=True)
class ToolGroup:
    """Tools that belong together and are used in an order (contract T005).

    Attributes:
        group_id: unique among groups.
        name, description: for readers, in the document's own language.
        backend_runtime: where its tools live.
        tool_ids: its members.
        usage_order: a permutation of ``tool_ids``.
        translations: the words in other languages, by language code.
    """

    group_id: str
    name: str
    description: str
    backend_runtime: Runtime
    tool_ids: tuple[str, ...]
    usage_order: tuple[str, ...]
    translations: Mapping[str, Texts] = field(default_factory=dict)


@dataclass(slots=True)
class ToolDefinition:
    """A tool: its name, what it is for, its schemas, and how to run it (contract N001).

    The first five fields are those of S1 and are all that an in-process tool needs.

    Attributes:
        name: up to 128 of letters, digits, ``. _ / -``; unique in its registry. It is S2's ``tool_id``.
        description: what it does, for the model.
        parameters: JSON Schema of an object.
        handler: called with the arguments as one dict, or as ``signature`` says; None for a tool that lives outside
            this process.
        category: a short word for grouping.
        title: a name for people; None = ``name``.
        emoji: shown on cards and lists.
        effects: ``none``, ``read``, ``write`` or ``external``; None = not declared.
        idempotent: whether running it twice is as good as once.
        risk: ``low``, ``medium`` or ``high``.
        require_confirmation: whether a person has to agree to each call (§11.2).
        requires: names of services without which it cannot run; while one is missing it is shown as waiting for it.
            A tool of several actions says it in its class.
        timeout: seconds one call may take; None = the default of 600.
        cache: whether a result may be given again for the same arguments; a number = for so many seconds; None = not
            said. Tools that write or reach outside are never cached.
        dedup: whether identical calls of one batch run once; None = unless ``effects`` is ``external``.
        dedup_key: what makes two calls the same, computed from the validated arguments; None = all of them.
        reads, mutates: resources by names of your choice; once a call that mutates one has run, results that were read
            from it are no longer given again. A tool's name and category are such names too.
        exclusive: whether it runs alone among the calls of its batch.
        concurrency: calls of it that may run at once; None = no limit of its own.
        run_in_thread: false = a synchronous handler is called on the event loop's thread, for libraries bound to one.
        max_depth: how often it may stand in one chain of calls by way of `Context.call`.
        output_schema: JSON Schema of the result.
        examples: sentences that a user would say, in any language.
        intents: intent → ``recommended`` or ``alternative``.
        group_ids: the groups it belongs to.
        translations: title and description in other languages, by language code (``zh``, ``en``).
        injected: parameters that the service fills and a model cannot set: parameter → attribute of `Context`,
            ``*`` for the context itself, or ``service:NAME``.
        deployment: where it lives; None = in this process.
        version: of the tool, as its author counts.
        source: the file or module that defined it.
        signature: how a typed function is called; None = the handler takes the arguments as one dict. Where it is set,
            ``parameters``, ``description`` and ``output_schema`` are read from the function when first asked for.

    Example:
        >>> add = ToolDefinition(
        ...     "add", "Adds two numbers.",
        ...     {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}},
        ...     lambda arguments: arguments["a"] + arguments["b"],
        ... )
        >>> add.to_openai_format()["function"]["name"]
        'add'
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    handler: Callable[..., Any] | None = None
    category: str = "general"
    title: str | None = None
    emoji: str | None = None
    effects: Effects | None = None
    idempotent: bool = False
    risk: Risk = "low"
    require_confirmation: bool = False
    requires: tuple[str, ...] = ()
    timeout: float | None = None
    cache: bool | float | None = None
    dedup: bool | None = None
    dedup_key: Callable[[Mapping[str, Any]], Any] | None = None
    reads: tuple[str, ...] = ()
    mutates: tuple[str, ...] = ()
    exclusive: bool = False
    concurrency: int | None = None
    run_in_thread: bool = True
    max_depth: int | None = None
    output_schema: Mapping[str, Any] | None = None
    examples: tuple[str, ...] = ()
    intents: Mapping[str, Literal["recommended", "alternative"]] = field(default_factory=dict)
    group_ids: tuple[str, ...] = ()
    translations: Mapping[str, Texts] = field(default_factory=dict)
    injected: Mapping[str, str] = field(default_factory=dict)
    deployment: Deployment | None = None
    version: str | None = None
    source: str | None = None
    signature: Signature | None = field(default=None, repr=False, compare=False)
    _validator: Validator | None = field(default=None, init=False, repr=False, compare=False)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Read what a typed function says about itself, once; reached only while the field is unset."""
            if name not in READ_FROM_FUNCTION:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            value = getattr(self.signature, name)
            setattr(self, name, value)
            return value

    @property
    def runtime(self) -> Runtime:
        """The kind of place it lives in."""
        return "inprocess" if self.deployment is None else self.deployment.runtime

    @property
    def writes(self) -> bool:
        """Whether it is declared to change something."""
        return self.effects in ("write", "external")

    def to_openai_format(self) -> dict[str, Any]:
        """The tool as an entry of an OpenAI ``tools`` list (contract N002)."""
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": self.parameters},
        }

    @classmethod
    def from_langchain(cls, tool: Any, **facts: Unpack[ToolFacts]) -> ToolDefinition:
        """A LangChain tool as a definition; see `toolcrib.adapters.langchain.from_langchain`."""
        from toolcrib.adapters.langchain import from_langchain

        return from_langchain(tool, **facts)

    @classmethod
    def from_mcp(cls, session: Any, tool: Any, *, prefix: str = "", trusted: bool = False) -> ToolDefinition:
        """A tool of an MCP server as a definition; see `toolcrib.adapters.mcp.from_mcp`."""
        from toolcrib.adapters.mcp import from_mcp

        return from_mcp(session, tool, prefix=prefix, trusted=trusted)
