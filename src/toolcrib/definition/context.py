"""What the service knows about the caller of a tool, and a model cannot set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolcrib.errors import NotRunningError

if TYPE_CHECKING:
    from toolcrib.definition.ports import RunningCall, ServiceProvider


@dataclass(frozen=True, slots=True)
class Context:
    """Who calls, and in which project and chat; injected, never taken from a model (contract N017-N019).

    Attributes:
        project_id: the project whose files the call may touch; None = the owner's default project.
        user_id: the owner on whose behalf the call is made.
        chat_id: the conversation the call belongs to.
        model: the language model that asked for the call; None for a direct call by a person or a program.
        groups: groups that the user is a member of; what is remembered for one set of them is not given to another.
        extra: further values by name, for injected parameters.
        services: where parameters marked ``Injected(service="…")`` come from; the pipeline fills it.
        running: the call that this context was handed to; the pipeline fills it.
    """

    project_id: str | None = None
    user_id: str | None = None
    chat_id: str | None = None
    model: str | None = None
    services: ServiceProvider | None = field(default=None, repr=False, compare=False)
    groups: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False, hash=False)
    running: RunningCall | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, values: Mapping[str, Any] | Context | None) -> Context:
        """The context that a mapping means, as S1's callers pass one; names of no attribute go to ``extra``.

        Example:
            >>> Context.of({"model": "m", "project_id": "p", "temperature": 0.5})
            Context(project_id='p', user_id=None, chat_id=None, model='m', groups=())
        """
        if isinstance(values, Context):
            return values
        known = {name: value for name, value in (values or {}).items() if name in _SETTABLE}
        groups = known.get("groups")
        if groups is not None:
            known["groups"] = (groups,) if isinstance(groups, str) else tuple(groups)
        extra = {name: value for name, value in (values or {}).items() if name not in known and name != "running"}
        return cls(**known, extra=extra)

    def call(self, name: str, arguments: Mapping[str, Any] | None = None, *, timeout: float | None = None) -> Any:
        """Call another tool on behalf of the same caller.

        Args:
            name: of the tool.
            arguments: by parameter.
            timeout: seconds, in place of the tool's own.

        Returns:
            Its `ToolResult`, in a synchronous tool; in an asynchronous one an awaitable of it. Failures are results.

        Raises:
            NotRunningError: the context was not handed to a running tool.
        """
        return self._running.call(name, arguments or {}, timeout)

    def progress(self, done: float | None = None, total: float | None = None, message: str | None = None) -> None:
        """Tell whoever follows the call how far it is; nothing happens where nobody does.

        Args:
            done: how much is done, in a unit of your choice.
            total: how much there is to do.
            message: for people.
        """
        if self.running is not None:
            self.running.progress(done, total, message)

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the call any more; a long synchronous tool looks at it and ends."""
        return self.running is not None and self.running.cancelled

    @property
    def _running(self) -> RunningCall:
        if self.running is None:
            raise NotRunningError(
                "This context belongs to no running call", hint="A tool gets one as a parameter annotated `Context`."
            )
        return self.running


_SETTABLE = frozenset(("project_id", "user_id", "chat_id", "model", "services", "groups"))
