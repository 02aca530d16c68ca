"""The share of broken promises: by hand, within its bounds, and only from counts that belong together."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold.cost.sla import violation_rate
from fogfold.errors import ModelError


@pytest.mark.parametrize(
    ("violated", "requests", "rate"), [(5.0, 20.0, 0.25), (0.0, 20.0, 0.0), (20.0, 20.0, 1.0), (0.0, 0.0, 0.0)]
)
def test_rate_is_the_violated_share_of_all(violated, requests, rate):
    assert violation_rate(violated, requests) == rate


def test_rates_of_many_are_worked_out_side_by_side():
    rates = violation_rate(np.array([1.0, 0.0, 3.0]), np.array([4.0, 0.0, 3.0]))
    assert np.array_equal(rates, [0.25, 0.0, 1.0])


def test_many_counts_may_share_one_number_of_requests():
    assert np.array_equal(violation_rate(np.array([1.0, 2.0]), 4.0), [0.25, 0.5])
    assert np.array_equal(violation_rate(1.0, np.array([2.0, 4.0])), [0.5, 0.25])


def test_single_counts_give_a_plain_number():
    assert type(violation_rate(1.0, 3.0)) is float


@given(st.lists(st.tuples(st.floats(0.0, 1e12), st.floats(0.0, 1.0)), min_size=1))
def test_rate_is_a_share(counts):
    requests = np.array([many for many, _ in counts])
    rate = np.asarray(violation_rate(requests * [share for _, share in counts], requests))
    assert ((rate >= 0.0) & (rate <= 1.0)).all()


@pytest.mark.parametrize(("violated", "requests"), [(1.0 + 0.9e-9, 1.0), (1e-9, 1e-10), (0.9e-9, 0.0)])
def test_what_rounding_adds_does_not_show(violated, requests):
    rate = violation_rate(violated, requests)
    assert 0.0 <= rate <= 1.0


@pytest.mark.parametrize(
    ("violated", "requests"),
    [
        (-1.0, 5.0),
        (6.0, 5.0),
        (1.0 + 3e-9, 1.0),
        (1.0, 0.0),
        (math.nan, 5.0),
        (1.0, math.nan),
        (math.nan, math.nan),
        (math.inf, math.inf),
        (1.0, math.inf),
    ],
)
def test_counts_that_do_not_belong_together_are_refused(violated, requests):
    with pytest.raises(ModelError, match="must lie between 0 and all requests; the counts do not belong together"):
        violation_rate(violated, requests)


def test_one_bad_count_among_many_is_refused():
    with pytest.raises(ModelError, match="the counts do not belong together"):
        violation_rate(np.array([1.0, 6.0]), np.array([5.0, 5.0]))
