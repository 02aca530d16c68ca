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
        ModelError: if more were violated than asked (by more than rounding), or a count is negative or not finite.
    """
    bad, total = np.broadcast_arrays(np.asarray(violated, np.float64), np.asarray(requests, np.float64))
    if not ((bad >= 0) & (bad <= total * (1 + 1e-9) + 1e-9) & (total < np.inf)).all():
        raise ModelError("violated requests must lie between 0 and all requests; the counts do not belong together")
    # What rounding adds to the violated must not show as a share above 1.
    rate = np.minimum(np.divide(bad, total, out=np.zeros(total.shape), where=total > 0), 1.0)
    return float(rate) if rate.ndim == 0 else rate
