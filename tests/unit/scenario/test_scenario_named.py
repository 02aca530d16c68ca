"""The scenarios that come with fogfold all build, and are what they say they are."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from fogfold.errors import TraceNotFoundError
from fogfold.model.cluster import Scope
from fogfold.model.node import Architecture
from fogfold.world.scenario.build import BuiltScenario, build
from fogfold.world.scenario.load import load_scenario, scenario_names

GENERATED = {
    # name: nodes, containers, sites, share of amd64 nodes
    "tiny-4": (4, 12, 2, 0.5),
    "city-20": (20, 160, 7, 0.5),
    "city-50": (50, 400, 16, 0.5),
    "city-200": (200, 1600, 61, 0.52),
}


def requested(world: BuiltScenario) -> np.ndarray:
    """Sum of requests over sum of capacities, for each resource."""
    asked = np.sum([container.request.as_tuple() for container in world.cluster.containers], axis=0)
    return asked / np.sum([node.capacity.as_tuple() for node in world.cluster.nodes], axis=0)


def use(world: BuiltScenario) -> np.ndarray:
    """CPU demand of all containers over the capacity of all nodes, sample by sample, surges left out."""
    cores = np.array([container.request.cpu_cores for container in world.cluster.containers])
    capacity = sum(node.capacity.cpu_cores for node in world.cluster.nodes)
    return world.workload.level @ cores / capacity


def amd64_share(world: BuiltScenario) -> float:
    return float(np.mean([node.architecture is Architecture.AMD64 for node in world.cluster.nodes]))


def check_fog_like(world: BuiltScenario) -> None:
    asked = requested(world)
    assert 0.44 <= asked[0] <= 0.60
    assert 0.39 <= asked[1] <= 0.60
    assert 0.05 < use(world).mean() < 0.25
    per_site = Counter(node.site for node in world.cluster.nodes)
    users = {region for container in world.cluster.containers for region, _ in container.users}
    assert all(1 <= per_site[site] <= 10 for site in users)


def test_names_are_those_that_are_promised():
    assert set(scenario_names()) == {*GENERATED, "region-1000", "planetlab", "bitbrains"}
    for name in scenario_names():
        scenario = load_scenario(name)
        assert scenario.name == name
        assert scenario.description.endswith(".")


@pytest.mark.parametrize("name", GENERATED)
def test_generated_scenario_holds_what_it_says(name: str):
    nodes, containers, sites, amd64 = GENERATED[name]
    world = build(load_scenario(name), 3)
    assert (len(world.cluster.nodes), len(world.cluster.containers), len(world.cluster.sites)) == (
        nodes,
        containers,
        sites,
    )
    assert world.ticks == 2880
    assert amd64_share(world) == pytest.approx(amd64, abs=0.03)
    check_fog_like(world)


@pytest.mark.parametrize("name", ["city-20", "city-50"])
def test_rules_bind_some_containers_and_leave_most_a_choice(name: str):
    cluster = build(load_scenario(name), 4, hours=1.0).cluster
    count = len(cluster.containers)
    one_architecture = sum(len(c.architectures) == 1 for c in cluster.containers)
    near_data = sum(c.data_site is not None for c in cluster.containers)
    pinned = sum(c.pinned_to is not None for c in cluster.containers)
    grouped = sum(
        c.group is not None and cluster.groups[cluster.group_index[c.group]].anti_affinity is not Scope.NONE
        for c in cluster.containers
    )
    assert 0.03 < one_architecture / count < 0.15
    assert 0.05 < near_data / count < 0.30
    assert pinned / count < 0.03
    assert 0.15 < grouped / count < 0.35
    assert any(c.accelerator is not None for c in cluster.containers)
    assert sum(node.accelerator is not None for node in cluster.nodes) >= 3 * len(cluster.nodes) // 25


def test_nobody_lives_round_a_data_centre():
    cluster = build(load_scenario("city-200"), 1, hours=1.0).cluster
    assert "rhein-ruhr" in cluster.site_index
    assert "rhein-ruhr" not in {region for container in cluster.containers for region, _ in container.users}


def test_day_has_a_morning_and_a_night():
    demand = use(build(load_scenario("city-200"), 2))
    assert demand.max() > 1.6 * demand.min()


def test_region_asks_for_a_thousand_nodes_and_eight_containers_each():
    scenario = load_scenario("region-1000")
    assert sum(group.count + group.spare for group in scenario.nodes) == 1000
    assert scenario.containers.per_node == 8


@pytest.mark.slow
def test_region_of_a_thousand_nodes_holds_what_it_says():
    world = build(load_scenario("region-1000"), 1, hours=1.0)
    assert (len(world.cluster.nodes), len(world.cluster.containers)) == (1000, 8000)
    assert amd64_share(world) == pytest.approx(0.51, abs=0.02)
    asked = requested(world)
    assert asked[0] == pytest.approx(0.52, abs=0.01)
    assert asked[1] == pytest.approx(0.50, abs=0.01)


@pytest.mark.traces
@pytest.mark.parametrize(("day", "machines"), [("20110303", 1052), ("20110306", 898)])
def test_planetlab_replays_its_day(day: str, machines: int):
    try:
        world = build(load_scenario("planetlab", {"workload.day": day}), 1)
    except TraceNotFoundError as error:
        pytest.skip(str(error))
    assert (len(world.cluster.nodes), len(world.cluster.containers)) == (150, machines)
    assert world.ticks == 2880
    assert 0.45 <= amd64_share(world) <= 0.60
    assert 0.35 <= requested(world)[0] <= 0.60
    assert use(world).mean() < 0.25


@pytest.mark.traces
def test_bitbrains_replays_its_days():
    try:
        world = build(load_scenario("bitbrains", {"workload.days": "2"}), 1)
    except TraceNotFoundError as error:
        pytest.skip(str(error))
    assert len(world.cluster.nodes) == 40
    assert len(world.cluster.containers) in (249, 250)
    assert world.ticks == 2 * 2880
    check_fog_like(world)


@pytest.mark.traces
def test_part_of_a_trace_is_drawn_by_the_seed():
    scenario = load_scenario("planetlab", {"workload.containers": "200"})
    try:
        worlds = [build(scenario, seed, hours=1.0) for seed in (1, 1, 2)]
    except TraceNotFoundError as error:
        pytest.skip(str(error))
    assert [len(world.cluster.containers) for world in worlds] == [200] * 3
    first, again, other = (world.workload.level.tobytes() for world in worlds)
    assert first == again
    assert first != other
