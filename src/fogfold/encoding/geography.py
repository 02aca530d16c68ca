"""Distances between all sites at once; `model.geography` has the same for two points."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.model.geography import EARTH_RADIUS_KM

__all__ = ["distance_km"]


def distance_km(
    latitude_deg: Float[Array, " sites"], longitude_deg: Float[Array, " sites"]
) -> Float[Array, "sites sites"]:
    """Great-circle distance between every two sites, in km (haversine; as `model.geography`, for arrays)."""
    phi = np.radians(latitude_deg)
    lam = np.radians(longitude_deg)
    h = (
        np.sin(0.5 * (phi[:, None] - phi[None, :])) ** 2
        + np.cos(phi)[:, None] * np.cos(phi)[None, :] * np.sin(0.5 * (lam[:, None] - lam[None, :])) ** 2
    )
    return 2.0 * EARTH_RADIUS_KM * np.arcsin(np.sqrt(np.minimum(h, 1.0)))
