"""The network between sites: how far users are, what moves get of the links, and how often they break."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fogfold.compiled import Array, compiled
from fogfold.model.container import Image, Movability
from fogfold.model.identity import ImageId
from fogfold.model.node import NodeState
from fogfold.testing.builders import a_cluster, a_container, a_node, a_site
from fogfold.units import BITS_PER_BYTE, GIB
from fogfold.world.dynamics import advance, fixed_of, no_orders, one_world
from fogfold.world.faults import FaultKind, FaultSchedule
from fogfold.world.live import Fixed, Live
from fogfold.world.network import attempt_failure_probability, count_transfers, transfer_rate_byte_s
from fogfold.world.params import WorldParams
from fogfold.world.phase import Phase
from fogfold.world.rows import CI, NI, C, K, S

# One degree of a meridian, 111.195 km: 2 x 111.195 x 2 / 200 = 2.22390 ms of light, and a hop of 1 ms.
PARAMS = WorldParams(path_stretch=2.0, fibre_km_per_ms=200.0, hop_ms=1.0)
WAY_MS = 3.22390
MEGABIT_BYTE_S = 1e6 / BITS_PER_BYTE


@compiled
def failure_between(source: int, target: int, fixed: Fixed, state: Live) -> float:
    return attempt_failure_probability(source, target, fixed, one_world(state, 0))


@compiled
def rates_into(out: Array, fixed: Fixed, state: Live) -> None:
    live = one_world(state, 0)
    count_transfers(fixed, live)
    for i in range(live.clock[K.ACTIVE]):
        c = int(live.container_int[CI.ACTIVE, i])
        out[c] = transfer_rate_byte_s(c, fixed, live)


def two_sites(**south):
    """Sites one degree apart."""
    return [
        a_site("s0", latitude_deg=0.0, longitude_deg=0.0),
        a_site("s1", latitude_deg=1.0, longitude_deg=0.0, **south),
    ]


def trip_ms(world):
    return world.state.container[0, C.ROUND_TRIP_MS]


def test_users_at_the_site_pay_its_access_alone(make_world):
    cluster = a_cluster([a_node()], [a_container()], sites=[a_site(access_ms=3.0, jitter_ms=9.0)])
    assert trip_ms(make_world(cluster, params=PARAMS)).tolist() == [3.0]


def test_users_elsewhere_pay_their_access_the_way_and_the_jitter_of_both_ends(make_world):
    cluster = a_cluster([a_node(site="s0")], [a_container(users="s1")], sites=two_sites(access_ms=4.0, jitter_ms=0.75))
    # 4 ms of their own access, the way, 0.5 + 0.75 of jitter.
    assert trip_ms(make_world(cluster, params=PARAMS)) == pytest.approx([4.0 + WAY_MS + 1.25], abs=1e-4)


def test_round_trip_is_the_mean_over_the_users(make_world):
    cluster = a_cluster(
        [a_node(site="s0")], [a_container(users=[("s0", 0.75), ("s1", 0.25)])], sites=two_sites(access_ms=4.0)
    )
    expected = 0.75 * 2.0 + 0.25 * (4.0 + WAY_MS + 1.0)
    assert trip_ms(make_world(cluster, params=PARAMS)) == pytest.approx([expected], abs=1e-4)


def test_slow_cores_take_longer_and_leave_less_patience(make_world):
    cluster = a_cluster([a_node(core_speed=0.5)], [a_container(service_time_ms=10.0, latency_objective_ms=82.0)])
    figures = make_world(cluster, params=PARAMS).state.container[0, :, 0]
    assert figures[C.SERVICE_MS] == 20.0
    assert figures[C.PATIENCE] == pytest.approx((82.0 - 2.0) / 20.0)


def test_where_nobody_waits_patience_has_no_end(make_world):
    cluster = a_cluster([a_node()], [a_container(latency_objective_ms=math.inf)])
    assert make_world(cluster).state.container[0, C.PATIENCE, 0] == math.inf


@pytest.mark.parametrize("site", [0, 1])
def test_degraded_link_multiplies_its_jitter_for_as_long_as_it_lasts(make_world, site):
    """Eight times the jitter of that uplink, from tick 3 on and for two ticks."""
    tick, kind, target, length = (np.array([v], np.int32) for v in (3, FaultKind.LINK_DEGRADATION, site, 2))
    cluster = a_cluster([a_node(site="s0")], [a_container(users="s1"), a_container("near")], sites=two_sites())
    world = make_world(cluster, params=PARAMS, faults=FaultSchedule(tick, kind, target, length, np.array([8.0])))
    calm, local = trip_ms(world).tolist()
    seen = []
    for _ in range(7):
        advance(world.frame, world.tape, world.state, no_orders(1, 1), ticks=1)
        seen.append(trip_ms(world).tolist())
    bad = pytest.approx([calm + 7 * 0.5, local])
    assert seen == [[calm, local]] * 3 + [bad] * 2 + [[calm, local]] * 2


def asked_failure(world, source, target):
    return failure_between(source, target, fixed_of(world.frame), Live(*world.state.arrays()))


def test_move_within_a_site_fails_at_the_base_rate(make_world):
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container()], sites=[a_site(jitter_ms=5.0, loss=0.1)])
    assert asked_failure(make_world(cluster), 0, 1) == pytest.approx(0.01)


def test_move_between_sites_meets_the_jitter_and_loss_of_both_uplinks(make_world):
    sites = [a_site("s0", jitter_ms=2.0, loss=0.1), a_site("s1", jitter_ms=3.0, loss=0.2)]
    cluster = a_cluster([a_node("n0"), a_node("n1", site="s1")], [a_container()], sites=sites)
    world = make_world(cluster, params=WorldParams(migration_failure_per_loss=1.0))
    # 0.01 + 0.02 x 5 + (1 - 0.9 x 0.8).
    assert asked_failure(world, 0, 1) == pytest.approx(0.01 + 0.1 + 0.28)
    assert asked_failure(world, 1, 0) == pytest.approx(0.39)
    world.state.site[0, S.FACTOR] = [4.0, 1.0]
    # Jitter 8 + 3.
    assert asked_failure(world, 0, 1) == pytest.approx(0.01 + 0.22 + 0.28)


def test_hopeless_path_fails_for_certain(make_world):
    sites = [a_site("s0", loss=1.0), a_site("s1")]
    cluster = a_cluster([a_node("n0"), a_node("n1", site="s1")], [a_container()], sites=sites)
    assert asked_failure(make_world(cluster), 0, 1) == 1.0


def moving(make_world, moves, *, phase=Phase.COPYING, params=PARAMS, sites=None, at=None, used=(), images=None, **more):
    """Rates in Mbit/s of moves as (source, target) pairs between nodes of 1 Gbit/s, all in one phase."""
    nodes = [a_node(f"n{i}", site=(at or ["s0"] * 4)[i]) for i in range(4)]
    containers = [a_container(f"c{i}", **more) for i in range(len(moves))]
    world = make_world(
        a_cluster(nodes, containers, sites=sites, images=images),
        params=params,
        placement={f"c{i}": f"n{a}" for i, (a, _) in enumerate(moves)},
    )
    state = world.state
    for i, (_, target) in enumerate(moves):
        state.container_int[0, CI.TARGET, i] = target
        state.container_int[0, CI.PHASE, i] = phase
        state.container_int[0, CI.ACTIVE, i] = i
        state.container[0, C.LEFT_BYTES, i] = 10 * GIB
    state.clock[0, K.ACTIVE] = len(moves)
    for node, megabit in used:
        state.used[0, node, 2] = megabit * 1e6
    rates = np.zeros(len(moves))
    rates_into(rates, fixed_of(world.frame), Live(*state.arrays()))
    return (rates / MEGABIT_BYTE_S).tolist()


def test_single_copy_gets_half_of_the_link(make_world):
    assert moving(make_world, [(0, 1)]) == pytest.approx([500.0])


@pytest.mark.parametrize(
    ("busy", "rate"), [(200.0, 500.0), (700.0, 300.0), (940.0, 60.0), (990.0, 50.0), (2000.0, 50.0)]
)
def test_copy_takes_what_traffic_leaves_but_never_less_than_the_floor(make_world, busy, rate):
    assert moving(make_world, [(0, 1)], used=[(0, busy)]) == pytest.approx([rate])


def test_traffic_of_the_target_goes_the_other_way_and_takes_nothing(make_world):
    assert moving(make_world, [(0, 1)], used=[(1, 900.0)]) == pytest.approx([500.0])


def test_copies_share_the_end_they_have_in_common(make_world):
    assert moving(make_world, [(0, 1), (0, 2)]) == pytest.approx([250.0, 250.0])
    assert moving(make_world, [(0, 2), (1, 2)]) == pytest.approx([250.0, 250.0])
    assert moving(make_world, [(0, 2), (1, 3)]) == pytest.approx([500.0, 500.0])
    # Both of the others share an end with the middle one, not with each other.
    assert moving(make_world, [(0, 1), (0, 2), (3, 2)]) == pytest.approx([250.0, 250.0, 250.0])


def test_no_move_is_faster_than_the_cap(make_world):
    assert moving(make_world, [(0, 1)], params=WorldParams(migration_cap_bit_s=80e6)) == pytest.approx([80.0])


APART = ["s0", "s0", "s1", "s1"]


def test_move_between_sites_gets_its_share_of_both_uplinks(make_world):
    assert moving(make_world, [(0, 2)], at=APART, sites=two_sites(uplink_bit_s=100e6)) == pytest.approx([50.0])
    assert moving(make_world, [(2, 0)], at=APART, sites=two_sites(uplink_bit_s=100e6)) == pytest.approx([50.0])
    # Two cross: one each way shares the uplink as well.
    rates = moving(make_world, [(0, 2), (3, 1)], at=APART, sites=two_sites(uplink_bit_s=100e6))
    assert rates == pytest.approx([25.0, 25.0])


def test_copy_within_a_site_leaves_its_uplink_alone(make_world):
    rates = moving(make_world, [(0, 1), (2, 3)], at=APART, sites=two_sites(uplink_bit_s=10e6))
    assert rates == pytest.approx([500.0, 500.0])


def test_image_comes_over_the_uplink_of_the_target_even_within_a_site(make_world):
    slow = two_sites(uplink_bit_s=100e6)
    assert moving(make_world, [(2, 3)], phase=Phase.PULLING, at=APART, sites=slow) == pytest.approx([50.0])
    # Two pulls share it.
    rates = moving(make_world, [(2, 3), (3, 2)], phase=Phase.PULLING, at=APART, sites=slow)
    assert rates == pytest.approx([25.0, 25.0])
    # It does not come from the source: neither its link nor that of its site matters.
    assert moving(make_world, [(2, 0)], phase=Phase.PULLING, at=APART, sites=slow, used=[(2, 990.0)]) == pytest.approx(
        [500.0]
    )


def test_degraded_uplink_is_slower_by_its_factor(make_world):
    cluster = a_cluster([a_node("n0"), a_node("n1", site="s1")], [a_container()], sites=two_sites(uplink_bit_s=800e6))
    world = make_world(cluster, placement={"c0": "n0"})
    state = world.state
    state.site[0, S.FACTOR] = [1.0, 8.0]
    state.container_int[0, [CI.TARGET, CI.PHASE, CI.ACTIVE], 0] = [1, Phase.COPYING, 0]
    state.clock[0, K.ACTIVE] = 1
    rate = np.zeros(1)
    rates_into(rate, fixed_of(world.frame), Live(*state.arrays()))
    assert rate / MEGABIT_BYTE_S == pytest.approx([50.0])


def waiting_beside_a_copy(make_world, *, state=NodeState.ON, timer_s=0.0, image_bytes=0.0, **waiter):
    """Rate in Mbit/s of a copy from n0 to n1 beside a move that waits to go from n0 to n2."""
    cluster = a_cluster(
        [a_node("n0"), a_node("n1"), a_node("n2")],
        [a_container("copied"), a_container("waiting", image="big", **waiter)],
        images=[Image(ImageId("app"), 0.0), Image(ImageId("big"), image_bytes)],
    )
    world = make_world(cluster, placement={"copied": "n0", "waiting": "n0"})
    now = world.state
    now.container_int[0, CI.TARGET] = [1, 2]
    now.container_int[0, CI.PHASE] = [Phase.COPYING, Phase.WAITING]
    now.container_int[0, CI.ACTIVE] = [0, 1]
    now.container[0, C.TIMER_S, 1] = timer_s
    now.node_int[0, NI.STATE, 2] = state
    now.clock[0, K.ACTIVE] = 2
    rates = np.zeros(2)
    rates_into(rates, fixed_of(world.frame), Live(*now.arrays()))
    return float(rates[0] / MEGABIT_BYTE_S)


def test_move_that_begins_in_this_tick_takes_its_share_at_once(make_world):
    assert waiting_beside_a_copy(make_world) == pytest.approx(250.0)
    assert waiting_beside_a_copy(make_world, timer_s=29.0) == pytest.approx(250.0)


@pytest.mark.parametrize(
    "waits",
    [
        {"state": NodeState.WAKING},
        {"timer_s": 30.0},
        {"movability": Movability.RESTART},  # sends no memory
        {"image_bytes": 100 * GIB},  # the image takes longer than a tick: no memory follows in it
    ],
)
def test_move_that_sends_nothing_from_the_source_in_this_tick_takes_no_share(make_world, waits):
    assert waiting_beside_a_copy(make_world, **waits) == pytest.approx(500.0)
