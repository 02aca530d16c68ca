"""What a node draws at a load: piecewise linear between the eleven points of its power curve.

SPECpower_ssj2008 publishes eleven points for each machine (active idle and 10, 20, ..., 100 % load), so a curve of
eleven points loses nothing of what was measured; between two points the power is taken as linear, as CloudSim does
(Beloglazov and Buyya 2012). Where only idle and full load are known, `linear_curve` and `empirical_curve` fill the
nine points between, and say so in the curve's source.

Sleep power and the energy of going to sleep and of waking are not here: they belong to the node and its state.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array, compiled, compiled_inline
from fogfold.errors import ModelError
from fogfold.model.node import POWER_CURVE_POINTS, PowerCurve

__all__ = [
    "curve_power_w",
    "curve_rows",
    "empirical_curve",
    "linear_curve",
    "marginal_power_w",
    "node_power_w",
]

_STEPS = POWER_CURVE_POINTS - 1
_EMPIRICAL_EXPONENT = 1.4
"""The exponent r that Fan, Weber and Barroso (ISCA 2007) fitted for their machines."""


@compiled_inline
def curve_power_w(load: float, curve_row: Array) -> float:
    """Power at one load, in W; compiled, for use inside other compiled loops.

    The caller keeps the load within [0, 1]. Beyond it the nearest end of the curve is returned, and NaN for NaN, so
    that no load can read outside the row; nothing is reported here. `node_power_w` is the door that checks.

    Args:
        load: CPU usage over capacity, in [0, 1].
        curve_row: float64, shape (11,): W at 0, 10, ..., 100 % load.
    """
    if load >= 1.0:
        return curve_row[_STEPS]
    if load > 0.0:
        # The greatest double below 1, times 10, is still below 10: `below + 1` is at most the last point.
        position = load * _STEPS
        below = int(position)
        low = curve_row[below]
        return low + (position - below) * (curve_row[below + 1] - low)
    if load <= 0.0:
        return curve_row[0]
    return np.nan


@compiled_inline
def marginal_power_w(load_before: float, load_after: float, curve_row: Array) -> float:
    """Power after minus power before a change of load on a node that stays on, in W; compiled.

    The node is on in both: what waking it costs beside (idle less sleep power, and the boot) is the caller's to add,
    or the rule prefers waking nodes to using those that are on (Cloudslab/cloudsim issue 167).

    Args:
        load_before: CPU usage over capacity before the change, in [0, 1].
        load_after: the same after it.
        curve_row: float64, shape (11,): W at 0, 10, ..., 100 % load.
    """
    return curve_power_w(load_after, curve_row) - curve_power_w(load_before, curve_row)


@compiled
def _fill_power_w(utilisation: Array, curves: Array, power_w: Array) -> None:
    for n in range(utilisation.shape[0]):
        power_w[n] = curve_power_w(utilisation[n], curves[n])


def node_power_w(utilisation: Float[Array, " nodes"], curves: Float[Array, "nodes 11"]) -> Float[Array, " nodes"]:
    """Power drawn by each active node, in W.

    Linear between the points of the node's curve; sleeping and failed nodes are the caller's affair.

    Args:
        utilisation: CPU usage over capacity of each node, in [0, 1].
        curves: power of each node at 0, 10, ..., 100 % load, in W, as `curve_rows` gives it.

    Raises:
        ModelError: if a utilisation is NaN or outside [0, 1], or a point of a curve is negative or not finite.
    """
    # A comparison with NaN is false, so "not within" catches NaN as well.
    wrong = np.flatnonzero(~((utilisation >= 0.0) & (utilisation <= 1.0)))
    if wrong.size:
        n = int(wrong[0])
        raise ModelError(
            f"utilisation of node {n} is {utilisation[n]}; it must be in [0, 1]: divide the usage that was served, "
            "not the demand, by the capacity"
        )
    wrong = np.flatnonzero(~np.all(np.isfinite(curves) & (curves >= 0.0), axis=1))
    if wrong.size:
        n = int(wrong[0])
        raise ModelError(
            f"power curve of node {n} is {curves[n].tolist()}; every point must be a finite number of W of at least 0: "
            "give the curve of the machine (absence is never read as zero)"
        )
    power_w = np.empty(utilisation.shape[0], dtype=np.float64)
    _fill_power_w(
        np.ascontiguousarray(utilisation, dtype=np.float64), np.ascontiguousarray(curves, dtype=np.float64), power_w
    )
    return power_w


def curve_rows(curves: Sequence[PowerCurve]) -> Float[Array, "nodes 11"]:
    """The points of each curve as one row, in W: float64, C-contiguous."""
    rows = np.empty((len(curves), POWER_CURVE_POINTS), dtype=np.float64)
    for n, curve in enumerate(curves):
        rows[n] = curve.points_w
    return rows


def linear_curve(name: str, idle_w: float, peak_w: float, source: str) -> PowerCurve:
    """A curve that rises linearly with CPU load from idle to peak: P(u) = idle + (peak - idle) u.

    The first of the two models of Fan, Weber and Barroso, Power Provisioning for a Warehouse-sized Computer, ISCA
    2007. The source says that only the two ends were measured.

    Args:
        name: what the curve is of.
        idle_w: power at no load, in W.
        peak_w: power at full CPU load, in W.
        source: where the two figures come from.

    Raises:
        ModelError: if a figure is negative or not finite, peak is below idle, or the source is empty.
    """
    points = tuple(idle_w + (peak_w - idle_w) * step / _STEPS for step in range(POWER_CURVE_POINTS))
    rule = "linear between (Fan, Weber and Barroso, ISCA 2007)"
    return PowerCurve(name, points, _two_points_source(source, rule))


def empirical_curve(name: str, idle_w: float, peak_w: float, source: str) -> PowerCurve:
    """A curve that rises faster at low load: P(u) = idle + (peak - idle) (2 u - u^1.4).

    The second model of Fan, Weber and Barroso, ISCA 2007, with the exponent fitted for their servers. It lies above
    the linear one everywhere between the ends, at most by 0.123 of the span (at 43 % load).

    Args:
        name: what the curve is of.
        idle_w: power at no load, in W.
        peak_w: power at full CPU load, in W.
        source: where the two figures come from.

    Raises:
        ModelError: if a figure is negative or not finite, peak is below idle, or the source is empty.
    """
    loads = [step / _STEPS for step in range(POWER_CURVE_POINTS)]
    points = tuple(idle_w + (peak_w - idle_w) * (2.0 * u - u**_EMPIRICAL_EXPONENT) for u in loads)
    rule = f"2u - u^{_EMPIRICAL_EXPONENT:g} between (Fan, Weber and Barroso, ISCA 2007)"
    return PowerCurve(name, points, _two_points_source(source, rule))


def _two_points_source(source: str, rule: str) -> str:
    """The source with the rule that filled the curve; empty stays empty, so that the curve refuses it."""
    return f"{source}; idle and full load only, {rule}" if source else ""
