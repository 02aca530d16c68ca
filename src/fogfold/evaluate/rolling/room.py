"""The room that is left for learning, as a number: what tuned greedy costs beyond the clairvoyant plan.

It is an upper limit. The clairvoyant plan knows bursts that nobody can foresee; how much of the room a forecast and a
planner take without any learning is what MPC closes. Intervals are 95 %, over worlds, paired.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.errors import ModelError
from fogfold.evaluate.rolling.bench import RollingRow
from fogfold.evaluate.statistics import Interval, mean_interval, ratio_interval

__all__ = ["PolicyLine", "Room", "room_of", "summarise_days"]

_BASE, _CEILING, _MPC = "greedy", "clairvoyant", "mpc"


@dataclass(frozen=True)
class PolicyLine:
    """One policy over all worlds, in Wh-equivalents."""

    policy: str
    worlds: int
    total_cost: Interval
    against_greedy: Interval | None
    """Relative difference to greedy on the same worlds; absent where greedy did not run."""
    energy: float | None
    migration: float | None
    sla: float | None
    moves: float | None
    decision_ms: float | None
    cpu_s: float
    """Means."""

    def as_json(self) -> dict[str, Any]:
        """Plain values; what is not known is null."""
        against = None if self.against_greedy is None else self.against_greedy.as_json()
        return {
            "policy": self.policy,
            "worlds": self.worlds,
            "total_cost": self.total_cost.as_json(),
            "against_greedy": against,
            "energy": self.energy,
            "migration": self.migration,
            "sla": self.sla,
            "moves": self.moves,
            "decision_ms": self.decision_ms,
            "cpu_s": self.cpu_s,
        }


@dataclass(frozen=True)
class Room:
    """What there is to win."""

    share: Interval
    """(greedy - clairvoyant) / greedy."""
    closed_by_mpc: Interval | None
    """(greedy - mpc) / (greedy - clairvoyant); absent where MPC did not run or there is no room."""

    def as_json(self) -> dict[str, Any]:
        """Plain values; what is not known is null."""
        closed = None if self.closed_by_mpc is None else self.closed_by_mpc.as_json()
        return {"share": self.share.as_json(), "closed_by_mpc": closed}


def summarise_days(rows: Sequence[RollingRow]) -> list[PolicyLine]:
    """Each policy over its worlds, in the order of their first rows.

    Raises:
        ModelError: if two policies did not play the same worlds in the same order.
    """
    costs = _costs(rows)
    base = costs.get(_BASE)
    lines = []
    for policy, cost in costs.items():
        own = [row for row in rows if row.policy == policy]
        lines.append(
            PolicyLine(
                policy=policy,
                worlds=len(own),
                total_cost=mean_interval(cost),
                against_greedy=None if base is None or policy == _BASE else ratio_interval(cost, base),
                energy=_mean([row.energy for row in own]),
                migration=_mean([row.migration for row in own]),
                sla=_mean([row.sla for row in own]),
                moves=_mean([row.moves for row in own]),
                decision_ms=_mean([row.decision_ms for row in own]),
                cpu_s=float(np.mean([row.cpu_s for row in own])),
            )
        )
    return lines


def room_of(rows: Sequence[RollingRow]) -> Room | None:
    """The room between greedy and the clairvoyant plan; nothing where one of them did not run.

    Raises:
        ModelError: as `summarise_days`.
    """
    costs = _costs(rows)
    if _BASE not in costs or _CEILING not in costs:
        return None
    base, ceiling = costs[_BASE], costs[_CEILING]
    relative = ratio_interval(ceiling, base)
    if relative is None:
        return None
    share = Interval(-relative.mean, _negative(relative.high), _negative(relative.low))
    gap = base - ceiling
    if _MPC not in costs or (gap < 0.0).any():
        return Room(share, None)
    # The ratio of means less one is what `ratio_interval` gives.
    closed = ratio_interval(base - costs[_MPC], gap)
    if closed is None:
        return Room(share, None)
    return Room(share, Interval(closed.mean + 1.0, _plus_one(closed.low), _plus_one(closed.high)))


def _costs(rows: Sequence[RollingRow]) -> dict[str, Float[Array, " worlds"]]:
    """Total costs by policy, world by world."""
    seeds: dict[str, list[int]] = {}
    costs: dict[str, list[float]] = {}
    for row in rows:
        seeds.setdefault(row.policy, []).append(row.seed)
        costs.setdefault(row.policy, []).append(row.total_cost)
    first = next(iter(seeds), None)
    for policy, own in seeds.items():
        if own != seeds[str(first)]:
            raise ModelError(f'"{policy}" and "{first}" played different worlds; give all policies the same seeds')
    return {policy: np.array(cost) for policy, cost in costs.items()}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def _negative(value: float | None) -> float | None:
    return None if value is None else -value


def _plus_one(value: float | None) -> float | None:
    return None if value is None else value + 1.0
