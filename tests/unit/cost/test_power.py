"""Power curves: values worked by hand, ends, refusals, and the two models that fill a curve from two points."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold.compiled import Array, compiled
from fogfold.cost.power import (
    curve_power_w,
    curve_rows,
    empirical_curve,
    linear_curve,
    marginal_power_w,
    node_power_w,
)
from fogfold.errors import ModelError
from fogfold.model.node import PowerCurve

G4 = (86.0, 89.4, 92.6, 96.0, 99.5, 102.0, 106.0, 108.0, 112.0, 114.0, 117.0)
G5 = (93.7, 97.0, 101.0, 105.0, 110.0, 116.0, 121.0, 125.0, 129.0, 133.0, 135.0)
BOTH = np.array([G4, G5])


@compiled
def summed_w(loads: Array, row: Array) -> float:
    total = 0.0
    for load in loads:
        total += curve_power_w(load, row)
    return total


@pytest.mark.parametrize(
    ("load", "watts"),
    [
        (0.0, 86.0),
        (0.05, 87.7),  # half way from 86.0 to 89.4
        (0.1, 89.4),
        (0.25, 94.3),  # half way from 92.6 to 96.0
        (0.58, 105.2),  # 102 + 0.8 x 4
        (0.97, 116.1),  # 114 + 0.7 x 3
        (1.0, 117.0),
    ],
)
def test_power_is_linear_between_the_points(load, watts):
    assert curve_power_w(load, BOTH[0]) == pytest.approx(watts, abs=1e-12)


@pytest.mark.parametrize("step", range(11))
def test_power_at_each_ten_percent_is_the_measured_point(step):
    assert curve_power_w(step / 10, BOTH[1]) == pytest.approx(G5[step], abs=1e-12)


def test_load_just_below_one_stays_within_the_row():
    assert curve_power_w(math.nextafter(1.0, 0.0), BOTH[0]) == pytest.approx(117.0)
    assert math.nextafter(1.0, 0.0) * 10 < 10.0


def test_load_beyond_its_range_gives_the_nearest_end_and_nan_gives_nan():
    assert curve_power_w(-0.5, BOTH[0]) == 86.0
    assert curve_power_w(-math.inf, BOTH[0]) == 86.0
    assert curve_power_w(3.0, BOTH[0]) == 117.0
    assert curve_power_w(math.inf, BOTH[0]) == 117.0
    assert math.isnan(curve_power_w(math.nan, BOTH[0]))


def test_power_can_be_asked_for_inside_a_compiled_loop():
    # 86 + 94.3 + 117
    assert summed_w(np.array([0.0, 0.25, 1.0]), BOTH[0]) == pytest.approx(297.3)


def test_node_power_takes_each_node_at_its_own_curve():
    power_w = node_power_w(np.array([0.25, 0.45]), BOTH)
    # G5 at 45 %: half way from 110 to 116.
    assert power_w.tolist() == pytest.approx([94.3, 113.0])
    assert power_w.dtype == np.float64


def test_node_power_of_no_nodes_is_empty():
    assert node_power_w(np.empty(0), np.empty((0, 11))).shape == (0,)


def test_node_power_accepts_arrays_that_are_not_contiguous():
    curves = np.asfortranarray(BOTH)
    utilisation = np.array([0.25, 0.9, 0.45, 0.9])[::2]
    assert node_power_w(utilisation, curves).tolist() == pytest.approx([94.3, 113.0])


@pytest.mark.parametrize("wrong", [-1e-9, 1.0000001, math.nan, math.inf, -math.inf])
def test_utilisation_outside_its_range_is_refused_with_node_and_value(wrong):
    with pytest.raises(ModelError, match=r"utilisation of node 1 is .*must be in \[0, 1\]: divide the usage"):
        node_power_w(np.array([0.5, wrong]), BOTH)


@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf])
def test_curve_with_a_point_that_cannot_be_is_refused(wrong):
    curves = BOTH.copy()
    curves[1, 4] = wrong
    with pytest.raises(ModelError, match=r"power curve of node 1 is .*at least 0: give the curve"):
        node_power_w(np.array([0.5, 0.5]), curves)


def test_marginal_power_is_the_difference_on_a_node_that_stays_on():
    # 94.3 at 25 % and 89.4 at 10 %.
    assert marginal_power_w(0.1, 0.25, BOTH[0]) == pytest.approx(4.9)
    assert marginal_power_w(0.25, 0.1, BOTH[0]) == pytest.approx(-4.9)
    assert marginal_power_w(0.6, 0.6, BOTH[0]) == 0.0


def test_linear_curve_rises_in_equal_steps_and_says_so():
    curve = linear_curve("board", 2.0, 7.0, "a meter")
    assert curve.points_w == (2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0)
    assert curve.source == "a meter; idle and full load only, linear between (Fan, Weber and Barroso, ISCA 2007)"


def test_empirical_curve_lies_above_the_linear_one_between_equal_ends():
    curve = empirical_curve("server", 100.0, 200.0, "a meter")
    # u = 0.5: 2 x 0.5 - 0.5^1.4 = 1 - 0.378929 = 0.621071
    assert curve.points_w[5] == pytest.approx(162.1071, abs=1e-4)
    assert (curve.points_w[0], curve.points_w[10]) == (100.0, 200.0)
    linear = linear_curve("server", 100.0, 200.0, "a meter").points_w
    assert all(high > low for high, low in zip(curve.points_w[1:10], linear[1:10], strict=True))
    assert max(high - low for high, low in zip(curve.points_w, linear, strict=True)) < 12.4
    assert "2u - u^1.4" in curve.source


@pytest.mark.parametrize("make", [linear_curve, empirical_curve])
def test_curve_of_two_points_needs_a_source_and_a_peak_above_idle(make):
    with pytest.raises(ModelError, match="no source"):
        make("board", 2.0, 7.0, "")
    with pytest.raises(ModelError, match="falls from 7 W idle"):
        make("board", 7.0, 2.0, "a meter")
    with pytest.raises(ModelError, match="nan"):
        make("board", math.nan, 2.0, "a meter")


def test_curve_rows_keep_order_and_figures():
    rows = curve_rows([PowerCurve("g5", G5, "spec"), PowerCurve("g4", G4, "spec")])
    assert np.array_equal(rows, BOTH[::-1])
    assert rows.flags.c_contiguous
    assert curve_rows([]).shape == (0, 11)


points = st.lists(st.floats(0.0, 1000.0), min_size=11, max_size=11)
loads = st.floats(0.0, 1.0)


@given(points, loads)
def test_power_never_leaves_the_two_points_round_the_load(row, load):
    below = min(int(load * 10), 9)
    low, high = sorted(row[below : below + 2])
    slack = 1e-9 * (1.0 + high)
    assert low - slack <= curve_power_w(load, np.array(row)) <= high + slack


@given(points, loads)
def test_power_equals_numpy_interpolation(row, load):
    expected = np.interp(load, np.linspace(0.0, 1.0, 11), row)
    assert curve_power_w(load, np.array(row)) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(st.floats(0.0, 500.0), st.floats(0.0, 500.0), loads, loads)
def test_power_of_a_rising_curve_rises_with_load(idle_w, span_w, one, other):
    for make in (linear_curve, empirical_curve):
        row = np.array(make("m", idle_w, idle_w + span_w, "s").points_w)
        low, high = sorted((one, other))
        assert marginal_power_w(low, high, row) >= -1e-9
