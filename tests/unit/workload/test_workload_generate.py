"""Generated workloads: repeatable, true to their profiles, near the mean asked for, fast and small."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.errors import ModelError, UnknownNameError
from fogfold.units import DAY_S, TICK_S
from fogfold.world.workload.base import Workload
from fogfold.world.workload.generate import MEAN_LEVEL, generate
from fogfold.world.workload.profiles import PROFILES, ProfileParams
from fogfold.world.workload.statistics import autocorrelation
from fogfold.world.workload.surges import SurgeParams

DAY = 2880
WEEK = 7 * DAY
ALL = tuple(PROFILES)


def made(names=ALL, containers=60, sites=5, ticks=DAY, seed=1, longitudes=None, **options) -> Workload:
    return generate(
        profiles=[names[i % len(names)] for i in range(containers)],
        main_region=np.arange(containers) // len(names) % sites,
        region_longitude_deg=np.zeros(sites) if longitudes is None else np.asarray(longitudes, np.float64),
        start_s=options.pop("start_s", 0.0),
        ticks=ticks,
        seed=seed,
        **options,
    )


def plain(name: str, **changes) -> dict[str, ProfileParams]:
    """The profile without noise, spikes, spread and differences between containers: the bare cycle."""
    bare = {
        "noise_sigma": 0.0,
        "spike_share": 0.0,
        "scale_sigma": 0.0,
        "phase_spread_h": 0.0,
        "cycle_depth_low": 1.0,
        "cycle_depth_high": 1.0,
        "ceiling": 100.0,
    }
    return {name: replace(PROFILES[name], **(bare | changes))}


def by_hour(workload: Workload) -> np.ndarray:
    """Mean level by day and hour of a whole week, in UTC."""
    return workload.level[:-1].mean(axis=1).reshape(7, 24, 12).mean(axis=2)


def test_same_seed_gives_the_same_bytes() -> None:
    first, second = made(), made()
    assert first.level.tobytes() == second.level.tobytes()
    assert first.surge.tobytes() == second.surge.tobytes()


def test_another_seed_gives_another_workload() -> None:
    first, second = made(seed=1), made(seed=2)
    assert (first.level != second.level).mean() > 0.99
    assert not np.array_equal(first.surge, second.surge)


def test_longer_horizon_begins_with_the_shorter_one() -> None:
    short, long = made(ticks=700), made(ticks=2 * DAY + 10)
    assert np.array_equal(short.level, long.level[: short.level.shape[0]])
    assert np.array_equal(short.surge, long.surge[: short.surge.shape[0]])


def test_parts_draw_from_streams_of_their_own() -> None:
    with_spikes = made(("steady",), surges=SurgeParams.none())
    params = {"steady": replace(PROFILES["steady"], spikes_per_day=0.0, spike_share=0.0)}
    without = made(("steady",), params=params)
    spiky = with_spikes.level.astype(np.float64) / (1.0 - PROFILES["steady"].spike_share)
    untouched = np.isclose(spiky, without.level, rtol=1e-5)
    assert untouched.mean() > 0.9, "the noise must not change where only spikes and surges were taken away"


def test_levels_are_float32_and_the_horizon_is_covered() -> None:
    workload = made(ticks=25)
    assert workload.level.dtype == np.float32
    assert workload.level.shape == (4, 60)
    assert workload.ticks == 30
    assert workload.surge.shape == (30, 5)


def test_other_sample_lengths_hold_the_same_day() -> None:
    minute = made(("residential",), params=plain("residential"), sample_s=60.0)
    assert minute.level.shape == (1441, 60)
    usual = made(("residential",), params=plain("residential"))
    assert np.allclose(minute.level[::5], usual.level, rtol=1e-5)


def test_bare_cycle_is_the_table() -> None:
    """At full hours of Monday: mean level x table / mean of the week."""
    workload = made(("residential",), params=plain("residential"), mean_level=0.2)
    table = PROFILES["residential"]
    hours = 5 * sum(table.workday) + sum(table.saturday) + sum(table.sunday)
    expected = 0.2 * np.array(table.workday) / (hours / 168)
    assert np.allclose(workload.level[:-1:12, 0], expected, rtol=1e-5)
    # Half past nine lies half way between 9:00 and 10:00.
    assert workload.level[9 * 12 + 6, 0] == pytest.approx((expected[9] + expected[10]) / 2, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "peak", "weekend_share"),
    [
        ("residential", 21, (0.29, 0.34)),
        ("business", 12, (0.05, 0.13)),
        ("industrial", 8, (0.12, 0.18)),
        ("nightly-batch", 2, (0.28, 0.33)),
        ("event", 20, (0.33, 0.42)),
    ],
)
def test_profile_peaks_at_its_hour_and_keeps_its_weekend(name, peak, weekend_share) -> None:
    """Weekend share of the week's demand; an even one is 2/7 = 0.286."""
    hours = by_hour(made((name,), containers=1500, sites=100, ticks=WEEK))
    workdays = hours[:5].mean(axis=0)
    assert abs(int(workdays.argmax()) - peak) <= 1
    low, high = weekend_share
    assert low < hours[5:].sum() / hours.sum() < high


def test_steady_has_no_clock() -> None:
    hours = by_hour(made(("steady",), containers=1500, ticks=WEEK))
    assert hours.max() / hours.min() < 1.25
    assert hours[5:].sum() / hours.sum() == pytest.approx(2 / 7, abs=0.01)


def test_business_district_is_empty_at_weekends_and_a_works_dips_at_shift_changes() -> None:
    business = by_hour(made(("business",), params=plain("business"), ticks=WEEK))
    assert business[5:].mean() < 0.3 * business[:5].mean()
    works = made(("industrial",), params=plain("industrial"), ticks=WEEK).level[:, 0]
    at = {hour: works[hour * 12] for hour in (12, 13, 14, 15, 16)}
    assert at[14] < 0.85 * at[13]
    assert at[14] < 0.85 * at[15]
    assert at[13] > at[16], "the early shift is the fullest"


def test_people_in_the_west_wake_later() -> None:
    """60 degrees west of Greenwich the sun is four hours late: the peak of 21:00 stands at 1:00 UTC."""
    workload = made(("residential",), sites=2, longitudes=[0.0, -60.0], params=plain("residential"), ticks=WEEK)
    east, west = workload.level[:, 0], workload.level[:, 1]
    assert np.allclose(east[288 : 3 * 288], west[288 + 48 : 3 * 288 + 48], rtol=1e-4)
    assert int(west[288 : 2 * 288].argmax()) == 12


def test_world_time_of_the_start_is_respected() -> None:
    whole = made(("business",), params=plain("business"), ticks=WEEK)
    sunday = made(("business",), params=plain("business"), start_s=6 * DAY_S)
    assert np.allclose(sunday.level, whole.level[6 * 288 :], rtol=1e-4)


def test_a_week_wraps_into_the_next() -> None:
    two = made(("event",), params=plain("event", event_gain=0.0), ticks=2 * WEEK)
    assert np.allclose(two.level[:2016], two.level[2016:-1], rtol=1e-4)


def test_events_are_shared_by_a_region_and_come_at_their_chance() -> None:
    sure = plain("event", event_chance_workday=1.0, event_chance_weekend=0.0, event_start_h=18.0, event_length_h=4.0)
    level = made(("event",), params=sure, ticks=WEEK).level[:, 0]
    quiet = made(("event",), params=plain("event", event_gain=0.0), ticks=WEEK).level[:, 0]
    scale = sure["event"].mean_demand / plain("event", event_gain=0.0)["event"].mean_demand
    added = level * scale - quiet
    monday = added[:288]
    assert monday[18 * 12] == pytest.approx(0.0, abs=1e-4)
    assert monday[20 * 12] == pytest.approx(monday.max(), rel=1e-3)
    assert monday[18 * 12 + 6] == pytest.approx(monday.max() / 2, rel=1e-3)
    assert monday[21 * 12 + 6] == pytest.approx(monday.max() / 2, rel=1e-3)
    assert monday[22 * 12] == pytest.approx(0.0, abs=1e-4)
    assert np.abs(added[5 * 288 :]).max() < 1e-4, "no event at weekends"
    drawn = made(("event",), containers=20, sites=2, ticks=WEEK, params=plain("event"))
    assert np.array_equal(drawn.level[:, 0], drawn.level[:, 2])
    assert not np.array_equal(drawn.level[:, 0], drawn.level[:, 1])


def test_mean_of_a_week_is_near_the_one_asked_for() -> None:
    assert made(containers=600, sites=50, ticks=WEEK).level.mean() == pytest.approx(MEAN_LEVEL, rel=0.05)
    assert made(containers=600, sites=50, ticks=WEEK, mean_level=0.3).level.mean() == pytest.approx(0.3, rel=0.08)


def test_mean_may_be_given_for_each_container() -> None:
    wanted = np.tile([0.05, 0.2], 300)
    params = {"steady": replace(PROFILES["steady"], scale_sigma=0.0, spike_share=0.0)}
    level = made(("steady",), containers=600, ticks=WEEK, mean_level=wanted, params=params).level.mean(axis=0)
    assert level[0::2].mean() == pytest.approx(0.05, rel=0.03)
    assert level[1::2].mean() == pytest.approx(0.2, rel=0.03)


def test_zero_mean_is_zero_demand() -> None:
    assert made(mean_level=0.0).level.max() == 0.0


def test_scales_of_containers_are_lognormal() -> None:
    params = {"steady": replace(PROFILES["steady"], noise_sigma=0.0, spike_share=0.0, ceiling=1000.0)}
    mean = made(("steady",), containers=3000, ticks=10, params=params).level[0].astype(np.float64)
    log = np.log(mean)
    assert log.std() == pytest.approx(1.0, abs=0.05)
    assert ((log - log.mean()) ** 3).mean() == pytest.approx(0.0, abs=0.15), "no skew in the log"


def test_noise_has_the_memory_of_its_parameters() -> None:
    """Autocorrelation of the log after k samples: share x exp(-k sample / constant)."""
    bare = plain("steady", noise_sigma=0.5, noise_memory_share=0.6, noise_time_constant_s=6000.0)
    log = np.log(made(("steady",), containers=300, ticks=WEEK, params=bare).level.astype(np.float64))
    assert log.std(axis=0).mean() == pytest.approx(0.5, abs=0.02)
    for lag in (1, 10):
        expected = 0.6 * np.exp(-lag * 300 / 6000)
        assert autocorrelation(log, lag).mean() == pytest.approx(expected, abs=0.03)


def test_spikes_hold_their_share_and_have_a_heavy_tail() -> None:
    with_spikes = plain("steady", spike_share=0.2, spikes_per_day=4.0, ceiling=1e6)
    level = made(("steady",), containers=400, ticks=WEEK, params=with_spikes, mean_level=1.0).level.astype(np.float64)
    above = level - 0.8
    assert above.min() > -1e-5
    assert above.mean() == pytest.approx(0.2, rel=0.05)
    heights = above[(above > 1e-3) & (np.roll(above, 1, axis=0) < 1e-3) & (np.arange(len(above)) > 0)[:, None]]
    lowest = np.quantile(heights, 0.001)
    # Pareto with tail 1.5, bounded at 20: P(x > 4 lowest) = (4^-1.5 - 20^-1.5) / (1 - 20^-1.5) = 0.115.
    assert (heights > 4 * lowest).mean() == pytest.approx(0.115, abs=0.02)


def test_no_level_exceeds_the_ceiling() -> None:
    assert made(containers=600, mean_level=0.5).level.max() <= np.float32(1.5)


def test_own_profiles_may_be_added() -> None:
    params = {**PROFILES, "mine": replace(PROFILES["steady"], noise_sigma=0.0)}
    assert made(("mine", "business"), params=params).containers == 60


def test_surges_may_be_switched_off() -> None:
    assert (made(surges=SurgeParams.none()).surge == 1.0).all()


def test_unknown_profile_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match='profile "residental" is unknown; did you mean "residential"'):
        made(("residental",))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ticks": 0}, "horizon is 0 ticks"),
        ({"sample_s": 45.0}, "multiple of a tick"),
        ({"sample_s": 10.0}, "sample_s is 10"),
        ({"start_s": -1.0}, "start_s is -1"),
        ({"mean_level": -0.1}, "mean_level is -0.1"),
        ({"mean_level": 2.0}, "mean_level is 2; it must be at least 0 and at most 1.5"),
        ({"mean_level": float("nan")}, "mean_level is nan"),
        ({"mean_level": np.full(60, np.inf)}, "mean_level is inf"),
        ({"longitudes": [0.0, 0.0, 0.0, 0.0, 181.0]}, "holds 181.0"),
        ({"longitudes": [0.0, 0.0, 0.0, 0.0, np.nan]}, "holds nan"),
        ({"longitudes": [0.0, 0.0]}, "main_region runs from 0 to 4; the regions are 0 to 1"),
        ({"containers": 0}, "workload of 0 containers"),
    ],
)
def test_impossible_request_is_refused(changes, message) -> None:
    with pytest.raises(ModelError, match=message):
        made(**changes)


@given(
    containers=st.integers(1, 8),
    sites=st.integers(1, 3),
    ticks=st.integers(1, 600),
    seed=st.integers(0, 2**40),
    start_s=st.floats(0.0, 2e6),
    sample_ticks=st.sampled_from([1, 2, 10, 20]),
    mean_level=st.floats(0.0, 1.0),
)
@settings(max_examples=40, deadline=None)
def test_every_request_gives_a_workload_that_holds_together(
    containers, sites, ticks, seed, start_s, sample_ticks, mean_level
) -> None:
    workload = generate(
        profiles=[ALL[i % len(ALL)] for i in range(containers)],
        main_region=np.arange(containers) % sites,
        region_longitude_deg=np.linspace(-180.0, 180.0, sites),
        start_s=start_s,
        ticks=ticks,
        seed=seed,
        sample_s=sample_ticks * TICK_S,
        mean_level=mean_level,
    )
    assert ticks <= workload.ticks < ticks + sample_ticks
    assert workload.level.min() >= 0.0
    assert workload.surge.min() >= 1.0


def test_a_day_of_8000_containers_is_quick_and_small() -> None:
    """Measured 0.1 s and 15 MB; the limits leave room for a busy machine."""
    made(containers=8, ticks=10)
    begin = time.process_time()
    made(containers=8000, sites=40)
    assert time.process_time() - begin < 1.0
    tracemalloc.start()
    made(containers=8000, sites=40)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 100e6
