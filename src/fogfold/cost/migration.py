"""What a move takes: bytes, seconds, seconds frozen, for a container that is copied live or restarted.

Pre-copy sends all memory, then what was rewritten meanwhile, and so on. Each round is lambda = dirty rate / bandwidth
times as long as the one before, so all rounds together take M / (R - D): the geometric series of Liu, Jin, Xu and
Liao (HPDC 2011; "Performance and energy modeling for live migration of virtual machines"), in the limit of many
rounds. The world plays the same rule tick by tick with a bandwidth that changes; this file predicts it for one that
does not, for rules and for the policy's features.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array, compiled_inline
from fogfold.errors import ModelError
from fogfold.units import GIB

__all__ = ["failure_probability", "migration_cost_gib_s", "precopy", "restart"]


@compiled_inline
def failure_probability(jitter_ms: float, loss: float, base: float, per_jitter_ms: float, per_loss: float) -> float:
    """Chance that one attempt fails over a path of that jitter and loss, in [0, 1]."""
    return min(1.0, base + per_jitter_ms * jitter_ms + per_loss * loss)


def precopy(
    memory_bytes: Float[Array, " moves"],
    rate_byte_s: Float[Array, " moves"],
    dirty_byte_s: Float[Array, " moves"],
    *,
    stop_bytes: float,
    traffic_limit: float,
    restore_s: float,
) -> tuple[Float[Array, " moves"], Float[Array, " moves"], Float[Array, " moves"]]:
    """Duration, downtime and traffic of live moves at a constant rate: `(duration_s, downtime_s, sent_bytes)`.

    Pre-copy ends when at most `stop_bytes` are dirty, or when `traffic_limit` memory sizes have been sent (where the
    dirty rate is near or above the rate); then the container is frozen while the rest is sent and it is restored.

    Raises:
        ModelError: if a rate is not positive.
    """
    if not (np.asarray(rate_byte_s) > 0).all():
        raise ModelError("a migration's rate is not positive; leave out moves whose path has no bandwidth")
    stop = np.minimum(stop_bytes, memory_bytes)
    net = rate_byte_s - dirty_byte_s
    converge_s = np.where(net > 0, (memory_bytes - stop) / np.where(net > 0, net, 1.0), np.inf)
    limit_s = traffic_limit * memory_bytes / rate_byte_s
    copy_s = np.minimum(converge_s, limit_s)
    left = np.clip(memory_bytes - net * copy_s, 0.0, memory_bytes)
    left = np.where(converge_s <= limit_s, stop, left)
    downtime_s = left / rate_byte_s + restore_s
    return copy_s + downtime_s, downtime_s, copy_s * rate_byte_s + left


def restart(
    image_bytes_missing: Float[Array, " moves"], rate_byte_s: Float[Array, " moves"], start_s: Float[Array, " moves"]
) -> tuple[Float[Array, " moves"], Float[Array, " moves"], Float[Array, " moves"]]:
    """Duration, downtime and traffic of moves by restart: the image is pulled first, while the source still serves.

    Raises:
        ModelError: if a rate is not positive.
    """
    if not (np.asarray(rate_byte_s) > 0).all():
        raise ModelError("a migration's rate is not positive; leave out moves whose path has no bandwidth")
    pull_s = image_bytes_missing / rate_byte_s
    return pull_s + start_s, start_s, image_bytes_missing


def migration_cost_gib_s(
    memory_bytes: Float[Array, " moves"], duration_s: Float[Array, " moves"]
) -> Float[Array, " moves"]:
    """Cost of moves as memory x duration, in GiB s."""
    return memory_bytes / GIB * duration_s
