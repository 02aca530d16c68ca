"""Readings become a snapshot; what is missing, old or impossible makes a node blind and is never read as zero."""

from __future__ import annotations

import math

import pytest

from fogfold.control.collect import Blindness, CollectSettings, assemble
from fogfold.control.readings import ContainerReading, NodeReading, Readings
from fogfold.errors import ModelError
from fogfold.model.identity import ContainerId, NodeId, SiteId
from fogfold.model.node import NodeState
from fogfold.model.resources import Resource, Resources
from fogfold.testing.builders import a_cluster, a_container, a_node, a_site
from fogfold.units import GIB

NOW_S = 1_000_000.0


def _usage(cores=1.0, memory_gib=1.0):
    return Resources(cores, memory_gib * GIB, 1e6, 10.0)


def _readings(*, nodes=None, containers=None, states=None, cluster=None, placement=None, **more):
    cluster = cluster or a_cluster([a_node("n0"), a_node("n1")], [a_container("c0"), a_container("c1", cores=2.0)])
    fresh = NodeReading(NOW_S - 10.0)
    return Readings(
        cluster,
        NOW_S - 5.0,
        states or {node.id: NodeState.ON for node in cluster.nodes},
        {ContainerId("c0"): NodeId("n0"), ContainerId("c1"): NodeId("n1")} if placement is None else placement,
        nodes={node.id: fresh for node in cluster.nodes} if nodes is None else nodes,
        containers=containers or {"c0": ContainerReading(NOW_S - 10.0, _usage(0.5))},
        **more,
    )


def _with(reading, **more):
    return assemble(
        _readings(nodes={"n0": NodeReading(NOW_S), "n1": reading} if reading else {"n0": NodeReading(NOW_S)}, **more),
        NOW_S,
    )


def test_fresh_readings_leave_no_node_blind():
    found = assemble(_readings(), NOW_S)
    assert found.blind == {}
    assert found.unreachable == frozenset()
    assert found.snapshot.usage == {"c0": _usage(0.5)}
    assert found.snapshot.age_s == 10.0
    assert found.snapshot.time_s == NOW_S


@pytest.mark.parametrize(
    ("reading", "why"),
    [
        (None, Blindness.NO_READING),
        (NodeReading(NOW_S - 181.0), Blindness.OLD),
        (NodeReading(NOW_S + 6.0), Blindness.AHEAD),
        (NodeReading(NOW_S, responds=False), Blindness.SILENT),
        (NodeReading(NOW_S, power_w=0.0), Blindness.NO_POWER),
        (NodeReading(NOW_S, power_w=-3.0), Blindness.IMPOSSIBLE),
        (NodeReading(NOW_S, power_w=math.nan), Blindness.IMPOSSIBLE),
        (NodeReading(math.nan), Blindness.IMPOSSIBLE),
        (NodeReading(NOW_S, usage=(-1.0, 0.0, 0.0, 0.0)), Blindness.IMPOSSIBLE),
        (NodeReading(NOW_S, usage=(16.0, 0.0, 0.0, 0.0)), Blindness.IMPOSSIBLE),
        (NodeReading(NOW_S, usage=(math.inf, 0.0, 0.0, 0.0)), Blindness.IMPOSSIBLE),
    ],
)
def test_node_without_a_reading_to_believe_is_blind(reading, why):
    found = _with(reading)
    assert found.blind.keys() == {"n1"}
    assert found.blind["n1"].why is why
    assert "n1" in found.blind["n1"].detail
    assert "n1" not in found.pressure


def test_reading_at_the_limit_of_age_is_still_believed():
    assert _with(NodeReading(NOW_S - 180.0)).blind == {}


def test_draw_that_is_not_measured_is_not_zero():
    assert _with(NodeReading(NOW_S, power_w=None)).blind == {}


def test_sleeping_node_owes_no_reading():
    found = _with(None, states={"n0": NodeState.ON, "n1": NodeState.ASLEEP}, placement={"c0": "n0"})
    assert found.blind == {}
    assert found.unreachable == frozenset()


def test_container_on_a_blind_node_stays_placed_and_its_usage_is_unknown():
    reading = ContainerReading(NOW_S, _usage(0.1))
    found = _with(None, containers={"c0": reading, "c1": reading})
    assert found.snapshot.placement["c1"] == "n1"
    assert found.snapshot.usage == {"c0": _usage(0.1)}


@pytest.mark.parametrize("at_s", [NOW_S - 181.0, NOW_S + 6.0, math.nan])
def test_usage_of_a_container_that_is_not_to_be_believed_is_absent(at_s):
    found = assemble(_readings(containers={"c0": ContainerReading(at_s, _usage(0.0))}), NOW_S)
    assert found.snapshot.usage == {}


def test_age_is_that_of_the_oldest_thing_believed():
    found = _with(NodeReading(NOW_S - 170.0))
    assert found.snapshot.age_s == 170.0
    # What is not believed does not count, but the listing does, from whichever side it is off.
    assert _with(NodeReading(NOW_S - 999.0)).snapshot.age_s == 10.0
    assert assemble(_readings(), NOW_S + 400.0).snapshot.age_s == 405.0
    assert assemble(_readings(), NOW_S - 400.0).snapshot.age_s == 395.0


def test_pressure_is_the_largest_share_over_its_mark():
    # n0: 0.5 of 10 cores over 0.8 = 0.0625; memory 1 of 10 GiB over 0.9 = 0.111.
    found = assemble(_readings(), NOW_S)
    assert found.pressure[NodeId("n0")].resource is Resource.MEMORY
    assert found.pressure[NodeId("n0")].score == pytest.approx(0.1 / 0.9)
    # n1 is not measured inside: its container counts with its request of 2 cores; 0.2 / 0.8 = 0.25.
    assert found.pressure[NodeId("n1")].resource is Resource.CPU
    assert found.pressure[NodeId("n1")].score == pytest.approx(0.25)


def test_pressure_counts_what_the_system_uses_beside_containers():
    found = _with(NodeReading(NOW_S, usage=(8.0, 0.0, 0.0, 0.0)))
    assert found.pressure["n1"].score == pytest.approx(1.0)


def test_pressure_counts_containers_on_their_way():
    found = assemble(_readings(targets={"c1": "n0"}), NOW_S)
    # 0.5 + 2 of 10 cores over 0.8.
    assert found.pressure[NodeId("n0")].score == pytest.approx(0.3125)


def test_site_of_which_no_node_answers_is_cut_off():
    cluster = a_cluster(
        [a_node("n0"), a_node("n1", site="s1"), a_node("n2", site="s1")],
        sites=[a_site("s0"), a_site("s1", latitude_deg=-36.0)],
    )
    readings = Readings(
        cluster, NOW_S, {n.id: NodeState.ON for n in cluster.nodes}, {}, nodes={NodeId("n0"): NodeReading(NOW_S)}
    )
    found = assemble(readings, NOW_S)
    assert found.unreachable == {"n1", "n2"}
    assert found.cut_off == {SiteId("s1")}


def test_single_silent_node_does_not_cut_off_its_site():
    assert _with(None).cut_off == frozenset()


def test_failed_node_is_unreachable():
    found = _with(None, states={"n0": NodeState.ON, "n1": NodeState.FAILED}, placement={"c0": "n0"})
    assert found.unreachable == {"n1"}


def test_node_that_lies_about_its_power_is_blind_but_reachable():
    found = _with(NodeReading(NOW_S, power_w=0.0))
    assert found.blind.keys() == {"n1"}
    assert found.unreachable == frozenset()


def test_listing_without_a_time_is_refused():
    with pytest.raises(ModelError, match="listed at nan"):
        Readings(a_cluster([a_node()]), math.nan, {}, {})


def test_marks_must_be_shares():
    with pytest.raises(ModelError, match="cpu_mark"):
        CollectSettings(cpu_mark=0.0)
