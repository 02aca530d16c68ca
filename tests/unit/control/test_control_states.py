"""The two tables of states: what may follow what, and that nothing is a dead end by mistake."""

from __future__ import annotations

import pytest

from fogfold.control.failure import IllegalTransitionError
from fogfold.control.migration_states import (
    AFTER_A_CRASH,
    FINAL,
    HOLDS_TARGET_ROOM,
    AfterCrash,
    check_migration_transition,
    pairs_of_migration_states,
)
from fogfold.control.node_power import (
    COUNTS_AS_OFF,
    NODE_STATE,
    POWER_TRANSITIONS,
    PowerState,
    check_power_transition,
    pairs_of_power_states,
)
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.migration import MIGRATION_TRANSITIONS, MigrationState
from fogfold.model.node import NODE_TRANSITIONS, NodeState


def test_migration_may_only_go_where_the_table_says():
    for before in MigrationState:
        for after in MigrationState:
            if after in MIGRATION_TRANSITIONS[before]:
                check_migration_transition(ContainerId("c0"), before, after)
            else:
                with pytest.raises(IllegalTransitionError, match="'c0' cannot go from"):
                    check_migration_transition(ContainerId("c0"), before, after)


def test_illegal_transition_says_what_may_follow():
    with pytest.raises(IllegalTransitionError, match="after MOVING may come: FAILED, VERIFIED"):
        check_migration_transition(ContainerId("c0"), MigrationState.MOVING, MigrationState.PLANNED)
    with pytest.raises(IllegalTransitionError, match="nothing, it is final"):
        check_migration_transition(ContainerId("c0"), MigrationState.VERIFIED, MigrationState.MOVING)


def test_every_migration_state_reaches_a_final_one():
    for state in MigrationState:
        assert FINAL & _reachable(state, MIGRATION_TRANSITIONS)


def test_every_migration_state_has_a_way_on_after_a_crash():
    assert set(AFTER_A_CRASH) == set(MigrationState)
    assert {state for state, act in AFTER_A_CRASH.items() if act is AfterCrash.NOTHING} == FINAL
    for state in HOLDS_TARGET_ROOM:
        assert AFTER_A_CRASH[state] is AfterCrash.OBSERVE


def test_node_may_only_go_where_the_table_says():
    for before in PowerState:
        for after in PowerState:
            if after in POWER_TRANSITIONS[before]:
                check_power_transition(NodeId("n0"), before, after)
            else:
                with pytest.raises(IllegalTransitionError, match="node 'n0' cannot go from"):
                    check_power_transition(NodeId("n0"), before, after)


def test_every_power_state_leads_back_to_on_and_is_reached_from_it():
    reached = _reachable(PowerState.ON, POWER_TRANSITIONS)
    assert reached == set(PowerState)
    for state in PowerState:
        assert PowerState.ON in _reachable(state, POWER_TRANSITIONS)


def test_power_is_cut_only_from_a_drained_node_or_one_ordered_off_before():
    before = {state for state, after in POWER_TRANSITIONS.items() if PowerState.OFF_REQUESTED in after}
    assert before == {PowerState.DRAINED, PowerState.OFF_UNCONFIRMED}


def test_no_node_receives_before_it_has_settled():
    before = {state for state, after in POWER_TRANSITIONS.items() if PowerState.ON in after}
    assert before == {PowerState.CANDIDATE, PowerState.DRAINING, PowerState.DRAINED, PowerState.SETTLING}


def test_unconfirmed_off_counts_as_on():
    assert PowerState.OFF_UNCONFIRMED not in COUNTS_AS_OFF
    assert {state for state, seen in NODE_STATE.items() if seen is NodeState.ASLEEP} == COUNTS_AS_OFF


def test_power_states_look_to_a_policy_as_the_simulator_knows_them():
    # Real nodes do three things that simulated ones do not: come up unasked, be called back though nobody could say
    # that they were off, and be woken a second time within one waking.
    unasked = {
        (NodeState.ASLEEP, NodeState.WAKING),
        (NodeState.GOING_TO_SLEEP, NodeState.WAKING),
    }
    for before, after in pairs_of_power_states():
        seen = (NODE_STATE[before], NODE_STATE[after])
        assert seen[0] == seen[1] or seen[1] in NODE_TRANSITIONS[seen[0]] or seen in unasked, (before, after)


def test_pairs_are_the_tables():
    assert set(pairs_of_migration_states()) == {(b, a) for b, after in MIGRATION_TRANSITIONS.items() for a in after}
    assert set(pairs_of_power_states()) == {(b, a) for b, after in POWER_TRANSITIONS.items() for a in after}


def _reachable(start, table):
    seen, ahead = set(), [start]
    while ahead:
        for state in table[ahead.pop()]:
            if state not in seen:
                seen.add(state)
                ahead.append(state)
    return seen | {start}
