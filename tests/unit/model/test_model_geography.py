"""Distances on the globe: arcs known in closed form, city pairs, and a second formula by vectors."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold.model.geography import EARTH_RADIUS_KM, great_circle_km

QUARTER_KM = math.pi / 2 * EARTH_RADIUS_KM

latitude = st.floats(-90.0, 90.0)
longitude = st.floats(-180.0, 180.0)
points = st.tuples(latitude, longitude)


def by_vectors_km(a: tuple[float, float], b: tuple[float, float]) -> float:
    """The arc between two unit vectors from cross and dot product: well conditioned everywhere."""

    def unit(point: tuple[float, float]) -> tuple[float, float, float]:
        phi, lam = math.radians(point[0]), math.radians(point[1])
        return math.cos(phi) * math.cos(lam), math.cos(phi) * math.sin(lam), math.sin(phi)

    (x, y, z), (u, v, w) = unit(a), unit(b)
    cross = math.hypot(y * w - z * v, z * u - x * w, x * v - y * u)
    return EARTH_RADIUS_KM * math.atan2(cross, x * u + y * v + z * w)


@pytest.mark.parametrize(
    ("here", "there", "km"),
    [
        ((0.0, 0.0), (0.0, 1.0), 111.195),  # 2 pi R / 360
        ((0.0, 0.0), (90.0, 17.0), 10007.557),  # a quarter of a meridian
        ((90.0, 0.0), (-90.0, 0.0), 20015.115),  # pole to pole
        ((0.0, 179.5), (0.0, -179.5), 111.195),  # across the date line
        ((60.0, 0.0), (60.0, 180.0), 6671.705),  # over the pole: 60 degrees of arc
        ((12.5, -71.0), (12.5, -71.0), 0.0),
    ],
)
def test_arcs_known_in_closed_form(here, there, km):
    assert great_circle_km(*here, *there) == pytest.approx(km, abs=2e-3)


@pytest.mark.parametrize(
    ("pair", "here", "there", "km"),
    [
        ("London - Paris", (51.5074, -0.1278), (48.8566, 2.3522), 344),
        ("London - New York", (51.5074, -0.1278), (40.7128, -74.0060), 5570),
        ("Sydney - Melbourne", (-33.8688, 151.2093), (-37.8136, 144.9631), 713),
        ("Berlin - Munich", (52.5200, 13.4050), (48.1351, 11.5820), 504),
        ("Tokyo - San Francisco", (35.6762, 139.6503), (37.7749, -122.4194), 8280),
    ],
)
def test_city_pairs_are_as_far_apart_as_the_atlas_says(pair, here, there, km):
    assert great_circle_km(*here, *there) == pytest.approx(km, rel=3e-3), pair


@given(points, points)
def test_distance_is_the_arc_between_the_two_vectors(here, there):
    # Near the antipodes the haversine loses half of its digits: 1e-3 km is what is left there.
    assert great_circle_km(*here, *there) == pytest.approx(by_vectors_km(here, there), rel=1e-9, abs=1e-3)


@given(points, points)
def test_distance_is_symmetric_and_at_most_half_the_globe(here, there):
    km = great_circle_km(*here, *there)
    assert km == great_circle_km(*there, *here)
    assert 0.0 <= km <= 2 * QUARTER_KM * (1 + 1e-12)


@given(points, points, points)
def test_no_detour_is_shorter(a, b, c):
    assert great_circle_km(*a, *c) <= great_circle_km(*a, *b) + great_circle_km(*b, *c) + 1e-3


@given(points)
def test_point_is_at_no_distance_from_itself(point):
    assert great_circle_km(*point, *point) == 0.0
