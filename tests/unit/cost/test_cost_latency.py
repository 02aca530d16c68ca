"""Queue and way: numbers worked by hand, the tail of M/M/1 under processor sharing, and what must only rise or fall."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.compiled import Array, compiled
from fogfold.cost.latency import late_share, negative_exponential, queueing_ms, round_trip_ms
from fogfold.errors import ModelError

slacks = st.floats(0.02, 1.0)


@compiled
def tails(xs: Array) -> Array:
    out = np.empty(len(xs))
    for i in range(len(xs)):
        out[i] = negative_exponential(xs[i])
    return out


@pytest.mark.parametrize(
    ("service_ms", "load", "ms"),
    [(10.0, 0.0, 10.0), (10.0, 0.5, 20.0), (10.0, 0.75, 40.0), (4.0, 0.9, 40.0), (10.0, 0.98, 500.0)],
)
def test_shared_processor_takes_service_time_over_one_minus_load(service_ms, load, ms):
    assert queueing_ms(service_ms, 1.0 - load) == pytest.approx(ms)


@settings(deadline=None)
@given(st.floats(0.1, 1e4), slacks, slacks)
def test_fuller_node_is_never_faster(service_ms, one, other):
    assert queueing_ms(service_ms, min(one, other)) >= queueing_ms(service_ms, max(one, other)) >= service_ms


def test_exponential_is_exact_at_nothing_and_vanishes_far_out():
    assert negative_exponential(0.0) == 1.0
    assert negative_exponential(1e9) == 0.0
    assert negative_exponential(1e300) == 0.0
    assert negative_exponential(math.inf) == 0.0


def test_exponential_is_within_its_bound_of_the_librarys_and_never_below_it():
    xs = np.linspace(0.0, 60.0, 60_001)
    off = tails(xs) - np.array([math.exp(-x) for x in xs])
    assert off.min() > -1e-14
    assert off.max() < 3e-6


def test_exponential_falls_all_the_way():
    values = tails(np.linspace(0.0, 100.0, 20_001))
    assert (np.diff(values) < 0.0).all()
    assert values.min() >= 0.0


@pytest.mark.parametrize(
    ("objective_ms", "trip_ms", "service_ms", "load", "share"),
    [
        (100.0, 0.0, 10.0, 0.5, math.exp(-5.0)),  # 100 / 10 x 0.5
        (100.0, 20.0, 10.0, 0.5, math.exp(-4.0)),  # (100 - 20) / 10 x 0.5
        (50.0, 10.0, 20.0, 0.9, math.exp(-0.2)),  # 40 / 20 x 0.1
        (100.0, 2.0, 10.0, 0.0, math.exp(-9.8)),
        (30.0, 30.0, 10.0, 0.0, 1.0),  # nothing left after the way
        (30.0, 45.0, 10.0, 0.0, 1.0),  # too far, whatever the node does
        (math.inf, 45.0, 10.0, 0.98, 0.0),  # nobody waits
    ],
)
def test_late_share_is_the_tail_of_the_queue(objective_ms, trip_ms, service_ms, load, share):
    patience = (objective_ms - trip_ms) / service_ms
    assert late_share(patience, 1.0 - load) == pytest.approx(share, abs=2e-4)


@settings(deadline=None)
@given(st.floats(-50.0, 1e3), slacks)
def test_late_share_is_a_share_close_to_the_exact_tail(patience, slack):
    share = late_share(patience, slack)
    assert 0.0 <= share <= 1.0
    assert share == pytest.approx(math.exp(-max(patience, 0.0) * slack), abs=2e-4)


@settings(deadline=None)
@given(st.floats(-50.0, 1e3), st.floats(0.0, 100.0), slacks, slacks)
def test_less_patience_or_more_load_never_makes_fewer_late(patience, less, one, other):
    assert late_share(patience - less, one) >= late_share(patience, one)
    assert late_share(patience, min(one, other)) >= late_share(patience, max(one, other))


KM = np.array([[0.0, 100.0, 0.0], [100.0, 0.0, 700.0], [0.0, 700.0, 0.0]])


def test_round_trip_is_light_in_fibre_there_and_back_and_a_hop():
    # 2 x 100 km x 2 / 200 km/ms = 2 ms and a hop of 1 ms; 14 ms and a hop for 700 km.
    trip = round_trip_ms(KM, path_stretch=2.0, fibre_km_per_ms=200.0, hop_ms=1.0)
    assert trip.tolist() == [[0.0, 3.0, 1.0], [3.0, 0.0, 15.0], [1.0, 15.0, 0.0]]


def test_two_sites_at_one_place_still_have_a_hop_between_them():
    trip = round_trip_ms(np.zeros((2, 2)), path_stretch=1.0, fibre_km_per_ms=200.0, hop_ms=0.5)
    assert trip.tolist() == [[0.0, 0.5], [0.5, 0.0]]


@given(st.floats(1.0, 4.0), st.floats(1.0, 300.0), st.floats(0.0, 10.0))
def test_round_trip_is_never_faster_than_light_on_the_shortest_way(stretch, speed, hop):
    trip = round_trip_ms(KM, path_stretch=stretch, fibre_km_per_ms=speed, hop_ms=hop)
    assert (trip >= 2.0 * KM / speed).all()
    assert np.array_equal(trip, trip.T)
    assert not trip.diagonal().any()


@pytest.mark.parametrize(
    ("stretch", "speed"),
    [
        (0.99, 200.0),
        (math.nan, 200.0),
        (math.inf, 200.0),
        (2.0, 0.0),
        (2.0, -1.0),
        (2.0, math.inf),
        (2.0, math.nan),
    ],
)
def test_path_shorter_than_the_arc_and_light_without_speed_are_refused(stretch, speed):
    with pytest.raises(ModelError, match="a path is at least as long as the great circle, and light has a positive"):
        round_trip_ms(KM, path_stretch=stretch, fibre_km_per_ms=speed, hop_ms=1.0)


def test_refusal_names_both_figures():
    with pytest.raises(ModelError, match=r"path_stretch is 0\.5 and fibre_km_per_ms is 200;"):
        round_trip_ms(KM, path_stretch=0.5, fibre_km_per_ms=200.0, hop_ms=1.0)
