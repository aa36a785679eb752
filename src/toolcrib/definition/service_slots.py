"""How a tool takes the services that it shares with others (contract W021)."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from toolcrib.errors import DefinitionError, DependencyMissingError

if TYPE_CHECKING:
    from toolcrib.definition.ports import ServiceProvider


class ServiceSlots:
    """The half of `BaseTool` that has to do with services.

    A method ``set_NAME`` is called with the service ``NAME`` as soon as there is one, before or after the tool is
    registered; while an attribute ``_NAME`` beside it is None, the tool is shown as waiting for it.

    Attributes:
        requires: names of services without which no action can run, or names with the type that each must have.
    """

    name: str = ""
    requires: Sequence[str] | Mapping[str, type] = ()

    _service_setters: frozenset[str] = frozenset()
    _service_provider: ServiceProvider | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls._service_setters = frozenset(attribute[4:] for attribute in dir(cls) if attribute.startswith("set_"))

    def service(self, name: str) -> Any:
        """The service of that name, as it is now.

        Raises:
            DependencyMissingError: there is none yet, or the tool is not registered.
        """
        if self._service_provider is None:
            raise DependencyMissingError(
                f"The tool {self.name} is not registered, so it has no service {name!r}",
                hint="Register the tool, or hand it what it needs.",
            )
        return self._service_provider.require(name, needed_by=self.name)

    def bind_services(self, services: ServiceProvider) -> None:
        """Say where `service` looks; the registry does."""
        self._service_provider = services

    def takes_service(self, name: str) -> bool:
        """Whether the tool has a setter for the service."""
        return name in self._service_setters and callable(getattr(self, f"set_{name}", None))

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
        found = ((name, getattr(self, f"_{name}", None)) for name in sorted(self._service_setters))
        return {name: value for name, value in found if value is not None}

    def services_missing(self, services: ServiceProvider | None = None) -> tuple[str, ...]:
        """Names in ``requires`` that nothing fills yet; while there are any, no action runs."""
        provider = services or self._service_provider
        return tuple(
            name
            for name in self.requires
            if (provider is None or provider.get(name) is None)
            and not (name in self._service_setters and getattr(self, f"_{name}", None) is not None)
        )

    def waiting_for(self, services: ServiceProvider | None = None) -> tuple[str, ...]:
        """Names of services that the tool is ready to take and does not have."""
        empty = (name for name in sorted(self._service_setters) if getattr(self, f"_{name}", self) is None)
        return tuple(dict.fromkeys((*self.services_missing(services), *empty)))
