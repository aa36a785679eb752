"""The protocols that the outside implements, so that the core imports nothing from below."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from toolcrib.definition.artifact import Artifact
from toolcrib.definition.call import Deadline, ToolCall
from toolcrib.definition.result import ToolResult
from toolcrib.definition.tool import ToolDefinition, ToolGroup
from toolcrib.errors import SourceError

if TYPE_CHECKING:
    from toolcrib.definition.service_slots import ServiceSlots


class Runner(Protocol):
    """Carries out calls of the tools that live in one kind of place.

    A runner whose attribute ``keeps_deadline`` is true ends every call at its deadline itself, with `DeadlineExceeded`;
    the pipeline then sets no second timer. A runner without that attribute is cancelled at the deadline.
    """

    async def run(self, call: ToolCall, deadline: Deadline) -> ToolResult:
        """Run one call and return its one result.

        A `CallError` may be raised instead; the pipeline turns it into the result. Cancelling the task ends the call.
        """
        ...


@dataclass(frozen=True, slots=True)
class Listing:
    """What a source found: its tools and groups, and what it could not use (the rest still counts)."""

    tools: tuple[ToolDefinition, ...] = ()
    groups: tuple[ToolGroup, ...] = ()
    problems: tuple[SourceError, ...] = ()


class Source(Protocol):
    """A place where tool definitions come from."""

    def load(self) -> Listing:
        """List what there is now; never raises for what an author wrote wrongly."""
        ...

    def paths(self) -> Iterable[Path]:
        """The files and folders whose change means that `load` would answer differently."""
        ...


class ServiceProvider(Protocol):
    """Where a tool finds services."""

    def get(self, name: str) -> Any:
        """The service, or None."""
        ...

    def require(self, name: str, *, needed_by: str) -> Any:
        """The service, or `DependencyMissingError`."""
        ...

    def deliver(self, tool: ServiceSlots) -> None:
        """Hand ``tool`` the services that are there already."""
        ...


class ArtifactStore(Protocol):
    """Keeps files by content, so that they travel by reference."""

    def put(self, content: bytes, *, name: str | None = None, mime_type: str | None = None) -> Artifact:
        """Keep ``content`` and return its reference; the same bytes are kept once."""
        ...

    async def put_stream(
        self, chunks: AsyncIterator[bytes], *, name: str | None = None, mime_type: str | None = None
    ) -> Artifact:
        """Keep what arrives in chunks."""
        ...

    def get(self, artifact_id: str) -> Artifact:
        """The artifact of that id, or `UnknownArtifactError`."""
        ...

    def path(self, artifact_id: str) -> Path:
        """Where its bytes lie, read-only, or `UnknownArtifactError`."""
        ...
