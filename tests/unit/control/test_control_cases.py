"""What public bug reports say that no consolidator may do: those that concern guard, plan, data quality and power.

Numbers are those of the list of cases. The rules that propose are held to theirs elsewhere.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from time import perf_counter

import pytest

from fogfold.control.codes import Code
from fogfold.control.guard.judge import judge
from fogfold.control.guard.memory import Memory, MemorySettings, begun, ended, seen
from fogfold.control.guard.settings import GuardSettings, Rate
from fogfold.control.load_evidence import EvidenceSettings, LoadEvidence, observe_load, site_loads
from fogfold.control.node_power import COUNTS_AS_OFF, PowerState
from fogfold.control.orders import Act, Hold, MoveOrder, Orders
from fogfold.control.plan import PlanSettings, make_plan, recheck
from fogfold.control.ports import Capabilities, PowerReading, PowerSight
from fogfold.control.power import NodeSight, PowerAct, PowerRecord, Wanted, advance
from fogfold.control.power_rules import PowerRules, PowerView, sleep_holds, wakes
from fogfold.model.cluster import Scope
from fogfold.model.identity import ContainerId, NodeId, SiteId
from fogfold.model.node import NodeState
from fogfold.testing.builders import a_cluster, a_container, a_group, a_node, a_site, a_snapshot

FREE = GuardSettings(*(180.0, 0.45, 3), Rate(99, 9.0), Rate(99, 9.0), Rate(99, 9.0), Rate(99, 9.0), least_score=0.0)
EVICTS = Capabilities(evict=True)


def _codes(result, act=Act.MOVE):
    return {refusal.subject: refusal.code for refusal in result.refused if refusal.act is act}


def test_case_1_container_too_large_for_any_mark_moves_at_most_once(orders, situation):
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], [a_container("big", memory_gib=7.5)])
    settings, memory, moves = MemorySettings(), Memory(), 0
    where = "n0"
    for cycle in range(11):
        snapshot = a_snapshot(cluster, {"big": where}, time_s=60.0 * cycle)
        # A policy that insists: wherever it is, it is too hot there.
        target = next(node.id for node in cluster.nodes if node.id != where)
        verdict = judge(orders(f"big: {where} > {target}"), situation(snapshot, memory=memory), FREE)
        for move in verdict.orders.moves:
            moves += 1
            memory = begun(memory, move, snapshot, snapshot.time_s, settings)
            memory = ended(memory, ContainerId("big"), snapshot.time_s + 20.0, settings, arrived_on=move.target)
            where = move.target
    assert moves == 1


def test_case_3_no_projection_passes_the_high_mark(orders):
    # 80 %, 80 % and 40 %, mark 80: what leaves the third would lift another above it.
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], [a_container(f"c{i}", cores=2.0) for i in range(10)])
    where = {f"c{i}": f"n{i // 4}" for i in range(10)}
    snapshot = a_snapshot(cluster, where, usage_cores={f"c{i}": 2.0 for i in range(10)})
    plan = make_plan(orders("c8: n2 > n0", "c9: n2 > n1", sleep="n2"), snapshot, PlanSettings(ceiling=0.8))
    assert (plan.steps, plan.sleep) == ((), ())
    assert Code.NODE_HOT in _codes(plan).values()


def test_case_3_no_power_off_past_the_band():
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], [a_container(f"c{i}", cores=2.0) for i in range(10)])
    where = {f"c{i}": f"n{i // 4}" for i in range(10)}
    snapshot = a_snapshot(cluster, where, usage_cores={f"c{i}": 2.0 for i in range(10)})
    quiet = {SiteId("s0"): LoadEvidence(quiet_since_s=0.0, seen_s=9000.0)}
    view = PowerView(snapshot, 9000.0, {}, quiet)
    assert sleep_holds([NodeId("n2")], view)[NodeId("n2")].code is Code.NODE_HOT


@pytest.mark.parametrize(("quiet_s", "most_often"), [(2400.0, 1), (180.0, 9)])
def test_case_5_flapping_replica_switches_no_node_off_and_on_twice_in_an_hour(quiet_s, most_often):
    # Every ten minutes an autoscaler adds replicas that need a third node, or takes them. By 40 minutes of evidence the
    # node is not even put to sleep again; with evidence of 3 minutes the rest after waking still keeps the hour.
    nodes = [a_node(f"n{i}") for i in range(4)]
    base = [a_container(f"base-{i}", cores=4.0) for i in range(2)]
    extra = [a_container(f"extra-{i}", cores=9.0) for i in range(2)]
    small, large = a_cluster(nodes, base), a_cluster(nodes, [*base, *extra])
    records = {node.id: PowerRecord(node.id) for node in nodes}
    evidence = LoadEvidence()
    went_off: dict[str, list[float]] = {node.id: [] for node in nodes}
    rules = PowerRules(EvidenceSettings(quiet_s=quiet_s), spare_least=0, spare_share=0.0)
    now_s, quiet_until_s = 0.0, 2 * 3600.0
    while now_s < 12 * 3600.0:
        now_s += 60.0
        surging = now_s > quiet_until_s and now_s // 600.0 % 2 == 1
        cluster = large if surging else small
        states: dict[str, NodeState] = {
            name: NodeState.ASLEEP if record.state in COUNTS_AS_OFF else NodeState.ON
            for name, record in records.items()
        }
        placement = {"base-0": "n0", "base-1": "n0"} | ({"extra-0": "n1", "extra-1": "n1"} if surging else {})
        usage: dict[str, float] = {c.id: c.request.cpu_cores for c in cluster.containers}
        snapshot = a_snapshot(cluster, placement, states=states, usage_cores=usage, time_s=now_s)
        evidence = observe_load(evidence, site_loads(snapshot)[SiteId("s0")], now_s)
        view = PowerView(snapshot, now_s, records, {SiteId("s0"): evidence})
        wanted = dict.fromkeys(records, Wanted.STAY)
        wanted |= {name: Wanted.SLEEP for name in (NodeId("n3"), NodeId("n2")) if not sleep_holds([name], view, rules)}
        wanted |= {wake.node: Wanted.WAKE for wake in wakes(view, rules)[0]}
        for name, record in records.items():
            off = record.state in (*COUNTS_AS_OFF, PowerState.OFF_REQUESTED)
            coming = record.state is PowerState.WAKE_REQUESTED
            power = PowerSight(PowerReading.OFF if off else PowerReading.ON)
            sight = NodeSight(not off or coming, True, 0, True, power)
            step = advance(record, replace(sight, answers=not off), wanted[name], now_s, described_boot_s=60.0)
            records[name] = step.record
            if PowerAct.ORDER_OFF in step.acts:
                went_off[name].append(now_s)
    assert max(len(times) for times in went_off.values()) >= min(most_often, 2), "it must switch a node off and on"
    for times in went_off.values():
        assert all(later - earlier >= 3600.0 for earlier, later in pairwise(times))
        assert len(times) <= most_often


def test_case_7_opposing_controller_is_noticed_and_not_answered_with_a_third_move(orders, situation):
    cluster = a_cluster([a_node("A"), a_node("B"), a_node("C")], [a_container("w")])
    settings = MemorySettings()
    at_a = a_snapshot(cluster, {"w": "A"})
    memory = begun(Memory(), MoveOrder(ContainerId("w"), NodeId("A"), NodeId("B")), at_a, 0.0, settings)
    memory = ended(memory, ContainerId("w"), 20.0, settings, arrived_on=NodeId("B"))
    # Ten minutes later it is back on A, and we had nothing to do with it.
    memory, alerts = seen(memory, at_a, 600.0, settings)
    assert alerts == ("somebody moved w back from B to A; container w is left alone until that is settled",)
    for minutes in range(10, 120, 5):
        snapshot = a_snapshot(cluster, {"w": "A"}, time_s=60.0 * minutes)
        memory, again = seen(memory, snapshot, snapshot.time_s, settings)
        assert again == ()
        for target in "BC":
            verdict = judge(orders(f"w: A > {target}"), situation(snapshot, memory=memory), FREE)
            assert _codes(verdict) == {"w": Code.OTHER_CONTROLLER}


def test_case_9_each_planned_move_uses_up_room(orders):
    cluster = a_cluster(
        [a_node(f"n{i}", cores=8.0, memory_gib=16.0) for i in range(10)] + [a_node("n10", memory_gib=20.0)],
        [a_container(f"c{i}", cores=8.0, memory_gib=16.0) for i in range(10)],
    )
    snapshot = a_snapshot(cluster, {f"c{i}": f"n{i}" for i in range(10)})
    plan = make_plan(orders(*(f"c{i}: n{i} > n10" for i in range(10))), snapshot)
    assert len(plan.steps) == 1
    assert list(_codes(plan).values()) == [Code.NO_ROOM] * 9


@pytest.mark.parametrize("ghosts_count", [True, False])
def test_case_11_ghost_nodes_keep_a_spread_from_being_drained(orders, situation, ghosts_count):
    cluster = a_cluster(
        [a_node(f"n{i}") for i in range(3)],
        [a_container(f"c{i}", group="g0") for i in range(3)],
        groups=[a_group("g0", spread=Scope.NODE, max_skew=1, ghosts_count=ghosts_count)],
    )
    snapshot = a_snapshot(cluster, {f"c{i}": f"n{i}" for i in range(3)})
    drain = orders("c2: n2 > n0", sleep="n2")
    verdict = judge(drain, situation(snapshot), FREE)
    plan = make_plan(verdict.orders, snapshot)
    if ghosts_count:
        assert (plan.steps, plan.sleep) == ((), ())
        # And should the guard be passed by, the plan says the same.
        assert _codes(make_plan(drain, snapshot)) == {"c2": Code.SPREAD}
    else:
        assert [sleep.node for sleep in plan.sleep] == ["n2"]
        assert len(plan.steps) == 1


def test_case_13_no_second_member_goes_while_one_is_missing(orders, situation):
    cluster = a_cluster(
        [a_node("n0"), a_node("n1"), a_node("n2", site="s1")],
        [a_container(f"c{i}", group="g0") for i in range(3)],
        groups=[a_group("g0", spread=Scope.SITE, may_be_missing=1)],
        sites=[a_site("s0"), a_site("s1", latitude_deg=-36.81)],
    )
    snapshot = a_snapshot(cluster, {"c0": "n0", "c1": "n1"}, states={"n2": NodeState.FAILED})
    verdict = judge(orders("c0: n0 > n1"), situation(snapshot), FREE)
    assert _codes(verdict) == {"c0": Code.PDB_ZERO}
    assert "c2" in verdict.refused[0].why.detail


def test_case_15_volumes_keep_containers_and_the_node_names_them(orders, situation):
    cluster = a_cluster(
        [a_node("n0"), a_node("n1"), a_node("m0", site="s1")],
        [
            a_container("disk", pinned_to=NodeId("n0")),
            a_container("near", data_site=SiteId("s0"), data_distance_km=10.0),
            a_container("free"),
        ],
        sites=[a_site("s0"), a_site("s1", latitude_deg=-36.81)],
    )
    snapshot = a_snapshot(cluster, {"disk": "n0", "near": "n0", "free": "n0"})
    plan = make_plan(orders("near: n0 > m0"), snapshot)
    assert _codes(plan) == {"near": Code.PV_ZONE}
    plan = make_plan(orders("disk: n0 > n1", "free: n0 > n1", "near: n0 > n1", sleep="n0"), snapshot)
    assert plan.steps == ()
    assert _codes(plan)["disk"] is Code.PV_LOCAL
    (sleep,) = [refusal for refusal in plan.refused if refusal.act is Act.SLEEP]
    assert "disk" in sleep.why.detail
    # An orchestrator that knows of a bound local volume says so, and the verdict names it.
    held = {"free": Hold(Code.PV_LOCAL, "free is bound to volume pv-7")}
    verdict = judge(orders("free: n0 > n1", sleep="n0"), situation(snapshot, container_holds=held), FREE)
    assert "pv-7" in verdict.stays[NodeId("n0")].detail


def test_case_17_single_replica_is_not_evicted_unless_its_owner_opted_in(orders, situation):
    cluster = a_cluster(
        [a_node("n0"), a_node("n1")],
        [a_container("alone"), a_container("one", group="g1")],
        groups=[a_group("g1")],
    )
    snapshot = a_snapshot(cluster, {"alone": "n0", "one": "n0"})
    asked = orders("alone: n0 > n1", "one: n0 > n1")
    verdict = judge(asked, situation(snapshot, capabilities=EVICTS), FREE)
    assert _codes(verdict) == {"alone": Code.SINGLETON, "one": Code.SINGLETON}
    opted = situation(snapshot, capabilities=EVICTS, opted_in=frozenset({"alone"}))
    assert [move.container for move in judge(asked, opted, FREE).orders.moves] == ["alone"]
    first = Capabilities(evict=True, replacement_first=True)
    assert judge(asked, situation(snapshot, capabilities=first), FREE).orders == asked


def test_case_19_budget_of_none_skips_the_node_and_names_the_budget(orders, situation):
    cluster = a_cluster(
        [a_node("n0"), a_node("n1")],
        [a_container("a", group="g0"), a_container("b", group="g0"), a_container("c"), a_container("d")],
        groups=[a_group("g0", may_be_missing=0)],
    )
    snapshot = a_snapshot(cluster, {"a": "n0", "b": "n1", "c": "n0", "d": "n1"})
    drain = orders("c: n0 > n1", "a: n0 > n1", sleep="n0")
    verdict = judge(drain, situation(snapshot), FREE)
    assert (verdict.orders.moves, verdict.orders.sleep) == ((), ())
    assert _codes(verdict) == {"c": Code.DRAIN_BROKEN, "a": Code.PDB_ZERO}
    assert "g0" in verdict.stays[NodeId("n0")].detail
    # Two budgets match "d": the orchestrator would refuse; so do we, before anything is marked.
    held = {"d": Hold(Code.PDB_MULTIPLE, "web-a and web-b both match d")}
    verdict = judge(orders("d: n1 > n0", sleep="n1"), situation(snapshot, container_holds=held), FREE)
    assert "web-a and web-b" in verdict.refused[0].why.detail


def test_case_21_nobody_is_frozen_before_the_budget_grants_it(orders, situation):
    # Ten members of which none may be missing: not one move, by checkpoint or otherwise.
    members = [a_container(f"c{i}", cores=0.5, group="g0") for i in range(10)]
    for budget, at_once in ((0, 0), (1, 1), (3, 3)):
        cluster = a_cluster([a_node("n0"), a_node("n1")], members, groups=[a_group("g0", may_be_missing=budget)])
        snapshot = a_snapshot(cluster, {c.id: "n0" for c in members})
        asked = orders(*(f"c{i}: n0 > n1" for i in range(10)), sleep="n0")
        wide = PlanSettings(node_at_once=99, site_at_once=99, cluster_at_once=99)
        plan = make_plan(asked, snapshot, wide)
        assert max((len(wave) for wave in plan.waves), default=0) == at_once
        guarded = make_plan(judge(asked, situation(snapshot), FREE).orders, snapshot, wide)
        assert max((len(wave) for wave in guarded.waves), default=0) == at_once


def test_case_27_what_arrived_between_plan_and_act_is_seen_before_the_act(orders):
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("a", cores=6.0), a_container("new", cores=6.0)])
    plan = make_plan(orders("a: n0 > n1", sleep="n0"), a_snapshot(cluster, {"a": "n0"}))
    (step,) = plan.steps
    # Another was bound to the target; and to the source, which then is not empty when its power would go.
    hold = recheck(step, a_snapshot(cluster, {"a": "n0", "new": "n1"}))
    assert hold is not None
    assert hold.code is Code.NO_ROOM
    record = PowerRecord(NodeId("n0"), PowerState.DRAINED)
    full = NodeSight(True, is_empty=False, volumes=0)
    found = advance(record, full, Wanted.SLEEP, 600.0, described_boot_s=60.0)
    assert found.record.state is PowerState.DRAINING
    assert found.acts == ()
    # Where it is protected the sleep is called off, and our mark is gone.
    found = advance(record, full, Wanted.SLEEP, 600.0, described_boot_s=60.0, must_stay=True)
    assert (found.record.state, found.acts) == (PowerState.ON, (PowerAct.UNCORDON,))


def test_case_33_requests_and_usage_both_count(orders):
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container(f"c{i}", cores=0.1) for i in range(4)])
    where = {"c0": "n0", "c1": "n0", "c2": "n1", "c3": "n1"}
    hungry = a_snapshot(cluster, where, usage_cores={f"c{i}": 4.0 for i in range(4)})
    plan = make_plan(orders("c2: n1 > n0", "c3: n1 > n0", sleep="n1"), hungry)
    assert (plan.steps, set(_codes(plan).values())) == ((), {Code.NODE_HOT})
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container(f"c{i}", cores=9.0) for i in range(2)])
    idle = a_snapshot(cluster, {"c0": "n0", "c1": "n1"}, usage_cores={"c0": 0.5, "c1": 0.5})
    assert _codes(make_plan(orders("c1: n1 > n0", sleep="n1"), idle)) == {"c1": Code.NO_ROOM}


def test_case_35_large_cluster_is_planned_in_time_and_cut_off_plans_are_whole():
    # 113 nodes, 15,769 containers; the last 13 nodes are emptied onto the others.
    nodes = [a_node(f"n{i}", cores=200.0, memory_gib=400.0, network_mbit_s=1e4, disk_iops=1e6) for i in range(113)]
    containers = [a_container(f"c{i}", cores=1.0) for i in range(15_769)]
    cluster = a_cluster(nodes, containers)
    where = {f"c{i}": f"n{i % 113}" for i in range(15_769)}
    snapshot = a_snapshot(cluster, where)
    leaving = [c for c, n in where.items() if int(n[1:]) >= 100]
    moves = tuple(MoveOrder(ContainerId(c), NodeId(where[c]), NodeId(f"n{k % 100}")) for k, c in enumerate(leaving))
    asked = Orders(moves, tuple(NodeId(f"n{i}") for i in range(100, 113)))
    limits = PlanSettings(node_at_once=4, site_at_once=99, most_moves=5000)
    began_s = perf_counter()
    plan = make_plan(asked, snapshot, limits)
    assert perf_counter() - began_s < 60.0
    assert len(plan.steps) == len(leaving)
    # Cut off early, what is in the plan still empties whole nodes, or none.
    waves = iter([False] * 40 + [True] * 9)
    part = make_plan(asked, snapshot, limits, cut_off=lambda: next(waves))
    moved = {step.move.container for step in part.steps}
    for sleep in part.sleep:
        assert all(c in moved for c, n in where.items() if n == sleep.node)
    assert {step.move.source for step in part.steps} <= {sleep.node for sleep in part.sleep}


@pytest.mark.parametrize("sight", [NodeSight(True, False, 0), NodeSight(True, True, 2), NodeSight(True, True, None)])
def test_case_37_power_is_not_cut_under_a_container_or_volume(sight):
    record = PowerRecord(NodeId("n0"), PowerState.DRAINED)
    step = advance(record, sight, Wanted.SLEEP, 9999.0, described_boot_s=60.0)
    assert PowerAct.ORDER_OFF not in step.acts


@pytest.mark.parametrize(
    ("power", "marked"),
    [
        (PowerSight(PowerReading.OFF), True),
        (PowerSight(PowerReading.OFF, presumed=True), False),
        (PowerSight(PowerReading.UNKNOWN), False),
        (None, False),
    ],
)
def test_case_37_out_of_service_only_where_off_was_read_from_outside(power, marked):
    record = PowerRecord(NodeId("n0"), PowerState.OFF_REQUESTED, tries=1)
    step = advance(record, NodeSight(False, True, 0, power=power), Wanted.SLEEP, 60.0, described_boot_s=60.0)
    assert (PowerAct.MARK_OUT_OF_SERVICE in step.acts) is marked


@pytest.mark.parametrize("code", [Code.STORAGE_LAST_REPLICA, Code.CONTROL_PLANE, Code.OTHER_CONTROLLER])
def test_case_39_nodes_that_others_rest_on_are_not_powered_off(orders, situation, code):
    cluster = a_cluster([a_node(f"n{i}") for i in range(4)] + [a_node("etcd", never_sleep=True)])
    snapshot = a_snapshot(cluster, {}, time_s=9000.0)
    quiet = {SiteId("s0"): LoadEvidence(quiet_since_s=0.0, seen_s=9000.0)}
    view = PowerView(snapshot, 9000.0, {}, quiet, must_stay={NodeId("n0"): Hold(code, "watched")})
    holds = sleep_holds([NodeId("etcd"), NodeId("n0"), NodeId("n1")], view)
    assert {node: hold.code for node, hold in holds.items()} == {"etcd": Code.CONTROL_PLANE, "n0": code}
    verdict = judge(orders(sleep="etcd n0 n1"), situation(snapshot, sleep_holds=holds), FREE)
    assert verdict.orders.sleep == ("n1",)
    # Even half way there, the order is not given.
    step = advance(
        PowerRecord(NodeId("n0"), PowerState.DRAINED),
        NodeSight(True, True, 0),
        Wanted.SLEEP,
        9999.0,
        described_boot_s=60.0,
        must_stay=True,
    )
    assert PowerAct.ORDER_OFF not in step.acts
