"""The guard: what it takes out, with which code, and what falls with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fogfold.control.codes import Code
from fogfold.control.guard.judge import judge
from fogfold.control.guard.memory import Memory
from fogfold.control.guard.settings import GuardSettings, Rate, Window, unknown_names
from fogfold.control.guard.situation import Situation
from fogfold.control.guard.worth import disruption, scores
from fogfold.control.orders import Act, Hold
from fogfold.control.ports import Capabilities
from fogfold.errors import ModelError
from fogfold.model.cluster import Scope
from fogfold.model.container import Movability, ServiceClass
from fogfold.model.identity import ContainerId, GroupId, NodeId, SiteId
from fogfold.model.node import NodeState
from fogfold.testing.builders import a_cluster, a_container, a_group, a_node, a_site, a_snapshot
from fogfold.units import DAY_S, HOUR_S

MONDAY_S = 1_767_571_200.0


@pytest.fixture
def three():
    """Three nodes; c0 and c1 on n0, c2 on n1, nothing on n2."""
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], [a_container(f"c{i}") for i in range(3)])
    return a_snapshot(cluster, {"c0": "n0", "c1": "n0", "c2": "n1"}, time_s=MONDAY_S)


@pytest.fixture
def drain(orders):
    return orders("c0: n0 > n1", "c1: n0 > n1", sleep="n0")


def _codes(verdict, act=Act.MOVE):
    return {refusal.subject: refusal.code for refusal in verdict.refused if refusal.act is act}


def test_harmless_orders_pass_whole(three, drain, situation):
    verdict = judge(drain, situation(three))
    assert verdict.orders == drain
    assert verdict.refused == ()
    assert verdict.stays.keys() == {"n1", "n2"}
    assert verdict.counts == {}


def test_node_that_nobody_speaks_of_stays_for_a_reason(three, orders, situation):
    verdict = judge(orders(stays={"n1": Code.SCORE_LOW}, policy="drain"), situation(three))
    assert verdict.stays[NodeId("n0")] == Hold(Code.NOT_PROPOSED, "by drain")
    assert verdict.stays[NodeId("n1")] == Hold(Code.SCORE_LOW, "by drain")


def test_one_move_of_a_drain_takes_the_others_and_the_sleep_with_it(three, drain, situation):
    verdict = judge(drain, situation(three, container_holds={"c1": Hold(Code.PDB_MULTIPLE, "web-a and web-b")}))
    assert verdict.orders.moves == ()
    assert verdict.orders.sleep == ()
    assert _codes(verdict) == {"c0": Code.DRAIN_BROKEN, "c1": Code.PDB_MULTIPLE}
    assert _codes(verdict, Act.SLEEP) == {"n0": Code.DRAIN_BROKEN}
    assert "web-a and web-b" in verdict.stays[NodeId("n0")].detail


def test_sleep_is_refused_while_nothing_moves_somebody_off(three, orders, situation):
    verdict = judge(orders("c0: n0 > n1", sleep="n0"), situation(three))
    assert _codes(verdict) == {"c0": Code.DRAIN_BROKEN}
    assert "c1" in verdict.stays[NodeId("n0")].detail


def test_node_that_somebody_is_on_the_way_to_does_not_sleep(orders, situation):
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("c0")])
    snapshot = a_snapshot(cluster, {"c0": "n0"}, targets={"c0": "n1"})
    assert judge(orders(sleep="n1"), situation(snapshot)).stays[NodeId("n1")].code is Code.IN_FLIGHT


def test_other_moves_go_on_where_one_drain_falls(three, orders, situation):
    both = orders("c2: n1 > n2", "c0: n0 > n2", "c1: n0 > n2", sleep="n0")
    verdict = judge(both, situation(three, container_holds={"c0": Hold(Code.OWNER_UNKNOWN)}))
    assert [move.container for move in verdict.orders.moves] == ["c2"]


@pytest.mark.parametrize("end", ["n0", "n1"])
def test_nothing_moves_from_or_to_a_blind_node(three, drain, situation, end):
    verdict = judge(drain, situation(three, blind={end: "no reading"}))
    assert verdict.orders.moves == ()
    assert set(_codes(verdict).values()) == {Code.DATA_STALE}
    assert verdict.stays[end].detail


def test_old_snapshot_closes_everything_but_waking(three, orders, situation):
    asked = orders("c0: n0 > n1", "c1: n0 > n1", sleep="n0", wake="n2")
    verdict = judge(asked, situation(three, now_s=MONDAY_S + 181.0))
    assert (verdict.orders.moves, verdict.orders.sleep, verdict.orders.wake) == ((), (), ("n2",))
    assert verdict.counts == {Code.DATA_STALE: 3}
    assert judge(asked, situation(three, now_s=MONDAY_S + 180.0)).orders.moves == asked.moves


def test_snapshot_ages_while_it_waits(three, drain, situation):
    old = a_snapshot(three.cluster, three.placement, time_s=MONDAY_S, age_s=100.0)
    assert judge(drain, situation(old, now_s=MONDAY_S + 80.0)).orders.moves
    assert not judge(drain, situation(old, now_s=MONDAY_S + 81.0)).orders.moves


def _ten(away, *, orders, situation):
    cluster = a_cluster([a_node(f"n{i}") for i in range(20)], [a_container("c0")])
    snapshot = a_snapshot(cluster, {"c0": "n19"})
    gone = {f"n{i}" for i in range(away)}
    return judge(orders("c0: n19 > n18"), situation(snapshot, unreachable=frozenset(gone)))


def test_all_halts_above_45_percent_of_nodes_unreachable(orders, situation):
    assert _ten(9, orders=orders, situation=situation).orders.moves
    verdict = _ten(10, orders=orders, situation=situation)
    assert verdict.counts == {Code.HALTED: 1}
    assert verdict.stays["n19"].code is Code.HALTED


def test_one_of_two_nodes_away_is_no_sign_of_a_large_fault(orders, situation):
    cluster = a_cluster([a_node(f"n{i}") for i in range(4)], [a_container("c0")])
    snapshot = a_snapshot(cluster, {"c0": "n0"}, states={"n2": NodeState.FAILED})
    verdict = judge(orders("c0: n0 > n1"), situation(snapshot, unreachable=frozenset({"n2", "n3"})))
    assert verdict.orders.moves


def test_sleeping_nodes_are_not_unreachable(orders, situation):
    cluster = a_cluster([a_node(f"n{i}") for i in range(10)], [a_container("c0")])
    asleep = {f"n{i}": NodeState.ASLEEP for i in range(2, 10)}
    snapshot = a_snapshot(cluster, {"c0": "n0"}, states=asleep)
    assert judge(orders("c0: n0 > n1"), situation(snapshot, unreachable=frozenset(asleep))).orders.moves


def test_stop_button_stops_even_waking(three, orders, situation):
    verdict = judge(orders("c2: n1 > n2", wake="n2"), situation(three, stopped="by ann"))
    assert verdict.orders.moves == ()
    assert verdict.orders.wake == ()
    assert verdict.counts == {Code.HALTED: 2}


def test_site_without_uplink_is_left_alone_and_others_go_on(orders, situation):
    cluster = a_cluster(
        [a_node("n0"), a_node("n1"), a_node("m0", site="s1"), a_node("m1", site="s1")],
        [a_container("c0"), a_container("c1")],
        sites=[a_site("s0"), a_site("s1", latitude_deg=-36.0)],
    )
    snapshot = a_snapshot(cluster, {"c0": "n0", "c1": "m0"})
    asked = orders("c0: n0 > n1", "c1: m0 > m1", sleep="m0")
    verdict = judge(asked, situation(snapshot, cut_off=frozenset({SiteId("s1")})))
    assert [move.container for move in verdict.orders.moves] == ["c0"]
    assert _codes(verdict) == {"c1": Code.UPLINK_LOST}
    assert verdict.stays[NodeId("m1")].code is Code.UPLINK_LOST


@pytest.mark.parametrize(
    ("settings", "where"),
    [
        (GuardSettings(never_move=frozenset({ContainerId("c0")})), "move"),
        (GuardSettings(never_touch_nodes=frozenset({NodeId("n0")})), "both"),
        (GuardSettings(never_touch_sites=frozenset({SiteId("s0")})), "both"),
    ],
)
def test_what_is_on_the_lists_is_not_touched(three, drain, situation, settings, where):
    verdict = judge(drain, situation(three), settings)
    assert verdict.orders.moves == ()
    assert _codes(verdict)["c0"] is Code.OPT_OUT


def test_group_on_the_list_is_not_moved(orders, situation):
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("c0", group="g0")], groups=[a_group("g0")])
    settings = GuardSettings(never_move_groups=frozenset({GroupId("g0")}))
    verdict = judge(orders("c0: n0 > n1"), situation(a_snapshot(cluster, {"c0": "n0"})), settings)
    assert _codes(verdict) == {"c0": Code.OPT_OUT}


def test_names_on_the_lists_that_nobody_has_are_told(three):
    settings = GuardSettings(
        never_move=frozenset({ContainerId("c0"), ContainerId("old")}), never_touch_nodes=frozenset({NodeId("nX")})
    )
    assert unknown_names(settings, three.cluster) == ("container old", "node nX")


def test_container_that_never_moves_keeps_its_node(orders, situation):
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("c0", movability=Movability.NEVER)])
    verdict = judge(orders("c0: n0 > n1", sleep="n0"), situation(a_snapshot(cluster, {"c0": "n0"})))
    assert _codes(verdict) == {"c0": Code.OPT_OUT}


def test_move_of_what_runs_elsewhere_by_now_is_refused(three, orders, situation):
    assert _codes(judge(orders("c2: n0 > n2"), situation(three))) == {"c2": Code.NOT_RUNNING}


def test_move_of_what_is_on_its_way_is_refused(orders, situation):
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], [a_container("c0")])
    snapshot = a_snapshot(cluster, {"c0": "n0"}, targets={"c0": "n1"})
    assert _codes(judge(orders("c0: n0 > n2"), situation(snapshot))) == {"c0": Code.IN_FLIGHT}


def test_names_that_the_cluster_does_not_have_are_refused(three, orders, situation):
    verdict = judge(orders("c2: n1 > n9", sleep="n8", wake="n7"), situation(three))
    assert (verdict.orders.moves, verdict.orders.sleep, verdict.orders.wake) == ((), (), ())
    assert verdict.counts == {Code.NODE_NOT_READY: 3}


def test_nodes_that_must_stay_on_do_not_sleep(orders, situation):
    cluster = a_cluster([a_node("n0", never_sleep=True), a_node("n1"), a_node("n2")])
    held = {"n1": Hold(Code.STORAGE_LAST_REPLICA, "volume db-7")}
    verdict = judge(orders(sleep="n0 n1 n2"), situation(a_snapshot(cluster, {}), sleep_holds=held))
    assert verdict.orders.sleep == ("n2",)
    assert _codes(verdict, Act.SLEEP) == {"n0": Code.CONTROL_PLANE, "n1": Code.STORAGE_LAST_REPLICA}
    assert verdict.stays[NodeId("n1")].detail == "volume db-7"


def test_node_of_another_controller_is_neither_source_nor_target(three, orders, situation):
    held = {"n1": Hold(Code.OTHER_CONTROLLER, "owned by an autoscaler")}
    verdict = judge(orders("c2: n1 > n2", "c0: n0 > n1"), situation(three, node_holds=held))
    assert _codes(verdict) == {"c0": Code.OTHER_CONTROLLER, "c2": Code.OTHER_CONTROLLER}


# Windows.


def test_window_is_open_from_its_start_for_its_duration():
    night = Window(frozenset({0}), start_s=22 * HOUR_S, duration_s=4 * HOUR_S)
    assert not night.is_open(MONDAY_S + 22 * HOUR_S - 1.0)
    assert night.is_open(MONDAY_S + 22 * HOUR_S)
    # Past midnight into Tuesday.
    assert night.is_open(MONDAY_S + 26 * HOUR_S - 1.0)
    assert not night.is_open(MONDAY_S + 26 * HOUR_S)
    assert not night.is_open(MONDAY_S + DAY_S + 22 * HOUR_S)


def test_window_of_sunday_runs_into_the_next_week():
    sunday = Window(frozenset({6}), start_s=23 * HOUR_S, duration_s=2 * HOUR_S)
    assert sunday.is_open(MONDAY_S + 7 * DAY_S + HOUR_S - 1.0)
    assert not sunday.is_open(MONDAY_S + 7 * DAY_S + HOUR_S)


def test_nothing_moves_outside_the_windows(three, drain, situation):
    settings = GuardSettings(windows=(Window(frozenset({0}), HOUR_S, HOUR_S),))
    verdict = judge(drain, situation(three), settings)
    assert set(_codes(verdict).values()) == {Code.WINDOW_CLOSED}
    later = a_snapshot(three.cluster, three.placement, time_s=MONDAY_S + HOUR_S)
    assert judge(drain, situation(later), settings).orders == drain


def test_site_with_a_window_of_its_own_keeps_to_it():
    own = Window(frozenset({0}), HOUR_S, HOUR_S, site=SiteId("s1"))
    general = Window(frozenset({1}), HOUR_S, HOUR_S)
    settings = GuardSettings(windows=(own, general))
    assert settings.window_is_open(SiteId("s1"), MONDAY_S + HOUR_S)
    assert not settings.window_is_open(SiteId("s0"), MONDAY_S + HOUR_S)
    assert not settings.window_is_open(SiteId("s1"), MONDAY_S + DAY_S + HOUR_S)


def test_window_without_a_day_is_refused():
    with pytest.raises(ModelError, match="name some of 0"):
        Window(frozenset(), 0.0, 1.0)


# Rates.


def _many(situation, orders, settings, *, containers=10, **more):
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container(f"c{i}", cores=0.1) for i in range(containers)])
    snapshot = a_snapshot(cluster, {f"c{i}": "n0" for i in range(containers)})
    return judge(orders(*(f"c{i}: n0 > n1" for i in range(containers)), **more), situation(snapshot), settings)


def test_cluster_rate_grants_moves_in_order_until_it_is_spent(situation, orders):
    verdict = _many(situation, orders, GuardSettings(cluster_rate=Rate(2, 0.3)))
    assert [move.container for move in verdict.orders.moves] == ["c0", "c1", "c2"]
    assert verdict.counts == {Code.RATE_LIMIT: 7}


def test_site_rate_has_a_code_of_its_own(situation, orders):
    verdict = _many(situation, orders, GuardSettings(cluster_rate=Rate(99, 1.0), site_rate=Rate(4, 0.0)))
    assert verdict.counts == {Code.BUDGET_SITE: 6}


def test_node_rate_counts_both_ends(situation, orders):
    free = Rate(99, 1.0)
    verdict = _many(situation, orders, GuardSettings(cluster_rate=free, site_rate=free, node_rate=Rate(5, 0.0)))
    assert verdict.counts == {Code.RATE_LIMIT: 5}


def test_drain_that_is_too_large_for_a_budget_is_not_begun(situation, orders):
    free = Rate(99, 1.0)
    settings = GuardSettings(cluster_rate=Rate(9, 0.0), site_rate=free, node_rate=free)
    verdict = _many(situation, orders, settings, sleep="n0")
    assert verdict.orders.moves == ()
    assert verdict.counts == {Code.RATE_LIMIT: 1, Code.DRAIN_BROKEN: 10}


def test_group_rate_bounds_moves_of_its_members(situation, orders):
    cluster = a_cluster(
        [a_node("n0"), a_node("n1")], [a_container(f"c{i}", group="g0") for i in range(4)], groups=[a_group("g0")]
    )
    snapshot = a_snapshot(cluster, {f"c{i}": "n0" for i in range(4)})
    asked = orders(*(f"c{i}: n0 > n1" for i in range(4)))
    verdict = judge(asked, situation(snapshot), GuardSettings(group_rate=Rate(1, 0.5)))
    assert [move.container for move in verdict.orders.moves] == ["c0", "c1"]


def test_rate_of_none_forbids_all():
    assert Rate(0, 0.0).allowed(100) == 0
    assert Rate(2, 0.3).allowed(10) == 3
    with pytest.raises(ModelError, match="at least 0"):
        Rate(-1, 0.0)


# Worth.


def test_score_is_share_of_saving_over_share_of_disruption():
    # 45 W each to save. Disruption: n0 1 + 2 x 1.1, n1 1 + 1.1, n2 1; in all 6.3, a third of the saving each.
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], [a_container(f"c{i}") for i in range(3)])
    snapshot = a_snapshot(cluster, {"c0": "n0", "c1": "n0", "c2": "n1"})

    found = scores(Situation(snapshot, 0.0))
    assert found[NodeId("n0")] == pytest.approx((1 / 3) / (3.2 / 6.3))
    assert found[NodeId("n2")] == pytest.approx((1 / 3) / (1.0 / 6.3))


def test_disruption_grows_with_class_and_downtime_up_to_ten():
    assert disruption(a_container()) == pytest.approx(1.1)
    assert disruption(a_container(service_class=ServiceClass.BATCH)) == pytest.approx(0.55)
    # Restart in 5 s: 4 x 1.5. Without live moves the same holds for those that could.
    assert disruption(a_container(service_class=ServiceClass.CRITICAL), can_live=False) == pytest.approx(6.0)
    assert disruption(a_container(movability=Movability.RESTART, start_s=600.0)) == 10.0


def test_drain_that_saves_less_than_half_of_what_it_disturbs_is_refused(orders, situation):
    # n0 holds nine critical containers that restart; n1 and n2 hold little and save as much.
    nine = [
        a_container(f"c{i}", cores=0.1, service_class=ServiceClass.CRITICAL, movability=Movability.RESTART)
        for i in range(9)
    ]
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], nine)
    snapshot = a_snapshot(cluster, {f"c{i}": "n0" for i in range(9)})
    asked = orders(*(f"c{i}: n0 > n1" for i in range(9)), sleep="n0")
    free = GuardSettings(cluster_rate=Rate(99, 1.0), site_rate=Rate(99, 1.0), node_rate=Rate(99, 1.0))
    verdict = judge(asked, situation(snapshot), free)
    assert verdict.stays[NodeId("n0")].code is Code.SCORE_LOW
    # The same moves without the sleep are relief, and not judged by what they save.
    relief = orders(*(f"c{i}: n0 > n1" for i in range(9)))
    assert judge(relief, situation(snapshot), free).orders == relief


# Room that was to be freed.


def test_move_into_room_that_is_not_freed_falls_with_the_move_that_was_to_free_it(orders, situation):
    cluster = a_cluster(
        [a_node(f"n{i}") for i in range(3)], [a_container("big", cores=8.0), a_container("other", cores=8.0)]
    )
    snapshot = a_snapshot(cluster, {"big": "n0", "other": "n1"})
    asked = orders("big: n0 > n2", "other: n1 > n0", sleep="n1")
    assert judge(asked, situation(snapshot)).orders == asked
    verdict = judge(asked, situation(snapshot, container_holds={"big": Hold(Code.OPT_OUT)}))
    assert _codes(verdict) == {"big": Code.OPT_OUT, "other": Code.ROOM_NOT_FREED}
    assert verdict.orders.sleep == ()


def test_chain_of_moves_falls_to_its_end(orders, situation):
    names = [f"c{i}" for i in range(4)]
    cluster = a_cluster([a_node(f"n{i}") for i in range(5)], [a_container(name, cores=8.0) for name in names])
    snapshot = a_snapshot(cluster, {name: f"n{i}" for i, name in enumerate(names)})
    asked = orders("c3: n3 > n4", "c2: n2 > n3", "c1: n1 > n2", "c0: n0 > n1")
    verdict = judge(asked, situation(snapshot, container_holds={"c3": Hold(Code.OPT_OUT)}))
    assert verdict.orders.moves == ()
    assert _codes(verdict) == {
        "c3": Code.OPT_OUT,
        "c2": Code.ROOM_NOT_FREED,
        "c1": Code.ROOM_NOT_FREED,
        "c0": Code.ROOM_NOT_FREED,
    }


# Ghosts.


def test_last_node_with_a_place_for_one_more_member_does_not_sleep(orders, situation):
    # One member on each of n0 to n2, none on n3 and n4. Once both sleep, they are empty domains that nobody can use.
    cluster = a_cluster(
        [a_node(f"n{i}") for i in range(5)],
        [a_container(f"c{i}", group="g0") for i in range(3)],
        groups=[a_group("g0", spread=Scope.NODE)],
    )
    snapshot = a_snapshot(cluster, {f"c{i}": f"n{i}" for i in range(3)})
    verdict = judge(orders(sleep="n3 n4"), situation(snapshot))
    assert verdict.orders.sleep == ("n3",)
    assert verdict.stays[NodeId("n4")].code is Code.SPREAD
    honest = a_cluster(cluster.nodes, cluster.containers, groups=[a_group("g0", spread=Scope.NODE, ghosts_count=False)])
    verdict = judge(orders(sleep="n3 n4"), situation(replace(snapshot, cluster=honest)))
    assert verdict.orders.sleep == ("n3", "n4")


def test_orchestrator_that_moves_live_may_move_what_is_alone(three, orders, situation):
    evicts = Capabilities(evict=True)
    assert _codes(judge(orders("c2: n1 > n2"), situation(three, capabilities=evicts))) == {"c2": Code.SINGLETON}
    surges = Capabilities(evict=True, replacement_first=True)
    assert judge(orders("c2: n1 > n2"), situation(three, capabilities=surges)).orders.moves
    live = Capabilities(live=True)
    assert judge(orders("c2: n1 > n2"), situation(three, capabilities=live, memory=Memory())).orders.moves
