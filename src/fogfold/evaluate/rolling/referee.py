"""What a day costs: the referee of small worlds, in a few lines of plain numpy.

Plans, forecasts and bounds share no code with it but the prices, so that a fault in those shows here. The unit is the
Wh-equivalent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array
from fogfold.errors import ModelError, PlacementError
from fogfold.evaluate.rolling.draw import RollingWorld
from fogfold.model.resources import check_number

__all__ = ["DayCost", "Prices", "judge"]


@dataclass(frozen=True)
class Prices:
    """What a slot's parts cost, in Wh-equivalents."""

    migration: float = 5.0
    """Factor on the price of a move: 1 is a live move in a quiet network, 20 a restart that is felt."""
    move_wh: float = 0.5
    """A move, before the factor."""
    move_wh_per_gib: float = 0.15
    """Each GiB that moves, before the factor."""
    power_on_wh: float = 25.0
    """A node that is on and was off."""
    overload_wh_per_core: float = 50.0
    """A core of demand above the limit, for one slot."""
    limit: float = 0.9
    """Share of a node's cores up to which nobody waits."""
    slot_h: float = 0.5
    """Length of a slot, in hours."""

    def __post_init__(self) -> None:
        for name in ("migration", "move_wh", "move_wh_per_gib", "power_on_wh", "overload_wh_per_core"):
            check_number(name, getattr(self, name))
        if not 0.0 < self.limit <= 1.0 or self.slot_h <= 0.0:
            raise ModelError(
                f"limit {self.limit:g} and slots of {self.slot_h:g} h cannot be; give a limit in ]0, 1] and a length "
                "above 0"
            )

    def of_moves_wh(self, memory_gib: Float[Array, " containers"]) -> Float[Array, " containers"]:
        """What moving each container costs, in Wh-equivalents."""
        return self.migration * (self.move_wh + self.move_wh_per_gib * memory_gib)


@dataclass(frozen=True, slots=True)
class DayCost:
    """A day's cost by part, in Wh-equivalents."""

    energy: float
    """Idle power, power of the cores in use, and power-ons."""
    migration: float
    sla: float
    """Demand above the limit."""
    moves: int

    @property
    def total(self) -> float:
        """All parts together."""
        return self.energy + self.migration + self.sla


def judge(
    world: RollingWorld, start: Int[Array, " containers"], where: Int[Array, "containers slots"], prices: Prices
) -> DayCost:
    """What the placements of the judged day cost.

    A node is on in a slot where it holds a container, and draws power for the cores in use: all demand on it, at most
    its own cores. Moves are counted from slot to slot, the first from the placement before the day.

    Args:
        world: the world.
        start: node of each container before the day.
        where: node of each container in each slot of the day.
        prices: what things cost.

    Raises:
        PlacementError: if a placement names no node, or takes more memory than there is.
    """
    demand = world.day
    if where.shape != demand.shape:
        raise PlacementError(f"placements have shape {where.shape}; the day has {demand.shape[0]} x {demand.shape[1]}")
    if where.min() < 0 or where.max() >= world.nodes:
        raise PlacementError(f"a placement names node {where.min()} or {where.max()}; there are {world.nodes} nodes")
    energy_wh = sla = 0.0
    was_on = np.bincount(start, minlength=world.nodes) > 0
    for t in range(demand.shape[1]):
        load = np.bincount(where[:, t], demand[:, t], world.nodes)
        taken = np.bincount(where[:, t], world.memory_gib, world.nodes)
        over = np.flatnonzero(taken > world.room_gib * (1.0 + 1e-9))
        if len(over):
            n = over[0]
            raise PlacementError(
                f"node {n} holds {taken[n]:g} GiB in slot {t}; it has {world.room_gib[n]:g}, so move a container"
            )
        on = np.bincount(where[:, t], minlength=world.nodes) > 0
        power_w = world.idle_w[on].sum() + (world.slope_w * np.minimum(load, world.cores)).sum()
        energy_wh += prices.slot_h * power_w + prices.power_on_wh * (on & ~was_on).sum()
        sla += prices.overload_wh_per_core * np.maximum(load - prices.limit * world.cores, 0.0).sum()
        was_on = on
    before = np.concatenate([start[:, None], where[:, :-1]], axis=1)
    moved = where != before
    migration = float((prices.of_moves_wh(world.memory_gib)[:, None] * moved).sum())
    return DayCost(float(energy_wh), migration, float(sla), int(moved.sum()))
