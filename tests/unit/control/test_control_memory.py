"""What the guard remembers: rests, bounces, waits that double, and somebody else's hands."""

from __future__ import annotations

import json

import pytest

from fogfold.control.codes import Code
from fogfold.control.guard.judge import judge
from fogfold.control.guard.memory import (
    Ending,
    Memory,
    MemorySettings,
    begun,
    ended,
    forgive,
    kept_memory,
    memory_of_kept,
    seen,
)
from fogfold.control.guard.settings import GuardSettings, Rate
from fogfold.control.orders import MoveOrder
from fogfold.errors import ModelError
from fogfold.model.identity import ContainerId, NodeId
from fogfold.testing.builders import a_cluster, a_container, a_group, a_node, a_snapshot
from fogfold.units import DAY_S

SETTINGS = MemorySettings()
FREE = GuardSettings(
    cluster_rate=Rate(99, 1.0), site_rate=Rate(99, 1.0), node_rate=Rate(99, 1.0), group_rate=Rate(99, 1)
)
CLUSTER = a_cluster([a_node(f"n{i}") for i in range(3)], [a_container("c0"), a_container("c1")])


def _at(node, time_s=0.0, cluster=CLUSTER):
    return a_snapshot(cluster, {"c0": node, "c1": "n0"}, time_s=time_s)


def _moved(memory, source, target, at_s, *, observed=None):
    snapshot = _at(source, at_s)
    memory = begun(memory, MoveOrder(ContainerId("c0"), source, target), snapshot, at_s, SETTINGS)
    return ended(memory, ContainerId("c0"), at_s + 10.0, SETTINGS, arrived_on=observed or target)


def _code(memory, source, target, now_s, orders, situation):
    verdict = judge(orders(f"c0: {source} > {target}"), situation(_at(source, now_s), memory=memory), FREE)
    return verdict.refused[0].code if verdict.refused else None


def test_move_under_way_is_not_begun_twice(orders, situation):
    memory = begun(Memory(), MoveOrder(ContainerId("c0"), NodeId("n0"), NodeId("n1")), _at("n0"), 0.0, SETTINGS)
    assert _code(memory, "n0", "n2", 5.0, orders, situation) is Code.IN_FLIGHT


def test_container_rests_after_a_move(orders, situation):
    memory = _moved(Memory(), "n0", "n1", 0.0)
    assert _code(memory, "n1", "n2", 909.0, orders, situation) is Code.COOLDOWN
    assert _code(memory, "n1", "n2", 911.0, orders, situation) is None


def test_move_back_is_refused_for_an_hour(orders, situation):
    memory = _moved(Memory(), "n0", "n1", 0.0)
    assert _code(memory, "n1", "n0", 1000.0, orders, situation) is Code.BACKOFF
    assert _code(memory, "n1", "n0", 3700.0, orders, situation) is None


def test_failed_move_waits_twice_as_long_each_time(orders, situation):
    memory, at_s, waits = Memory(), 0.0, []
    for _ in range(4):
        memory = begun(
            memory, MoveOrder(ContainerId("c0"), NodeId("n0"), NodeId("n1")), _at("n0", at_s), at_s, SETTINGS
        )
        memory = ended(memory, ContainerId("c0"), at_s, SETTINGS, arrived_on=None)
        back_off = memory.back_offs["container c0"]
        waits.append(back_off.until_s - at_s)
        assert _code(memory, "n0", "n1", back_off.until_s - 1.0, orders, situation) is Code.BACKOFF
        assert _code(memory, "n0", "n1", back_off.until_s, orders, situation) is None
        at_s = back_off.until_s
    assert waits == [600.0, 1200.0, 2400.0, 4800.0]


def test_waits_do_not_grow_past_the_longest():
    memory = Memory()
    for k in range(12):
        memory = begun(
            memory, MoveOrder(ContainerId("c0"), NodeId("n0"), NodeId("n1")), _at("n0", k), float(k), SETTINGS
        )
        memory = ended(memory, ContainerId("c0"), float(k), SETTINGS, arrived_on=None)
    assert memory.back_offs["container c0"].until_s == 11.0 + DAY_S


def test_moving_again_within_the_hour_counts_as_a_bounce():
    memory = _moved(Memory(), "n0", "n1", 0.0)
    assert memory.back_offs == {}
    memory = _moved(memory, "n1", "n2", 1800.0)
    assert memory.back_offs["container c0"].times == 1
    assert _moved(_moved(Memory(), "n0", "n1", 0.0), "n1", "n2", 3601.0).back_offs == {}


def test_container_found_elsewhere_has_bounced_once():
    memory = _moved(Memory(), "n0", "n1", 0.0)
    for _ in range(3):
        memory, alerts = seen(memory, _at("n2", 300.0), 300.0, SETTINGS)
        assert alerts == ()
    assert memory.back_offs["container c0"].times == 1
    assert memory.moves[-1].ending is Ending.BOUNCED


def test_observed_target_is_where_it_is_expected():
    # The orchestrator took the target for a hint and chose n2: that is no bounce.
    memory = _moved(Memory(), "n0", "n1", 0.0, observed="n2")
    after, alerts = seen(memory, _at("n2", 300.0), 300.0, SETTINGS)
    assert (after.back_offs, alerts) == ({}, ())


def test_absent_container_has_not_bounced():
    memory = _moved(Memory(), "n0", "n1", 0.0)
    after, _ = seen(memory, a_snapshot(CLUSTER, {"c1": "n0"}), 300.0, SETTINGS)
    assert after.back_offs == {}


def test_waits_begin_anew_after_a_day_of_good_behaviour():
    memory = begun(Memory(), MoveOrder(ContainerId("c0"), NodeId("n0"), NodeId("n1")), _at("n0"), 0.0, SETTINGS)
    memory = ended(memory, ContainerId("c0"), 0.0, SETTINGS, arrived_on=None)
    after, _ = seen(memory, _at("n0", DAY_S - 1.0), DAY_S - 1.0, SETTINGS)
    assert after.back_offs
    after, _ = seen(memory, _at("n0", DAY_S + 1.0), DAY_S + 1.0, SETTINGS)
    assert after == Memory()


def test_history_is_kept_by_group_since_members_are_replaced(orders, situation):
    cluster = a_cluster(
        [a_node(f"n{i}") for i in range(3)],
        [a_container("c0", group="g0"), a_container("c1", group="g0")],
        groups=[a_group("g0")],
    )
    memory = begun(
        Memory(), MoveOrder(ContainerId("c0"), NodeId("n0"), NodeId("n1")), _at("n0", cluster=cluster), 0.0, SETTINGS
    )
    memory = ended(memory, ContainerId("c0"), 1.0, SETTINGS, arrived_on=None)
    asked = orders("c1: n0 > n1")
    verdict = judge(asked, situation(_at("n0", 10.0, cluster), memory=memory), FREE)
    assert verdict.counts == {Code.BACKOFF: 1}


def test_moves_of_the_last_hour_count_against_the_rates(orders, situation):
    memory = _moved(Memory(), "n0", "n1", 0.0)
    once = GuardSettings(cluster_rate=Rate(1, 0.0))
    asked = orders("c1: n0 > n2")
    assert judge(asked, situation(_at("n1", 3599.0), memory=memory), once).counts == {Code.RATE_LIMIT: 1}
    assert judge(asked, situation(_at("n1", 3600.0), memory=memory), once).orders == asked


def test_rates_forget_nodes_and_containers_that_are_gone(orders, situation):
    memory = _moved(Memory(), "n0", "n1", 0.0)
    smaller = a_cluster([a_node("n0"), a_node("n2")], [a_container("c1")])
    snapshot = a_snapshot(smaller, {"c1": "n0"}, time_s=60.0)
    assert judge(orders("c1: n0 > n2"), situation(snapshot, memory=memory), FREE).orders.moves


def test_operator_lifts_a_veto():
    memory = _moved(Memory(), "n0", "n1", 0.0)
    memory, alerts = seen(memory, _at("n0", 60.0), 60.0, SETTINGS)
    assert len(alerts) == 1
    assert memory.vetoes.keys() == {"container c0"}
    lifted = forgive(memory, "container c0")
    assert (lifted.vetoes, lifted.back_offs) == ({}, {})


def test_end_without_a_beginning_is_refused():
    with pytest.raises(ModelError, match="no move of container 'c0' is under way"):
        ended(Memory(), ContainerId("c0"), 0.0, SETTINGS, arrived_on=None)


def test_old_moves_are_forgotten_so_that_memory_does_not_grow():
    memory = Memory()
    for day in range(5):
        memory = _moved(memory, "n0", "n1", 2 * day * DAY_S)
    assert len(memory.moves) == 1


def test_kept_memory_comes_back_as_it_was():
    memory = _moved(Memory(), "n0", "n1", 0.0)
    memory, _ = seen(memory, _at("n0", 100.0), 100.0, SETTINGS)
    memory = begun(memory, MoveOrder(ContainerId("c0"), NodeId("n0"), NodeId("n2")), _at("n0"), 5000.5, SETTINGS)
    assert memory.vetoes
    assert memory.back_offs
    assert {move.ending for move in memory.moves} == {Ending.BOUNCED, Ending.UNDER_WAY}
    assert memory_of_kept(json.loads(json.dumps(kept_memory(memory)))) == memory
    assert memory_of_kept(kept_memory(Memory())) == Memory()


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"moves": [{"container": "c0"}], "back_offs": {}, "vetoes": {}},
        {"moves": [], "back_offs": {"c": {"until_s": "soon", "times": 1, "last_s": 0.0}}, "vetoes": {}},
        {"moves": [], "back_offs": {"c": {"wait": 3}}, "vetoes": {}},
        {"moves": [], "back_offs": {}, "vetoes": {"c": None}},
        {"moves": 3, "back_offs": {}, "vetoes": {}},
        {"moves": [], "back_offs": [], "vetoes": {}},
    ],
)
def test_memory_of_another_form_is_refused(broken):
    with pytest.raises(ModelError, match="of another version"):
        memory_of_kept(broken)
