"""What no sequence of placements can cost less than: a day with load as a liquid, solved for all slots at once.

One yes or no for each node and slot: is it on. Demand of a slot is spread over the nodes that are on as it suits; so is
memory. Turning on is paid for. Moves are not, but for one: who begins the day on a node that is ever off has left it
before, and paid once. Each of these says less than the truth, so the optimum is a lower bound, and what the solver has
proven when it stops is one, too. It needs the solver HiGHS.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from fogfold.compiled import Array
from fogfold.evaluate.rolling.draw import RollingWorld
from fogfold.evaluate.rolling.referee import Prices
from fogfold.policy.program import Columns, Program, Rows, solve

__all__ = ["day_program", "lower_bound_wh"]

_GAP = 1e-3
_NODE_LIMIT = 300
"""Branch-and-bound nodes after which the search stops, with the bound that is proven by then."""


def lower_bound_wh(
    world: RollingWorld, start: Int[Array, " containers"], prices: Prices, *, gap: float = _GAP
) -> float:
    """No placements of the judged day cost less, in Wh-equivalents.

    Args:
        world: the world.
        start: node of each container before the day.
        prices: what things cost.
        gap: relative distance to the program's optimum at which to stop.

    Raises:
        MissingExtraError: if HiGHS is not installed.
    """
    return solve(day_program(world, start, prices), gap=gap, node_limit=_NODE_LIMIT).bound


def day_program(world: RollingWorld, start: Int[Array, " containers"], prices: Prices) -> Program:
    """The program whose optimum is the bound.

    A core above the limit counts at its penalty alone, without energy: less than the truth, whatever its node holds.
    """
    nodes, slots = world.nodes, world.day.shape[1]
    wanted = world.day.sum(axis=0)
    limit = prices.limit * world.cores
    columns, rows = Columns(), Rows()
    on = np.array([columns.add(nodes, cost=prices.slot_h * world.idle_w, high=1.0, whole=True) for _ in range(slots)])
    turned_on = np.array([columns.add(nodes, cost=prices.power_on_wh, high=1.0) for _ in range(slots)])
    used = np.array([columns.add(nodes, cost=prices.slot_h * world.slope_w, high=limit) for _ in range(slots)])
    above = columns.add(slots, cost=prices.overload_wh_per_core)
    leaving_wh = np.bincount(start, prices.of_moves_wh(world.memory_gib), nodes)
    left = columns.add(nodes, cost=leaving_wh, high=1.0)
    was_on = (np.bincount(start, minlength=nodes) > 0).astype(np.float64)
    for t in range(slots):
        room = rows.add(nodes, high=0.0)
        rows.put(room, used[t], 1.0)
        rows.put(room, on[t], -limit)
        served = rows.add(1, low=wanted[t])
        rows.put(int(served[0]), used[t], 1.0)
        rows.put(int(served[0]), above[t : t + 1], 1.0)
        stored = rows.add(1, low=float(world.memory_gib.sum()))
        rows.put(int(stored[0]), on[t], world.room_gib)
        turning = rows.add(nodes, high=was_on if t == 0 else 0.0)
        rows.put(turning, on[t], 1.0)
        rows.put(turning, turned_on[t], -1.0)
        if t > 0:
            rows.put(turning, on[t - 1], -1.0)
        emptied = rows.add(nodes, low=1.0)
        rows.put(emptied, on[t], 1.0)
        rows.put(emptied, left, 1.0)
    return columns.program(rows)
