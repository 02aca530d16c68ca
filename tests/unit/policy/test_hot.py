"""Which nodes are hot: by mark, by resource, and by what the plan has moved already."""

from __future__ import annotations

import numpy as np
import pytest

from fogfold.model.node import NodeState
from fogfold.policy.hot import hot_nodes, is_hot
from fogfold.policy.overload import LR, NO_DETECTION, Detection
from fogfold.policy.params import RuleParams
from fogfold.policy.plan import Plan
from fogfold.policy.sleeping import Evidence
from fogfold.policy.targets import Fit, trip_to_users_ms
from fogfold.testing.builders import a_cluster, a_container, a_node


def _plan(view, detection=NO_DETECTION, **figures):
    evidence = Evidence()
    evidence.see(view)
    trip_ms = trip_to_users_ms(view.fleet)
    return Plan(view, RuleParams(**figures), evidence, trip_ms, fit=Fit.FULLEST, detection=detection)


def _one_full_node(look, **more):
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("a", cores=1.0), a_container("b", cores=1.0)])
    return look(cluster, {"a": "n0", "b": "n0"}, usage_cores={"a": 4.0, "b": 3.0}, **more)


def test_node_at_the_mark_is_not_hot_yet(look):
    view = _one_full_node(look)
    assert hot_nodes(_plan(view, high_mark=0.7)).tolist() == [False, False]
    assert hot_nodes(_plan(view, high_mark=0.699)).tolist() == [True, False]


def test_memory_has_a_mark_of_its_own(look):
    view = _one_full_node(look)
    view.usage[1, 0] = 0.85 * view.fleet.capacity[1, 0]
    # 0.85 and the half GiB of "b".
    assert hot_nodes(_plan(view, high_mark=0.8, space_high_mark=0.9)).tolist() == [False, False]
    assert hot_nodes(_plan(view, high_mark=0.8, space_high_mark=0.89)).tolist() == [True, False]


def test_draining_node_is_not_called_hot(look):
    view = _one_full_node(look, states={"n0": NodeState.DRAINING})
    assert not hot_nodes(_plan(view, high_mark=0.6)).any()


def test_those_on_the_move_count_where_they_go(look):
    view = _one_full_node(look, targets={"a": "n1"})
    plan = _plan(view, high_mark=0.35, fill_mark=0.35)
    assert hot_nodes(plan).tolist() == [False, True]
    plan = _plan(_one_full_node(look), high_mark=0.35, fill_mark=0.35)
    plan.draft.move(0, 1)
    assert hot_nodes(plan).tolist() == [False, True]
    assert not is_hot(plan, 0)
    assert is_hot(plan, 1)


def test_node_is_judged_without_those_left_out(look):
    plan = _plan(_one_full_node(look), high_mark=0.6)
    assert is_hot(plan, 0)
    assert not is_hot(plan, 0, [1])
    assert is_hot(plan, 0, [])


@pytest.mark.parametrize("moved", [False, True])
def test_detection_reads_the_past_of_those_that_stay(look, moved):
    # "a" rises by half a core a decision and will use 5, "b" 3: with a safety of 1.3 that is 104 %, without "a" 39 %.
    past = np.array([[0.5 * k, 3.0] for k in range(10)])
    view = _one_full_node(look, history=past)
    plan = _plan(view, Detection(LR, 1.3, 0.7, 1.0), high_mark=0.9, fill_mark=0.9)
    if moved:
        plan.draft.move(0, 1)
    assert hot_nodes(plan).tolist() == [not moved, False]
    assert is_hot(plan, 0) is not moved
    assert not is_hot(plan, 0, [] if moved else [0])
