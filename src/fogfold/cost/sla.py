"""What counts as a broken promise: requests late, failed or unserved, as a share of all."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.errors import ModelError

__all__ = ["violation_rate"]


def violation_rate(
    violated: Float[Array, "*any"] | float, requests: Float[Array, "*any"] | float
) -> Float[Array, "*any"] | float:
    """Share of requests late, failed or unserved, in [0, 1]; 0 where nobody asked for anything.

    Raises:
        ModelError: if more were violated than asked (by more than rounding), or a count is negative.
    """
    bad, total = np.asarray(violated, np.float64), np.asarray(requests, np.float64)
    if (bad < 0).any() or (bad > total * (1 + 1e-9) + 1e-9).any():
        raise ModelError("violated requests must lie between 0 and all requests; the counts do not belong together")
    rate = np.divide(bad, total, out=np.zeros_like(total), where=total > 0)
    return float(rate) if rate.ndim == 0 else rate
