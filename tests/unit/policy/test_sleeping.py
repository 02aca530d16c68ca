"""The power rule: waking on one decision's evidence, sleeping on several, and never back and forth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fogfold.model.node import NodeState
from fogfold.model.reason import Reason
from fogfold.policy.registry import policy
from fogfold.policy.sleeping import Evidence
from fogfold.testing.builders import a_cluster, a_container, a_node

ASLEEP = NodeState.ASLEEP


def _prompt(**overrides):
    """A rule that acts on the first decision, and moves nothing of its own accord."""
    return policy("best-fit", **{"calm_decisions": 0, "low_mark": 0.0, **overrides})


def test_empty_node_sleeps_and_the_last_one_stays_on(look, named, stays):
    view = look(a_cluster([a_node("n0"), a_node("n1", idle_w=60.0)]), {})
    proposal = _prompt().propose(view)
    # The more wasteful one first; without any node there would be no cluster.
    assert named(view, proposal) == ([], ["n1"], [])
    assert stays(view, proposal) == {"n0": Reason.NO_ROOM}


def test_node_sleeps_only_after_calm_decisions(look, named, carry_out):
    view = look(a_cluster([a_node("n0"), a_node("n1")], [a_container()]), {"c0": "n0"})
    rule = _prompt(calm_decisions=2)
    for _ in range(2):
        proposal = rule.propose(view)
        assert proposal.sleep == ()
        assert proposal.stays[1] == Reason.COOLDOWN
        view = carry_out(view, proposal)
    assert rule.propose(view).sleep == (1,)


def test_reset_forgets_the_calm(look):
    view = look(a_cluster([a_node("n0"), a_node("n1")], [a_container()]), {"c0": "n0"})
    rule = _prompt(calm_decisions=1)
    rule.propose(view)
    rule.reset(1)
    assert rule.propose(view).sleep == ()
    assert rule.propose(view).sleep == (1,)


def test_time_that_runs_backwards_is_another_run(look):
    view = look(a_cluster([a_node("n0"), a_node("n1")], [a_container()]), {"c0": "n0"}, time_s=600.0)
    rule = _prompt(calm_decisions=1)
    rule.propose(view)
    assert rule.propose(replace(view, time_s=300.0)).sleep == ()
    assert rule.propose(replace(view, time_s=600.0)).sleep == (1,)


def test_wake_order_ends_the_calm(look, named):
    nodes = [a_node("n0"), a_node("n1"), a_node("n2")]
    view = look(
        a_cluster(nodes, [a_container("a", cores=9.0), a_container("b", cores=9.0)]),
        {"a": "n0"},
        states={"n2": ASLEEP},
    )
    # "b" runs nowhere, and fits on n1: no need to wake.
    rule = _prompt(calm_decisions=0, wake_load=1.0)
    assert named(view, rule.propose(view)) == ([], [], [])
    # Once n1 is full as well, n2 is woken, and nothing goes to sleep in such a decision.
    full = look(
        a_cluster([*nodes, a_node("n3", cores=1.0)], [a_container(x, cores=9.0) for x in "abc"]),
        {"a": "n0", "b": "n1"},
        states={"n2": ASLEEP},
    )
    rule = _prompt(calm_decisions=1, wake_load=1.0)
    rule.propose(full)
    assert named(full, rule.propose(full)) == ([], [], ["n2"])


def test_node_is_woken_only_where_it_helps(look, named):
    # "b" needs 9 cores; the node that sleeps has 4.
    view = look(
        a_cluster([a_node("n0"), a_node("n1", cores=4.0)], [a_container("a", cores=9.0), a_container("b", cores=9.0)]),
        {"a": "n0"},
        states={"n1": ASLEEP},
    )
    assert named(view, _prompt(wake_load=1.0).propose(view)) == ([], [], [])


def test_draining_node_is_called_off_before_another_boots(look, named):
    view = look(
        a_cluster(
            [a_node("n0"), a_node("n1"), a_node("n2")],
            [a_container("a", cores=9.0), a_container("b", cores=9.0), a_container("c", cores=1.0)],
        ),
        {"a": "n0", "c": "n1"},
        states={"n1": NodeState.DRAINING, "n2": ASLEEP},
    )
    # n1 draws power already: it has room for "b", as n2 has, and is fuller.
    assert named(view, _prompt(wake_load=1.0).propose(view)) == ([], [], ["n1"])


def test_mean_load_above_the_mark_wakes_the_thriftiest(look, named):
    # 7 of 10 cores in use; with n2 (20 cores, 60 W: 3 W a core against 5) 7 of 30.
    nodes = [a_node("n0"), a_node("n1", idle_w=50.0), a_node("n2", cores=20.0, idle_w=60.0)]
    view = look(
        a_cluster(nodes, [a_container(cores=8.0)]),
        {"c0": "n0"},
        states={"n1": ASLEEP, "n2": ASLEEP},
        usage_cores={"c0": 7.0},
    )
    assert named(view, _prompt(wake_load=0.71, high_mark=0.9).propose(view)) == ([], [], [])
    assert named(view, _prompt(wake_load=0.69, high_mark=0.9).propose(view)) == ([], [], ["n2"])


def test_memory_in_use_wakes_as_well(look, named):
    # Usage of memory is half of the request: 4.5 of 10 GiB.
    view = look(
        a_cluster([a_node("n0"), a_node("n1")], [a_container(memory_gib=9.0)]), {"c0": "n0"}, states={"n1": ASLEEP}
    )
    assert named(view, _prompt(wake_space=0.46, sleep_space=0.4).propose(view))[2] == []
    assert named(view, _prompt(wake_space=0.44, sleep_space=0.4).propose(view))[2] == ["n1"]


@pytest.mark.parametrize(
    ("overrides", "reason"),
    [
        # 4 of 10 cores are requested and 2 in use on what stays on.
        ({"sleep_requested": 0.39}, Reason.NO_ROOM),
        ({"sleep_load": 0.19}, Reason.NODE_HOT),
        ({"sleep_space": 0.04}, Reason.NODE_HOT),
        ({"spare_nodes": 1}, Reason.COOLDOWN),
        ({"sleep_s": 50.0}, Reason.SCORE_LOW),
    ],
)
def test_node_stays_on_where_the_others_need_it(look, stays, overrides, reason):
    view = look(a_cluster([a_node("n0"), a_node("n1")], [a_container(cores=4.0)]), {"c0": "n0"})
    assert _prompt().propose(view).sleep == (1,)
    proposal = _prompt(**overrides).propose(view)
    assert proposal.sleep == ()
    assert stays(view, proposal)["n1"] is reason


def test_spare_nodes_are_the_thriftiest_empty_ones(look, named):
    nodes = [a_node("n0"), a_node("n1", idle_w=30.0), a_node("n2", idle_w=40.0), a_node("n3", idle_w=20.0)]
    view = look(a_cluster(nodes, [a_container()]), {"c0": "n0"})
    assert named(view, _prompt(spare_nodes=1).propose(view))[1] == ["n1", "n2"]


def test_node_that_relief_has_emptied_does_not_sleep_at_once(look, named, stays):
    # "a" alone makes n0 hot; on n1, twice as large, it does not.
    view = look(a_cluster([a_node("n0"), a_node("n1", cores=20.0)], [a_container("a")]), {"a": "n0"})
    view.usage[0, 0] = 9.0
    proposal = _prompt(sleep_load=0.5).propose(view)
    assert named(view, proposal) == (["a>n1"], [], [])
    assert stays(view, proposal)["n0"] is Reason.NODE_HOT


def test_node_that_never_sleeps_stays_on(look, stays):
    view = look(a_cluster([a_node("n0"), a_node("n1", never_sleep=True)], [a_container()]), {"c0": "n0"})
    proposal = _prompt().propose(view)
    assert proposal.sleep == ()
    assert stays(view, proposal)["n1"] is Reason.NEVER_SLEEPS


def test_woken_node_stays_on_for_the_cooldown(look, carry_out):
    view = look(a_cluster([a_node("n0"), a_node("n1")], [a_container()]), {"c0": "n0"}, states={"n1": ASLEEP})
    rule = _prompt(cooldown_s=1200.0)
    rule.propose(view)
    view = replace(view, state=np.zeros(2, np.int32), time_s=300.0)
    slept_at = []
    for _ in range(8):
        proposal = rule.propose(view)
        if proposal.sleep:
            slept_at.append(view.time_s)
            break
        view = carry_out(view, proposal)
    # Seen awake at 300 s: 1200 s later it may sleep.
    assert slept_at == [1500.0]


def test_memory_is_carried_over_to_another_description_of_the_cluster(look):
    evidence = Evidence()
    before = look(a_cluster([a_node("n0"), a_node("n1")]), {}, states={"n1": ASLEEP})
    evidence.see(before)
    # A node was added in front; n1 has woken meanwhile.
    after = look(a_cluster([a_node("n9"), a_node("n0"), a_node("n1")]), {}, time_s=300.0)
    evidence.see(after)
    assert evidence.since_woken_s().tolist() == [np.inf, np.inf, 0.0]


def test_emptied_draining_node_is_ordered_to_sleep_again(look, named):
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("a"), a_container("b")])
    view = look(cluster, {"a": "n0", "b": "n1"}, targets={"b": "n0"}, states={"n1": NodeState.DRAINING})
    assert named(view, policy("best-fit").propose(view)) == ([], ["n1"], [])


def test_draining_goes_on_for_those_whose_move_was_undone(look, named):
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("a"), a_container("b"), a_container("c")])
    view = look(cluster, {"a": "n0", "b": "n1", "c": "n1"}, targets={"b": "n0"}, states={"n1": NodeState.DRAINING})
    assert named(view, policy("best-fit").propose(view)) == (["c>n0"], ["n1"], [])


def test_draining_is_called_off_where_somebody_cannot_leave(look, named):
    cluster = a_cluster([a_node("n0", cores=2.0), a_node("n1")], [a_container("a"), a_container("b", cores=2.0)])
    view = look(cluster, {"a": "n0", "b": "n1"}, states={"n1": NodeState.DRAINING})
    assert named(view, policy("best-fit").propose(view)) == ([], [], ["n1"])
