"""The plan of somebody who knows the day: the ceiling for every policy, as far as a search finds it.

The same search as that of forecast MPC, on the truth and over the whole day. Which nodes to keep makes valleys that one
search does not leave, so there are several, from different beginnings: nobody moves, and days that were planned slot by
slot with some hours of foresight. The best go on. What it finds can be had; that nothing better can is not proven, and
the lower bound (`bound`) says how far off it may be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array
from fogfold.errors import ModelError
from fogfold.evaluate.rolling.draw import RollingWorld
from fogfold.evaluate.rolling.policies import Maker, Mpc, MpcFigures, play
from fogfold.evaluate.rolling.referee import Prices
from fogfold.evaluate.rolling.search import improve
from fogfold.evaluate.rolling.sheet import sheet_of
from fogfold.seeding import key

__all__ = ["Hindsight", "plan_with_hindsight"]


@dataclass(frozen=True)
class Hindsight:
    """How long the ceiling is searched for."""

    from_hold: int = 6
    """Searches that begin where nobody moves."""
    foresight_slots: tuple[int, ...] = (6, 12, 24)
    """Searches that begin with a day planned slot by slot, with that many slots known."""
    slot_effort: int = 1_000_000
    """Cells looked at for each slot of such a day."""
    first_effort: int = 40_000_000
    """Cells that each search looks at."""
    finalists: int = 3
    """Searches that go on."""
    last_effort: int = 150_000_000
    """Cells that each of those looks at."""

    def __post_init__(self) -> None:
        if self.from_hold < 1 or self.finalists < 1 or min(self.slot_effort, self.first_effort, self.last_effort) < 1:
            raise ModelError(
                f"{self.from_hold} searches from hold and {self.finalists} finalists cannot be; give at least one of "
                "each, and efforts from 1"
            )


def plan_with_hindsight(
    world: RollingWorld, start: Int[Array, " containers"], prices: Prices, hindsight: Hindsight
) -> Int[Array, "containers slots"]:
    """The cheapest placements of the judged day that were found.

    Args:
        world: the world, its day included.
        start: node of each container before the day.
        prices: what things cost.
        hindsight: how long to search.
    """
    beginnings: list[Int[Array, "containers slots"] | None] = [None] * hindsight.from_hold
    beginnings += [
        play(world, start, prices, _with_foresight(world, slots, hindsight.slot_effort)).where
        for slots in hindsight.foresight_slots
    ]
    found = [
        _searched(world, start, prices, where, hindsight.first_effort, number)
        for number, where in enumerate(beginnings)
    ]
    found.sort(key=lambda plan: plan[0])
    for number, (_, where) in enumerate(found[: hindsight.finalists]):
        found.append(_searched(world, start, prices, where, hindsight.last_effort, len(beginnings) + number))
    return min(found, key=lambda plan: plan[0])[1]


def _with_foresight(world: RollingWorld, slots: int, effort: int) -> Maker:
    """Model predictive control whose forecast is the truth."""

    def truth(seen: Float[Array, "containers seen"], ahead: int) -> Array:
        return world.demand[:, seen.shape[1] : seen.shape[1] + ahead]

    figures = MpcFigures(slots, margin=0.0, effort=effort, forecast=truth)
    return lambda past, prices: Mpc(past, prices, figures)


def _searched(
    world: RollingWorld,
    start: Int[Array, " containers"],
    prices: Prices,
    where: Int[Array, "containers slots"] | None,
    effort: int,
    number: int,
) -> tuple[float, Int[Array, "containers slots"]]:
    """What a search from there finds, and its cost."""
    sheet = sheet_of(world, start, world.day, prices, where=where)
    cost_wh = improve(sheet, key=key(world.seed, "rolling", "hindsight", number), effort=effort)
    return cost_wh, np.ascontiguousarray(sheet.where[:, 1:])
