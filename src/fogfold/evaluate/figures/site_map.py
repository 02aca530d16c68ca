"""Where the sites are: a dot each, its area the number of nodes, its colour the share of time that they slept.

The map is drawn about its own middle, east-west distances shortened by the cosine of the latitude; that is true to
a few per cent over the spans of a city or a region. There is no background: a report must open without a network.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Sheet

from fogfold.compiled import Array
from fogfold.evaluate.figures.drawing import Look, axes, colour, sheet
from fogfold.evaluate.figures.labels import Box, place, short_name
from fogfold.evaluate.result import SiteMap

__all__ = ["kilometres", "round_length", "site_map"]

EARTH_RADIUS_KM = 6371.0
_CLASSES = 5
_MOST_NAMES = 30
_LARGEST_PX = 19.0
"""Most radius of the dot of the largest site."""
_MOST_INK = 0.07
"""Most share of the map that dots may cover together: hundreds of sites get smaller ones."""


def kilometres(sites: SiteMap) -> tuple[Float[Array, " sites"], Float[Array, " sites"]]:
    """East and north of the middle of the sites, in km; sites on both sides of the date line stay together."""
    turn = np.radians(sites.longitude_deg)
    middle = math.atan2(float(np.sin(turn).mean()), float(np.cos(turn).mean()))
    east = np.angle(np.exp(1j * (turn - middle)))
    north = np.radians(sites.latitude_deg)
    centre = (float(north.max()) + float(north.min())) / 2.0
    x = EARTH_RADIUS_KM * east * math.cos(centre)
    return x - (x.max() + x.min()) / 2.0, EARTH_RADIUS_KM * (north - centre)


def round_length(most: float) -> float:
    """The greatest of 1, 2 and 5 times a power of ten that is not above `most`.

    >>> round_length(37.0), round_length(0.9)
    (20.0, 0.5)
    """
    power = 10.0 ** math.floor(math.log10(most))
    return max(step * power for step in (1.0, 2.0, 5.0) if step * power <= most * (1.0 + 1e-12))


def site_map(sites: SiteMap, look: Look) -> Sheet:
    """The map with a scale bar and a key of colours and sizes."""
    east, north = kilometres(sites)
    key_px, edge = 62, 34
    inner_width = look.width_px - 2 * edge
    span_x, span_y = float(np.ptp(east)), float(np.ptp(north))
    # One scale for both directions; a single site, or sites on a line, get a square of 1 km or of the line's length.
    span = max(span_x, span_y, 1e-9)
    span = span if span > 1e-6 else 1.0
    most_height = 470 if look.is_wide else 360
    scale = min(inner_width / max(span_x, span * 0.3), (most_height - 2 * edge) / max(span_y, span * 0.3))
    height = max(span_y * scale, 120.0) + 2 * edge
    page = sheet(look, height + key_px)
    area = axes(page, left=0.0, right=float(look.width_px), top=0.0, bottom=height)
    area.set_axis_off()
    area.set_xlim(0, look.width_px)
    area.set_ylim(0, height)
    x, y = east * scale + look.width_px / 2.0, north * scale + height / 2.0
    share = sites.nodes / max(int(sites.nodes.max()), 1)
    largest = min(_LARGEST_PX, math.sqrt(_MOST_INK * look.width_px * height / (math.pi * float(share.sum()))))
    radius = largest * np.sqrt(share)
    for site in np.argsort(-sites.nodes, kind="stable"):
        hue = _hue(float(sites.asleep_share[site]))
        area.scatter([x[site]], [y[site]], s=(2 * max(radius[site], 3.0)) ** 2, color=hue,
                     edgecolor=colour("muted"), linewidth=0.8, zorder=3)  # fmt: skip
    _names(area, sites, x, y, radius, Box(4.0, 4.0, look.width_px - 4.0, height - 4.0), look)
    _scale_bar(area, scale, look)
    _key(page, sites, look, height, largest)
    return page


def _hue(share: float) -> str:
    if not math.isfinite(share):
        return colour("other")
    return colour(f"share-{min(int(share * _CLASSES), _CLASSES - 1) + 1}")


def _names(
    area: Axes,
    sites: SiteMap,
    x: Float[Array, " sites"],
    y: Float[Array, " sites"],
    radius: Float[Array, " sites"],
    frame: Box,
    look: Look,
) -> None:
    """Names of the largest sites; all of hundreds would be a grey smear."""
    most = _MOST_NAMES if look.is_wide else _MOST_NAMES // 2
    picked = [int(site) for site in np.argsort(-sites.nodes, kind="stable")[:most]]
    texts = [short_name(sites.name[site], 18) for site in picked]
    spots = [(float(x[site]), float(y[site])) for site in picked]
    sizes = [float(radius[site]) for site in picked]
    unnamed = [(float(x[site]), float(y[site]), float(radius[site])) for site in range(len(x)) if site not in picked]
    font_px = look.font_px - 1
    for text, label in zip(texts, place(spots, texts, sizes, frame=frame, font_px=font_px, others=unnamed)):
        if not label.crowded and not label.far:
            area.text(label.x, label.y, text, ha=label.align, va="center_baseline", fontsize=font_px, zorder=5)


def _scale_bar(area: Axes, scale: float, look: Look) -> None:
    length = round_length(look.width_px * 0.22 / scale)
    left, low = 12.0, 10.0
    area.plot([left, left, left + length * scale, left + length * scale], [low + 5, low, low, low + 5],
              color=colour("ink"), linewidth=1.2, solid_joinstyle="miter")  # fmt: skip
    text = f"{length:g} km" if length >= 1.0 else f"{length * 1000:g} m"
    area.text(left + 6, low + 5, text, fontsize=look.font_px - 1)


def _key(page: Sheet, sites: SiteMap, look: Look, height: float, radius: float) -> None:
    """What colours and sizes mean, below the map."""
    area = axes(page, left=0.0, right=float(look.width_px), top=height, bottom=height + 62.0)
    area.set_axis_off()
    area.set_xlim(0, look.width_px)
    area.set_ylim(0, 62)
    font = look.font_px - 1
    area.text(12, 44, "share of time asleep", color=colour("muted"), fontsize=font)
    for number in range(_CLASSES):
        left = 12 + number * 34
        area.fill(
            [left, left + 33, left + 33, left], [20, 20, 34, 34], color=colour(f"share-{number + 1}"), linewidth=0
        )
        area.text(left, 6, f"{number * 100 // _CLASSES}", ha="center" if number else "left", fontsize=font,
                  color=colour("muted"))  # fmt: skip
    area.text(12 + _CLASSES * 34, 6, "100 %", ha="center", fontsize=font, color=colour("muted"))
    start = 236 if not look.is_wide else 300
    area.text(start, 44, "nodes at the site", color=colour("muted"), fontsize=font)
    largest = max(int(sites.nodes.max()), 1)
    across = float(start)
    for count in sorted({1, max(round(largest / 3), 1), largest}):
        dot = max(radius * math.sqrt(count / largest), 3.0)
        area.scatter([across + dot], [20], s=(2 * dot) ** 2, facecolor="none", edgecolor=colour("muted"), linewidth=0.8)
        area.text(across + 2 * dot + 3, 16, f"{count}", fontsize=font)
        across += 2 * dot + 26
