"""The steps ahead at which a record is kept: 1, 2, 3, 4, 6, 8, 12, 16, ... up to the last.

A forecast five hours ahead is not judged apart from one five hours and five minutes ahead; a record at each step of a
long horizon would cost its square in memory.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array
from fogfold.errors import ModelError

__all__ = ["anchor_above", "anchor_shares", "anchors_up_to"]


def anchors_up_to(horizon_steps: int) -> Int[Array, " anchors"]:
    """The anchors of a horizon, its last step always among them.

    >>> anchors_up_to(10).tolist()
    [1, 2, 3, 4, 6, 8, 10]

    Raises:
        ModelError: if the horizon has no step.
    """
    if horizon_steps < 1:
        raise ModelError(f"horizon_steps is {horizon_steps}; a forecast reaches at least one step ahead")
    found = {1, horizon_steps}
    power = 2
    while power <= horizon_steps:
        found |= {power, power * 3 // 2}
        power *= 2
    return np.array(sorted(step for step in found if step <= horizon_steps), np.int64)


def anchor_above(anchors: Int[Array, " anchors"], horizon_steps: int) -> Int[Array, " steps"]:
    """For each step 1, 2, ... the position of the nearest anchor that is not before it."""
    return np.searchsorted(anchors, np.arange(1, horizon_steps + 1)).astype(np.int64)


def anchor_shares(anchors: Int[Array, " anchors"], horizon_steps: int) -> Float[Array, " steps"]:
    """For each step how far it stands on the way from the anchor before it to that of `anchor_above`, in ]0, 1]."""
    above = anchor_above(anchors, horizon_steps)
    before = np.where(above > 0, anchors[above - 1], 0)
    return (np.arange(1, horizon_steps + 1) - before) / (anchors[above] - before)
