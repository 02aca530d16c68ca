"""Amounts of resources: what is refused, how they add, when they fit."""

from __future__ import annotations

import dataclasses
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold.errors import ModelError
from fogfold.model.resources import RESOURCE_COUNT, Resource, Resources, check_number

amount = st.floats(0.0, 1e15)
amounts = st.builds(Resources, amount, amount, amount, amount)
NOTHING = Resources(0.0, 0.0, 0.0, 0.0)
FIELDS = ["cpu_cores", "memory_bytes", "network_bit_s", "disk_iops"]


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (-1.0, "is -1; it must be at least 0$"),
        (-1e-12, "is -1e-12; it must be at least 0$"),
        (math.nan, r"is nan; give a finite number \(absence is never read as zero\)$"),
        (math.inf, "is inf; give a finite number"),
        (-math.inf, "is -inf; give a finite number"),
    ],
)
def test_amount_that_cannot_be_is_refused(field, value, sentence):
    with pytest.raises(ModelError, match=f"^{field} {sentence}"):
        dataclasses.replace(NOTHING, **{field: value})


def test_nothing_is_an_amount():
    assert NOTHING.as_tuple() == (0.0, 0.0, 0.0, 0.0)


def test_tuple_stands_in_the_order_of_the_resource_axis():
    it = Resources(cpu_cores=1.0, memory_bytes=2.0, network_bit_s=3.0, disk_iops=4.0)
    by_row = {resource: it.as_tuple()[resource] for resource in Resource}
    assert by_row == {Resource.CPU: 1.0, Resource.MEMORY: 2.0, Resource.NETWORK: 3.0, Resource.DISK: 4.0}
    assert RESOURCE_COUNT == len(FIELDS) == 4


def test_amount_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        NOTHING.cpu_cores = 1.0  # type: ignore[misc]


@given(amounts, amounts)
def test_sum_is_taken_resource_by_resource(one, other):
    assert (one + other).as_tuple() == tuple(a + b for a, b in zip(one.as_tuple(), other.as_tuple(), strict=True))
    assert one + other == other + one
    assert one + NOTHING == one


@given(amounts, amounts)
def test_amount_fits_into_itself_and_into_more(one, other):
    assert one.fits(one)
    assert one.fits(one + other)
    assert NOTHING.fits(one)


@pytest.mark.parametrize("field", FIELDS)
def test_one_resource_too_much_does_not_fit(field):
    room = Resources(4.0, 4.0, 4.0, 4.0)
    assert dataclasses.replace(room, **{field: 4.0 * (1 + 0.9e-9)}).fits(room)
    assert not dataclasses.replace(room, **{field: 4.0 * (1 + 1.1e-9)}).fits(room)


finite = st.floats(-1e6, 1e6)


@given(finite, finite, st.floats(0.0, 1e6), st.booleans())
def test_number_passes_exactly_where_it_lies_in_the_interval(value, low, width, above):
    high = low + width
    inside = low < value <= high if above else low <= value <= high
    if inside:
        check_number("figure", value, low=low, high=high, above=above)
    else:
        with pytest.raises(ModelError, match=r"^figure is "):
            check_number("figure", value, low=low, high=high, above=above)


@pytest.mark.parametrize(
    ("value", "bounds", "sentence"),
    [
        (0.0, {"above": True}, "x is 0; it must be above 0"),
        (-2.0, {}, "x is -2; it must be at least 0"),
        (1.5, {"high": 1.0}, "x is 1.5; it must be at least 0 and at most 1"),
        (0.5, {"low": 1.0, "above": True, "high": 3.0}, "x is 0.5; it must be above 1 and at most 3"),
        # The value is written out as far as it differs from the rule.
        (1.0000001, {"high": 1.0}, "x is 1.0000001; it must be at least 0 and at most 1"),
    ],
)
def test_sentence_names_value_and_rule(value, bounds, sentence):
    with pytest.raises(ModelError) as refused:
        check_number("x", value, **bounds)
    assert str(refused.value) == sentence


@pytest.mark.parametrize("value", [math.inf, math.nan])
def test_no_infinite_number_passes_even_where_there_is_no_upper_bound(value):
    with pytest.raises(ModelError, match="give a finite number"):
        check_number("x", value, low=-math.inf)
