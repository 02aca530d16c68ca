"""A rehearsal that notices that the demand it plays is not the demand that comes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fogfold.decide.check import LoadCheck
from fogfold.decide.futures import Futures
from fogfold.encoding.arrays import view_of
from fogfold.testing.builders import a_cluster, a_container, a_node, a_snapshot
from fogfold.world.faults import FaultSchedule


@pytest.fixture
def view():
    cluster = a_cluster([a_node("n0")], [a_container("c0"), a_container("c1")])
    return view_of(a_snapshot(cluster, {"c0": "n0", "c1": "n0"}))


def _futures(level):
    return Futures(
        np.full((2, 3, 2), level, np.float32),
        np.full((3, 2), level, np.float32),
        (FaultSchedule.none(), FaultSchedule.none()),
        (1, 2),
        150.0,
        0.0,
    )


def _went(view, believed, came, steps, tolerance=0.15, gap_s=300.0):
    check = LoadCheck(tolerance, 300.0)
    for k in range(steps):
        now = replace(view, time_s=gap_s * k, usage=came * view.fleet.request)
        check.see(now)
        check.say(now, _futures(believed))
    return check


def test_demand_believed_too_low_is_corrected_to_what_comes(view):
    # What comes is 0.5; 0.35 is believed of it.
    assert _went(view, 0.35, 0.5, 20).factor == pytest.approx(0.5 / 0.35)
    assert _went(view, 0.65, 0.5, 20).factor == pytest.approx(0.5 / 0.65)


def test_difference_within_the_tolerance_is_left_alone(view):
    assert _went(view, 0.45, 0.5, 20).factor == 1.0
    assert _went(view, 0.35, 0.5, 20, tolerance=1e9).factor == 1.0


def test_a_few_readings_say_nothing(view):
    # The first is held against nothing: six of seven count.
    assert _went(view, 0.35, 0.5, 6).factor == 1.0
    assert _went(view, 0.35, 0.5, 7).factor > 1.4


def test_one_surge_changes_nothing(view):
    check = _went(view, 0.5, 0.5, 11)
    check.see(replace(view, time_s=3300.0, usage=9.0 * view.fleet.request))
    assert check.factor == 1.0


def test_same_instant_seen_again_counts_once(view):
    check = _went(view, 0.35, 0.5, 2)
    for _ in range(10):
        check.see(replace(view, time_s=600.0, usage=0.5 * view.fleet.request))
    assert check.factor == 1.0


def test_reading_of_another_instant_says_nothing(view):
    assert _went(view, 0.35, 0.5, 20, gap_s=1800.0).factor == 1.0
