"""Who decides from slot to slot, knowing the past alone: hold, greedy, the best single slot, and forecast MPC.

The placement of a slot is fixed before its demand is seen. `play` hands a policy nothing else than the slots so far, so
none can look ahead, on purpose or by mistake.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array
from fogfold.errors import ModelError
from fogfold.evaluate.rolling.draw import DAY_SLOTS, RollingWorld
from fogfold.evaluate.rolling.forecast import last_seen, seasonal
from fogfold.evaluate.rolling.referee import Prices
from fogfold.evaluate.rolling.search import improve
from fogfold.evaluate.rolling.sheet import sheet_of
from fogfold.seeding import key

__all__ = ["Hold", "Maker", "Mpc", "MpcFigures", "Played", "SlotPolicy", "play"]

Seen = Float[Array, "containers seen"]
Placement = Int[Array, " containers"]


class SlotPolicy(Protocol):
    """Decides one slot after the other."""

    def place(self, seen: Seen, placement: Placement) -> Placement:
        """Node of each container in the next slot.

        Args:
            seen: demand in every slot so far, days of history included.
            placement: node of each container now.
        """
        ...


Maker = Callable[[RollingWorld, Prices], SlotPolicy]
"""Makes a policy for one day; the world it is given ends where the day begins."""


@dataclass(frozen=True)
class Played:
    """A day under a policy."""

    where: Int[Array, "containers slots"]
    decision_ms: float
    """Mean time of a decision on this machine."""


def play(world: RollingWorld, start: Placement, prices: Prices, maker: Maker) -> Played:
    """The judged day under a policy.

    Args:
        world: the world.
        start: node of each container before the day.
        prices: what things cost.
        maker: makes the policy.
    """
    first, slots = world.first_slot, DAY_SLOTS
    policy = maker(replace(world, demand=world.demand[:, :first].copy()), prices)
    where = np.empty((world.containers, slots), np.int64)
    now, spent_s = start, 0.0
    for t in range(slots):
        seen = world.demand[:, : first + t].copy()
        began_s = time.perf_counter()
        now = policy.place(seen, now.copy())
        spent_s += time.perf_counter() - began_s
        where[:, t] = now
    return Played(where, 1000.0 * spent_s / slots)


class Hold:
    """Leaves everybody where they are."""

    def place(self, seen: Seen, placement: Placement) -> Placement:  # noqa: ARG002 - it looks at nothing
        """The same placement."""
        return placement


@dataclass(frozen=True)
class MpcFigures:
    """What model predictive control goes by."""

    horizon_slots: int = 12
    """How far each plan looks ahead."""
    margin: float = 0.03
    """Share of a node's cores that plans keep free below the limit, for demand that was not foreseen."""
    effort: int = 3_000_000
    """Cells that the search for a plan looks at."""
    forecast: Callable[[Seen, int], Array] = seasonal

    def __post_init__(self) -> None:
        if not 1 <= self.horizon_slots <= DAY_SLOTS or not 0.0 <= self.margin < 0.9 or self.effort < 1:
            raise ModelError(
                f"a horizon of {self.horizon_slots} slots, a margin of {self.margin:g} and an effort of {self.effort} "
                f"cannot be; give 1 to {DAY_SLOTS} slots, a margin in [0, 0.9[ and an effort from 1"
            )


class Mpc:
    """Plans over the forecast, does the first slot of the plan, and plans anew.

    Every search begins once where everybody stays and once from the last plan, moved on by a slot.
    """

    def __init__(self, past: RollingWorld, prices: Prices, figures: MpcFigures) -> None:
        self._past, self._prices, self._figures = past, prices, figures
        self._plan: Int[Array, "containers slots"] | None = None

    def place(self, seen: Seen, placement: Placement) -> Placement:
        """Node of each container in the next slot."""
        figures, slot = self._figures, seen.shape[1] - self._past.demand.shape[1]
        ahead = min(figures.horizon_slots, DAY_SLOTS - slot)
        demand = figures.forecast(seen, ahead)
        starts: list[Int[Array, "containers slots"] | None] = [None]
        if self._plan is not None and self._plan.shape[1] > 1:
            starts.append(np.concatenate([self._plan[:, 1:], self._plan[:, -1:]], axis=1)[:, :ahead])
        best_wh = np.inf
        for number, where in enumerate(starts):
            sheet = sheet_of(self._past, placement, demand, self._prices, where=where, margin=figures.margin)
            draws = key(self._past.seed, "rolling", slot, number)
            found_wh = improve(sheet, key=draws, effort=figures.effort // len(starts))
            if found_wh < best_wh:
                best_wh, self._plan = found_wh, sheet.where[:, 1:].copy()
        assert self._plan is not None  # noqa: S101 - there is at least one start
        return self._plan[:, 0].copy()


def one_slot(effort: int = 300_000) -> MpcFigures:
    """The best placement for one slot, if that were like the last one."""
    return MpcFigures(horizon_slots=1, margin=0.0, effort=effort, forecast=last_seen)
