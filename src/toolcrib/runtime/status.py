"""What is known of a tool's running instance, and which steps its life may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Literal


class Lifecycle(StrEnum):
    """Where a tool is in its life: S2's four states are the main road (contract T020).

    INACTIVE ─call─▶ QUEUED ─slot─▶ STARTING ─healthy─▶ ACTIVE ─idle│stop─▶ DRAINING ─▶ STOPPING ─▶ STOPPED
    STARTING ─exit│timeout─▶ FAILED        ACTIVE ─process exit─▶ STOPPED        STOPPED│FAILED ─call─▶ QUEUED
    """

    INACTIVE = "inactive"
    QUEUED = "queued"
    STARTING = "starting"
    ACTIVE = "active"
    DRAINING = "draining"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


_L = Lifecycle

TRANSITIONS: Mapping[Lifecycle, frozenset[Lifecycle]] = {
    _L.INACTIVE: frozenset({_L.QUEUED, _L.ACTIVE}),
    _L.QUEUED: frozenset({_L.STARTING, _L.ACTIVE, _L.FAILED, _L.STOPPED}),
    _L.STARTING: frozenset({_L.ACTIVE, _L.FAILED, _L.STOPPING, _L.STOPPED}),
    _L.ACTIVE: frozenset({_L.DRAINING, _L.STOPPED}),
    _L.DRAINING: frozenset({_L.STOPPING, _L.STOPPED}),
    _L.STOPPING: frozenset({_L.STOPPED}),
    _L.STOPPED: frozenset({_L.QUEUED, _L.ACTIVE}),
    _L.FAILED: frozenset({_L.QUEUED, _L.ACTIVE, _L.STOPPED}),
}
"""Every legal step (contract T020). A step to ACTIVE that skips STARTING adopts what was started by hand (T027)."""


class IllegalTransitionError(RuntimeError):
    """A step that `TRANSITIONS` does not have: a fault of the runtime, never of a caller."""


def check(before: Lifecycle, after: Lifecycle) -> Lifecycle:
    """Return ``after`` where the step is legal.

    Raises:
        IllegalTransitionError: it is not.

    Example:
        >>> check(Lifecycle.STARTING, Lifecycle.ACTIVE).value
        'active'
    """
    if after not in TRANSITIONS[before]:
        raise IllegalTransitionError(f"A tool that is {before.value} cannot become {after.value}")
    return after


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a running tool answers (contract T017).

    Attributes:
        url: what a request is sent to, with the endpoint's path.
        port: the TCP port.
        method: POST or GET.
    """

    url: str
    port: int
    method: Literal["POST", "GET"]


@dataclass(frozen=True, slots=True)
class ToolStatus:
    """What is known of a tool's instance at this moment.

    Attributes:
        lifecycle: where it is in its life.
        lifecycle_reason: why, where that needs saying: a failed start, a missing credential, "exited with code 1".
        port: where it answers; None when it does not.
        pid: of its process.
        command: what a person would type to run it by hand on that port.
        adopted: whether somebody else started it.
        in_flight: calls being answered.
        started_at: seconds since the epoch of the start of the process.
        log: the file that shows the last run.
    """

    lifecycle: Lifecycle = Lifecycle.INACTIVE
    lifecycle_reason: str | None = None
    port: int | None = None
    pid: int | None = None
    command: str | None = None
    adopted: bool = False
    in_flight: int = 0
    started_at: float | None = None
    log: Path | None = None

    @property
    def state(self) -> Literal["running", "stopped"]:
        """S2's word on the wire."""
        return "running" if self.lifecycle in (Lifecycle.ACTIVE, Lifecycle.DRAINING) else "stopped"
