"""Power curves from below: the convex lines that a curve never undercuts.

A program that puts load where it is cheapest first can only follow a convex curve. Measured curves are not convex
everywhere, so a lower bound takes the convex hull from below of the eleven points, cut off at the load that the node
may reach. The curve is straight between its points, so the hull lies nowhere above it; at no load, and for a straight
or convex curve everywhere, the two are equal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.compiled import Array, compiled
from fogfold.cost.power import curve_power_w
from fogfold.model.node import POWER_CURVE_POINTS

__all__ = ["Minorant", "convex_minorant"]

_STEPS = POWER_CURVE_POINTS - 1
_NEGLIGIBLE = 1e-9
"""In shares of a curve's greatest power: a bend smaller than this is none."""


@dataclass(frozen=True)
class Minorant:
    """The lines under all curves: node after node, and in each node by rising slope."""

    node: Int[Array, " lines"]
    """Which node each line belongs to."""
    width_cores: Float[Array, " lines"]
    """Over how many cores of usage it runs."""
    slope_w: Float[Array, " lines"]
    """W for each core of usage."""
    exact: Bool[Array, " nodes"]
    """Whether the lines are the curve itself, as far as the node may be loaded."""


@compiled
def _hull(curve: Array, cores: float, reach: float, x: Array, y: Array) -> tuple[int, bool]:
    """Write the corners of the lower hull into `x` and `y`; gives their number, and whether the hull is the curve."""
    size, exact = 0, True
    slack = _NEGLIGIBLE * max(curve[_STEPS], 1e-9)
    for k in range(_STEPS + 2):
        at = min(k * cores / _STEPS, reach) if k <= _STEPS else reach
        if size and at <= x[size - 1] * (1.0 + 1e-12):
            continue
        power = curve_power_w(at / cores, curve)
        while size >= 2:
            # The last corner stays only where it lies below the line from the one before it to the new point.
            share = (x[size - 1] - x[size - 2]) / (at - x[size - 2])
            above = y[size - 1] - (y[size - 2] + share * (power - y[size - 2]))
            if above < -slack:
                break
            exact = exact and above <= slack
            size -= 1
        x[size], y[size] = at, power
        size += 1
    return size, exact


@compiled
def _lines(curve: Array, cores: Array, reach: Array, width: Array, slope: Array, exact: Array) -> None:
    x, y = np.empty(_STEPS + 2), np.empty(_STEPS + 2)
    for n in range(len(cores)):
        size, exact[n] = _hull(curve[n], cores[n], reach[n], x, y)
        for k in range(size - 1):
            width[n, k] = x[k + 1] - x[k]
            slope[n, k] = (y[k + 1] - y[k]) / width[n, k]


def convex_minorant(
    curve: Float[Array, "nodes 11"], cores: Float[Array, " nodes"], reach_cores: Float[Array, " nodes"]
) -> Minorant:
    """The convex hulls from below of power curves, from no load to the load that each node may reach.

    Args:
        curve: W at 0, 10, ..., 100 % load; beyond full load the power stays as at full load.
        cores: capacity of each node, in cores.
        reach_cores: greatest usage that each node can come to, in cores; beyond its capacity where it is overloaded.
    """
    nodes = len(cores)
    width, slope = np.zeros((nodes, _STEPS + 1)), np.zeros((nodes, _STEPS + 1))
    exact = np.ones(nodes, bool)
    _lines(curve, cores, reach_cores, width, slope, exact)
    node, line = np.nonzero(width)
    return Minorant(node, width[node, line], slope[node, line], exact)
