"""What the service knows about the caller of a tool, and a model cannot set."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolcrib.definition.ports import ServiceProvider


@dataclass(frozen=True, slots=True)
class Context:
    """Who calls, and in which project and chat; injected, never taken from a model (contract N017-N019).

    Attributes:
        project_id: the project whose files the call may touch; None = the owner's default project.
        user_id: the owner on whose behalf the call is made.
        chat_id: the conversation the call belongs to.
        model: the language model that asked for the call; None for a direct call by a person or a program.
        services: where parameters marked ``Injected(service="…")`` come from; the pipeline fills it.
    """

    project_id: str | None = None
    user_id: str | None = None
    chat_id: str | None = None
    model: str | None = None
    services: ServiceProvider | None = field(default=None, repr=False, compare=False)
