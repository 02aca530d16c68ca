"""Generalised advantage estimation (Schulman et al., ICLR 2016), with cuts that are no ends."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from fogfold.compiled import Array

__all__ = ["advantages"]


def advantages(
    reward: Float[Array, "seats steps"],
    value: Float[Array, "seats steps"],
    value_after: Float[Array, "seats steps"],
    is_last: Bool[Array, "seats steps"],
    *,
    discount: float,
    trace: float,
) -> Float[Array, "seats steps"]:
    """How much better each step was than expected.

    delta_t = r_t + discount V(s_t+1) - V(s_t);  A_t = delta_t + discount trace A_t+1, the sum cut where a world was
    left. There `value_after` is the value of the state that the next decision would have seen: time running out is no
    end of the world.
    """
    out = np.zeros_like(reward)
    running = np.zeros(len(reward))
    for t in reversed(range(reward.shape[1])):
        delta = reward[:, t] + discount * value_after[:, t] - value[:, t]
        running = delta + discount * trace * np.where(is_last[:, t], 0.0, running)
        out[:, t] = running
    return out
