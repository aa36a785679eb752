"""A tool whose object is made when it is first called."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from toolcrib.definition.base_tool import ActionDef, BaseTool
from toolcrib.definition.result import ToolResult

if TYPE_CHECKING:
    from toolcrib.definition.ports import ServiceProvider


class LazyTool(BaseTool):
    """Stands for a tool whose object is made when it is first called.

    Args:
        kind: the class; its `get_actions` is a class method or static method.
        make: makes the object.
    """

    def __init__(self, kind: type[BaseTool], make: Callable[[], BaseTool]) -> None:
        self._class = kind
        for fact in ("name", "emoji", "title", "description", "timeout", "category", "requires", "effects", "risk"):
            setattr(self, fact, getattr(kind, fact))
        self.intents = kind.intents
        self.require_confirmation = kind.require_confirmation
        self._make = make
        self._made: BaseTool | None = None
        self._lock = threading.RLock()

    @property
    def tool_class(self) -> type[BaseTool]:
        """The class of the object."""
        return self._class

    def made(self) -> BaseTool:
        """The object."""
        with self._lock:
            if self._made is None:
                made = self._make()
                if self._service_provider is not None:
                    made.bind_services(self._service_provider)
                self._made = made
                if self._service_provider is not None:
                    self._service_provider.deliver(self)
            return self._made

    def get_actions(self) -> list[ActionDef]:
        """The actions of the class."""
        actions: Callable[[], list[ActionDef]] = self._class.get_actions  # type: ignore[assignment]
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

    def services_missing(self, services: ServiceProvider | None = None) -> tuple[str, ...]:
        """What the object misses; before it is made, what the class requires and nobody provides."""
        return self._made.services_missing(services) if self._made else super().services_missing(services)

    def waiting_for(self, services: ServiceProvider | None = None) -> tuple[str, ...]:
        """What the object waits for; before it is made, what the class requires."""
        return self._made.waiting_for(services) if self._made else self.services_missing(services)
