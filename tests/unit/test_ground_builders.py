"""Builders: round defaults that hold what their sentences say, and drawn clusters with every rule in them."""

from __future__ import annotations

from collections import Counter

import pytest

from fogfold.model.cluster import Scope
from fogfold.model.container import Movability
from fogfold.model.identity import ContainerId
from fogfold.model.node import NodeState
from fogfold.model.resources import Resources
from fogfold.seeding import stream
from fogfold.testing.builders import a_cluster, a_container, a_group, a_node, a_site, a_snapshot, random_snapshot
from fogfold.units import GIB, MBIT


def test_node_has_ten_of_everything_and_draws_fifty_to_a_hundred_watts():
    node = a_node()
    assert node.capacity == Resources(10.0, 10 * GIB, 1000 * MBIT, 10_000.0)
    assert node.power_curve.points_w == tuple(50.0 + 5.0 * k for k in range(11))
    assert node.sleep_w == 5.0
    # It shuts down at idle power and boots at peak power.
    assert node.shutdown_energy_j / node.shutdown_s == 50.0
    assert node.wake_energy_j / node.wake_s == 100.0


def test_container_asks_for_one_core_and_one_gib_and_serves_its_site():
    container = a_container()
    assert container.request == Resources(1.0, GIB, MBIT, 10.0)
    assert container.users == (("s0", 1.0),)
    assert (container.service_time_ms, container.latency_objective_ms) == (10.0, 100.0)


def test_what_is_named_is_taken():
    assert a_node("x", wake_s=90.0, idle_w=20.0).power_curve.idle_w == 20.0
    assert a_node(shutdown_energy_j=1.0).shutdown_energy_j == 1.0
    assert a_site(uplink_bit_s=5.0).uplink_bit_s == 5.0
    assert a_group(spread=Scope.SITE).spread is Scope.SITE
    assert a_container(movability=Movability.NEVER).movability is Movability.NEVER


def test_cluster_makes_up_one_site_and_the_images_that_are_named():
    cluster = a_cluster([a_node()], [a_container("a", image="db"), a_container("b"), a_container("c")])
    assert [site.id for site in cluster.sites] == ["s0"]
    assert [image.id for image in cluster.images] == ["app", "db"]
    assert a_cluster([a_node()]).images == ()


def test_snapshot_has_all_nodes_on_and_half_of_each_request_in_use():
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("a"), a_container("b", cores=4.0)])
    snapshot = a_snapshot(cluster, {"a": "n0"}, states={"n1": NodeState.ASLEEP}, usage_cores={"b": 3.0})
    assert snapshot.states == {"n0": NodeState.ON, "n1": NodeState.ASLEEP}
    assert snapshot.usage[ContainerId("a")] == Resources(0.5, 0.5 * GIB, 0.5 * MBIT, 5.0)
    assert snapshot.usage[ContainerId("b")].cpu_cores == 3.0


@pytest.mark.parametrize("seed", range(3))
def test_same_draws_make_the_same_snapshot(seed):
    one, again, other = (random_snapshot(stream(s, "builders")) for s in (seed, seed, seed + 100))
    assert one == again
    assert one != other


def test_snapshot_has_as_many_nodes_and_containers_as_are_asked_for():
    cluster = random_snapshot(stream(1, "builders"), nodes=3, containers=5).cluster
    assert (len(cluster.nodes), len(cluster.containers)) == (3, 5)


def test_drawn_snapshots_have_every_kind_of_rule_and_state_in_them():
    snapshots = [random_snapshot(stream(seed, "builders")) for seed in range(25)]
    containers = [c for s in snapshots for c in s.cluster.containers]
    groups = [g for s in snapshots for g in s.cluster.groups]
    assert {state for s in snapshots for state in s.states.values()} == set(NodeState)
    assert {c.movability for c in containers} == set(Movability)
    assert {g.anti_affinity for g in groups} == {g.spread for g in groups} == set(Scope)
    assert {g.may_be_missing for g in groups} == {0, 1, 2}
    assert {g.ghosts_count for g in groups} == {False, True}
    some = Counter(
        {
            "pinned": sum(c.pinned_to is not None for c in containers),
            "bound to data": sum(c.data_site is not None for c in containers),
            "accelerated": sum(c.accelerator is not None for c in containers),
            "unplaced": sum(len(s.cluster.containers) - len(s.placement) for s in snapshots),
            "on the move": sum(len(s.targets) for s in snapshots),
        }
    )
    assert min(some.values()) >= 10, some
