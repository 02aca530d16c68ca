"""Which nodes may not go off, and which are woken: evidence, spares, last of a kind, forecasts, wear."""

from __future__ import annotations

import pytest

from fogfold.control.codes import Code
from fogfold.control.load_evidence import EvidenceSettings, LoadEvidence, SiteLoad, observe_load, site_loads
from fogfold.control.node_power import PowerState
from fogfold.control.orders import Hold
from fogfold.control.power import PowerRecord
from fogfold.control.power_rules import PowerRules, PowerView, sleep_holds, wakes
from fogfold.errors import ModelError
from fogfold.model.identity import NodeId, SiteId
from fogfold.model.node import Accelerator, Architecture, NodeState
from fogfold.testing.builders import a_cluster, a_container, a_node, a_site, a_snapshot
from fogfold.units import HOUR_S

NOW_S = 100_000.0
QUIET = {SiteId("s0"): LoadEvidence(quiet_since_s=NOW_S - 2400.0, seen_s=NOW_S)}
BUSY = {SiteId("s0"): LoadEvidence(busy_since_s=NOW_S - 300.0, seen_s=NOW_S)}


def _view(*, nodes=4, states=None, cores=1.0, used=None, evidence=None, more_nodes=(), **more):
    """Four nodes of 10 cores at one site that is quiet, with a container on the first two, unless told otherwise."""
    cluster = a_cluster(
        [*(a_node(f"n{i}") for i in range(nodes)), *more_nodes],
        [a_container("c0", cores=cores), a_container("c1", cores=cores)],
    )
    usage = None if used is None else {"c0": used, "c1": used}
    snapshot = a_snapshot(cluster, {"c0": "n0", "c1": "n1"}, states=states, usage_cores=usage)
    return PowerView(snapshot, NOW_S, more.pop("records", {}), QUIET if evidence is None else evidence, **more)


def _codes(view, *nodes, rules=None):
    return {node: hold.code for node, hold in sleep_holds(nodes, view, rules).items()}


def _record(name, state, **more):
    return {name: PowerRecord(name, state, **more)}


def test_quiet_site_lets_a_node_sleep():
    assert _codes(_view(), "n3") == {}


@pytest.mark.parametrize(("quiet_s", "held"), [(2399.0, True), (2400.0, False)])
def test_sleep_needs_40_minutes_of_quiet(quiet_s, held):
    evidence = {SiteId("s0"): LoadEvidence(quiet_since_s=NOW_S - quiet_s, seen_s=NOW_S)}
    assert _codes(_view(evidence=evidence), "n3") == ({"n3": Code.COOLDOWN} if held else {})


def test_no_evidence_is_no_evidence_of_quiet():
    assert _codes(_view(evidence={}), "n3") == {"n3": Code.COOLDOWN}


@pytest.mark.parametrize(("busy_s", "woken"), [(299.0, False), (300.0, True)])
def test_waking_needs_5_minutes_of_load(busy_s, woken):
    evidence = {SiteId("s0"): LoadEvidence(busy_since_s=NOW_S - busy_s, seen_s=NOW_S)}
    view = _view(states={"n3": NodeState.ASLEEP}, evidence=evidence)
    found, alerts = wakes(view)
    assert [wake.node for wake in found] == (["n3"] if woken else [])
    assert alerts == ()


def test_each_node_that_may_go_counts_for_the_next():
    # The last one could bear all, but it is the last of its site.
    rules = PowerRules(spare_least=0, spare_share=0.0)
    assert _codes(_view(), "n3", "n2", "n1", "n0", rules=rules) == {"n0": Code.LAST_OF_KIND}


def test_room_is_kept_for_what_the_largest_node_runs():
    # 2 x 6 cores: on three nodes one may fail (20 are left), on two it may not (10).
    view = _view(cores=6.0, used=1.0)
    assert _codes(view, "n3", "n2") == {"n2": Code.SPARE}
    assert _codes(view, "n3", "n2", rules=PowerRules(spare_least=0, spare_share=0.0)) == {}


def test_tenth_of_the_loaded_nodes_is_spare():
    cluster = a_cluster([a_node(f"n{i}") for i in range(30)], [a_container(f"c{i}", cores=9.0) for i in range(25)])
    snapshot = a_snapshot(cluster, {f"c{i}": f"n{i}" for i in range(25)}, usage_cores={f"c{i}": 0.5 for i in range(25)})
    view = PowerView(snapshot, NOW_S, {}, QUIET)
    # 225 cores promised; 3 of the loaded 25 may fail: 26 of 29 nodes must hold them, then 25 of 28, then 24 of 27.
    nodes = [f"n{i}" for i in range(29, 24, -1)]
    assert _codes(view, *nodes) == {f"n{i}": Code.SPARE for i in (25,)}


@pytest.mark.parametrize(
    ("odd", "text"),
    [
        (a_node("odd", architecture=Architecture.ARM64), "ARM64"),
        (a_node("odd", accelerator=Accelerator("npu", 1)), "npu"),
    ],
)
def test_last_of_a_kind_stays_on(odd, text):
    holds = sleep_holds([NodeId("odd")], _view(more_nodes=(odd,)))
    assert holds[NodeId("odd")].code is Code.LAST_OF_KIND
    assert text in holds[NodeId("odd")].detail


def test_blind_node_does_not_count_as_another_of_its_kind():
    rules = PowerRules(spare_least=0, spare_share=0.0)
    assert _codes(_view(nodes=2, blind={"n0"}), "n1", rules=rules) == {"n1": Code.LAST_OF_KIND}


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"unproven": {"n3"}}, Code.WAKE_UNPROVEN),
        ({"cut_off": {SiteId("s0")}}, Code.UPLINK_LOST),
        ({"must_stay": {"n3": Hold(Code.STORAGE_LAST_REPLICA)}}, Code.STORAGE_LAST_REPLICA),
        ({"records": _record("n3", PowerState.ON, woken_s=NOW_S - 3599.0)}, Code.COOLDOWN),
        ({"records": _record("n2", PowerState.BOOTING)}, Code.POWER_BUSY),
    ],
)
def test_node_stays_on_for_each_rule(more, code):
    assert _codes(_view(**more), "n3") == {"n3": code}


def test_node_rests_an_hour_after_it_was_woken():
    assert _codes(_view(records=_record("n3", PowerState.ON, woken_s=NOW_S - 3600.0)), "n3") == {}


def test_others_must_not_pass_the_middle_of_the_band():
    # 2 x 9 of 30 cores is 60 %, but of 20 cores 90 %.
    view = _view(nodes=4, cores=9.0, used=9.0, states={"n3": NodeState.ASLEEP})
    rules = PowerRules(spare_least=0, spare_share=0.0)
    assert _codes(view, "n2", rules=rules) == {"n2": Code.NODE_HOT}


def test_forecast_rise_within_the_time_of_a_cycle_keeps_a_node_on():
    # 2 x 3 of 40 cores is 15 %; 65 % forecast on 4 nodes would be 87 % on 3. A cycle takes 30 + 2 x 90 s.
    early = {SiteId("s0"): [(200.0, 0.65)]}
    late = {SiteId("s0"): [(211.0, 0.65)]}
    rules = PowerRules(spare_least=0, spare_share=0.0)
    assert _codes(_view(cores=3.0, used=3.0, forecast=early), "n3", rules=rules) == {"n3": Code.FORECAST_RISE}
    assert _codes(_view(cores=3.0, used=3.0, forecast=late), "n3", rules=rules) == {}


def test_forecast_crossing_within_the_boot_time_wakes_without_waiting_for_load():
    states = {"n3": NodeState.ASLEEP}
    # Its lead is 90 s: 1.5 x 60 s while it has no boots of its own.
    assert [w.node for w in wakes(_view(states=states, forecast={SiteId("s0"): [(90.0, 0.82)]}))[0]] == ["n3"]
    assert wakes(_view(states=states, forecast={SiteId("s0"): [(91.0, 0.82)]}))[0] == ()
    slow = _record("n3", PowerState.OFF, boots_s=(400.0,) * 5)
    view = _view(states=states, records=slow, forecast={SiteId("s0"): [(400.0, 0.82)]})
    assert [wake.node for wake in wakes(view)[0]] == ["n3"]


def test_draining_goes_on_though_the_others_are_fuller_for_it():
    # Quiet is over, as it must be when capacity leaves; only need calls the node back.
    states = {"n3": NodeState.DRAINING}
    rules = PowerRules(spare_least=0, spare_share=0.0)
    assert _codes(_view(states=states, evidence={}, cores=9.0, used=10.0), "n3", rules=rules) == {}
    hot = _view(nodes=3, states={"n2": NodeState.DRAINING}, evidence={}, cores=9.0, used=9.0)
    assert _codes(hot, "n2", rules=rules) == {"n2": Code.NODE_HOT}


def test_longest_off_is_woken_first_and_one_at_a_time():
    states = {"n2": NodeState.ASLEEP, "n3": NodeState.ASLEEP}
    records = _record("n2", PowerState.OFF, off_s=NOW_S - 100.0) | _record("n3", PowerState.OFF, off_s=NOW_S - 900.0)
    assert [wake.node for wake in wakes(_view(states=states, records=records, evidence=BUSY))[0]] == ["n3"]
    records |= _record("n3", PowerState.BOOTING)
    assert wakes(_view(states=states, records=records, evidence=BUSY))[0] == ()


def test_node_that_did_not_come_up_is_passed_over_for_another():
    states = {"n2": NodeState.ASLEEP, "n3": NodeState.ASLEEP}
    records = _record("n2", PowerState.OFF, off_s=NOW_S - 100.0)
    records |= _record("n3", PowerState.WAKE_FAILED, since_s=NOW_S - 60.0, off_s=0.0)
    assert [wake.node for wake in wakes(_view(states=states, records=records, evidence=BUSY))[0]] == ["n2"]


def test_site_with_nobody_to_wake_raises_an_alert():
    found, alerts = wakes(_view(evidence=BUSY))
    assert found == ()
    assert "no node of it can be woken" in alerts[0]


# Evidence.


def _sample(evidence, load, now_s, *, whole=True):
    return observe_load(evidence, SiteLoad((load,), (1.0,), whole), now_s)


def test_quiet_grows_while_samples_come_and_breaks_with_a_gap():
    evidence = LoadEvidence()
    for now_s in range(0, 2401, 60):
        evidence = _sample(evidence, 0.3, float(now_s))
    assert evidence.quiet_since_s == 0.0
    assert _sample(evidence, 0.3, 2400.0 + 181.0).quiet_since_s == 2581.0
    assert _sample(evidence, 0.3, 2399.0).quiet_since_s == 2399.0


def test_one_sample_in_the_band_ends_the_evidence():
    evidence = _sample(_sample(LoadEvidence(), 0.3, 0.0), 0.45, 30.0)
    assert (evidence.quiet_since_s, evidence.busy_since_s) == (None, None)
    assert _sample(evidence, 0.82, 60.0).busy_since_s == 60.0


def test_site_that_is_not_wholly_known_may_be_busy_but_never_quiet():
    assert _sample(LoadEvidence(), 0.1, 0.0, whole=False).quiet_since_s is None
    assert _sample(LoadEvidence(), 0.9, 0.0, whole=False).busy_since_s == 0.0


def test_site_without_a_node_on_is_neither():
    evidence = observe_load(LoadEvidence(), SiteLoad((1.0,), (0.0,), is_whole=True), 0.0)
    assert (evidence.quiet_since_s, evidence.busy_since_s) == (None, None)


def test_load_of_a_site_is_its_fullest_resource_over_nodes_that_are_on():
    cluster = a_cluster(
        [a_node("n0"), a_node("n1"), a_node("m0", site="s1")],
        [a_container("c0", cores=4.0), a_container("c1", cores=6.0)],
        sites=[a_site("s0"), a_site("s1", latitude_deg=-36.0)],
    )
    snapshot = a_snapshot(cluster, {"c0": "n0", "c1": "m0"}, states={"n1": NodeState.ASLEEP}, usage_cores={"c0": 4.0})
    loads = site_loads(snapshot)
    assert loads[SiteId("s0")].load == pytest.approx(0.4)
    # A blind node's capacity and containers are both left out, and the site is not whole.
    blind = site_loads(snapshot, blind={NodeId("m0")})[SiteId("s1")]
    assert (blind.load, blind.is_whole) == (None, False)


def test_band_out_of_order_is_refused():
    with pytest.raises(ModelError, match="woken at once"):
        EvidenceSettings(low_load=0.7)


def test_woken_rest_is_an_hour_by_default():
    assert PowerRules().woken_rest_s == HOUR_S
