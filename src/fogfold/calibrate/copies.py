"""Live moves that arrived, lined up with the cluster: who shared whose links, and what each move says of its path."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.calibrate.beliefs import Beliefs, Described, median_dirty_byte_s
from fogfold.calibrate.copying import copied, predicted_s
from fogfold.calibrate.records import Moves, beyond_s
from fogfold.calibrate.sharing import Spans, rates_of, spans_of
from fogfold.calibrate.sift import column_of
from fogfold.compiled import Array

__all__ = ["Copies", "Said", "copies_of", "duration_error_s", "predicted_durations_s", "read_copies", "told_rates"]

_LEAST_SHARE = 0.5
"""Resolutions of its clock that a move must have lasted at the very least."""


@dataclass(frozen=True)
class Copies:
    """Live moves that arrived and whose time is known well enough, with what they say."""

    moves: Moves
    spans: Spans
    """Of these moves; others that shared their links are in the counts."""
    source: Int[Array, " moves"]
    target: Int[Array, " moves"]
    service: tuple[str, ...]
    dirty_byte_s: Float[Array, " moves"]
    """What the scenario says of the container."""
    held: Bool[Array, " moves"]
    too_short: int
    """Moves that lasted too short for their clock."""
    by_restart: int
    """Moves of containers that are stopped and started: they copy no memory."""
    untimed: int
    """Moves that arrived without a start, an end, or their memory."""

    def __len__(self) -> int:
        return len(self.moves)

    @property
    def lasted_s(self) -> tuple[Float[Array, " moves"], Float[Array, " moves"]]:
        """The longest and the shortest that each may have lasted."""
        half_s = self.moves.resolution_s / 2.0
        return self.moves.took_s + half_s, self.moves.took_s - half_s


def copies_of(cluster: Described, moves: Moves, held: Bool[Array, " moves"]) -> Copies:
    """The moves that tell of bandwidth."""
    nodes = {str(name): n for name, n in cluster.built.cluster.node_index.items()}
    containers = {str(name): n for name, n in cluster.built.cluster.container_index.items()}
    source, target = column_of(moves.source, nodes), column_of(moves.target, nodes)
    c = column_of(moves.container, containers)
    live_service = {service.name: service.movability.live > 0 for service in cluster.built.scenario.containers.services}
    service = [
        str(given) if given else cluster.service[k] for given, k in zip(moves.service.tolist(), c.tolist(), strict=True)
    ]
    live = np.array(
        [bool(cluster.is_live[k]) if k >= 0 else live_service[name] for k, name in zip(c.tolist(), service)], bool
    )
    dirty = np.array(
        [
            float(cluster.dirty_byte_s[k]) if k >= 0 else median_dirty_byte_s(cluster, name)
            for k, name in zip(c.tolist(), service)
        ]
    )
    timed = np.isfinite(moves.start_s) & np.isfinite(moves.end_s) & (moves.end_s > moves.start_s)
    whole = timed & np.isfinite(moves.memory_bytes)
    restore_s = cluster.built.params.restore_s
    with np.errstate(invalid="ignore"):
        long = moves.took_s - moves.resolution_s / 2.0 > np.maximum(restore_s, _LEAST_SHARE * moves.resolution_s)
    arrived = moves.arrived
    chosen = live & arrived & whole & long
    copying = np.flatnonzero(live & timed)
    spans = spans_of(cluster, moves.start_s[copying], moves.end_s[copying], source[copying], target[copying])
    place = np.full(len(moves), -1)
    place[np.flatnonzero(chosen)] = np.arange(int(chosen.sum()))
    row = place[copying[spans.move]] if len(copying) else np.zeros(0, np.int64)
    kept = row >= 0
    return Copies(
        moves=moves.take(chosen),
        spans=Spans(
            row[kept],
            spans.began_s[kept],
            spans.duration_s[kept],
            spans.source[kept],
            spans.target[kept],
            spans.sending[kept],
            spans.receiving[kept],
            spans.crossing_a[kept],
            spans.crossing_b[kept],
        ),
        source=source[chosen],
        target=target[chosen],
        service=tuple(name for name, is_chosen in zip(service, chosen.tolist(), strict=True) if is_chosen),
        dirty_byte_s=dirty[chosen],
        held=held[chosen],
        too_short=int((live & arrived & whole & ~long).sum()),
        by_restart=int((~live & arrived).sum()),
        untimed=int((live & arrived & ~whole).sum()),
    )


@dataclass(frozen=True)
class Said:
    """What each move says, from the longest and from the shortest time that its clock leaves open."""

    rate_byte_s: Float[Array, "moves 2"]
    dirty_byte_s: Float[Array, "moves 2"]
    is_identified: Bool[Array, " moves"]
    """Whether the rate stands without a belief about the dirty rate."""


def read_copies(cluster: Described, beliefs: Beliefs, copies: Copies) -> Said:
    """What each of the moves says of its rate and dirty rate.

    The median of both ends of all moves is the value that lies least far beyond the intervals in all: an interval that
    a coarse clock left wide says little, and none is taken for its middle.
    """
    rows = copies.moves
    factor = np.array([beliefs.dirty_factor[name] for name in copies.service])
    ends = [
        copied(
            rows.memory_bytes,
            took_s,
            rows.sent_bytes,
            rows.downtime_s,
            copies.dirty_byte_s * factor,
            cluster.built.params,
        )
        for took_s in copies.lasted_s
    ]
    return Said(
        np.stack([end.rate_byte_s for end in ends], axis=1),
        np.stack([end.dirty_byte_s for end in ends], axis=1),
        ends[0].is_identified & ends[1].is_identified,
    )


def told_rates(cluster: Described, beliefs: Beliefs, copies: Copies) -> Float[Array, "moves 2"]:
    """Mean rates that the beliefs foretell, had each move lasted the longest and the shortest that its clock allows."""
    return np.stack([rates_of(cluster, beliefs, copies.spans, one)[0] for one in copies.lasted_s], axis=1)


def predicted_durations_s(cluster: Described, beliefs: Beliefs, copies: Copies) -> Float[Array, " moves"]:
    """How long the beliefs say that each move took, given who shared its links."""
    rate, _ = rates_of(cluster, beliefs, copies.spans, copies.moves.took_s)
    factor = np.array([beliefs.dirty_factor[name] for name in copies.service])
    return predicted_s(copies.moves.memory_bytes, rate, copies.dirty_byte_s * factor, cluster.built.params)


def duration_error_s(cluster: Described, beliefs: Beliefs, copies: Copies, chosen: Bool[Array, " moves"]) -> float:
    """Mean absolute error of the durations of some moves."""
    if not chosen.any():
        return math.nan
    rows = copies.moves
    return float(
        beyond_s(predicted_durations_s(cluster, beliefs, copies), rows.took_s, rows.resolution_s)[chosen].mean()
    )
