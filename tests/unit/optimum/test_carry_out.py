"""Plans made elsewhere are carried out node by node, and what is refused leaves its node as it was."""

from __future__ import annotations

import numpy as np

from fogfold.model.reason import Reason
from fogfold.policy.carry_out import carry_out, move_others
from fogfold.testing.builders import a_cluster, a_container, a_node, a_snapshot


def three(sizes=(1.0, 1.0, 1.0)):
    """A container a node."""
    containers = [a_container(f"c{i}", cores=cores) for i, cores in enumerate(sizes)]
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], containers)
    return a_snapshot(cluster, {f"c{i}": f"n{i}" for i in range(3)})


def test_legal_plan_is_carried_out_whole(plan_of, moves_of, columns):
    plan = plan_of(three())
    closing = columns(plan.view, "n1", "n2")
    done = carry_out(plan, closing, np.array([0, 0, 0]))
    assert (done == closing).all()
    assert sorted(moves_of(plan)) == ["c1>n0", "c2>n0"]
    assert sorted(plan.proposal("mine").sleep) == [1, 2]
    assert plan.draft.stays == {}


def test_refused_move_leaves_its_node_as_it_was_with_the_reason(plan_of, moves_of, columns):
    # 6 + 6 of 10 cores do not fit; 6 + 1 do.
    plan = plan_of(three((6.0, 6.0, 1.0)))
    done = carry_out(plan, columns(plan.view, "n1", "n2"), np.array([0, 0, 0]))
    assert done.tolist() == [False, False, True]
    assert moves_of(plan) == ["c2>n0"]
    assert plan.draft.stays == {1: Reason.NO_ROOM}
    assert plan.draft.state.tolist()[1] == plan.view.state.tolist()[1]


def test_plan_that_says_no_target_moves_nothing(plan_of, moves_of, columns):
    plan = plan_of(three())
    done = carry_out(plan, columns(plan.view, "n1"), np.array([0, -1, 2]))
    assert not done.any()
    assert moves_of(plan) == []
    assert plan.draft.stays == {1: Reason.NO_IMPROVING_TARGET}


def test_nobody_goes_to_a_node_that_is_being_emptied(plan_of, moves_of, columns):
    plan = plan_of(three())
    done = carry_out(plan, columns(plan.view, "n1", "n2"), np.array([0, 2, 0]))
    assert done.tolist() == [False, False, True]
    assert moves_of(plan) == ["c2>n0"]
    assert plan.draft.stays == {1: Reason.NODE_NOT_READY}


def test_limit_cuts_off_what_saves_least_for_each_move(plan_of, moves_of, columns):
    # Eight moves at most: five containers on each node, the one with 80 W idle goes first.
    containers = [a_container(f"{node}{i}", cores=0.5, memory_gib=0.5) for node in "ab" for i in range(5)]
    nodes = [a_node("n0", never_sleep=True), a_node("n1"), a_node("n2", idle_w=80.0, peak_w=130.0)]
    where = {str(c.id): "n1" if str(c.id).startswith("a") else "n2" for c in containers}
    plan = plan_of(a_snapshot(a_cluster(nodes, containers), where))
    done = carry_out(plan, columns(plan.view, "n1", "n2"), np.zeros(10, np.int64))
    assert done.tolist() == [False, False, True]
    assert moves_of(plan) == [f"b{i}>n0" for i in range(5)]
    assert plan.draft.stays == {1: Reason.MOVE_LIMIT}


def test_other_moves_are_made_where_they_are_legal(plan_of, moves_of):
    # c0 (6) fits beside c2 (1); c1 (6) no longer does; nothing is said about c2.
    plan = plan_of(three((6.0, 6.0, 1.0)))
    move_others(plan, np.array([2, 2, -1]))
    assert moves_of(plan) == ["c0>n2"]
    assert plan.proposal("mine").sleep == ()
