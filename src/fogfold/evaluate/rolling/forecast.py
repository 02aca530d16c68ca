"""What is expected of the next slots: the same slot of earlier days, moved towards what was just seen.

Each container's demand is the mean of the same slot on up to three earlier days, times the ratio of the last two slots
to what that mean expected of them. The ratio fades by 0.7 a slot. It sees nothing but the past that it is given.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.errors import ModelError
from fogfold.evaluate.rolling.draw import DAY_SLOTS

__all__ = ["last_seen", "seasonal"]

_DAYS = 3
"""Earlier days of which the mean is taken."""
_RECENT = 2
"""Slots that tell how today differs from the mean."""
_FADE = 0.7
"""What is left of that difference after each slot."""


def seasonal(seen: Float[Array, "containers seen"], ahead: int) -> Float[Array, "containers ahead"]:
    """Demand expected of the next slots.

    Args:
        seen: demand in every slot so far, at least a day and two slots.
        ahead: how many slots to look ahead, 1 to a day.

    Raises:
        ModelError: if there is too little to learn from, or the horizon is out of range.
    """
    slots = seen.shape[1]
    if slots < DAY_SLOTS + _RECENT or not 1 <= ahead <= DAY_SLOTS:
        raise ModelError(
            f"{slots} slots were seen and {ahead} are asked for; a seasonal forecast needs {DAY_SLOTS + _RECENT} and "
            f"looks 1 to {DAY_SLOTS} ahead"
        )
    expected = _same_slot(seen, np.arange(slots - _RECENT, slots + ahead))
    usual = expected[:, :_RECENT].sum(axis=1)
    ratio = np.divide(seen[:, -_RECENT:].sum(axis=1), usual, out=np.ones(len(seen)), where=usual > 0.0)
    fade = _FADE ** np.arange(ahead)
    return expected[:, _RECENT:] * (1.0 + (ratio[:, None] - 1.0) * fade)


def _same_slot(seen: Float[Array, "containers seen"], slots: Array) -> Float[Array, "containers slots"]:
    """Mean of the same slot on the earlier days that were seen."""
    total, days = np.zeros((len(seen), len(slots))), np.zeros(len(slots))
    for day in range(1, _DAYS + 1):
        then = slots - day * DAY_SLOTS
        known = then >= 0
        total[:, known] += seen[:, then[known]]
        days += known
    return total / days


def last_seen(seen: Float[Array, "containers seen"], ahead: int) -> Float[Array, "containers ahead"]:
    """The last slot, as if it went on for ever."""
    return np.repeat(seen[:, -1:], ahead, axis=1)
