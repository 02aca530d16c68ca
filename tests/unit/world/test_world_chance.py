"""Draws from a key: stable, uniform, and each argument's own affair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.compiled import Array, compiled
from fogfold.world.chance import chance

keys = st.integers(0, 2**63 - 1)
counts = st.integers(0, 2**31 - 1)
COUNT = 20_000


@compiled
def chances(key: int, subject: Array, occasion: Array, purpose: Array) -> Array:
    out = np.empty(len(subject))
    for i in range(len(out)):
        out[i] = chance(key, subject[i], occasion[i], purpose[i])
    return out


def along(name, *, key=7, count=COUNT):
    """Draws with one argument running from 0 and the others fixed."""
    arguments = {"subject": 3, "occasion": 5, "purpose": 1}
    columns = [np.arange(count) if n == name else np.full(count, fixed) for n, fixed in arguments.items()]
    return chances(key, *columns)


def unmixed(x: int) -> int:
    """SplitMix64's finaliser in plain whole numbers."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) % 2**64
    return x ^ (x >> 31)


@settings(deadline=None)
@given(keys, counts, counts, st.integers(0, 10))
def test_draw_is_the_published_finaliser_over_key_subject_occasion_and_purpose(key, subject, occasion, purpose):
    z = key
    for part in (subject, occasion, purpose):
        z = unmixed((z + 0x9E3779B97F4A7C15 * (part + 1)) % 2**64)
    assert chance(key, subject, occasion, purpose) == (z >> 11) / 2**53


def test_finaliser_gives_the_first_numbers_of_splitmix64():
    # Of seed 1234567, as in the reference implementation's test vector.
    state, found = 1234567, []
    for _ in range(3):
        state = (state + 0x9E3779B97F4A7C15) % 2**64
        found.append(unmixed(state))
    assert found == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ((0, 0, 0, 0), 0.13870941014555427),
        ((1, 0, 0, 0), 0.6935121390102292),
        ((1, 2, 3, 4), 0.4457826182066039),
        ((2**63 - 1, 1000, 64, 3), 0.6839785466951097),
    ],
)
def test_values_stay_what_they_are(arguments, value):
    """Changed values change the luck of every world: that must be meant."""
    assert chance(*arguments) == value


@settings(deadline=None)
@given(keys, counts, counts, counts)
def test_draw_lies_in_the_unit_interval(key, subject, occasion, purpose):
    assert 0.0 <= chance(key, subject, occasion, purpose) < 1.0


@pytest.mark.parametrize("name", ["subject", "occasion", "purpose"])
def test_draws_are_uniform_along_each_argument(name):
    draws = along(name)
    # Mean of 20,000: 0.5 within 4 x sqrt(1/12) / sqrt(20,000).
    assert draws.mean() == pytest.approx(0.5, abs=4 * 0.2887 / COUNT**0.5)
    # 50 bins, 49 degrees of freedom: chi-square has mean 49 and deviation sqrt(98), so 90 is four of them off.
    counted = np.bincount((draws * 50).astype(int), minlength=50)
    assert ((counted - COUNT / 50) ** 2 / (COUNT / 50)).sum() < 90.0


@pytest.mark.parametrize("name", ["subject", "occasion", "purpose"])
def test_neighbours_do_not_resemble_each_other(name):
    draws = along(name)
    for lag in (1, 2, 64):
        assert abs(np.corrcoef(draws[:-lag], draws[lag:])[0, 1]) < 4 / COUNT**0.5


def test_draws_of_two_keys_purposes_or_occasions_do_not_resemble_each_other():
    subject, ones = np.arange(COUNT), np.ones(COUNT, np.int64)
    base = chances(7, subject, ones, ones)
    for other in (
        chances(8, subject, ones, ones),
        chances(7, subject, 2 * ones, ones),
        chances(7, subject, ones, 2 * ones),
        chances(7, ones, subject, ones),
    ):
        assert abs(np.corrcoef(base, other)[0, 1]) < 4 / COUNT**0.5


def test_no_two_of_many_draws_are_the_same():
    grid = np.array(np.meshgrid(np.arange(40), np.arange(40), np.arange(4))).reshape(3, -1)
    assert len(set(chances(7, *grid).tolist())) == grid.shape[1]


@settings(deadline=None)
@given(keys, counts, counts)
def test_arguments_do_not_stand_for_each_other(key, one, other):
    if one != other:
        assert chance(key, one, other, 0) != chance(key, other, one, 0)


@settings(deadline=None)
@given(st.integers(0, 2**31 - 1), counts, counts, st.integers(0, 3))
def test_compiled_loop_and_single_call_draw_the_same(key, subject, occasion, purpose):
    one = [np.array([value]) for value in (subject, occasion, purpose)]
    assert chances(key, *one)[0] == chance(key, subject, occasion, purpose)
