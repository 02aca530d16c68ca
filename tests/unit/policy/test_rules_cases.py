"""What public bug reports say that no consolidator may do, for every rule. Numbers are those of the list of cases."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from fogfold.encoding.arrays import view_of
from fogfold.model.cluster import Scope
from fogfold.model.identity import NodeId, SiteId
from fogfold.model.node import NodeState
from fogfold.model.reason import Reason
from fogfold.policy.registry import RULES, policy
from fogfold.testing.builders import a_cluster, a_container, a_group, a_node, a_site, a_snapshot

ACTIVE = tuple(name for name in RULES if name != "hold")
EAGER = {"calm_decisions": 0, "minimum_saving": 0.0, "late_limit": 1.0, "sleep_requested": 1.0}
"""Figures under which a rule empties what it may: the cases must hold all the same."""


def _eager(name, **overrides):
    figures = {**EAGER, **overrides}
    if name == "high-node-utilization":
        figures = {"threshold": 0.6, **figures}
    return policy(name, **figures) if name != "hold" else policy(name)


@pytest.mark.parametrize("name", RULES)
def test_case_1_container_too_large_for_any_mark_is_left_alone(look, name, carry_out):
    # "big" alone takes 95 % of the memory of any node; it would make every other node as hot.
    cluster = a_cluster(
        [a_node(f"n{i}") for i in range(3)],
        [a_container("big", memory_gib=9.5, cores=1.0), a_container("a"), a_container("b")],
    )
    view = look(cluster, {"big": "n0", "a": "n1", "b": "n2"})
    view.usage[1, 0] = view.fleet.request[1, 0]
    rule = _eager(name)
    for _ in range(10):
        proposal = rule.propose(view)
        assert 0 not in {move.container for move in proposal.moves}
        if name not in {"hold", "drain"}:
            assert proposal.stays[0] is Reason.NO_IMPROVING_TARGET
        view = carry_out(view, proposal)


@pytest.mark.parametrize("name", ACTIVE)
def test_case_1_nothing_changes_nothing_moves_again(look, name, carry_out):
    # A cluster left to a rule comes to rest: unchanged demand is followed by an unchanged placement.
    rng = np.random.default_rng(7)
    cluster = a_cluster(
        [a_node(f"n{i}") for i in range(6)],
        [a_container(f"c{i}", cores=float(rng.uniform(0.5, 3.0))) for i in range(24)],
    )
    view = look(cluster, {f"c{i}": f"n{i % 6}" for i in range(24)})
    rule = _eager(name, cooldown_s=0.0)
    for k in range(12):
        proposal = rule.propose(view)
        if k >= 4:
            assert (proposal.moves, proposal.sleep, proposal.wake) == ((), (), ())
        view = carry_out(view, proposal)


@pytest.mark.parametrize("name", RULES)
def test_case_3_no_drain_past_the_high_mark(look, name):
    # 80 %, 80 % and 40 %: whatever leaves the third would lift another above 80 %.
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], [a_container(f"c{i}", cores=2.0) for i in range(10)])
    where = {f"c{i}": f"n{i // 4}" for i in range(10)}
    view = look(cluster, where, usage_cores={f"c{i}": 2.0 for i in range(10)})
    marks = {"low_mark": 0.6, "high_mark": 0.8, "fill_mark": 0.8, "sleep_load": 0.99, "wake_load": 1.0}
    proposal = (_eager(name, **marks) if name != "hold" else policy(name)).propose(view)
    assert 2 not in proposal.sleep
    after = np.zeros(3)
    for c in range(10):
        after[next((m.target for m in proposal.moves if m.container == c), view.placement[c])] += 2.0
    received = sorted({m.target for m in proposal.moves})
    assert (after[received] <= 8.0 + 1e-9).all()


@pytest.mark.parametrize("name", RULES)
def test_case_5_flapping_replica_switches_no_node_off_and_on_twice_in_an_hour(name):
    # Two nodes that "base" fills; every ten minutes an autoscaler adds a replica that needs a third node, or takes it.
    nodes = [a_node(f"n{i}") for i in range(3)]
    base = [a_container("base-0", cores=8.0), a_container("base-1", cores=8.0)]
    small = a_cluster(nodes, base)
    large = a_cluster(nodes, [*base, a_container("extra", cores=8.0)])
    states: dict[str, NodeState] = {f"n{i}": NodeState.ON for i in range(3)}
    where = {"base-0": "n0", "base-1": "n1"}
    rule = _eager(name, wake_load=0.95, sleep_load=0.9) if name != "hold" else policy(name)
    switched_off_and_on: dict[str, list[float]] = {}
    off_since: set[str] = set()
    for step in range(60):
        time_s = 300.0 * step
        wanted = step // 2 % 2 == 1
        cluster = large if wanted else small
        if not wanted:
            where.pop("extra", None)
        elif "extra" not in where:
            free = [n for n in ("n0", "n1", "n2") if n not in where.values() and states[n] == NodeState.ON]
            if free:
                where["extra"] = free[0]
        view = view_of(a_snapshot(cluster, where, states=states, time_s=time_s))
        proposal = rule.propose(view)
        for n in proposal.wake:
            states[nodes[n].id] = NodeState.ON
            if nodes[n].id in off_since:
                off_since.remove(nodes[n].id)
                switched_off_and_on.setdefault(nodes[n].id, []).append(time_s)
        for n in proposal.sleep:
            states[nodes[n].id] = NodeState.ASLEEP
            off_since.add(nodes[n].id)
    for times in switched_off_and_on.values():
        assert all(later - earlier >= 3600.0 for earlier, later in pairwise(times)), times
    if name != "hold":
        assert switched_off_and_on, "the case must make a rule switch a node off and on at all"


@pytest.mark.parametrize("name", RULES)
def test_case_9_each_planned_move_uses_up_room(look, name):
    # Ten containers of 8 cores and 16 GiB on a node that is too hot for them, and room for exactly one elsewhere.
    cluster = a_cluster(
        [a_node("n0", cores=80.0, memory_gib=160.0), a_node("n1", cores=10.0, memory_gib=20.0)],
        [a_container(f"c{i}", cores=8.0, memory_gib=16.0) for i in range(10)],
    )
    hot = {f"c{i}": 8.0 for i in range(10)}
    view = look(cluster, {f"c{i}": "n0" for i in range(10)}, usage_cores=hot)
    assert len(_eager(name).propose(view).moves) <= 1
    # The same ten, each on a node of its own.
    cluster = a_cluster(
        [a_node(f"n{i}", cores=8.0, memory_gib=16.0) for i in range(10)]
        + [a_node("n10", cores=10.0, memory_gib=20.0, never_sleep=True)],
        [a_container(f"c{i}", cores=8.0, memory_gib=16.0) for i in range(10)],
    )
    view = look(cluster, {f"c{i}": f"n{i}" for i in range(10)})
    assert len(_eager(name).propose(view).moves) <= 1


def _three_replicas(look, *, ghosts_count):
    cluster = a_cluster(
        [a_node(f"n{i}") for i in range(3)],
        [a_container(f"c{i}", group="g0", cores=1.0 + i / 10) for i in range(3)],
        groups=[a_group("g0", spread=Scope.NODE, max_skew=1, ghosts_count=ghosts_count)],
    )
    return look(cluster, {f"c{i}": f"n{i}" for i in range(3)})


@pytest.mark.parametrize("name", RULES)
def test_case_11_ghost_nodes_keep_a_spread_from_being_drained(look, name, stays):
    view = _three_replicas(look, ghosts_count=True)
    proposal = _eager(name).propose(view)
    assert (proposal.moves, proposal.sleep) == ((), ())
    if name not in {"hold", "high-node-utilization"}:
        assert set(stays(view, proposal).values()) == {Reason.SPREAD}


@pytest.mark.parametrize("name", ACTIVE)
def test_case_11_one_node_can_be_drained_where_ghosts_do_not_count(look, name):
    view = _three_replicas(look, ghosts_count=False)
    if name == "high-node-utilization":
        # It needs a node above its threshold to have a target at all.
        proposal = _eager(name, threshold=0.12).propose(view)
    else:
        proposal = _eager(name).propose(view)
    assert len(proposal.moves) == 1
    assert len(proposal.sleep) == 1


@pytest.mark.parametrize("name", RULES)
def test_case_13_no_second_member_goes_while_one_is_missing(look, name):
    # Site s1 is down, and one of three members waits for it: nobody of the group may be moved beside.
    sites = [a_site("s0"), a_site("s1", latitude_deg=-36.81)]
    cluster = a_cluster(
        [a_node("n0"), a_node("n1"), a_node("n2", site="s1")],
        [a_container(f"c{i}", group="g0") for i in range(3)],
        groups=[a_group("g0", spread=Scope.SITE, max_skew=1, may_be_missing=1)],
        sites=sites,
    )
    view = look(cluster, {"c0": "n0", "c1": "n1"}, states={"n2": NodeState.FAILED})
    assert _eager(name).propose(view).moves == ()


@pytest.mark.parametrize("name", RULES)
def test_case_15_local_volume_and_far_data_keep_a_container(look, name, stays):
    # "disk" has its volume on n1, "near" its data at s0: neither may go to s1, so nobody leaves n1 at all.
    sites = [a_site("s0"), a_site("s1", latitude_deg=-36.81)]
    cluster = a_cluster(
        [a_node("n0", site="s1"), a_node("n1"), a_node("n2", site="s1", never_sleep=True)],
        [
            a_container("disk", pinned_to=NodeId("n1")),
            a_container("near", data_site=SiteId("s0"), data_distance_km=10.0),
            a_container("free", cores=7.0, users="s1"),
            a_container("busy", cores=2.0, users="s1"),
        ],
        sites=sites,
    )
    view = look(cluster, {"disk": "n1", "near": "n1", "free": "n0", "busy": "n2"})
    proposal = _eager(name).propose(view)
    assert not {0, 1} & {move.container for move in proposal.moves}
    assert 1 not in proposal.sleep
    if name != "hold":
        assert stays(view, proposal)["n1"] is Reason.PINNED
    # Hot or not.
    view = look(
        cluster,
        {"disk": "n1", "near": "n1", "free": "n0", "busy": "n2"},
        usage_cores={"disk": 5.0, "near": 5.0, "free": 1.0, "busy": 1.0},
    )
    assert not {0, 1} & {move.container for move in _eager(name).propose(view).moves}


@pytest.mark.parametrize("name", RULES)
def test_case_17_and_19_budget_of_none_keeps_the_node(look, name, stays):
    # A single replica whose owner allows no interruption (case 17), a budget that allows none now (case 19).
    cluster = a_cluster(
        [a_node("n0", never_sleep=True), a_node("n1")],
        [a_container("single", group="g0"), a_container("other"), a_container("a", cores=7.0)],
        groups=[a_group("g0", may_be_missing=0)],
    )
    view = look(cluster, {"single": "n1", "other": "n1", "a": "n0"})
    proposal = _eager(name).propose(view)
    # No partial drain either: the other one stays as well.
    assert not {0, 1} & {move.container for move in proposal.moves}
    assert 1 not in proposal.sleep
    if name not in {"hold"}:
        assert stays(view, proposal)["n1"] is Reason.GROUP_BUDGET
    hot = look(cluster, {"single": "n1", "other": "n1", "a": "n0"}, usage_cores={"single": 9.9})
    assert 0 not in {move.container for move in _eager(name).propose(hot).moves}


@pytest.mark.parametrize("name", RULES)
def test_case_33_usage_counts_where_requests_are_small(look, name):
    # Best-effort containers: 0.1 cores requested, 4 in use. Two make 80 %; a third fits on no node of these.
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], [a_container(f"c{i}", cores=0.1) for i in range(6)])
    view = look(cluster, {f"c{i}": f"n{i // 2}" for i in range(6)}, usage_cores={f"c{i}": 4.0 for i in range(6)})
    assert _eager(name).propose(view).moves == ()


@pytest.mark.parametrize("name", RULES)
def test_case_33_requests_count_where_usage_is_small(look, name):
    # 9 of 10 cores requested and 0.5 in use on every node: usage says pack, requests say no.
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], [a_container(f"c{i}", cores=9.0) for i in range(3)])
    view = look(cluster, {f"c{i}": f"n{i}" for i in range(3)}, usage_cores={f"c{i}": 0.5 for i in range(3)})
    assert _eager(name).propose(view).moves == ()


def test_cases_are_tried_on_rules_that_would_act():
    # The eager figures do empty a node where nothing stands against it, or the cases would say nothing.
    cluster = a_cluster([a_node("n0", never_sleep=True), a_node("n1")], [a_container("a", cores=7.0), a_container("b")])
    view = view_of(a_snapshot(cluster, {"a": "n0", "b": "n1"}))
    view = replace(view, cpu_history=np.zeros((0, 2)))
    for name in ACTIVE:
        assert _eager(name).propose(view).sleep == (1,), name
