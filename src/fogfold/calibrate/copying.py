"""Rate and dirty rate of a live move, read off its time, its bytes and its downtime: pre-copy turned round.

The world copies at a rate R while memory is rewritten at a rate D, until `stop` bytes are dirty (or too much has been
sent); then the container is frozen for the rest and the restore (`cost.migration.precopy`). With M the memory, T the
whole time, F the downtime, S the bytes sent and r the time of the restore:

    S = R (T - r)            so R is known where the bytes sent are,
    M - left = (R - D) (T - F), left = R (F - r)    so D follows.

Without S, a measured downtime gives R: `stop` bytes took F - r, or, where pre-copy gave up, its limit of k M bytes
took T - F; of the two, that is taken whose D is nearer to what is believed. With neither, only R - D can be known: R
then rests on what is believed of D, and D stays as it was.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from fogfold.compiled import Array
from fogfold.cost.migration import precopy
from fogfold.world.params import WorldParams

__all__ = ["Copied", "copied", "predicted_s"]

_LEAST_FREEZE_S = 0.02
"""Time of the last copy that a downtime must show, beside the restore, to tell the rate."""
_ROUNDS = 30


@dataclass(frozen=True)
class Copied:
    """What each move says of its path and of its container; NaN where it says nothing."""

    rate_byte_s: Float[Array, " moves"]
    dirty_byte_s: Float[Array, " moves"]
    is_identified: Bool[Array, " moves"]
    """Whether the rate stands without a belief about the dirty rate."""


def copied(
    memory_bytes: Float[Array, " moves"],
    took_s: Float[Array, " moves"],
    sent_bytes: Float[Array, " moves"],
    downtime_s: Float[Array, " moves"],
    believed_dirty_byte_s: Float[Array, " moves"],
    params: WorldParams,
) -> Copied:
    """Rates of live moves that arrived. Memory and times are known and above 0; NaN elsewhere means not measured."""
    restore_s, limit = params.restore_s, params.precopy_traffic_limit
    stop = np.minimum(params.precopy_stop_bytes, memory_bytes)
    last_s = downtime_s - restore_s
    copy_s = took_s - downtime_s
    with np.errstate(divide="ignore", invalid="ignore"):
        from_sent = np.where(took_s > restore_s, sent_bytes / (took_s - restore_s), np.nan)
        converged = np.where(last_s >= _LEAST_FREEZE_S, stop / last_s, np.nan)
        gave_up = np.where(copy_s > 0, limit * memory_bytes / copy_s, np.nan)
        # Both may explain one time and downtime: that one is taken whose dirty rate is nearer to what is believed.
        net = (memory_bytes - stop) / copy_s
        off_converged = np.abs(converged - net - believed_dirty_byte_s)
        off_gave_up = np.abs(gave_up - (memory_bytes - gave_up * last_s) / copy_s - believed_dirty_byte_s)
        is_possible = (gave_up * last_s > stop) & (gave_up * last_s <= memory_bytes * (1.0 + 1e-9))
        from_downtime = np.where(is_possible & (off_gave_up < off_converged), gave_up, converged)
        from_downtime = np.where((copy_s > 0) & np.isfinite(converged), from_downtime, np.nan)
        rate = np.where(np.isnan(from_sent), from_downtime, from_sent)
        identified = np.isfinite(rate) & (rate > 0)
        # Where the downtime is not known, what was left is `stop`, unless pre-copy gave up: then nothing is known of D.
        left = np.where(np.isnan(last_s), stop, rate * np.maximum(last_s, 0.0))
        tail_s = np.where(np.isnan(last_s), stop / rate + restore_s, downtime_s)
        dirty = rate - (memory_bytes - left) / (took_s - tail_s)
        gives_up = np.isnan(last_s) & (sent_bytes >= 0.99 * (limit * memory_bytes))
    dirty = np.where(identified & (took_s > tail_s) & ~gives_up, dirty, np.nan)
    # R = (M - stop) / (T - r - stop / R) + D, from above: each round takes the last part's time off.
    assumed = believed_dirty_byte_s + memory_bytes / np.maximum(took_s - restore_s, 1e-9)
    for _ in range(_ROUNDS):
        net_s = np.maximum(took_s - restore_s - stop / assumed, 1e-9)
        assumed = believed_dirty_byte_s + (memory_bytes - stop) / net_s
    # Pre-copy sends at most its limit and all memory once more, whatever D.
    assumed = np.minimum(assumed, (limit + 1.0) * memory_bytes / np.maximum(took_s - restore_s, 1e-9))
    return Copied(np.where(identified, rate, assumed), dirty, identified)


def predicted_s(
    memory_bytes: Float[Array, " moves"],
    rate_byte_s: Float[Array, " moves"],
    dirty_byte_s: Float[Array, " moves"],
    params: WorldParams,
) -> Float[Array, " moves"]:
    """How long live moves take at a constant rate, in s."""
    duration_s, _, _ = precopy(
        memory_bytes,
        rate_byte_s,
        dirty_byte_s,
        stop_bytes=params.precopy_stop_bytes,
        traffic_limit=params.precopy_traffic_limit,
        restore_s=params.restore_s,
    )
    return duration_s
