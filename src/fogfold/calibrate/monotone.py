"""A power curve that never falls, fitted to readings of load and draw, at the model's own eleven points.

Between two points the world takes draw as linear, so a reading at 23 % load speaks of the points at 20 % and 30 %, in
shares of 0.7 and 0.3: a least-squares problem in the points. Readings far off the curve are given less weight (Huber,
Robust Estimation of a Location Parameter, 1964). Points that no load came near keep the shape of the curve that was
believed before: they stand to their nearest fitted point as they did. Last, points that fall are pooled until none
does (pool adjacent violators; Ayer, Brunk, Ewing, Reid and Silverman, 1955), which is isotonic regression.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from fogfold.compiled import Array
from fogfold.model.node import POWER_CURVE_POINTS

__all__ = ["LEAST_BLOCKS", "CurveFit", "fit_curve", "interval_of_curve", "pool_adjacent_violators"]

_STEPS = POWER_CURVE_POINTS - 1
_HUBER = 1.345
"""Deviations beyond which a reading counts less: 95 % efficient where errors are normal (Huber 1981)."""
_FAR = 6.0
"""Deviations beyond which a reading is called an outlier in the report."""
_MAD_TO_SIGMA = 1.4826
_METER = 1e-3
"""Least deviation that is believed, over the median draw: no meter is better."""
_LEAST_WEIGHT = 5.0
"""Readings' worth of weight that a point needs to be fitted for itself."""
_RIDGE = 1e-3
"""Readings' worth of belief in the curve of before: settles what two near points would otherwise trade."""
_ROUNDS = 20
LEAST_BLOCKS = 5
"""Blocks that a bootstrap needs: from fewer it would look surer than it is."""


@dataclass(frozen=True)
class CurveFit:
    """A fitted curve and what it rests on."""

    points_w: Float[Array, " 11"]
    is_fitted: Bool[Array, " 11"]
    """Whether readings came near the point; others keep the shape of before."""
    outliers: int
    """Readings that lie further than six deviations off."""


def pool_adjacent_violators(values: Float[Array, " n"], weights: Float[Array, " n"]) -> Float[Array, " n"]:
    """The values that never fall and are nearest to these in weighted squares.

    >>> pool_adjacent_violators(np.array([1.0, 3.0, 2.0]), np.ones(3)).tolist()
    [1.0, 2.5, 2.5]
    """
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        pools.append((value, weight, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (high, w_high, n_high), (low, w_low, n_low) = pools[-2:]
            total = w_high + w_low
            pools[-2:] = [((high * w_high + low * w_low) / total, total, n_high + n_low)]
    return np.repeat([value for value, _, _ in pools], [count for _, _, count in pools])


def hat_weights(load: Float[Array, " readings"]) -> Float[Array, "readings 11"]:
    """How much each point of the curve says about each reading: two neighbours, in shares that sum to 1."""
    position = np.clip(load, 0.0, 1.0) * _STEPS
    below = np.minimum(position.astype(np.int64), _STEPS - 1)
    part = position - below
    weights = np.zeros((len(load), POWER_CURVE_POINTS))
    rows = np.arange(len(load))
    weights[rows, below] = 1.0 - part
    weights[rows, below + 1] = part
    return weights


def fit_curve(
    load: Float[Array, " readings"], power_w: Float[Array, " readings"], before_w: Float[Array, " 11"]
) -> CurveFit:
    """The curve of these readings.

    Args:
        load: CPU usage over capacity, in [0, 1].
        power_w: draw, in W.
        before_w: the curve that was believed, in W, all above 0: the shape where nothing was read.
    """
    hats = hat_weights(load)
    weight = hats.sum(axis=0)
    fitted = weight >= min(_LEAST_WEIGHT, weight.max())
    known = np.flatnonzero(fitted)
    nearest = known[np.abs(np.arange(POWER_CURVE_POINTS)[:, None] - known[None, :]).argmin(axis=1)]
    carry = np.zeros((POWER_CURVE_POINTS, POWER_CURVE_POINTS))
    carry[np.arange(POWER_CURVE_POINTS), nearest] = before_w / before_w[nearest]
    design = (hats @ carry)[:, known]
    scale = float(np.median(power_w / (hats @ before_w)))
    believed = scale * before_w[known]
    trust = np.ones(len(load))
    points: Array = believed
    for _ in range(_ROUNDS):
        weighted = design * trust[:, None]
        points = np.linalg.solve(
            weighted.T @ design + _RIDGE * np.eye(len(known)), weighted.T @ power_w + _RIDGE * believed
        )
        off = np.abs(power_w - design @ points)
        sigma = max(_MAD_TO_SIGMA * float(np.median(off)), _METER * float(np.median(power_w)))
        again = np.minimum(1.0, _HUBER * sigma / np.maximum(off, 1e-300))
        settled = np.abs(again - trust).max() < 1e-4
        trust = again
        if settled:
            break
    mass = (hats * trust[:, None]).sum(axis=0)[known]
    points = pool_adjacent_violators(np.maximum(points, 0.0), mass)
    whole = pool_adjacent_violators(carry[:, known] @ points, np.maximum(mass.min() * 1e-3, weight))
    return CurveFit(whole, fitted, int((np.abs(power_w - hats @ whole) > _FAR * sigma).sum()))


def interval_of_curve(
    load: Float[Array, " readings"],
    power_w: Float[Array, " readings"],
    before_w: Float[Array, " 11"],
    block: Array,
    *,
    resamples: int,
    rng: np.random.Generator,
) -> tuple[Float[Array, " 11"], Float[Array, " 11"]] | tuple[None, None]:
    """The 95 % bootstrap interval of each point: blocks are drawn again, not readings. None from too few blocks.

    Readings of one node in one hour resemble each other; drawn one by one they would look surer than they are.

    Args:
        load: as in `fit_curve`.
        power_w: likewise.
        before_w: likewise.
        block: number of the block of each reading.
        resamples: how often to draw.
        rng: where the draws come from.
    """
    names, of = np.unique(block, return_inverse=True)
    if len(names) < LEAST_BLOCKS:
        return None, None
    order = np.argsort(of, kind="stable")
    starts = np.searchsorted(of[order], np.arange(len(names) + 1))
    drawn = np.empty((resamples, POWER_CURVE_POINTS))
    for k in range(resamples):
        picked = rng.integers(len(names), size=len(names))
        rows = np.concatenate([order[starts[i] : starts[i + 1]] for i in picked])
        drawn[k] = fit_curve(load[rows], power_w[rows], before_w).points_w
    low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
    return low, high
