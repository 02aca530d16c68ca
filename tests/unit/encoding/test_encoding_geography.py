"""Distances between all sites at once: the same as between two points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.encoding.geography import distance_km
from fogfold.model.geography import great_circle_km

points = st.lists(st.tuples(st.floats(-90.0, 90.0), st.floats(-180.0, 180.0)), min_size=1, max_size=5)


def matrix(places):
    return distance_km(np.array([p[0] for p in places]), np.array([p[1] for p in places]))


@settings(deadline=None)
@given(points)
def test_both_distances_agree(places):
    plain = np.array([[great_circle_km(*a, *b) for b in places] for a in places])
    # Near the antipodes the haversine has half of its digits left.
    assert matrix(places) == pytest.approx(plain, rel=1e-12, abs=1e-3)


@settings(deadline=None)
@given(points)
def test_matrix_is_symmetric_with_nothing_on_its_diagonal(places):
    km = matrix(places)
    assert np.array_equal(km, km.T)
    assert not km.diagonal().any()


def test_melbourne_sydney_and_auckland():
    km = matrix([(-37.8136, 144.9631), (-33.8688, 151.2093), (-36.8485, 174.7633)])
    assert km[0, 1] == pytest.approx(713, rel=3e-3)
    assert km[1, 2] == pytest.approx(2156, rel=3e-3)
