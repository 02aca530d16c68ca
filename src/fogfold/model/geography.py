"""Distances on the globe."""

from __future__ import annotations

import math

__all__ = ["EARTH_RADIUS_KM", "great_circle_km"]

EARTH_RADIUS_KM = 6371.0088
"""Mean radius R1 of the Earth (IUGG 1980; Moritz, Geodetic Reference System 1980)."""


def great_circle_km(latitude_1: float, longitude_1: float, latitude_2: float, longitude_2: float) -> float:
    """Distance along the surface between two points given in degrees, in km (haversine; Sinnott 1984)."""
    phi_1, phi_2 = math.radians(latitude_1), math.radians(latitude_2)
    half_phi = 0.5 * (phi_2 - phi_1)
    half_lambda = 0.5 * math.radians(longitude_2 - longitude_1)
    h = math.sin(half_phi) ** 2 + math.cos(phi_1) * math.cos(phi_2) * math.sin(half_lambda) ** 2
    return 2.0 * EARTH_RADIUS_KM * math.asin(min(1.0, math.sqrt(h)))
