"""A policy without a budget of its own on snapshots: whole nodes within the budget, asked until it stays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold.encoding.arrays import view_of
from fogfold.evaluate.snapshots.asking import AskedAgain, moves_that_fit
from fogfold.evaluate.snapshots.cluster import drawn_snapshot
from fogfold.evaluate.snapshots.suite import policy_for_snapshot, run_snapshots
from fogfold.evaluate.snapshots.variant import variant
from fogfold.model.node import NodeState
from fogfold.policy.base import Move, Proposal
from fogfold.policy.learned.weights import Shape, Weights, save_weights
from fogfold.seeding import stream
from fogfold.testing.builders import a_cluster, a_container, a_node, a_snapshot

# Five containers on three nodes: two on n0, two on n1, one on n2; all may go to n2.
WHERE = np.array([0, 0, 1, 1, 2])


def proposal(moves, *, sleep=(), wake=()):
    return Proposal("p", moves=tuple(Move(c, n) for c, n in moves), sleep=tuple(sleep), wake=tuple(wake))


def test_a_node_that_does_not_fit_into_the_budget_is_left_whole():
    both = proposal([(0, 2), (1, 2), (2, 2), (3, 2)], sleep=[0, 1])
    assert moves_that_fit(both, WHERE, frozenset(), 3) == [Move(0, 2), Move(1, 2)]


def test_single_moves_come_after_whole_nodes():
    mixed = proposal([(4, 1), (0, 2), (1, 2)], sleep=[0])
    assert moves_that_fit(mixed, WHERE, frozenset(), 2) == [Move(0, 2), Move(1, 2)]
    assert moves_that_fit(mixed, WHERE, frozenset(), 3) == [Move(0, 2), Move(1, 2), Move(4, 1)]


def test_a_container_that_moved_before_moves_again_for_nothing():
    again = proposal([(0, 2), (1, 2)], sleep=[0])
    assert moves_that_fit(again, WHERE, frozenset({0}), 1) == []
    assert moves_that_fit(again, WHERE, frozenset({0}), 2) == [Move(0, 2), Move(1, 2)]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), max_size=8),
    st.frozensets(st.integers(0, 2)),
    st.frozensets(st.integers(0, 4)),
    st.integers(0, 5),
)
def test_the_budget_is_never_passed_and_no_node_is_half_emptied(moves, sleep, moved, most):
    kept = moves_that_fit(proposal(moves, sleep=sleep), WHERE, moved, most)
    assert len(moved | {move.container for move in kept}) <= max(most, len(moved))
    for node in sleep:
        asked = [m for m in moves if WHERE[m[0]] == node]
        got = [m for m in kept if WHERE[m.container] == node]
        assert len(got) in (0, len(asked))


class OneNodeATime:
    """Empties the first node that has containers and is not the last one."""

    name = "one"

    def __init__(self):
        self.asked = []

    def reset(self, seed):
        self.asked.clear()

    def propose(self, view):
        self.asked.append(view.time_s)
        last = view.fleet.nodes - 1
        used = [n for n in range(last) if (view.placement == n).any()]
        if not used:
            return proposal([])
        return proposal([(int(c), last) for c in np.flatnonzero(view.placement == used[0])], sleep=[used[0]])


@pytest.fixture
def view():
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], [a_container(f"c{i}") for i in range(5)])
    return view_of(a_snapshot(cluster, {f"c{i}": f"n{WHERE[i]}" for i in range(5)}))


def test_it_is_asked_until_it_stays_and_sees_time_go_by(view):
    policy = OneNodeATime()
    found = AskedAgain(policy, None).propose(view)
    assert {(m.container, m.target) for m in found.moves} == {(0, 2), (1, 2), (2, 2), (3, 2)}
    assert found.sleep == (0, 1)
    assert policy.asked == [0.0, 300.0, 600.0]
    assert (view.placement == WHERE).all()
    assert (view.state == NodeState.ON).all()


def test_it_stops_where_the_budget_does_not_allow_the_next_node(view):
    found = AskedAgain(OneNodeATime(), 3).propose(view)
    assert {m.container for m in found.moves} == {0, 1}
    assert found.sleep == (0,)


def test_a_learned_policy_keeps_within_the_budget_of_the_suite(tmp_path):
    shape, rng = Shape(encoder=4, summary=4, hidden=4, last=4), stream(1, "weights")
    arrays = {k: rng.normal(size=s).astype(np.float32) for k, s in shape.arrays().items()}
    save_weights(tmp_path / "w.safetensors", Weights(shape, arrays, {}))
    pytest.importorskip("highspy")
    rows = run_snapshots(6, [0.1, None], [f"learned:{tmp_path / 'w.safetensors'}"], [0], containers=48)
    assert [row.budget for row in rows] == [0.1, None]
    assert all(np.isfinite(row.saving_share) for row in rows)


def test_only_a_policy_without_a_figure_for_the_budget_is_asked_again():
    fleet = view_of(drawn_snapshot(6, 48, 0, variant("base"))).fleet
    assert isinstance(policy_for_snapshot("hold", 2, fleet, {}), AskedAgain)
    assert not isinstance(policy_for_snapshot("drain", 2, fleet, {}), AskedAgain)
