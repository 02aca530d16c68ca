"""Where the sites of a group lie: drawn to measured statistics, read from real positions, or as listed.

Measured on the 125 base stations of `eua/site-optus-melbCBD.csv` (EUA dataset, Melbourne CBD), positions projected to
kilometres round their mean and turned to their main axes (eigenvectors of the covariance):

- extent 1.854 km x 0.954 km, the long axis 18.3 degrees north of east; 70.7 sites per square kilometre of that area;
- distance to the nearest other site: mean 51.7 m, median 42.6 m, tenth 14.1 m and ninetieth percentile 103.5 m; its
  standard deviation is 0.727 of its mean (0.523 for points thrown at random);
- Clark-Evans ratio (mean nearest distance over 0.5 / sqrt(density)) 0.870: below 1, so sites are a little clustered.

`GeneratedLayout` draws sites one after the other: three of four anywhere in the area, one of four beside an earlier
site at a normal distance of 0.45 times the expected nearest distance on each axis (a cluster process; the two figures
were fitted on a grid). Means of 150 draws of 125 sites: Clark-Evans 0.87, deviation over mean 0.73, tenth and ninetieth
percentile over the median 0.33 and 2.51 (measured 0.33 and 2.43). All are ratios, so they hold at any extent and count.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.errors import TraceError
from fogfold.model.geography import EARTH_RADIUS_KM
from fogfold.world.scenario.schema.sites import (
    Centre,
    EuaLayout,
    GeneratedLayout,
    ListedLayout,
    MelbourneCbdLayout,
    SiteGroup,
)
from fogfold.world.workload.folder import find_trace

__all__ = ["ASPECT", "SITES_PER_KM2", "TILT_DEG", "area_km", "draw_offsets_km", "site_positions"]

ASPECT = 0.9536 / 1.8537
"""Short side over long side of the measured area."""
SITES_PER_KM2 = 125 / (1.8537 * 0.9536)
"""Measured density over the area."""
TILT_DEG = 18.34
"""Measured direction of the long side, in degrees north of east."""
_BESIDE_SHARE = 0.25
_BESIDE_DISTANCE = 0.45

_EUA_FILE = ("eua", "site-optus-melbCBD.csv")
_MELBOURNE_FILE = ("ifogsim_melbcbd", "edgeResources-melbCBD.csv")
_LEVELS = {"datacentre": "0", "proxies": "1", "gateways": "2"}


def site_positions(group: SiteGroup, rng: np.random.Generator) -> list[tuple[str, float, float]]:
    """Id, latitude and longitude (in degrees) of each site of a group.

    Raises:
        TraceNotFoundError: if real positions are asked for and the traces folder is not on this machine.
        TraceError: if their file is not what it should be.
    """
    layout = group.layout
    if isinstance(layout, ListedLayout):
        return [(place.id, place.latitude_deg, place.longitude_deg) for place in layout.places]
    if isinstance(layout, GeneratedLayout):
        long_km, short_km = area_km(layout.count, layout.extent_km)
        offsets = draw_offsets_km(rng, layout.count, long_km, short_km)
        points = _on_the_globe(layout.centre, offsets)
    else:
        points = _real_positions(layout)
        if layout.count is not None:
            if layout.count > len(points):
                raise TraceError(f"site group {group.name!r} asks for {layout.count} of {len(points)} real positions")
            points = points[np.sort(rng.choice(len(points), layout.count, replace=False))]
    digits = max(2, len(str(len(points) - 1)))
    return [(f"{group.name}-{i:0{digits}d}", float(lat), float(lon)) for i, (lat, lon) in enumerate(points)]


def area_km(count: int, extent_km: float | None) -> tuple[float, float]:
    """Long and short side of the area of so many sites, in km; without an extent, of the measured density."""
    long_km = extent_km if extent_km is not None else math.sqrt(count / (SITES_PER_KM2 * ASPECT))
    return long_km, ASPECT * long_km


def draw_offsets_km(rng: np.random.Generator, count: int, long_km: float, short_km: float) -> Float[Array, "count 2"]:
    """Positions along the long and the short side of the area, in km from its middle."""
    expected_km = 0.5 / math.sqrt(count / (long_km * short_km))
    half = 0.5 * np.array([long_km, short_km])
    points = np.empty((count, 2))
    for i in range(count):
        points[i] = (2.0 * rng.random(2) - 1.0) * half
        if i == 0 or rng.random() >= _BESIDE_SHARE:
            continue
        beside = points[rng.integers(i)] + rng.normal(0.0, _BESIDE_DISTANCE * expected_km, 2)
        if (np.abs(beside) <= half).all():
            points[i] = beside
    return points


def _on_the_globe(centre: Centre, offsets_km: Float[Array, "sites 2"]) -> Float[Array, "sites 2"]:
    """Latitude and longitude of points given along the turned axes of an area: the direct problem on a sphere."""
    tilt = math.radians(TILT_DEG)
    east = offsets_km[:, 0] * math.cos(tilt) - offsets_km[:, 1] * math.sin(tilt)
    north = offsets_km[:, 0] * math.sin(tilt) + offsets_km[:, 1] * math.cos(tilt)
    angle, bearing = np.hypot(east, north) / EARTH_RADIUS_KM, np.arctan2(east, north)
    phi = math.radians(centre.latitude_deg)
    sine = np.sin(phi) * np.cos(angle) + np.cos(phi) * np.sin(angle) * np.cos(bearing)
    turn = np.arctan2(np.sin(bearing) * np.sin(angle) * np.cos(phi), np.cos(angle) - np.sin(phi) * sine)
    longitude = (centre.longitude_deg + np.degrees(turn) + 180.0) % 360.0 - 180.0
    return np.stack([np.degrees(np.arcsin(np.clip(sine, -1.0, 1.0))), longitude], axis=1)


def _real_positions(layout: EuaLayout | MelbourneCbdLayout) -> Float[Array, "sites 2"]:
    if isinstance(layout, EuaLayout):
        return _read_positions(find_trace(*_EUA_FILE), "LATITUDE", "LONGITUDE")
    return _read_positions(find_trace(*_MELBOURNE_FILE), "Latitude", "Longitude", only=("Level", _LEVELS[layout.level]))


def _read_positions(
    path: Path, latitude: str, longitude: str, *, only: tuple[str, str] | None = None
) -> Float[Array, "sites 2"]:
    """The two columns of a CSV file, of the rows where a third column says `only`."""
    points = []
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        for column in (latitude, longitude, *(only[:1] if only else ())):
            if column not in (rows.fieldnames or ()):
                raise TraceError(f"{path} has no column {column!r}; is it the file of that dataset?")
        for row in rows:
            if only is not None and row[only[0]] != only[1]:
                continue
            try:
                point = (float(row[latitude]), float(row[longitude]))
            except (TypeError, ValueError) as error:
                raise TraceError(
                    f"{path}, line {rows.line_num}: {row[latitude]!r}, {row[longitude]!r} is no position in degrees"
                ) from error
            if not (abs(point[0]) <= 90.0 and abs(point[1]) <= 180.0):
                raise TraceError(f"{path}, line {rows.line_num}: {point} is no position in degrees")
            points.append(point)
    if not points:
        raise TraceError(f"{path} holds no position; is it the file of that dataset?")
    return np.array(points)
