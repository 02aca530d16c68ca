"""Which links each move used, with how many others, and what the world would have given it.

The world gives a move the least of its fair shares: of both nodes' links, of both sites' uplinks where it crosses them,
and a limit of its own (`world.network.transfer_rate_byte_s`). Who shared with whom is read off the moves' own times,
so a move that is missing from the records makes the links look slower than they are. What service traffic leaves is
taken to be more than moves may take; image pulls are not in the records.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from jaxtyping import Float, Int

from fogfold.calibrate.beliefs import Beliefs, Described
from fogfold.compiled import Array
from fogfold.units import BITS_PER_BYTE

__all__ = ["Bound", "Spans", "rates_of", "spans_of"]


class Bound(IntEnum):
    """What kept a move from being faster."""

    NODE = 0
    """The link of a node."""
    UPLINK_A = 1
    """The uplink of the site it left."""
    UPLINK_B = 2
    """The uplink of the site it went to."""
    CAP = 3
    """The limit on one move."""


@dataclass(frozen=True)
class Spans:
    """Spans of time in which a move shared its links with the same number of others."""

    move: Int[Array, " spans"]
    """Row of the move."""
    began_s: Float[Array, " spans"]
    """When the span began, counted from the move's start."""
    duration_s: Float[Array, " spans"]
    source: Int[Array, " spans"]
    target: Int[Array, " spans"]
    sending: Int[Array, " spans"]
    """Moves that leave the source node, itself included; the next likewise."""
    receiving: Int[Array, " spans"]
    crossing_a: Int[Array, " spans"]
    """Moves over the uplink of the source's site; 0 where it stays within its site."""
    crossing_b: Int[Array, " spans"]


def spans_of(
    cluster: Described,
    start_s: Float[Array, " moves"],
    end_s: Float[Array, " moves"],
    source: Int[Array, " moves"],
    target: Int[Array, " moves"],
) -> Spans:
    """The spans of moves that copy memory; all times known, each end after its start."""
    a, b = cluster.site[source], cluster.site[target]
    apart = a != b
    order = np.argsort(start_s, kind="stable")
    sorted_start = start_s[order]
    longest = float((end_s - start_s).max()) if len(start_s) else 0.0
    rows: list[tuple[int, float, float, int, int, int, int]] = []
    for i in range(len(start_s)):
        first = np.searchsorted(sorted_start, start_s[i] - longest, side="left")
        last = np.searchsorted(sorted_start, end_s[i], side="left")
        near = order[first:last]
        near = near[end_s[near] > start_s[i]]
        edges = np.unique(np.clip(np.concatenate([start_s[near], end_s[near]]), start_s[i], end_s[i]))
        for low, high in itertools.pairwise(edges):
            middle = (low + high) / 2.0
            now = near[(start_s[near] <= middle) & (end_s[near] > middle)]
            crossing = [0, 0]
            if apart[i]:
                far = now[apart[now]]
                crossing = [int(((a[far] == site) | (b[far] == site)).sum()) for site in (a[i], b[i])]
            sending, receiving = int((source[now] == source[i]).sum()), int((target[now] == target[i]).sum())
            rows.append((i, low - start_s[i], high - low, sending, receiving, crossing[0], crossing[1]))
    table = np.array(rows, dtype=np.float64).reshape(-1, 7)
    move = table[:, 0].astype(np.int64)
    counts = table[:, 3:].astype(np.int64)
    return Spans(move, table[:, 1], table[:, 2], source[move], target[move], *counts.T)


def rates_of(
    cluster: Described, beliefs: Beliefs, spans: Spans, lasted_s: Float[Array, " moves"]
) -> tuple[Float[Array, " moves"], Float[Array, "moves 4"]]:
    """Mean rate that each move would get, in byte/s, and the share of its time in which each `Bound` held it back.

    Args:
        cluster: the cluster as described.
        beliefs: how fast its links are believed to be.
        spans: who shared with whom.
        lasted_s: how long each move is taken to have lasted, up to what its spans cover, above 0.
    """
    moves, duration_s = len(lasted_s), np.clip(lasted_s[spans.move] - spans.began_s, 0.0, spans.duration_s)
    share = beliefs.link_share
    factor = np.array([beliefs.uplink_factor[group] for group in cluster.group])
    uplink = share * cluster.uplink_byte_s * factor
    a, b = cluster.site[spans.source], cluster.site[spans.target]
    crosses = spans.crossing_a > 0
    options = np.stack(
        [
            np.minimum(
                share * cluster.up_byte_s[spans.source] / np.maximum(spans.sending, 1),
                share * cluster.down_byte_s[spans.target] / np.maximum(spans.receiving, 1),
            ),
            np.where(crosses, uplink[a] / np.maximum(spans.crossing_a, 1), np.inf),
            np.where(crosses, uplink[b] / np.maximum(spans.crossing_b, 1), np.inf),
            np.full(len(spans.move), beliefs.cap_bit_s / BITS_PER_BYTE),
        ],
        axis=1,
    )
    bound = options.argmin(axis=1)
    rate = options[np.arange(len(bound)), bound]
    time_s = np.bincount(spans.move, duration_s, minlength=moves)
    safe_s = np.maximum(time_s, 1e-12)
    mean = np.bincount(spans.move, rate * duration_s, minlength=moves) / safe_s
    held = np.stack(
        [np.bincount(spans.move, duration_s * (bound == kind), minlength=moves) / safe_s for kind in Bound],
        axis=1,
    )
    return mean, held
