"""The table of a migration's states: what may follow what, where it ends, and that no way is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.migration import MIGRATION_TRANSITIONS, Migration, MigrationState, is_legal

ENDS = {MigrationState.VERIFIED, MigrationState.UNDONE}
every_state = pytest.mark.parametrize("state", list(MigrationState))


def reached_from(start: MigrationState) -> set[MigrationState]:
    found, left = {start}, [start]
    while left:
        for following in MIGRATION_TRANSITIONS[left.pop()] - found:
            found.add(following)
            left.append(following)
    return found


def test_table_names_every_state_and_no_other():
    assert set(MIGRATION_TRANSITIONS) == set(MigrationState)
    assert set().union(*MIGRATION_TRANSITIONS.values()) <= set(MigrationState)


def test_every_state_is_reached_from_the_plan():
    assert reached_from(MigrationState.PLANNED) == set(MigrationState)


@every_state
def test_move_ends_verified_or_undone_and_nowhere_else(state):
    assert (not MIGRATION_TRANSITIONS[state]) == (state in ENDS)


@every_state
def test_every_state_leads_to_an_end(state):
    assert reached_from(state) & ENDS


@every_state
def test_nothing_leads_back_to_the_plan_and_no_state_follows_itself(state):
    assert MigrationState.PLANNED not in MIGRATION_TRANSITIONS[state]
    assert state not in MIGRATION_TRANSITIONS[state]


@every_state
@pytest.mark.parametrize("after", list(MigrationState))
def test_legal_is_what_the_table_says(state, after):
    assert is_legal(state, after) == (after in MIGRATION_TRANSITIONS[state])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (MigrationState.PLANNED, MigrationState.UNDONE),  # a plan may be dropped
        (MigrationState.RESERVED, MigrationState.FAILED),  # the image may not come
        (MigrationState.RESERVED, MigrationState.UNDONE),  # nothing has been touched yet
        (MigrationState.MOVING, MigrationState.FAILED),
        (MigrationState.FAILED, MigrationState.RESERVED),  # another attempt
        (MigrationState.FAILED, MigrationState.UNDONE),
    ],
)
def test_what_goes_wrong_has_a_way_out(before, after):
    assert is_legal(before, after)


@settings(max_examples=40)
@given(st.data())
def test_move_is_verified_only_after_room_was_held_and_it_moved(data):
    history = [MigrationState.PLANNED]
    while MIGRATION_TRANSITIONS[history[-1]] and len(history) < 40:
        history.append(data.draw(st.sampled_from(sorted(MIGRATION_TRANSITIONS[history[-1]]))))
    if history[-1] is MigrationState.VERIFIED:
        assert history[-2] is MigrationState.MOVING
        assert MigrationState.RESERVED in history
    assert MigrationState.MOVING not in history or MigrationState.RESERVED in history


def test_move_starts_as_a_plan_at_its_first_attempt():
    move = Migration(ContainerId("c0"), NodeId("n0"), NodeId("n1"))
    assert (move.state, move.attempt) == (MigrationState.PLANNED, 1)
