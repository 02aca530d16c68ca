"""The panel: it finds the best candidate for each series and distance, and follows series as they come and go."""

from __future__ import annotations

import numpy as np
import pytest

from fogfold.errors import ModelError
from fogfold.forecast.anchors import anchor_above, anchor_shares, anchors_up_to
from fogfold.forecast.base import FRESH
from fogfold.forecast.panel import Panel
from fogfold.seeding import stream


def test_anchors_are_powers_of_two_and_one_and_a_half_times_them():
    assert anchors_up_to(1).tolist() == [1]
    assert anchors_up_to(14).tolist() == [1, 2, 3, 4, 6, 8, 12, 14]
    anchors = anchors_up_to(6)
    assert anchors[anchor_above(anchors, 6)].tolist() == [1, 2, 3, 4, 6, 6]
    assert anchor_shares(anchors, 6).tolist() == [1.0, 1.0, 1.0, 1.0, 0.5, 1.0]


def test_weights_are_those_of_the_sheet():
    # Two candidates, one step ahead, always off by 1 and by 2: the median weighs the second by 1/2 to the power 16,
    # the mean by 1/4 to the power 8, which is the same.
    panel = Panel(1, 2, anchors_up_to(1), 300.0)
    said = np.array([[[11.0, 12.0]]], np.float32)
    for _ in range(8):
        panel.score(np.array([10.0]))
        mean, median = panel.blend(said)
    weight = 2.0**-16
    expected = (11.0 + weight * 12.0) / (1.0 + weight)
    assert mean[0, 0] == pytest.approx(expected, abs=1e-9)
    assert median[0, 0] == pytest.approx(expected, abs=1e-9)


def test_before_there_is_a_record_the_first_that_speaks_is_heard():
    panel = Panel(1, 2, anchors_up_to(1), 300.0)
    mean, _ = panel.blend(np.array([[[np.nan, 12.0]]], np.float32))
    assert mean[0, 0] == 12.0


def test_daily_pattern_is_found_where_there_is_one_and_only_there(follow):
    # Hourly steps, five days: one series repeats its day exactly, the other stands still after a jump each hour.
    rng = stream(7, "day")
    day = rng.random(24)
    walk = 5.0 + np.cumsum(rng.normal(0.0, 0.2, 120))
    rows = np.stack([np.tile(day, 5), np.abs(walk)], axis=1)
    found = follow("combined", rows, step_s=3600.0, horizon_steps=6).forecast(6)
    assert found.mean[:, 0] == pytest.approx(day[:6], abs=1e-3)
    assert found.mean[0, 1] == pytest.approx(rows[-1, 1], abs=0.3)


def test_long_gap_leaves_what_is_known_alone(follow):
    rng = stream(8, "gap")
    rows = 1.0 + 0.1 * rng.random((60, 1))
    ready = follow("combined", rows)
    before = ready.forecast(12)
    for _ in range(20):
        ready.observe(np.array([np.nan]))
    after = ready.forecast(12)
    assert np.isfinite(after.mean).all()
    assert after.mean == pytest.approx(before.mean, abs=0.06)


def test_series_are_independent_of_their_neighbours(follow):
    rng = stream(9, "neighbours")
    rows = rng.gamma(2.0, 0.2, (80, 5))
    together = follow("combined", rows).forecast(12)
    alone = follow("combined", rows[:, 2:3]).forecast(12)
    assert together.mean[:, 2].tolist() == alone.mean[:, 0].tolist()
    assert together.quantiles[:, :, 2].tolist() == alone.quantiles[:, :, 0].tolist()


@pytest.mark.parametrize("name", ["persistence", "seasonal-naive", "holt-winters", "combined"])
def test_containers_come_and_go_without_touching_the_others(follow, name):
    rng = stream(10, "come and go")
    rows = rng.gamma(2.0, 0.2, (40, 3))
    more = rng.gamma(2.0, 0.2, (20, 3))
    moved, stayed = follow(name, rows), follow(name, rows)
    moved.take([2, FRESH, 0])
    assert moved.series == 3
    for now in more:
        moved.observe(np.array([now[2], 0.5, now[0]]))
        stayed.observe(now)
    a, b = moved.forecast(12), stayed.forecast(12)
    assert a.mean[:, [0, 2]].tolist() == b.mean[:, [2, 0]].tolist()
    assert a.quantiles[:, :, [0, 2]].tolist() == b.quantiles[:, :, [2, 0]].tolist()
    assert a.mean[:, 1] == pytest.approx(0.5), "the newcomer knows nothing of the column's past"


def test_forecast_between_take_and_the_next_reading_keeps_what_was_known(follow):
    ready = follow("combined", np.full((20, 2), 0.4))
    ready.take([FRESH, 1])
    found = ready.forecast(1)
    assert np.isnan(found.mean[0, 0])
    assert found.mean[0, 1] == pytest.approx(0.4)


def test_columns_that_are_not_there_or_twice_are_refused(follow):
    ready = follow("combined", [[1.0, 2.0]])
    with pytest.raises(ModelError, match="column 2 is taken"):
        ready.take([0, 2])
    with pytest.raises(ModelError, match="taken twice"):
        ready.take([1, 1])
