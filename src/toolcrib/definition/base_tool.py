"""Tools of several actions, written as a class (contract W001-W006, W021)."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from toolcrib.definition.schema import callables
from toolcrib.definition.service_slots import ServiceSlots
from toolcrib.definition.tool import Effects, Risk, ToolDefinition
from toolcrib.errors import DeadlineExceeded, DefinitionError, UnknownToolError

if TYPE_CHECKING:
    from toolcrib.definition.result import ToolResult


@dataclass(slots=True)
class ActionDef:
    """One thing that a tool can do (contract W002).

    Attributes:
        name: unique in its tool; the model calls ``{tool}_{name}``.
        description: what it does, for the model, word for word.
        parameters: the properties alone, each with its JSON Schema.
        required_params: those that must be given.
        effects, risk: where they differ from the tool's.
        idempotent: whether running it twice is as good as once.
        output_schema: JSON Schema of the result.
        examples: sentences that a user would say.

    Example:
        >>> ActionDef("greet", "Greets.", {"who": {"type": "string"}}, ["who"]).schema()["required"]
        ['who']
    """

    name: str
    description: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    required_params: Sequence[str] = field(default_factory=list)
    effects: Effects | None = field(default=None, kw_only=True)
    risk: Risk | None = field(default=None, kw_only=True)
    idempotent: bool = field(default=False, kw_only=True)
    output_schema: Mapping[str, Any] | None = field(default=None, kw_only=True)
    examples: tuple[str, ...] = field(default=(), kw_only=True)

    def schema(self) -> dict[str, Any]:
        """JSON Schema of all parameters as one object."""
        return {"type": "object", "properties": dict(self.parameters), "required": list(self.required_params)}


class BaseTool(ServiceSlots, ABC):
    """A tool of one or more actions, all in one class (contract W001).

    Attributes:
        name: unique among tools; None said = from the class's name, in snake case and without a trailing ``Tool``.
        emoji, title: shown on cards and lists.
        description: what it is, for people; a model reads those of the actions.
        timeout: seconds one action may take; None = no limit of its own.
        category: a short word for grouping.
        requires: names of services without which no action can run, or names with the type that each must have.
        effects, risk, intents, require_confirmation: see `ToolDefinition`; an action may say otherwise.

    How it takes services says `ServiceSlots`.

    Example:
        >>> class GreeterTool(BaseTool):
        ...     def get_actions(self) -> list[ActionDef]:
        ...         return [ActionDef("greet", "Greets someone.", {"who": {"type": "string"}}, ["who"])]
        ...
        ...     async def execute(self, action: str, params: dict) -> ToolResult:
        ...         from toolcrib.definition.result import ToolResult
        ...         return ToolResult(status="success", output=f"Hello {params['who']}")
        >>> import asyncio
        >>> GreeterTool().get_schema()[0]["function"]["name"]
        'greeter_greet'
        >>> asyncio.run(GreeterTool().safe_execute("greet", {"who": "Ada"})).output
        'Hello Ada'
    """

    name: str = ""
    emoji: str = "🔧"
    title: str = ""
    description: str = ""
    timeout: float | None = 60
    category: str = "general"
    effects: Effects | None = None
    risk: Risk = "low"
    intents: Mapping[str, Literal["recommended", "alternative"]] = {}
    require_confirmation: bool = False

    _has_own_name: bool = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" in cls.__dict__:
            cls._has_own_name = True
        elif not cls._has_own_name:
            cls.name = snake_case(cls.__name__)

    @property
    def tool_class(self) -> type[BaseTool]:
        """The class that the author wrote."""
        return type(self)

    @abstractmethod
    def get_actions(self) -> list[ActionDef]:
        """What the tool can do."""

    @abstractmethod
    async def execute(self, action: str, params: dict[str, Any]) -> ToolResult:
        """Carry out one action; ``params`` fit its schema."""

    def get_schema(self) -> list[dict[str, Any]]:
        """One function in OpenAI's form for each action, named ``{tool}_{action}`` (contract W004).

        Raises:
            DefinitionError: an action is defined wrongly.
        """
        return [definition.to_openai_format() for definition in definitions_of(self)]

    async def safe_execute(self, action: str, params: Mapping[str, Any] | None = None) -> ToolResult:
        """Carry out one action within ``timeout``; whatever happens is the result's status (contract W001).

        The parameters are checked first. Cancelling the calling task, too, gives a result, of status ``cancelled``.
        """
        start = time.perf_counter()
        result = await self.__outcome(action, params)
        if result.duration_ms is None:
            result.duration_ms = (time.perf_counter() - start) * 1000
        return result

    async def __outcome(self, action: str, params: Mapping[str, Any] | None) -> ToolResult:
        import asyncio

        from toolcrib.definition.invoke import failure
        from toolcrib.definition.result import ToolResult, ToolResultStatus
        from toolcrib.definition.validation import validate

        limit = asyncio.timeout(self.timeout)
        try:
            definition = self.__definition(action)
            arguments = validate(definition, params)
            async with limit:
                return await BoundAction(self, action)(arguments)
        except asyncio.CancelledError:
            return ToolResult(status=ToolResultStatus.CANCELLED, error=f"{self.name}.{action} was cancelled")
        except (Exception, SystemExit) as error:
            if isinstance(error, TimeoutError) and limit.expired():
                return failure(DeadlineExceeded(f"{self.name}.{action} did not answer within {self.timeout:g} s"))
            return failure(error)

    def __definition(self, action: str) -> ToolDefinition:
        definition = self.__definitions.get(action)
        if definition is None:
            from toolcrib.definition.schema.describe import closest

            close = closest(action, self.__definitions)
            raise UnknownToolError(
                f"The tool {self.name} has no action {action!r}",
                hint=f"Did you mean {close!r}?" if close else f"Its actions are {', '.join(self.__definitions)}.",
            )
        return definition

    @cached_property
    def __definitions(self) -> dict[str, ToolDefinition]:
        return {action.name: _definition(self, action) for action in checked_actions(self)}


@dataclass(frozen=True, slots=True)
class BoundAction:
    """One action of one tool, as a handler."""

    tool: BaseTool
    action: str

    @property
    def pair(self) -> tuple[str, str]:
        """The names of tool and action."""
        return self.tool.name, self.action

    async def __call__(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Run it with arguments that fit.

        Raises:
            DependencyMissingError: a service that the tool requires is not there.
        """
        from toolcrib.definition.result import ToolResult

        for name in self.tool.services_missing():
            self.tool.service(name)
        return ToolResult.of(await self.tool.execute(self.action, dict(arguments)))


def action_of(tool: ToolDefinition) -> BoundAction | None:
    """The action that a definition made by `definitions_of` runs; None for any other tool."""
    return tool.handler if isinstance(tool.handler, BoundAction) else None


def definitions_of(tool: BaseTool) -> list[ToolDefinition]:
    """One definition for each action, to be registered (contract W004).

    Raises:
        DefinitionError: the tool or an action is defined wrongly.
    """
    return [_definition(tool, action) for action in checked_actions(tool)]


def _definition(tool: BaseTool, action: ActionDef) -> ToolDefinition:
    return ToolDefinition(
        name=f"{tool.name}_{action.name}",
        description=action.description,
        parameters=action.schema(),
        handler=BoundAction(tool, action.name),
        category=tool.category,
        title=tool.title or None,
        emoji=tool.emoji or None,
        effects=action.effects or tool.effects,
        idempotent=action.idempotent,
        risk=action.risk or tool.risk,
        require_confirmation=tool.require_confirmation,
        timeout=tool.timeout,
        output_schema=action.output_schema,
        examples=tuple(action.examples),
        intents=tool.intents,
        source=tool.tool_class.__module__,
    )


def checked_actions(tool: BaseTool) -> list[ActionDef]:
    """The actions of ``tool``, if they can be used.

    Raises:
        DefinitionError: naming the tool, the action and what is wrong.
    """
    from toolcrib.definition.invoke import calls_async

    kind = tool.tool_class.__name__
    if not isinstance(tool.name, str) or not tool.name:
        raise DefinitionError(f"{kind} has no name", hint='Write name = "…" in the class.')
    if not calls_async(tool.execute):
        raise DefinitionError(
            f"execute() of {kind} is not asynchronous",
            hint="Write `async def execute`, and give what blocks to asyncio.to_thread.",
        )
    if isinstance(tool.requires, str):
        raise DefinitionError(f"requires of {kind} is a text", hint=f"Write requires = ({tool.requires!r},).")
    actions = tool.get_actions()
    if not isinstance(actions, Sequence) or not actions or not all(isinstance(each, ActionDef) for each in actions):
        raise DefinitionError(
            f"get_actions() of {kind} gave {'no actions' if not actions else 'something else than ActionDefs'}",
            hint="Return a list of at least one ActionDef.",
        )
    names: set[str] = set()
    for action in actions:
        if not action.name or action.name in names:
            wrong = f"two actions named {action.name!r}" if action.name else "an action without a name"
            raise DefinitionError(f"{kind} has {wrong}")
        names.add(action.name)
        _check_parameters(f"{tool.name}.{action.name}", action)
    return list(actions)


def _check_parameters(subject: str, action: ActionDef) -> None:
    if not isinstance(action.parameters, Mapping):
        raise DefinitionError(f"The parameters of {subject} are no mapping", hint="Map each name to its JSON Schema.")
    for name, schema in action.parameters.items():
        if not isinstance(schema, Mapping | bool):
            raise DefinitionError(
                f"The parameter {name!r} of {subject} is {schema!r}, which is no JSON Schema",
                hint="parameters holds the properties alone; those that must be given are named in required_params.",
            )
    if isinstance(action.required_params, str):
        raise DefinitionError(f"required_params of {subject} is a text", hint=f"Write [{action.required_params!r}].")
    for name in action.required_params:
        if name not in action.parameters:
            from toolcrib.definition.schema.describe import closest

            close = closest(name, action.parameters)
            hint = f"Did you mean {close!r}?" if close else "Describe it in parameters."
            raise DefinitionError(f"{subject} requires {name!r}, which is not among its parameters", hint=hint)


def snake_case(class_name: str) -> str:
    """The name of a tool of that class.

    Example:
        >>> snake_case("RemoteFileShareTool"), snake_case("PDFReader"), snake_case("Tool")
        ('remote_file_share', 'pdf_reader', 'tool')
    """
    return callables.snake_case(class_name.strip("_").removesuffix("Tool") or class_name)
