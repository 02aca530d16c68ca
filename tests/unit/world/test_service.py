"""Service, latency and power of a tick, against numbers worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fogfold.model.resources import Resources
from fogfold.testing.builders import a_cluster, a_container, a_node, a_site
from fogfold.world.rows import Total


def test_idle_node_draws_its_idle_power(make_world, order):
    world = make_world(a_cluster([a_node()], [a_container()]), level=0.0)
    happened = world.step(order(world))[0]
    # 10 ticks of 30 s at 50 W.
    assert happened[Total.ENERGY_J] == pytest.approx(300 * 50.0)
    assert happened[Total.REQUESTS] == 0.0


def test_power_follows_the_curve_between_its_points(make_world, order):
    # 2.5 of 10 cores: 25 % load on a curve that rises linearly from 50 to 100 W.
    world = make_world(a_cluster([a_node()], [a_container(cores=5.0)]), level=0.5)
    happened = world.step(order(world))[0]
    assert happened[Total.ENERGY_J] == pytest.approx(300 * 62.5)
    assert happened[Total.DEMAND_CORE_S] == pytest.approx(300 * 2.5)


def test_request_rate_is_demand_over_service_time(make_world, order):
    # 0.5 cores at 10 ms of CPU a request: 50 requests a second.
    world = make_world(a_cluster([a_node()], [a_container(cores=1.0)]), level=0.5)
    happened = world.step(order(world))[0]
    assert happened[Total.REQUESTS] == pytest.approx(300 * 50.0)


def test_latency_is_queue_and_access_for_users_at_the_site(make_world, order):
    # Load 0.5: 10 ms / (1 - 0.5) = 20 ms, and 2 ms of access.
    world = make_world(a_cluster([a_node()], [a_container(cores=10.0)]), level=0.5)
    happened = world.step(order(world))[0]
    assert happened[Total.LATENCY_MS] / happened[Total.REQUESTS] == pytest.approx(22.0)
    assert happened[Total.ROUND_TRIP_MS] / happened[Total.REQUESTS] == pytest.approx(2.0)
    # Late: exp(-(100 - 2) / 10 * 0.5) of them, to the accuracy of the fast exponential.
    late = happened[Total.LATE] / happened[Total.REQUESTS]
    assert late == pytest.approx(math.exp(-4.9), abs=2e-4)


def test_users_of_another_site_wait_for_the_way(make_world, order):
    # One degree of latitude: 6371.0088 km x pi / 180 = 111.195 km.
    far = a_site("s1", latitude_deg=-36.81)
    cluster = a_cluster([a_node()], [a_container(users="s1")], sites=[a_site("s0"), far])
    world = make_world(cluster, level=0.5)
    happened = world.step(order(world))[0]
    way = 2 * 111.195 * world.frame.params.path_stretch / world.frame.params.fibre_km_per_ms
    expected = 2.0 + way + world.frame.params.hop_ms + 0.5 + 0.5  # access, way, hop, jitter of both uplinks
    assert happened[Total.ROUND_TRIP_MS] / happened[Total.REQUESTS] == pytest.approx(expected, rel=1e-4)


def test_demand_above_capacity_is_not_served(make_world, order):
    # 12 cores wanted of 10: a sixth is not served, and power stops at the peak.
    cluster = a_cluster([a_node()], [a_container("a", cores=4.0), a_container("b", cores=4.0)])
    world = make_world(cluster, level=1.5)
    happened = world.step(order(world))[0]
    assert happened[Total.UNSERVED] / happened[Total.REQUESTS] == pytest.approx(1 / 6)
    assert happened[Total.ENERGY_J] == pytest.approx(300 * 100.0)
    assert happened[Total.WORK_CORE_S] == pytest.approx(300 * 10.0)


def test_scarcest_resource_decides_what_is_served(make_world, order):
    # 2 Mbit/s of uplink, 4 wanted: half is served although the CPU is nearly idle.
    node = a_node(network_mbit_s=2.0)
    world = make_world(a_cluster([node], [a_container(network_mbit_s=2.0)]), level=2.0)
    happened = world.step(order(world))[0]
    assert happened[Total.UNSERVED] / happened[Total.REQUESTS] == pytest.approx(0.5)


def test_slower_cores_take_longer(make_world, order):
    world = make_world(a_cluster([a_node(core_speed=0.5)], [a_container(cores=10.0)]), level=0.5)
    happened = world.step(order(world))[0]
    assert happened[Total.LATENCY_MS] / happened[Total.REQUESTS] == pytest.approx(20.0 / 0.5 + 2.0)


def test_level_is_interpolated_between_samples(make_world, order):
    levels = np.zeros((25, 1), np.float32)
    levels[1] = 1.0
    world = make_world(a_cluster([a_node()], [a_container(cores=1.0)]), level=levels)
    happened = world.step(order(world))[0]
    # Ticks at 0, 0.1, ..., 0.9 of the way: mean 0.45.
    assert happened[Total.DEMAND_CORE_S] == pytest.approx(300 * 0.45, rel=1e-6)


def test_surge_multiplies_the_demand_of_its_region(make_world, order):
    cluster = a_cluster(
        [a_node()],
        [a_container("a", cores=1.0), a_container("b", cores=1.0, users="s1")],
        sites=[a_site("s0"), a_site("s1")],
    )
    surge = np.ones((240, 2), np.float32)
    surge[:, 1] = 3.0
    world = make_world(cluster, level=0.5, surge=surge)
    happened = world.step(order(world))[0]
    assert happened[Total.DEMAND_CORE_S] == pytest.approx(300 * (0.5 + 1.5))


def test_memory_network_and_disk_can_be_traced_apart(make_world, order):
    shape = (25, 1)
    world = make_world(
        a_cluster([a_node()], [a_container()]),
        level=0.5,
        memory_level=np.full(shape, 0.25, np.float32),
        network_level=np.full(shape, 0.75, np.float32),
        disk_level=np.full(shape, 1.0, np.float32),
    )
    world.step(order(world))
    request = Resources(1.0, 2.0**30, 1e6, 10.0)
    assert world.view().usage[:, 0] == pytest.approx(np.array(request.as_tuple()) * [0.5, 0.25, 0.75, 1.0])


def test_memory_grows_with_load_from_its_idle_share(make_world, order):
    world = make_world(a_cluster([a_node()], [a_container()]), level=0.5)
    world.step(order(world))
    # 60 % idle, and half of the other 40 %.
    assert world.view().usage[1, 0] == pytest.approx(0.8 * 2.0**30)
