"""Services that tools share, such as a language model's client, and how they reach the tools (contract N050, W021)."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Awaitable, Callable
from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import Any, Literal

from toolcrib.definition.base_tool import BaseTool, action_of
from toolcrib.definition.injection import SERVICE
from toolcrib.definition.service_slots import ServiceSlots
from toolcrib.definition.tool import ToolDefinition
from toolcrib.errors import DefinitionError, DependencyMissingError

Scope = Literal["app", "session", "call"]


@dataclass(frozen=True, slots=True)
class _Factory:
    make: Callable[[], Any]
    scope: Scope
    close: Callable[[Any], Any] | None


class Services:
    """Services by name; what is registered late reaches the tools that wait for it.

    A crib has one, of scope ``app``. Inside ``with services.scope("session")`` and ``with services.scope("call")`` the
    same object also finds what lives as long as that block, in this thread or task only.

    Example:
        >>> services = Services()
        >>> services.get("llm_client") is None
        True
        >>> services.register("llm_client", "a client")
        >>> services.get("llm_client")
        'a client'
        >>> with services.scope("call") as call:
        ...     call.register("request_id", 7)
        ...     services.get("request_id"), services.get("llm_client")
        (7, 'a client')
        >>> services.get("request_id") is None
        True
    """

    def __init__(self) -> None:
        self._scope: Scope = "app"
        self._parent: Services | None = None
        self._root = self
        self._values: dict[str, Any] = {}
        self._made: list[tuple[Any, Callable[[Any], Any] | None]] = []
        self._factories: dict[str, _Factory] = {}
        self._registered_by: dict[str, str] = {}
        self._tools: list[ServiceSlots] = []
        self._lock = threading.RLock()
        self._entered: list[Token[Services | None]] = []

    # What there is

    def register(self, name: str, service: Any) -> None:
        """Make ``service`` known under ``name``, in place of one of that name; None takes it away.

        In the scope ``app`` every tool that has a setter ``set_NAME`` receives it before this returns.

        Raises:
            DefinitionError: ``name`` is no name.
        """
        _check_name(name)
        with self._lock:
            self._values[name] = service
            if self._parent is None:
                for tool in list(self._tools):
                    self._hand(tool, name, service)

    def provide(
        self, name: str, make: Callable[[], Any], *, scope: Scope = "app", close: Callable[[Any], Any] | None = None
    ) -> None:
        """Have a service made when it is first asked for, once in each ``scope``.

        Args:
            name: of the service.
            make: makes it.
            scope: how long it lives: with the crib, a session or one call.
            close: called with the service when the scope ends; may be asynchronous.
        """
        _check_name(name)
        if scope not in ("app", "session", "call"):
            raise DefinitionError(f"There is no scope {scope!r}", hint="It is app, session or call.")
        with self._root._lock:
            self._root._factories[name] = _Factory(make, scope, close)

    def expect(self, name: str, registered_by: str) -> None:
        """Say who registers a service, for the errors of tools that miss it."""
        self._root._registered_by[name] = registered_by

    def get(self, name: str) -> Any:
        """The service of that name; None where there is none."""
        return self._innermost()._find(name)

    def require(self, name: str, *, needed_by: str) -> Any:
        """The service of that name.

        Args:
            name: of the service.
            needed_by: the tool, for the error.

        Raises:
            DependencyMissingError: there is none; it says who registers it.
        """
        service = self.get(name)
        if service is not None:
            return service
        factory = self._root._factories.get(name)
        if factory is not None and factory.scope != "app":
            hint = f"It lives as long as one {factory.scope} and is there only inside of one."
        else:
            who = self._root._registered_by.get(name, "The application")
            hint = f"{who} registers it: register_service({name!r}, …)."
        raise DependencyMissingError(f"The tool {needed_by} is waiting for the service {name!r}", hint=hint)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def _innermost(self) -> Services:
        """The scope that this thread or task is in."""
        entered = _current.get()
        return entered if self._parent is None and entered is not None and entered._root is self else self

    def _find(self, name: str) -> Any:
        if self._values.get(name) is not None:
            return self._values[name]
        factory = self._root._factories.get(name)
        if factory is not None and factory.scope == self._scope:
            return self._make(name, factory)
        return self._parent._find(name) if self._parent is not None else None

    def _make(self, name: str, factory: _Factory) -> Any:
        with self._lock:
            if self._values.get(name) is None:
                self._values[name] = factory.make()
                self._made.append((self._values[name], factory.close))
            return self._values[name]

    # Tools that take them

    def attach(self, tool: ServiceSlots) -> None:
        """Hand ``tool`` every service it has a setter for, now and whenever one arrives; the registry does."""
        with self._lock:
            if not any(each is tool for each in self._tools):
                self._tools.append(tool)
            tool.bind_services(self)
            self.deliver(tool)

    def detach(self, tool: ServiceSlots) -> None:
        """Hand ``tool`` nothing any more."""
        with self._lock:
            self._tools = [each for each in self._tools if each is not tool]

    def deliver(self, tool: ServiceSlots) -> None:
        """Hand ``tool`` every service it has a setter for and that is there."""
        with self._lock:
            made_on_demand = [name for name, factory in self._factories.items() if factory.scope == "app"]
            for name in dict.fromkeys((*self._values, *made_on_demand)):
                if tool.takes_service(name) and (service := self._find(name)) is not None:
                    self._hand(tool, name, service)

    def hand_over(self, old: ServiceSlots, new: ServiceSlots) -> None:
        """Give ``new``, which takes the place of ``old``, what somebody has set in ``old`` by hand."""
        have = new.services_set()
        for name, service in old.services_set().items():
            if name not in have and new.takes_service(name):
                self._hand(new, name, service)

    def _hand(self, tool: ServiceSlots, name: str, service: Any) -> None:
        if not tool.takes_service(name):
            return
        import logging

        logger = logging.getLogger("toolcrib.services")
        try:
            tool.receive_service(name, service)
        except Exception:
            logger.exception("The tool %s did not take the service %s", tool.name, name)
            return
        if service is not None:
            logger.info("已为 %s 工具注入 %s", tool.name, name)

    # Scopes

    def scope(self, kind: Literal["session", "call"]) -> Services:
        """Services that live as long as the ``with`` or ``async with`` block that this is used in."""
        child = Services()
        child._scope, child._parent, child._root = kind, self._innermost(), self._root
        return child

    def __enter__(self) -> Services:
        self._entered.append(_current.set(self))
        return self

    def __exit__(self, *exception: object) -> None:
        _current.reset(self._entered.pop())
        self.close()

    async def __aenter__(self) -> Services:
        return self.__enter__()

    async def __aexit__(self, *exception: object) -> None:
        _current.reset(self._entered.pop())
        await self.aclose()

    def close(self) -> None:
        """Close what was made in this scope, the last first.

        Raises:
            DefinitionError: something closes asynchronously; use ``async with`` or `aclose`.
        """
        while self._made:
            service, close = self._made.pop()
            outcome = close(service) if close is not None else None
            if inspect.iscoroutine(outcome):
                outcome.close()
                raise DefinitionError(
                    f"A {type(service).__name__} closes asynchronously", hint="Use `async with` for its scope."
                )

    async def aclose(self) -> None:
        """Close what was made in this scope, the last first."""
        while self._made:
            service, close = self._made.pop()
            outcome = close(service) if close is not None else None
            if isinstance(outcome, Awaitable):
                await outcome


_current: ContextVar[Services | None] = ContextVar("toolcrib_services", default=None)


def injected_services(tool: ToolDefinition) -> dict[str, str]:
    """The parameters of a function that are filled with services: parameter → name of the service."""
    return {
        parameter: source.removeprefix(SERVICE)
        for parameter, source in tool.injected.items()
        if source.startswith(SERVICE)
    }


def waiting_for(tool: ToolDefinition | BaseTool, services: Services) -> tuple[str, ...]:
    """The services that ``tool`` needs or is ready to take, and that are not there.

    Example:
        >>> client = ToolDefinition("ask", "", {}, injected={"client": "service:llm_client"})
        >>> waiting_for(client, Services())
        ('llm_client',)
    """
    if isinstance(tool, BaseTool):
        return tool.waiting_for(services)
    named = (*tool.requires, *injected_services(tool).values())
    missing = [name for name in named if name not in services]
    action = action_of(tool)
    return tuple(dict.fromkeys((*missing, *(action.tool.waiting_for(services) if action else ()))))


def waiting_reason(tool: ToolDefinition | BaseTool, services: Services) -> str | None:
    """Why the tool is not ready, as /tools shows it; None where nothing is missing."""
    missing = waiting_for(tool, services)
    return f"waiting for {', '.join(missing)}" if missing else None


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not name:
        raise DefinitionError("A service needs a name", hint="Give it a text such as 'llm_client'.")
