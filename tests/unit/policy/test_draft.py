"""A draft says what the moves so far would make of a cluster, and forgets a move without a trace."""

from __future__ import annotations

import numpy as np
import pytest

from fogfold.encoding.arrays import view_of
from fogfold.model.node import NodeState
from fogfold.model.reason import Reason
from fogfold.policy.base import Intensity, Move
from fogfold.policy.draft import Draft
from fogfold.seeding import stream
from fogfold.testing.builders import a_cluster, a_container, a_node, random_snapshot


def _arrays(draft):
    return {
        name: getattr(draft.sheet, name).copy()
        for name in ("state", "target", "requested", "foreseen", "leaving", "taken", "arriving", "staying", "history")
    }


def _pair(look):
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("a", cores=4.0), a_container("b", cores=2.0)])
    return look(cluster, {"a": "n0", "b": "n0"})


def test_move_takes_room_on_the_target_and_keeps_it_on_the_source(look):
    draft = Draft(_pair(look))
    draft.move(0, 1)
    # "a" requests 4 cores and uses half of them.
    assert draft.requested[0].tolist() == [6.0, 4.0]
    assert draft.foreseen[0].tolist() == [3.0, 2.0]
    assert draft.load()[0].tolist() == pytest.approx([0.1, 0.2])
    assert draft.load_of(0)[0] == pytest.approx(0.1)
    assert draft.arriving.tolist() == [0, 1]
    assert draft.residents(0) == [1]
    assert draft.proposal("p", Intensity.LIGHT).moves == (Move(0, 1),)


def test_taking_back_restores_every_bit(look):
    for seed in range(30):
        rng = stream(seed, "draft")
        view = view_of(random_snapshot(rng))
        draft = Draft(view, with_history=True)
        states = [_arrays(draft)]
        for c in rng.permutation(view.fleet.containers):
            may = np.flatnonzero(draft.legal(int(c)))
            if len(may):
                draft.move(int(c), int(rng.choice(may)))
                states.append(_arrays(draft))
        while draft.moves:
            draft.take_back(draft.moves - 1)
            for name, array in _arrays(draft).items():
                assert np.array_equal(array, states[draft.moves][name]), name


def test_history_follows_containers_and_counts_them_where_they_go(look):
    cluster = a_cluster([a_node("n0"), a_node("n1", cores=5.0)], [a_container("a"), a_container("b")])
    view = look(cluster, {"a": "n0", "b": "n1"}, history=[[1.0, 2.0], [3.0, 4.0]])
    draft = Draft(view, with_history=True)
    assert draft.history.tolist() == pytest.approx(np.array([[0.1, 0.3], [0.4, 0.8]]))
    draft.move(0, 1)
    # Its past comes along to the target, and stays on the source until it has left: the source is not free yet.
    assert draft.history.tolist() == pytest.approx(np.array([[0.1, 0.3], [0.6, 1.4]]))


def test_history_is_left_out_unless_asked_for(look):
    cluster = a_cluster([a_node("n0")], [a_container("a")])
    assert Draft(look(cluster, {"a": "n0"}, history=[[1.0]])).history.shape == (1, 0)


def test_unplaced_container_cannot_be_moved(look):
    view = _pair(look)
    view.placement[0] = -1
    draft = Draft(view)
    assert set(draft.reasons(0).tolist()) == {Reason.UNPLACED}
    assert not draft.legal(0).any()


def test_full_draft_has_no_legal_target(look):
    draft = Draft(_pair(look), move_limit=1)
    assert draft.legal(0).tolist() == [False, True]
    draft.move(0, 1)
    assert draft.full
    assert draft.room_for_moves == 0
    assert not draft.legal(1).any()


def test_node_is_emptied_when_all_have_left_and_nobody_comes(look):
    draft = Draft(_pair(look))
    assert draft.is_emptied(1)
    draft.move(0, 1)
    assert not draft.is_emptied(0)
    assert not draft.is_emptied(1)
    draft.move(1, 1)
    assert draft.is_emptied(0)
    assert draft.may_sleep(0)
    assert not draft.may_sleep(1)


def test_closed_node_receives_nobody_until_it_is_reopened(look):
    draft = Draft(_pair(look))
    draft.close(1)
    assert draft.reasons(0)[1] == Reason.NODE_NOT_READY
    draft.reopen(1)
    assert draft.legal(0)[1]


def test_woken_nodes_are_in_the_proposal(look):
    cluster = a_cluster([a_node("n0"), a_node("n1"), a_node("n2")])
    view = look(cluster, {}, states={"n1": NodeState.ASLEEP, "n2": NodeState.DRAINING})
    draft = Draft(view)
    draft.wake(1)
    draft.wake(2)
    assert draft.state.tolist() == [NodeState.ON, NodeState.WAKING, NodeState.ON]
    assert draft.proposal("p", Intensity.HOLD).wake == (1, 2)
