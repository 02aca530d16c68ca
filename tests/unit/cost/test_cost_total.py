"""J by hand: each term from its figure and its exchange rate, and the sum of the four."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold.cost.total import ExchangeRates, TermsWh, total_cost
from fogfold.errors import ModelError
from fogfold.units import GIB, J_PER_KWH

NOTHING = {
    "energy_j": 0.0,
    "moved_bytes": 0.0,
    "downtime_s": 0.0,
    "violated_requests": 0.0,
    "latency_ms_requests": 0.0,
}
amount = st.floats(0.0, 1e12)
figures = st.fixed_dictionaries(dict.fromkeys(NOTHING, amount))


def test_day_of_a_small_cluster_by_hand():
    terms = total_cost(
        ExchangeRates(),
        energy_j=2.5 * J_PER_KWH,
        moved_bytes=50 * GIB,
        downtime_s=150.0,
        violated_requests=40_000.0,
        latency_ms_requests=3e9,
    )
    # 2500 Wh; 50 x 0.06 + 150 x 0.02 = 3 + 3; 40,000 x 0.001; 3e9 x 2e-7.
    assert dataclasses.astuple(terms) == pytest.approx((2500.0, 6.0, 40.0, 600.0))
    assert terms.total == pytest.approx(3146.0)


@pytest.mark.parametrize(
    ("figure", "amount", "term", "watt_hours"),
    [
        ("energy_j", 3600.0, "energy", 1.0),
        ("moved_bytes", GIB, "migration", 0.06),
        ("downtime_s", 1.0, "migration", 0.02),
        ("violated_requests", 1.0, "sla", 1e-3),
        ("latency_ms_requests", 1e6, "latency", 0.2),
    ],
)
def test_each_harm_falls_to_its_own_term_at_its_own_rate(figure, amount, term, watt_hours):
    terms = dataclasses.asdict(total_cost(ExchangeRates(), **{**NOTHING, figure: amount}))
    assert terms.pop(term) == pytest.approx(watt_hours)
    assert set(terms.values()) == {0.0}


@pytest.mark.parametrize(
    ("rate", "figure", "term"),
    [
        ("late_request_wh", "violated_requests", "sla"),
        ("downtime_s_wh", "downtime_s", "migration"),
        ("latency_ms_request_wh", "latency_ms_requests", "latency"),
    ],
)
def test_other_rate_gives_another_price(rate, figure, term):
    terms = total_cost(ExchangeRates(**{rate: 0.5}), **{**NOTHING, figure: 8.0})
    assert getattr(terms, term) == 4.0


def test_gib_moved_has_a_rate_of_its_own():
    assert total_cost(ExchangeRates(migrated_gib_wh=0.5), **{**NOTHING, "moved_bytes": 8 * GIB}).migration == 4.0


def test_price_of_a_second_down_is_that_of_twenty_late_requests():
    rates = ExchangeRates()
    assert rates.downtime_s_wh == pytest.approx(20 * rates.late_request_wh)


def test_second_of_delay_spread_over_requests_weighs_as_a_fifth_of_a_late_one():
    rates = ExchangeRates()
    assert 1000.0 * rates.latency_ms_request_wh == pytest.approx(rates.late_request_wh / 5)


@given(figures)
def test_sum_is_that_of_its_terms_and_nothing_is_paid_back(happened):
    terms = total_cost(ExchangeRates(), **happened)
    assert terms.total == pytest.approx(sum(dataclasses.astuple(terms)))
    assert min(dataclasses.astuple(terms)) >= 0.0


@given(figures, figures)
def test_cost_of_two_stretches_is_the_sum_of_their_costs(one, other):
    both = total_cost(ExchangeRates(), **{name: one[name] + other[name] for name in NOTHING})
    apart = total_cost(ExchangeRates(), **one).total + total_cost(ExchangeRates(), **other).total
    assert both.total == pytest.approx(apart)


def test_nothing_costs_nothing():
    assert total_cost(ExchangeRates(), **NOTHING) == TermsWh(0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("rate", [field.name for field in dataclasses.fields(ExchangeRates)])
@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (-0.1, "is -0.1; it must be at least 0"),
        (math.nan, "is nan; give a finite"),
        (math.inf, "is inf; give a finite"),
    ],
)
def test_rate_that_pays_for_harm_or_is_unknown_is_refused(rate, value, sentence):
    with pytest.raises(ModelError, match=f"^{rate} {sentence}"):
        ExchangeRates(**{rate: value})
