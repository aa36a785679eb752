"""Which steps a tool's life may take."""

from __future__ import annotations

from collections.abc import Mapping

from toolcrib.runtime.status import Lifecycle

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
