"""What goes wrong, and when: drawn before the world starts, from streams of its own, so that two policies on one
seed meet the same faults whatever they do.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array
from fogfold.errors import ModelError
from fogfold.model.resources import check_number
from fogfold.seeding import stream
from fogfold.units import DAY_S, MINUTE_S, TICK_S

__all__ = ["FaultKind", "FaultParams", "FaultSchedule", "draw_faults"]


class FaultKind(IntEnum):
    """What kind of fault an entry of the schedule is."""

    NODE_LOSS = 0
    """The node of that index stops; nothing happens where it is asleep or has failed already."""
    LINK_DEGRADATION = 1
    """The uplink of the site of that index gets `magnitude` times slower, and its jitter as much larger."""
    RESTART_LOOP = 2
    """The container of that index restarts over and over: it answers half of the time."""


@dataclass(frozen=True, slots=True)
class FaultParams:
    """How often things go wrong. A rate of 0 switches the kind off; node loss follows each node's own MTBF."""

    node_loss: bool = True
    """Whether nodes fail, each with its own mean time between failures and to repair."""
    link_degradations_per_site_day: float = 0.2
    """Mean number of degradations of a site's uplink in a day."""
    link_degradation_s: float = 20 * MINUTE_S
    """Mean length of one."""
    link_degradation_factor: float = 8.0
    """How many times slower the link and larger its jitter is meanwhile."""
    restart_loops_per_container_day: float = 0.005
    """Mean number of restart loops of a container in a day."""
    restart_loop_s: float = 10 * MINUTE_S
    """Mean length of one."""

    def __post_init__(self) -> None:
        check_number("link_degradations_per_site_day", self.link_degradations_per_site_day)
        check_number("link_degradation_s", self.link_degradation_s, above=True)
        check_number("link_degradation_factor", self.link_degradation_factor, low=1.0)
        check_number("restart_loops_per_container_day", self.restart_loops_per_container_day)
        check_number("restart_loop_s", self.restart_loop_s, above=True)


@dataclass(frozen=True)
class FaultSchedule:
    """Faults in order of their start."""

    tick: Int[Array, " faults"]
    kind: Int[Array, " faults"]
    target: Int[Array, " faults"]
    ticks: Int[Array, " faults"]
    """How long each lasts, in ticks, at least 1."""
    magnitude: Float[Array, " faults"]

    @staticmethod
    def none() -> FaultSchedule:
        """A schedule without faults."""
        empty = np.zeros(0, np.int32)
        return FaultSchedule(empty, empty, empty, empty, np.zeros(0))

    def __len__(self) -> int:
        return len(self.tick)


def draw_faults(
    params: FaultParams,
    *,
    mtbf_s: Float[Array, " nodes"],
    mttr_s: Float[Array, " nodes"],
    sites: int,
    containers: int,
    ticks: int,
    seed: int,
) -> FaultSchedule:
    """A schedule for a world of that many ticks. Gaps and lengths are exponential (failures without memory).

    A gap runs from the end of one fault to the start of the next, so that nothing fails twice at once: with n a day of
    length L, there are 1 / (1 / n + L) of them in a day, a little fewer than n.

    Raises:
        ModelError: if the horizon is not positive.
    """
    if ticks < 1:
        raise ModelError(f"horizon is {ticks} ticks; it must be at least 1")
    rows: list[tuple[int, int, int, int, float]] = []
    horizon_s = ticks * TICK_S

    def arrivals(rng: np.random.Generator, mean_gap_s: float, mean_length_s: float) -> list[tuple[int, int]]:
        found = []
        at_s = rng.exponential(mean_gap_s)
        while at_s < horizon_s:
            length_s = rng.exponential(mean_length_s)
            found.append((int(at_s / TICK_S), max(1, round(length_s / TICK_S))))
            at_s += length_s + rng.exponential(mean_gap_s)
        return found

    if params.node_loss:
        rng = stream(seed, "faults", "node-loss")
        for node, (mtbf, mttr) in enumerate(zip(mtbf_s, mttr_s, strict=True)):
            if np.isfinite(mtbf):
                rows += [(t, FaultKind.NODE_LOSS, node, n, 1.0) for t, n in arrivals(rng, mtbf, mttr)]
    if params.link_degradations_per_site_day > 0:
        rng = stream(seed, "faults", "link")
        gap_s = DAY_S / params.link_degradations_per_site_day
        for site in range(sites):
            rows += [
                (t, FaultKind.LINK_DEGRADATION, site, n, params.link_degradation_factor)
                for t, n in arrivals(rng, gap_s, params.link_degradation_s)
            ]
    if params.restart_loops_per_container_day > 0:
        rng = stream(seed, "faults", "restart-loop")
        gap_s = DAY_S / params.restart_loops_per_container_day
        for container in range(containers):
            rows += [
                (t, FaultKind.RESTART_LOOP, container, n, 1.0) for t, n in arrivals(rng, gap_s, params.restart_loop_s)
            ]
    if not rows:
        return FaultSchedule.none()
    rows.sort()
    tick, kind, target, length, magnitude = zip(*rows, strict=True)
    return FaultSchedule(
        np.array(tick, np.int32),
        np.array(kind, np.int32),
        np.array(target, np.int32),
        np.array(length, np.int32),
        np.array(magnitude, np.float64),
    )
