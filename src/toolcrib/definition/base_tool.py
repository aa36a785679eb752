"""Tools of several actions, written as a class (contract W001-W006, W021)."""

from __future__ import annotations

import difflib
import inspect
import re
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol

from toolcrib.definition.invoke import calls_async, failure
from toolcrib.definition.result import ToolResult, ToolResultStatus
from toolcrib.definition.tool import Effects, Risk, ToolDefinition
from toolcrib.definition.validation import validate
from toolcrib.errors import DeadlineExceeded, DefinitionError, DependencyMissingError, UnknownToolError


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


class ServiceProvider(Protocol):
    """Where a tool finds the services that it shares with others."""

    def get(self, name: str) -> Any:
        """The service, or None."""
        ...

    def require(self, name: str, *, needed_by: str) -> Any:
        """The service, or `DependencyMissingError`."""
        ...

    def deliver(self, tool: BaseTool) -> None:
        """Hand ``tool`` the services that are there already."""
        ...


class BaseTool(ABC):
    """A tool of one or more actions, all in one class (contract W001).

    Attributes:
        name: unique among tools; None said = from the class's name, in snake case and without a trailing ``Tool``.
        emoji, title: shown on cards and lists.
        description: what it is, for people; a model reads those of the actions.
        timeout: seconds one action may take; None = no limit of its own.
        category: a short word for grouping.
        requires: names of services without which no action can run, or names with the type that each must have.
        effects, risk, intents, require_confirmation: see `ToolDefinition`; an action may say otherwise.

    A method ``set_NAME`` is called with the service ``NAME`` as soon as there is one, before or after the tool is
    registered; while an attribute ``_NAME`` beside it is None, the tool is shown as waiting for it.

    Example:
        >>> class GreeterTool(BaseTool):
        ...     def get_actions(self) -> list[ActionDef]:
        ...         return [ActionDef("greet", "Greets someone.", {"who": {"type": "string"}}, ["who"])]
        ...
        ...     async def execute(self, action: str, params: dict) -> ToolResult:
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
    requires: Sequence[str] | Mapping[str, type] = ()
    effects: Effects | None = None
    risk: Risk = "low"
    intents: Mapping[str, Literal["recommended", "alternative"]] = {}
    require_confirmation: bool = False

    _names_itself: bool = False
    _setters: frozenset[str] = frozenset()
    _services: ServiceProvider | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "name" in cls.__dict__:
            cls._names_itself = True
        elif not cls._names_itself:
            cls.name = snake_case(cls.__name__)
        cls._setters = frozenset(attribute[4:] for attribute in dir(cls) if attribute.startswith("set_"))

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
        result = await self._outcome(action, params)
        if result.duration_ms is None:
            result.duration_ms = (time.perf_counter() - start) * 1000
        return result

    async def _outcome(self, action: str, params: Mapping[str, Any] | None) -> ToolResult:
        import asyncio

        limit = asyncio.timeout(self.timeout)
        try:
            definition = self._definition(action)
            arguments = validate(definition, params)
            async with limit:
                return await BoundAction(self, action)(arguments)
        except asyncio.CancelledError:
            return ToolResult(status=ToolResultStatus.CANCELLED, error=f"The call of {self.name}.{action} was cancelled")
        except (Exception, SystemExit) as error:
            if isinstance(error, TimeoutError) and limit.expired():
                return failure(DeadlineExceeded(f"{self.name}.{action} did not answer within {self.timeout:g} s"))
            return failure(error)

    def _definition(self, action: str) -> ToolDefinition:
        definition = self._definitions.get(action)
        if definition is None:
            close = difflib.get_close_matches(str(action), self._definitions, n=1)
            raise UnknownToolError(
                f"The tool {self.name} has no action {action!r}",
                hint=f"Did you mean {close[0]!r}?" if close else f"Its actions are {', '.join(self._definitions)}.",
            )
        return definition

    @cached_property
    def _definitions(self) -> dict[str, ToolDefinition]:
        return {action.name: _definition(self, action) for action in checked_actions(self)}

    # Services

    def service(self, name: str) -> Any:
        """The service of that name, as it is now.

        Raises:
            DependencyMissingError: there is none yet, or the tool is not registered.
        """
        if self._services is None:
            raise DependencyMissingError(
                f"The tool {self.name} is not registered, so it has no service {name!r}",
                hint="Register the tool, or hand it what it needs.",
            )
        return self._services.require(name, needed_by=self.name)

    def bind_services(self, services: ServiceProvider) -> None:
        """Say where `service` looks; the registry does."""
        self._services = services

    def takes_service(self, name: str) -> bool:
        """Whether the tool has a setter for the service."""
        return name in self._setters and callable(getattr(self, f"set_{name}", None))

    def receive_service(self, name: str, service: Any) -> None:
        """Call the setter; a mapping is spread over one that takes several parameters.

        Raises:
            DefinitionError: the service is not of the type that ``requires`` names.
        """
        kind = self.requires.get(name) if isinstance(self.requires, Mapping) else None
        if kind is not None and service is not None and not isinstance(service, kind):
            raise DefinitionError(
                f"The service {name!r} is a {type(service).__name__}, and the tool {self.name} needs a {kind.__name__}"
            )
        setter = getattr(self, f"set_{name}")
        if isinstance(service, Mapping) and len(inspect.signature(setter).parameters) > 1:
            setter(**service)
        else:
            setter(service)

    def services_set(self) -> dict[str, Any]:
        """What the setters have left in the tool, by name of service."""
        found = ((name, getattr(self, f"_{name}", None)) for name in sorted(self._setters))
        return {name: value for name, value in found if value is not None}

    def services_missing(self, services: ServiceProvider | None = None) -> tuple[str, ...]:
        """Names in ``requires`` that nothing fills yet; while there are any, no action runs."""
        provider = services or self._services
        return tuple(
            name
            for name in self.requires
            if (provider is None or provider.get(name) is None)
            and not (name in self._setters and getattr(self, f"_{name}", None) is not None)
        )

    def waiting_for(self, services: ServiceProvider | None = None) -> tuple[str, ...]:
        """Names of services that the tool is ready to take and does not have."""
        empty = (name for name in sorted(self._setters) if getattr(self, f"_{name}", self) is None)
        return tuple(dict.fromkeys((*self.services_missing(services), *empty)))


class LazyTool(BaseTool):
    """Stands for a tool whose object is made when it is first called.

    Args:
        kind: the class; its `get_actions` is a class method or static method.
        make: makes the object.
    """

    def __init__(self, kind: type[BaseTool], make: Callable[[], BaseTool]) -> None:
        self.kind = kind
        for fact in ("name", "emoji", "title", "description", "timeout", "category", "requires", "effects", "risk"):
            setattr(self, fact, getattr(kind, fact))
        self.intents = kind.intents
        self.require_confirmation = kind.require_confirmation
        self._make = make
        self._made: BaseTool | None = None
        self._lock = threading.RLock()

    def made(self) -> BaseTool:
        """The object."""
        with self._lock:
            if self._made is None:
                made = self._make()
                if self._services is not None:
                    made.bind_services(self._services)
                self._made = made
                if self._services is not None:
                    self._services.deliver(self)
            return self._made

    def get_actions(self) -> list[ActionDef]:
        """The actions of the class."""
        actions: Callable[[], list[ActionDef]] = self.kind.get_actions  # type: ignore[assignment]
        return actions()

    async def execute(self, action: str, params: dict[str, Any]) -> ToolResult:
        """Have the object carry it out."""
        return await self.made().execute(action, params)

    def bind_services(self, services: ServiceProvider) -> None:
        """Also for the object, once it is made."""
        super().bind_services(services)
        if self._made is not None:
            self._made.bind_services(services)

    def takes_service(self, name: str) -> bool:
        """Whether the object is made and takes it."""
        return self._made is not None and self._made.takes_service(name)

    def receive_service(self, name: str, service: Any) -> None:
        """Hand it on to the object."""
        self.made().receive_service(name, service)

    def services_set(self) -> dict[str, Any]:
        """Those of the object."""
        return self._made.services_set() if self._made else {}

    def waiting_for(self, services: ServiceProvider | None = None) -> tuple[str, ...]:
        """What the object waits for; before it is made, what the class requires."""
        return self._made.waiting_for(services) if self._made else self.services_missing(services)


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
        timeout=tool.timeout,
        output_schema=action.output_schema,
        examples=tuple(action.examples),
        intents=tool.intents,
        source=getattr(tool, "kind", type(tool)).__module__,
    )


def checked_actions(tool: BaseTool) -> list[ActionDef]:
    """The actions of ``tool``, if they can be used.

    Raises:
        DefinitionError: naming the tool, the action and what is wrong.
    """
    kind = getattr(tool, "kind", type(tool)).__name__
    if not isinstance(tool.name, str) or not tool.name:
        raise DefinitionError(f"{kind} has no name", hint='Write name = "…" in the class.')
    if not calls_async(tool.execute):
        raise DefinitionError(
            f"execute() of {kind} is not asynchronous",
            hint="Write `async def execute`, and give what blocks to asyncio.to_thread.",
        )
    actions = tool.get_actions()
    if not isinstance(actions, Sequence) or not actions or not all(isinstance(each, ActionDef) for each in actions):
        raise DefinitionError(
            f"get_actions() of {kind} gave {'no actions' if not actions else 'something else than ActionDefs'}",
            hint="Return a list of at least one ActionDef.",
        )
    names: set[str] = set()
    for action in actions:
        if not action.name or action.name in names:
            raise DefinitionError(f"Two actions of {kind} are named {action.name!r}" if action.name else f"An action of {kind} has no name")
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
            close = difflib.get_close_matches(name, action.parameters, n=1)
            hint = f"Did you mean {close[0]!r}?" if close else "Describe it in parameters."
            raise DefinitionError(f"{subject} requires {name!r}, which is not among its parameters", hint=hint)


def snake_case(class_name: str) -> str:
    """The name of a tool of that class.

    Example:
        >>> snake_case("RemoteFileShareTool"), snake_case("PDFReader"), snake_case("Tool")
        ('remote_file_share', 'pdf_reader', 'tool')
    """
    stem = class_name.strip("_").removesuffix("Tool") or class_name
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", stem).strip("_").lower()
