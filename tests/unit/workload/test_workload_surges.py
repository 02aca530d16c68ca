"""Surges: stationary, at the rate their parameters say, sharp to rise and slow to fall."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.errors import ModelError
from fogfold.seeding import stream
from fogfold.world.workload.surges import SurgeParams, draw_bursts, draw_surges

DAY = 2880
BURSTS = {"flash_crowds_per_day": 0.0}
FLASH = {"first_comers_per_day": 0.0}


def test_same_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    first, second, other = (draw_surges(SurgeParams(), sites=3, ticks=DAY, seed=seed) for seed in (5, 5, 6))
    assert first.tobytes() == second.tobytes()
    assert not np.array_equal(first, other)
    assert first.dtype == np.float32


@pytest.mark.parametrize("branching", [1.0, 1.5])
def test_bursts_that_would_never_end_are_refused(branching) -> None:
    with pytest.raises(ModelError, match="must be below 1, or bursts would feed themselves for ever"):
        SurgeParams(branching=branching)


@pytest.mark.parametrize("branching", [0.0, 0.6, 0.9])
def test_events_come_at_the_stationary_rate(branching) -> None:
    """Hawkes: mean rate = first comers / (1 - branching). 400 region-days of 4 first comers."""
    impulse = np.zeros((20 * DAY, 20))
    events = draw_bursts(stream(1, "test"), impulse, 4.0, branching, 300.0, 0.15)
    expected = 400 * SurgeParams(branching=branching).events_per_day
    # Deviation of a total of clusters: sqrt(first comers) x sqrt(second moment of cluster size) = 1 / (1 - n)^1.5.
    deviation = np.sqrt(1600) / (1.0 - branching) ** 1.5
    assert abs(events - expected) < 4 * deviation
    assert impulse.sum() == pytest.approx(0.15 * events, rel=0.1)


def test_bursts_cluster_in_time() -> None:
    """Counts of a Poisson process have a variance to mean ratio of 1; a Hawkes process nears 1 / (1 - n)^2 = 6.25."""
    counts = []
    for branching in (0.0, 0.6):
        impulse = np.zeros((60 * DAY, 20))
        draw_bursts(stream(2, "test"), impulse, 4.0, branching, 300.0, 1.0)
        hits = (impulse > 0).reshape(-1, 480, 20).sum(axis=1)
        counts.append(hits.var() / hits.mean())
    assert counts[0] == pytest.approx(1.0, abs=0.1)
    assert counts[1] > 3.0


@pytest.mark.parametrize("params", [SurgeParams(**BURSTS), SurgeParams(**FLASH), SurgeParams()])
def test_mean_factor_is_what_surges_add(params) -> None:
    surge = draw_surges(params, sites=200, ticks=30 * DAY, seed=3)
    assert surge.mean() - 1.0 == pytest.approx(params.mean_factor - 1.0, rel=0.1)


def test_first_hour_is_like_any_other() -> None:
    params = SurgeParams(first_comers_per_day=40.0, **BURSTS)
    first = np.mean([draw_surges(params, sites=400, ticks=120, seed=seed).mean() for seed in range(10)])
    assert first - 1.0 == pytest.approx(params.mean_factor - 1.0, rel=0.15)


def test_flash_crowd_rises_sharply_and_decays_slowly() -> None:
    """One height of 2 for certain: a rise in 10 ticks to 3, then down to 1/e of the excess in 90 ticks."""
    params = SurgeParams(
        flash_crowds_per_day=0.5, flash_gain=2.0, flash_bound=2.0, flash_rise_s=300.0, flash_decay_s=2700.0, **FLASH
    )
    surge = draw_surges(params, sites=60, ticks=DAY, seed=4)
    site = next(
        i
        for i in range(60)
        if surge[:, i].max() == pytest.approx(3.0) and surge[0, i] == 1.0 and 10 < surge[:, i].argmax() < DAY - 100
    )
    course = surge[:, site]
    peak = int(course.argmax())
    assert course[peak - 10] == 1.0
    assert course[peak - 5] == pytest.approx(2.0)
    assert course[peak + 90] - 1.0 == pytest.approx(2.0 / np.e, rel=1e-3)


def test_no_surges_are_ones() -> None:
    assert (draw_surges(SurgeParams.none(), sites=2, ticks=10, seed=0) == 1.0).all()
    assert SurgeParams.none().mean_factor == 1.0


def test_longer_horizon_begins_with_the_shorter_one() -> None:
    short = draw_surges(SurgeParams(), sites=4, ticks=100, seed=9)
    long = draw_surges(SurgeParams(), sites=4, ticks=5 * DAY, seed=9)
    assert np.array_equal(short, long[:100])


def test_flash_crowds_do_not_depend_on_bursts() -> None:
    alone = draw_surges(SurgeParams(**FLASH), sites=4, ticks=DAY, seed=9)
    both = draw_surges(SurgeParams(), sites=4, ticks=DAY, seed=9)
    bursts = draw_surges(SurgeParams(**BURSTS), sites=4, ticks=DAY, seed=9)
    assert np.allclose(both, alone + bursts - 1.0, atol=1e-5)


@given(
    branching=st.floats(0.0, 0.95),
    first_comers=st.floats(0.0, 200.0),
    flash=st.floats(0.0, 20.0),
    ceiling=st.floats(1.0, 8.0),
    seed=st.integers(0, 2**40),
)
@settings(max_examples=30, deadline=None)
def test_factor_stays_between_one_and_the_ceiling(branching, first_comers, flash, ceiling, seed) -> None:
    params = SurgeParams(
        branching=branching, first_comers_per_day=first_comers, flash_crowds_per_day=flash, ceiling=ceiling
    )
    surge = draw_surges(params, sites=2, ticks=300, seed=seed)
    assert surge.min() >= 1.0
    assert surge.max() <= np.float32(ceiling)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"branching": -0.1}, "branching is -0.1"),
        ({"branching": float("nan")}, "branching is nan"),
        ({"burst_decay_s": 0.0}, "burst_decay_s is 0"),
        ({"flash_bound": 0.1}, "flash_bound is 0.1"),
        ({"ceiling": 0.5}, "ceiling is 0.5"),
        ({"first_comers_per_day": -1.0}, "first_comers_per_day is -1"),
    ],
)
def test_impossible_surges_are_refused(changes, message) -> None:
    with pytest.raises(ModelError, match=message):
        SurgeParams(**changes)


@pytest.mark.parametrize(("sites", "ticks"), [(0, 10), (1, 0)])
def test_empty_horizon_is_refused(sites, ticks) -> None:
    with pytest.raises(ModelError, match="both must be at least 1"):
        draw_surges(SurgeParams(), sites=sites, ticks=ticks, seed=0)
