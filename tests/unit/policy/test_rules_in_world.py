"""Two decisions in the real world: what was to be emptied sleeps, what was hot is relieved, nothing is refused."""

from __future__ import annotations

import numpy as np
import pytest

from fogfold.encoding.rows import NodeRow
from fogfold.model.node import NodeState
from fogfold.policy.registry import RULES, policy
from fogfold.testing.builders import a_cluster, a_container, a_node
from fogfold.world.rows import Total

ACTIVE = tuple(name for name in RULES if name != "hold")
CALM = {"calm_decisions": 0, "minimum_saving": 0.0, "late_limit": 1.0, "sleep_requested": 1.0}


def _rule(name, **more):
    return policy(name, **CALM, **more)


@pytest.mark.parametrize("name", ACTIVE)
def test_emptied_node_sleeps_after_its_shutdown_time(make_world, orders_of, name):
    # n1 can go: "b" fits beside "a". It leaves within some ticks; then 30 s of shutdown.
    cluster = a_cluster([a_node("n0", never_sleep=True), a_node("n1")], [a_container("a", cores=7.0), a_container("b")])
    world = make_world(cluster, level=0.5, placement={"a": "n0", "b": "n1"})
    assert world.frame.fleet.node[NodeRow.SHUTDOWN_S, 1] == 30.0
    rule = _rule(name)
    refused = 0.0
    for _ in range(2):
        view = world.view()
        refused += world.step(orders_of(world, rule.propose(view)))[0, Total.REFUSED]
    assert refused == 0.0
    view = world.view()
    assert view.state.tolist() == [NodeState.ON, NodeState.ASLEEP]
    assert view.placement.tolist() == [0, 0]
    assert rule.propose(view).moves == ()


@pytest.mark.parametrize("name", [n for n in ACTIVE if n != "drain"])
def test_hot_node_is_relieved(make_world, orders_of, name):
    # 9.5 of 10 cores on n0, 2 on n1: after two decisions no node is above 80 %.
    cluster = a_cluster(
        [a_node("n0"), a_node("n1")], [a_container(f"c{i}", cores=1.0) for i in range(5)] + [a_container("o")]
    )
    where = {f"c{i}": "n0" for i in range(5)} | {"o": "n1"}
    world = make_world(cluster, level=[1.9] * 5 + [2.0], placement=where)
    rule = _rule(name, sleep_load=0.2)
    happened = world.step(orders_of(world, rule.propose(world.view())))
    for _ in range(3):
        happened += world.step(orders_of(world, rule.propose(world.view())))
    view = world.view()
    assert happened[0, Total.REFUSED] == 0.0
    assert happened[0, Total.MOVES_DONE] >= 1
    assert (view.running[0] / view.fleet.capacity[0]).max() <= 0.8


@pytest.mark.parametrize("name", [n for n in ACTIVE if n != "drain"])
def test_sleeping_node_wakes_for_a_hot_one_and_takes_over(make_world, orders_of, name):
    # Two nodes suffice at first, n2 sleeps; then demand doubles, and only n2 has room.
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], [a_container(f"c{i}", cores=1.0) for i in range(8)])
    where = {f"c{i}": f"n{i % 2}" for i in range(8)}
    levels = [[1.0] * 8] * 3 + [[2.3] * 8] * 22
    world = make_world(cluster, level=levels, placement=where)
    rule = _rule(name, low_mark=0.0)
    refused, slept = 0.0, False
    for _ in range(12):
        refused += world.step(orders_of(world, rule.propose(world.view())))[0, Total.REFUSED]
        slept |= int(world.view().state[2]) == NodeState.ASLEEP
    assert refused == 0.0
    assert slept
    view = world.view()
    assert int(view.state[2]) == NodeState.ON
    assert (view.placement == 2).any()
    assert (view.running[0] / view.fleet.capacity[0]).max() <= 0.9


@pytest.mark.parametrize("name", RULES)
def test_half_a_day_passes_without_a_refused_order(make_world, orders_of, name):
    rng = np.random.default_rng(3)
    cluster = a_cluster(
        [a_node(f"n{i}", cores=float(rng.choice([4.0, 8.0, 16.0]))) for i in range(8)],
        [a_container(f"c{i}", cores=float(rng.choice([0.25, 0.5, 1.0]))) for i in range(40)],
    )
    hours = np.arange(145) / 12.0
    wave = 0.5 + 0.4 * np.sin(2 * np.pi * hours / 6.0)[:, None]
    level = wave * rng.uniform(0.4, 1.6, 40) + 0.1 * rng.uniform(size=(145, 40))
    world = make_world(cluster, level=level, hours=12.0)
    rule = policy(name)
    while world.ticks_left:
        world.step(orders_of(world, rule.propose(world.view())))
    total = world.state.total[0]
    assert total[Total.REFUSED] == 0.0
    if name not in {"hold", "high-node-utilization"}:
        assert total[Total.SLEEPS] >= 1


def test_limits_of_a_search_are_kept(make_world):
    # Four nodes with a container each that fit on n0; then the same with a container on each that fits nowhere.
    small = [a_container(f"c{i}") for i in range(4)]
    cluster = a_cluster([a_node("n0", never_sleep=True)] + [a_node(f"n{i}") for i in range(1, 4)], small)
    where = {f"c{i}": f"n{i}" for i in range(4)}
    view = make_world(cluster, level=0.3, placement=where).view()
    emptied = [len(_rule("drain-relief", most_emptied=most).propose(view).sleep) for most in (0, 1, 2, 100)]
    assert emptied == [0, 1, 2, 3]
    assert len(_rule("drain-relief", most_failures=0).propose(view).sleep) == 0

    # n1 and n2 save more but are full of what fits nowhere else: after one failure nobody asks for n3.
    large = [a_container("a", cores=9.0), a_container("b", cores=9.0), a_container("c"), a_container("k")]
    nodes = [a_node("n0", never_sleep=True), a_node("n1", idle_w=90.0), a_node("n2", idle_w=90.0), a_node("n3")]
    cluster = a_cluster(nodes, large)
    where = {"k": "n0", "a": "n1", "b": "n2", "c": "n3"}
    view = make_world(cluster, level=0.4, placement=where).view()
    loads = {"sleep_load": 0.9, "wake_load": 0.95, "high_mark": 0.9, "low_mark": 1.0}
    found = [_rule("drain-relief", most_failures=most, **loads).propose(view) for most in (1, 3, 100)]
    assert found[-1].sleep == found[1].sleep == (3,)
    assert found[0].sleep == ()
