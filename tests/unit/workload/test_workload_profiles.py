"""Profiles: complete tables, named, and refused where they cannot be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fogfold.errors import ModelError, UnknownNameError
from fogfold.world.workload.pareto import bounded_pareto, bounded_pareto_mean
from fogfold.world.workload.profiles import PROFILES, profile, week_table


def test_all_promised_profiles_are_there() -> None:
    assert {"residential", "business", "industrial", "nightly-batch", "steady", "event"} <= set(PROFILES)


@pytest.mark.parametrize("name", PROFILES)
def test_week_with_its_events_has_a_mean_of_one(name) -> None:
    params = profile(name)
    table = week_table(params)
    assert table.shape == (168,)
    assert table.mean() + params.events_mean / params.mean_demand == pytest.approx(1.0)


def test_events_add_the_area_of_their_trapezoid() -> None:
    """Chance 1 on two days of a week, 4 h long with an hour of rise and fall: 2 x 3 h x gain 7 over 168 h = 0.25."""
    params = replace(PROFILES["event"], event_chance_workday=0.0, event_chance_weekend=1.0, event_gain=7.0)
    assert params.events_mean == pytest.approx(0.25)


def test_unknown_name_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match='did you mean "business"'):
        profile("busines")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"workday": (1.0,) * 23}, "workday has 23 hours; give 24"),
        ({"sunday": (1.0,) * 23 + (-1.0,)}, "sunday, hour 23 is -1"),
        ({"saturday": (float("nan"),) + (1.0,) * 23}, "saturday, hour 0 is nan"),
        ({"workday": (0.0,) * 24, "saturday": (0.0,) * 24, "sunday": (0.0,) * 24}, "zero in every hour"),
        ({"noise_sigma": -0.1}, "noise_sigma is -0.1"),
        ({"noise_memory_share": 1.1}, "noise_memory_share is 1.1"),
        ({"noise_time_constant_s": 0.0}, "noise_time_constant_s is 0; it must be above 0"),
        ({"spike_share": 0.95}, "spike_share is 0.95"),
        ({"spikes_per_day": 0.0}, "spike_share is 0.05 without spikes"),
        ({"spike_tail": 0.0}, "spike_tail is 0"),
        ({"cycle_depth_low": 0.9, "cycle_depth_high": 0.5}, "exchange the two"),
        ({"cycle_depth_high": 1.5}, "cycle_depth_high is 1.5"),
        ({"event_chance_weekend": 2.0}, "event_chance_weekend is 2"),
        ({"event_length_h": 1.0}, "event_length_h is 1"),
        ({"ceiling": 0.0}, "ceiling is 0"),
        ({"scale_sigma": float("inf")}, "scale_sigma is inf"),
    ],
)
def test_impossible_profile_is_refused(changes, message) -> None:
    with pytest.raises(ModelError, match=message):
        replace(PROFILES["residential"], **changes)


@pytest.mark.parametrize("tail", [0.7, 1.0, 1.5, 3.0])
def test_bounded_pareto_has_the_mean_of_its_formula(tail) -> None:
    """A fine even grid of the unit interval through the inverse distribution integrates to the mean."""
    uniform = (np.arange(200_000) + 0.5) / 200_000
    draws = np.array([bounded_pareto(u, 2.0, 40.0, tail) for u in uniform[::20]])
    assert draws.min() >= 2.0
    assert draws.max() <= 40.0
    assert draws.mean() == pytest.approx(bounded_pareto_mean(2.0, 40.0, tail), rel=2e-3)


def test_pareto_between_equal_bounds_is_the_bound() -> None:
    assert bounded_pareto_mean(3.0, 3.0, 1.5) == 3.0


@pytest.mark.parametrize(("low", "high", "tail"), [(0.0, 1.0, 1.0), (2.0, 1.0, 1.0), (1.0, 2.0, 0.0)])
def test_impossible_pareto_law_is_refused(low, high, tail) -> None:
    with pytest.raises(ModelError, match="must be above 0 and in order"):
        bounded_pareto_mean(low, high, tail)
