"""Chances: intervals against tables, and the likelihood worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.calibrate.chances import base_chance, beta_cdf, brier, jeffreys, log_loss
from fogfold.errors import ModelError
from fogfold.seeding import stream


def test_beta_of_one_and_one_is_the_straight_line():
    assert beta_cdf(0.3, 1, 1) == pytest.approx(0.3)


def test_beta_of_two_and_three_by_hand():
    # The integral of 12 x (1 - x)^2 up to 0.4: 6 x^2 - 8 x^3 + 3 x^4 = 0.96 - 0.512 + 0.0768.
    assert beta_cdf(0.4, 2, 3) == pytest.approx(0.5248, abs=1e-12)


def test_arcsine_law():
    # I_x(1/2, 1/2) = 2 / pi arcsin(sqrt x); at 1/4 a third.
    assert beta_cdf(0.25, 0.5, 0.5) == pytest.approx(1 / 3, abs=1e-12)


@given(st.floats(0.001, 0.999), st.floats(0.5, 300), st.floats(0.5, 300))
def test_beta_mirrors_and_stays_within_bounds(x, a, b):
    value = beta_cdf(x, a, b)
    assert -1e-12 <= value <= 1 + 1e-12
    assert value + beta_cdf(1 - x, b, a) == pytest.approx(1.0, abs=1e-9)


def test_one_trial_that_failed():
    # Beta(3/2, 1/2): its lower 2.5 % point solves I_x = 0.025; the upper end is 1, since every trial failed.
    low, high = jeffreys(1, 1)
    assert high == 1.0
    assert beta_cdf(low, 1.5, 0.5) == pytest.approx(0.025, abs=1e-9)


def test_a_chance_that_never_happened_is_not_zero():
    # Brown, Cai and DasGupta 2001, table 5, n = 20, x = 0: from 0 to 0.117.
    low, high = jeffreys(0, 20)
    assert low == 0.0
    assert high == pytest.approx(0.117, abs=5e-4)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 400), st.data())
def test_interval_holds_the_share_that_was_seen(trials, data):
    hits = data.draw(st.integers(0, trials))
    low, high = jeffreys(hits, trials)
    assert 0.0 <= low <= hits / trials <= high <= 1.0


def test_interval_holds_the_true_chance_in_95_of_100_cases():
    # 4000 draws of 60 trials: the share that is held has itself a standard error of 0.35 points.
    hits = stream(4, "coverage").binomial(60, 0.26, size=4000)
    holds = {count: jeffreys(count, 60)[0] <= 0.26 <= jeffreys(count, 60)[1] for count in range(6, 28)}
    held = np.mean([holds.get(count, False) for count in hits.tolist()])
    assert 0.92 <= held <= 0.985


def test_no_trials_give_no_interval():
    with pytest.raises(ModelError, match="at least one trial"):
        jeffreys(0, 0)


def test_base_without_anything_added_is_the_share():
    failed = np.array([True] * 3 + [False] * 7)
    assert base_chance(failed, np.zeros(10)) == pytest.approx(0.3, abs=1e-9)


def test_base_is_what_is_left_of_the_share():
    failed = np.array([True] * 3 + [False] * 7)
    assert base_chance(failed, np.full(10, 0.1)) == pytest.approx(0.2, abs=1e-9)


def test_base_is_none_where_paths_explain_more_than_was_seen():
    assert base_chance(np.zeros(50, bool), np.full(50, 0.1)) == 0.0


def test_base_is_found_among_different_paths():
    rng = stream(3, "paths")
    added = rng.choice([0.0, 0.2], size=20_000)
    failed = rng.random(20_000) < 0.1 + added
    assert base_chance(failed, added) == pytest.approx(0.1, abs=0.01)


def test_log_loss_and_brier_by_hand():
    failed, chance = np.array([True, False]), np.array([0.25, 0.25])
    # -(ln 1/4 + ln 3/4) / 2; (0.75^2 + 0.25^2) / 2.
    assert log_loss(failed, chance) == pytest.approx((np.log(4) + np.log(4 / 3)) / 2)
    assert brier(failed, chance) == pytest.approx(0.3125)
