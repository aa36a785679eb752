"""The life of a tool: every legal step, and no other."""

from __future__ import annotations

from itertools import pairwise

import pytest

from toolcrib.runtime.status import TRANSITIONS, IllegalTransitionError, Lifecycle, ToolStatus, check

MAIN_ROAD = ["inactive", "queued", "starting", "active", "draining", "stopping", "stopped", "queued"]


def test_T020_the_documents_main_road_is_legal() -> None:
    for before, after in pairwise(MAIN_ROAD):
        assert check(Lifecycle(before), Lifecycle(after)) is Lifecycle(after)


@pytest.mark.parametrize("before", Lifecycle)
@pytest.mark.parametrize("after", Lifecycle)
def test_T020_every_step_is_either_in_the_table_or_refused(before: Lifecycle, after: Lifecycle) -> None:
    if after in TRANSITIONS[before]:
        assert check(before, after) is after
    else:
        with pytest.raises(IllegalTransitionError, match=f"{before.value} cannot become {after.value}"):
            check(before, after)


def test_T020_nothing_stays_as_it_is_by_a_step_and_nothing_is_stuck() -> None:
    assert all(state not in TRANSITIONS[state] and TRANSITIONS[state] for state in Lifecycle)


def test_T020_the_word_on_the_wire_is_running_or_stopped() -> None:
    running = {state for state in Lifecycle if ToolStatus(state).state == "running"}
    assert running == {Lifecycle.ACTIVE, Lifecycle.DRAINING}
