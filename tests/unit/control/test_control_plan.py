"""Plans: waves that fit at every moment, swaps in the right order, rings refused or broken, halves never left."""

from __future__ import annotations

import pytest

from fogfold.control.codes import Code
from fogfold.control.orders import Act, Hold, MoveOrder
from fogfold.control.plan import PlanSettings, Step, make_plan, recheck
from fogfold.errors import ModelError
from fogfold.model.cluster import Scope
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.node import NodeState
from fogfold.testing.builders import a_cluster, a_container, a_group, a_node, a_site, a_snapshot

WIDE = PlanSettings(node_at_once=99, site_at_once=99, cluster_at_once=99)


def _cluster(placement, *, nodes=4, cores=6.0, more_nodes=(), **options):
    """Containers of 6 cores on nodes of 10: one fits on each."""
    containers = [a_container(name, cores=cores) for name in placement]
    cluster = a_cluster([*(a_node(f"n{i}") for i in range(nodes)), *more_nodes], containers)
    return a_snapshot(cluster, placement, **options)


def _waves(plan):
    return [[f"{s.move.container}: {s.move.source} > {s.move.target}" for s in wave] for wave in plan.waves]


def _codes(plan, act=Act.MOVE):
    return {refusal.subject: refusal.code for refusal in plan.refused if refusal.act is act}


def test_moves_that_fit_go_in_one_wave(orders):
    snapshot = _cluster({"a": "n0", "b": "n1"})
    plan = make_plan(orders("a: n0 > n2", "b: n1 > n3"), snapshot)
    assert _waves(plan) == [["a: n0 > n2", "b: n1 > n3"]]
    assert plan.refused == ()
    assert [step.number for step in plan.steps] == [0, 1]


def test_move_waits_until_the_room_it_goes_into_is_free(orders):
    # In the order given "b" would find "a" still there.
    snapshot = _cluster({"a": "n0", "b": "n1"}, nodes=3)
    plan = make_plan(orders("b: n1 > n0", "a: n0 > n2", sleep="n1"), snapshot)
    assert _waves(plan) == [["a: n0 > n2"], ["b: n1 > n0"]]
    assert plan.steps[1].after == (0,)
    assert plan.sleep[0].node == "n1"
    assert plan.sleep[0].after == (1,)


def test_source_is_not_free_before_its_move_has_arrived(orders):
    # Both in one wave would put 12 of 10 cores on n0 for a while.
    snapshot = _cluster({"a": "n0", "b": "n1"}, nodes=3)
    plan = make_plan(orders("a: n0 > n2", "b: n1 > n0"), snapshot, WIDE)
    assert len(plan.waves) == 2


def test_ring_of_two_is_refused(orders):
    snapshot = _cluster({"a": "n0", "b": "n1"}, nodes=2)
    plan = make_plan(orders("a: n0 > n1", "b: n1 > n0"), snapshot)
    assert plan.steps == ()
    assert _codes(plan) == {"a": Code.CYCLE, "b": Code.CYCLE}


def test_move_behind_a_ring_says_that_its_room_was_not_freed(orders):
    snapshot = _cluster({"a": "n0", "b": "n1", "c": "n2"}, nodes=3)
    plan = make_plan(orders("a: n0 > n1", "b: n1 > n0", "c: n2 > n0"), snapshot)
    assert _codes(plan) == {"a": Code.CYCLE, "b": Code.CYCLE, "c": Code.ROOM_NOT_FREED}


@pytest.mark.parametrize("length", [2, 3, 4])
def test_ring_is_broken_with_a_spare_node(orders, length):
    names = [f"c{i}" for i in range(length)]
    snapshot = _cluster({name: f"n{i}" for i, name in enumerate(names)}, nodes=length + 1)
    ring = [f"c{i}: n{i} > n{(i + 1) % length}" for i in range(length)]
    plan = make_plan(orders(*ring), snapshot, spare=[NodeId(f"n{length}")])
    assert plan.refused == ()
    assert len(plan.steps) == length + 1
    assert [step.detour for step in plan.steps] == [True] + [False] * length
    final = dict(snapshot.placement) | {step.move.container: step.move.target for step in plan.steps}
    assert final == {f"c{i}": f"n{(i + 1) % length}" for i in range(length)}


def test_ring_stays_refused_where_the_spare_node_is_full(orders):
    snapshot = _cluster({"a": "n0", "b": "n1", "c": "n2"}, nodes=3)
    plan = make_plan(orders("a: n0 > n1", "b: n1 > n0"), snapshot, spare=[NodeId("n2")])
    assert _codes(plan) == {"a": Code.CYCLE, "b": Code.CYCLE}


def test_nobody_is_left_on_a_spare_node(orders):
    # "a" and "b" swap, but "d" has no way off n1, so that after the detour "a" still could not go there.
    cluster = a_cluster(
        [a_node(f"n{i}") for i in range(3)],
        [a_container("a", cores=6.0), a_container("b", cores=6.0), a_container("d", cores=4.0)],
    )
    snapshot = a_snapshot(cluster, {"a": "n0", "b": "n1", "d": "n1"})
    # After the detour of a to n2, b goes to n0; then a (6) joins d (4) on n1: that works.
    fits = make_plan(orders("a: n0 > n1", "b: n1 > n0"), snapshot, spare=[NodeId("n2")])
    assert fits.refused == ()
    # With 5 cores on "d" it does not, and neither moves.
    cluster = a_cluster(
        [a_node("n0"), a_node("n1", cores=11.0), a_node("n2")],
        [a_container("a", cores=6.5), a_container("b", cores=6.0), a_container("d", cores=5.0)],
    )
    snapshot = a_snapshot(cluster, {"a": "n0", "b": "n1", "d": "n1"})
    plan = make_plan(orders("a: n0 > n1", "b: n1 > n0"), snapshot, spare=[NodeId("n2")])
    assert plan.steps == ()
    assert _codes(plan) == {"a": Code.CYCLE, "b": Code.CYCLE}


def test_refused_move_of_a_drain_takes_the_drain_with_it(orders):
    cluster = a_cluster(
        [a_node("n0"), a_node("n1", cores=7.0)], [a_container("a", cores=6.0), a_container("b", cores=6.0)]
    )
    snapshot = a_snapshot(cluster, {"a": "n0", "b": "n0"})
    plan = make_plan(orders("a: n0 > n1", "b: n0 > n1", sleep="n0"), snapshot)
    assert (plan.steps, plan.sleep) == ((), ())
    assert _codes(plan) == {"a": Code.DRAIN_BROKEN, "b": Code.NO_ROOM}
    assert _codes(plan, Act.SLEEP) == {"n0": Code.DRAIN_BROKEN}


def test_moves_that_counted_on_a_broken_drain_fall_with_it(orders):
    # "c" goes into the room that "a" leaves; "a" stays since "b", of the same node, has nowhere to go.
    cluster = a_cluster(
        [a_node("n0"), a_node("n1"), a_node("n2")],
        [a_container("a", cores=5.0), a_container("b", cores=5.0), a_container("c", cores=5.0, memory_gib=6.0)],
    )
    snapshot = a_snapshot(cluster, {"a": "n0", "b": "n0", "c": "n1"})
    plan = make_plan(orders("a: n0 > n2", "b: n0 > n9", "c: n1 > n0", sleep="n0"), snapshot)
    assert plan.steps == ()
    assert _codes(plan) == {"a": Code.DRAIN_BROKEN, "b": Code.NOT_RUNNING, "c": Code.NO_ROOM}


def test_node_that_is_to_sleep_takes_nothing_more(orders):
    snapshot = _cluster({"a": "n0"}, nodes=3)
    plan = make_plan(orders("a: n0 > n1", sleep="n1"), snapshot)
    assert _codes(plan) == {"a": Code.NODE_NOT_READY}


def test_caps_cut_waves(orders):
    names = [f"c{i}" for i in range(6)]
    snapshot = _cluster(dict.fromkeys(names, "n0"), cores=1.0)
    asked = orders(*(f"{name}: n0 > n1" for name in names))
    assert [len(wave) for wave in make_plan(asked, snapshot, PlanSettings(node_at_once=2)).waves] == [2, 2, 2]
    free = PlanSettings(node_at_once=99, site_at_once=4)
    assert [len(wave) for wave in make_plan(asked, snapshot, free).waves] == [4, 2]
    free = PlanSettings(node_at_once=99, site_at_once=99, cluster_at_once=5)
    assert [len(wave) for wave in make_plan(asked, snapshot, free).waves] == [5, 1]


def test_site_cap_counts_a_move_between_sites_at_both(orders):
    cluster = a_cluster(
        [a_node("n0"), a_node("m0", site="s1"), a_node("m1", site="s1"), a_node("m2", site="s1")],
        [a_container(f"c{i}") for i in range(3)],
        sites=[a_site("s0"), a_site("s1", latitude_deg=-36.0)],
    )
    snapshot = a_snapshot(cluster, {"c0": "n0", "c1": "m0", "c2": "m1"})
    plan = make_plan(orders("c0: n0 > m0", "c1: m0 > m1", "c2: m1 > m2"), snapshot, PlanSettings(99, site_at_once=2))
    assert [len(wave) for wave in plan.waves] == [2, 1]


def test_moves_under_way_hold_room_and_count_in_every_wave(orders):
    snapshot = _cluster({"a": "n0", "b": "n1"}, targets={"a": "n2"})
    assert _codes(make_plan(orders("b: n1 > n2"), snapshot)) == {"b": Code.NO_ROOM}
    narrow = PlanSettings(cluster_at_once=1)
    assert _codes(make_plan(orders("b: n1 > n3"), snapshot, narrow)) == {"b": Code.IN_FLIGHT}


def test_members_of_a_group_go_one_wave_after_the_other(orders):
    cluster = a_cluster(
        [a_node("n0"), a_node("n1")],
        [a_container(f"c{i}", group="g0") for i in range(3)],
        groups=[a_group("g0", may_be_missing=1)],
    )
    snapshot = a_snapshot(cluster, {f"c{i}": "n0" for i in range(3)})
    plan = make_plan(orders(*(f"c{i}: n0 > n1" for i in range(3)), sleep="n0"), snapshot, WIDE)
    assert [len(wave) for wave in plan.waves] == [1, 1, 1]
    assert plan.steps[2].after == (0, 1)


def test_plan_is_bounded_and_drains_are_not_cut_in_half(orders):
    names = [f"c{i}" for i in range(6)]
    where = {name: "n0" if i < 4 else "n1" for i, name in enumerate(names)}
    snapshot = _cluster(where, cores=1.0)
    moves = [f"{name}: {where[name]} > n2" for name in names]
    plan = make_plan(orders(*moves, sleep="n0 n1"), snapshot, PlanSettings(99, most_moves=5))
    assert [sleep.node for sleep in plan.sleep] == ["n0"]
    assert len(plan.steps) == 4
    assert set(_codes(plan).values()) == {Code.PLAN_LIMIT, Code.DRAIN_BROKEN}


def test_plan_that_is_cut_off_keeps_whole_waves_and_drops_halves(orders):
    # n0 is empty after two waves; n1 would be after four.
    snapshot = _cluster({"a": "n0", "b": "n0", "c": "n1", "d": "n1", "e": "n1"}, cores=1.0)
    asked = orders("a: n0 > n2", "b: n0 > n2", "c: n1 > n2", "d: n1 > n2", "e: n1 > n2", sleep="n0 n1")
    calls = iter([False, False, False, True])
    plan = make_plan(asked, snapshot, PlanSettings(node_at_once=1), cut_off=lambda: next(calls))
    assert [step.move.container for step in plan.steps] == ["a", "b"]
    assert [step.number for step in plan.steps] == [0, 1]
    assert [sleep.node for sleep in plan.sleep] == ["n0"]
    assert _codes(plan) == {"c": Code.DRAIN_BROKEN, "d": Code.PLAN_LIMIT, "e": Code.PLAN_LIMIT}


def test_plan_cut_off_in_a_detour_drops_it_with_what_went_into_its_room(orders):
    # "a" went to the spare node and "b" into its room; the cut comes before "a" could go on. "c" has no part in it.
    snapshot = _cluster({"a": "n0", "b": "n1", "c": "n3"}, nodes=5)
    asked = orders("a: n0 > n1", "b: n1 > n0", "c: n3 > n4")
    whole = make_plan(asked, snapshot, spare=[NodeId("n2")])
    assert _waves(whole) == [["c: n3 > n4"], ["a: n0 > n2"], ["b: n1 > n0"], ["a: n2 > n1"]]
    calls = iter([False, False, False, True])
    plan = make_plan(asked, snapshot, spare=[NodeId("n2")], cut_off=lambda: next(calls))
    assert _waves(plan) == [["c: n3 > n4"]]
    assert _codes(plan) == {"a": Code.PLAN_LIMIT, "b": Code.ROOM_NOT_FREED}


def test_plan_cut_off_within_a_drain_moves_nothing_of_it(orders):
    snapshot = _cluster({"a": "n0", "b": "n0"}, nodes=4, cores=5.0)
    calls = iter([False, True])
    drained = orders("a: n0 > n2", "b: n0 > n3", sleep="n0")
    plan = make_plan(drained, snapshot, PlanSettings(node_at_once=1), cut_off=lambda: next(calls))
    assert (plan.steps, plan.sleep) == ((), ())


def test_same_input_same_plan(orders):
    names = [f"c{i}" for i in range(8)]
    snapshot = _cluster({name: f"n{i % 3}" for i, name in enumerate(names)}, cores=1.0)
    asked = orders(*(f"{name}: n{i % 3} > n3" for i, name in enumerate(names)), sleep="n0 n1 n2")
    assert make_plan(asked, snapshot) == make_plan(asked, snapshot)


def test_nodes_that_are_woken_may_receive(orders):
    snapshot = _cluster({"a": "n0"}, nodes=2, states={"n1": NodeState.ASLEEP})
    assert _codes(make_plan(orders("a: n0 > n1"), snapshot)) == {"a": Code.NODE_NOT_READY}
    plan = make_plan(orders("a: n0 > n1", wake="n1"), snapshot)
    assert plan.wake == ("n1",)
    assert len(plan.steps) == 1


def test_order_that_makes_no_sense_in_a_state_is_refused(orders):
    snapshot = _cluster({"a": "n0"}, states={"n1": NodeState.ASLEEP, "n2": NodeState.FAILED})
    plan = make_plan(orders(sleep="n1 n9", wake="n2 n3"), snapshot)
    assert (plan.sleep, plan.wake) == ((), ())
    assert {refusal.code for refusal in plan.refused} == {Code.NODE_NOT_READY}
    assert len(plan.refused) == 4


def test_spread_that_needs_an_order_finds_it(orders):
    # Two of four on n0: the second may go to n2 only after the first has gone to n1, by skew 1.
    cluster = a_cluster(
        [a_node(f"n{i}") for i in range(3)],
        [a_container(f"c{i}", group="g0", cores=0.5) for i in range(3)],
        groups=[a_group("g0", spread=Scope.NODE, max_skew=1)],
    )
    snapshot = a_snapshot(cluster, {"c0": "n0", "c1": "n0", "c2": "n0"})
    plan = make_plan(orders("c0: n0 > n1", "c1: n0 > n2"), snapshot)
    assert _waves(plan) == [["c0: n0 > n1"], ["c1: n0 > n2"]]


# Just before a step begins.


def _now(step, snapshot):
    hold = recheck(step, snapshot)
    assert hold is not None
    return hold.code


def test_step_is_asked_about_again_before_it_begins():
    step = Step(0, 0, MoveOrder(ContainerId("a"), NodeId("n0"), NodeId("n1")))
    assert recheck(step, _cluster({"a": "n0"})) is None
    assert _now(step, _cluster({"a": "n2"})) is Code.NOT_RUNNING
    assert _now(step, _cluster({"a": "n0", "new": "n1"})) is Code.NO_ROOM
    assert _now(step, _cluster({"a": "n0"}, states={"n1": NodeState.FAILED})) is Code.NODE_NOT_READY
    hold = Hold(Code.OPT_OUT, "do-not-disrupt")
    assert recheck(step, _cluster({"a": "n0"}), holds={ContainerId("a"): hold}) == hold


def test_caps_of_none_are_refused():
    with pytest.raises(ModelError, match="node_at_once is 0"):
        PlanSettings(node_at_once=0)
    with pytest.raises(ModelError, match="ceiling"):
        PlanSettings(ceiling=0.0)
