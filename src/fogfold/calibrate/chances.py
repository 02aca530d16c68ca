"""How sure one can be of a chance that was seen k times in n: the interval that Jeffreys' prior gives.

A chance that never happened is not zero: with none of 20 the interval reaches to 0.12. Brown, Cai and DasGupta
(Interval Estimation for a Binomial Proportion, Statistical Science 16(2), 2001) recommend it from small counts on.
The incomplete beta function is computed by its continued fraction (DLMF 8.17.22), its inverse by halving.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Bool, Float

from fogfold.compiled import Array
from fogfold.errors import ModelError

__all__ = ["base_chance", "beta_cdf", "brier", "jeffreys", "log_loss"]

_TINY = 1e-300
_CLIP = 1e-6
"""A chance is kept this far from 0 and 1 where its logarithm is taken: one surprise is not infinitely bad."""


def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), for x in [0, 1] and a, b > 0."""
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - beta_cdf(1.0 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    # Lentz's method: 1 + d1 / (1 + d2 / (1 + ...)) is the product of C D over its levels.
    fraction, c, d = 1.0, 1.0, 0.0
    for level in range(1, 100_000):
        m = level // 2
        if level % 2 == 0:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1.0 / ((1.0 + term * d) or _TINY)
        c = (1.0 + term / c) or _TINY
        fraction *= c * d
        if abs(c * d - 1.0) < 1e-14:
            break
    return front / fraction


def jeffreys(hits: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """The equal-tailed interval of a chance, from Beta(hits + 1/2, misses + 1/2); 0 or 1 at an end that was met.

    Raises:
        ModelError: if there were no trials, or more hits than trials.
    """
    if trials < 1 or not 0 <= hits <= trials:
        raise ModelError(f"{hits} hits in {trials} trials give no interval; at least one trial is needed")
    a, b, tail = hits + 0.5, trials - hits + 0.5, (1.0 - confidence) / 2.0
    low = 0.0 if hits == 0 else _quantile(tail, a, b)
    high = 1.0 if hits == trials else _quantile(1.0 - tail, a, b)
    return low, high


def _quantile(share: float, a: float, b: float) -> float:
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2.0
        if beta_cdf(middle, a, b) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0


def base_chance(failed: Bool[Array, " attempts"], added: Float[Array, " attempts"]) -> float:
    """The most likely base b, in [0, 1], where each attempt fails with the chance min(1, b + added).

    The world's own rule (`cost.migration.failure_probability`); what a path's jitter and loss add is known. The slope
    of the likelihood falls with b, so its zero is found by halving; 0 where even that explains more than was seen.

    Raises:
        ModelError: if there are no attempts.
    """
    if not len(failed):
        raise ModelError("no attempts were seen; a chance of failure needs some")

    def slope(base: float) -> float:
        p = np.clip(base + added, _CLIP, 1.0 - _CLIP)
        return float(np.where(failed, 1.0 / p, -1.0 / (1.0 - p)).sum())

    low, high = 0.0, 1.0
    if slope(0.0) <= 0.0:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if slope(middle) > 0.0 else (low, middle)
    return (low + high) / 2.0


def log_loss(failed: Bool[Array, " attempts"], chance: Float[Array, " attempts"]) -> float:
    """Mean of minus the logarithm of the chance that was given to what happened, in nats."""
    p = np.clip(chance, _CLIP, 1.0 - _CLIP)
    return float(-np.log(np.where(failed, p, 1.0 - p)).mean())


def brier(failed: Bool[Array, " attempts"], chance: Float[Array, " attempts"]) -> float:
    """Mean squared distance between the chance and what happened."""
    return float(((chance - failed) ** 2).mean())
