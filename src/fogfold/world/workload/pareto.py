"""The Pareto law between two bounds: heavy tails whose mean exists and whose draws stay physical.

A share of (low/x)^tail draws exceeds x, cut at the upper bound. Without the cut the mean would be infinite for a
tail of 1 or less, and a single draw could outweigh a week.
"""

from __future__ import annotations

import math

from fogfold.compiled import compiled_inline
from fogfold.errors import ModelError

__all__ = ["bounded_pareto", "bounded_pareto_mean"]


@compiled_inline
def bounded_pareto(uniform: float, low: float, high: float, tail: float) -> float:
    """The value below which a share `uniform` of [0, 1[ of all draws lies (the inverse of the distribution)."""
    return float(low * (1.0 - uniform * (1.0 - (low / high) ** tail)) ** (-1.0 / tail))


def bounded_pareto_mean(low: float, high: float, tail: float) -> float:
    """The mean of the law, from integrating its density tail low^tail x^(-tail-1) / (1 - (low/high)^tail).

    >>> round(bounded_pareto_mean(1.0, 50.0, 1.5), 3)
    2.583

    Raises:
        ModelError: if not 0 < low <= high and tail > 0.
    """
    if not (0.0 < low <= high and tail > 0.0):
        raise ModelError(
            f"Pareto law from {low:g} to {high:g} with tail {tail:g}; bounds and tail must be above 0 and in order"
        )
    if low == high:
        return low
    if abs(tail - 1.0) < 1e-9:
        return low * math.log(high / low) / (1.0 - low / high)
    ratio = low / high
    return tail * low * (1.0 - ratio ** (tail - 1.0)) / ((tail - 1.0) * (1.0 - ratio**tail))
