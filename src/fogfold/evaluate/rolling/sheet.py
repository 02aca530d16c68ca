"""A plan over the next slots that can be taken apart: where each container is in each slot, and what each node holds.

Column 0 is the slot before the plan: it is fixed, and says who is where and which nodes are on. Everything here is
compiled; `search` improves a plan, `judge` in `referee` costs a day without any of this.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array, compiled
from fogfold.evaluate.rolling.draw import RollingWorld
from fogfold.evaluate.rolling.referee import Prices

__all__ = [
    "BARRED",
    "CF",
    "NF",
    "Sheet",
    "cost_of",
    "figures_of",
    "lift",
    "moves_wh",
    "nodes_wh",
    "put",
    "route",
    "settle",
    "sheet_of",
]

BARRED = 1e12
"""What a cell costs that a container must not be in."""
_SLACK_GIB = 1e-9


class NF(IntEnum):
    """Rows of figures of nodes."""

    IDLE_WH = 0
    """A slot's idle energy."""
    SLOPE_WH = 1
    """A slot's energy for each core in use."""
    CORES = 2
    LIMIT_CORES = 3
    """Demand from which a plan pays for overload."""
    ROOM_GIB = 4


class CF(IntEnum):
    """Rows of figures of containers."""

    MEMORY_GIB = 0
    MOVE_WH = 1
    SIZE = 2
    """Most demand in the horizon: the larger are placed first."""


class Sheet(NamedTuple):
    """A plan, and what is needed to change it."""

    where: Array
    """Node of each container in each slot, (containers, 1 + slots)."""
    demand: Array
    """Cores, (containers, 1 + slots)."""
    load: Array
    """Cores wanted on each node, (1 + slots, nodes)."""
    memory: Array
    """GiB taken on each node, (1 + slots, nodes)."""
    held: Array
    """Containers on each node, (1 + slots, nodes)."""
    bias: Array
    """What a search adds to the cost of a cell for a while, so that it sees other plans, (1 + slots, nodes)."""
    node: Array
    """Rows as `NF`."""
    container: Array
    """Rows as `CF`."""
    price: Array
    """Of a power-on and of a core above the limit, (2,)."""
    value: Array
    """Room for `route`: the least cost of being on each node in each slot, (1 + slots, nodes)."""
    back: Array
    """Room for `route`: the node before that, (1 + slots, nodes)."""


def figures_of(
    world: RollingWorld, prices: Prices
) -> tuple[Float[Array, "node_rows nodes"], Float[Array, "container_rows containers"]]:
    """Rows as `NF` and as `CF`; sizes are left at 0."""
    idle_wh, slope_wh = prices.slot_h * world.idle_w, prices.slot_h * world.slope_w
    moves_wh = prices.of_moves_wh(world.memory_gib)
    return (
        np.array([idle_wh, slope_wh, world.cores, prices.limit * world.cores, world.room_gib]),
        np.array([world.memory_gib, moves_wh, np.zeros(world.containers)]),
    )


def sheet_of(
    world: RollingWorld,
    placement: Int[Array, " containers"],
    demand: Float[Array, "containers slots"],
    prices: Prices,
    *,
    where: Int[Array, "containers slots"] | None = None,
    margin: float = 0.0,
) -> Sheet:
    """A plan for these slots.

    Args:
        world: the world; of its demand nothing is read.
        placement: node of each container before the first slot.
        demand: cores that each container is thought to want in each slot.
        prices: what things cost.
        where: a plan to start from; where none is given, everybody stays.
        margin: share of a node's cores that the plan keeps free below the limit, against what is not foreseen.
    """
    containers, slots = demand.shape
    full = np.empty((containers, 1 + slots), np.int64)
    full[:, 0] = placement
    full[:, 1:] = placement[:, None] if where is None else where
    grid = (1 + slots, world.nodes)
    node, container = figures_of(world, prices)
    node[NF.LIMIT_CORES] -= margin * world.cores
    container[CF.SIZE] = demand.max(axis=1)
    sheet = Sheet(
        where=full,
        demand=np.concatenate([np.zeros((containers, 1)), demand], axis=1),
        load=np.zeros(grid),
        memory=np.zeros(grid),
        held=np.zeros(grid, np.int64),
        bias=np.zeros(grid),
        node=node,
        container=container,
        price=np.array([prices.power_on_wh, prices.overload_wh_per_core]),
        value=np.zeros(grid),
        back=np.zeros(grid, np.int64),
    )
    settle(sheet)
    return sheet


@compiled
def settle(sheet: Sheet) -> None:
    """Sum up what each node holds, anew: small errors of adding and taking away do not pile up."""
    sheet.load[:] = 0.0
    sheet.memory[:] = 0.0
    sheet.held[:] = 0
    for c in range(sheet.where.shape[0]):
        put(c, sheet)


@compiled
def put(c: int, sheet: Sheet) -> None:
    """Enter container `c` where `where` says."""
    gib = sheet.container[CF.MEMORY_GIB, c]
    for t in range(sheet.where.shape[1]):
        n = sheet.where[c, t]
        sheet.load[t, n] += sheet.demand[c, t]
        sheet.memory[t, n] += gib
        sheet.held[t, n] += 1


@compiled
def lift(c: int, sheet: Sheet) -> None:
    """Take container `c` off the sheet, in every slot. Its line in `where` is kept until it is routed anew."""
    gib = sheet.container[CF.MEMORY_GIB, c]
    for t in range(sheet.where.shape[1]):
        n = sheet.where[c, t]
        sheet.held[t, n] -= 1
        if sheet.held[t, n] == 0:
            sheet.load[t, n] = 0.0
            sheet.memory[t, n] = 0.0
        else:
            sheet.load[t, n] -= sheet.demand[c, t]
            sheet.memory[t, n] -= gib


@compiled
def moves_wh(c: int, sheet: Sheet) -> float:
    """What the moves of container `c` cost."""
    moves = 0
    for t in range(1, sheet.where.shape[1]):
        if sheet.where[c, t] != sheet.where[c, t - 1]:
            moves += 1
    return moves * sheet.container[CF.MOVE_WH, c]


@compiled
def nodes_wh(sheet: Sheet) -> float:
    """What the nodes cost: energy, power-ons and overload."""
    node, total = sheet.node, 0.0
    for t in range(1, sheet.load.shape[0]):
        for n in range(sheet.load.shape[1]):
            if sheet.held[t, n] == 0:
                continue
            load = sheet.load[t, n]
            total += node[NF.IDLE_WH, n] + node[NF.SLOPE_WH, n] * min(load, node[NF.CORES, n])
            total += sheet.price[1] * max(load - node[NF.LIMIT_CORES, n], 0.0)
            if sheet.held[t - 1, n] == 0:
                total += sheet.price[0]
    return total


@compiled
def cost_of(sheet: Sheet) -> float:
    """What the plan costs, in Wh-equivalents."""
    total = nodes_wh(sheet)
    for c in range(sheet.where.shape[0]):
        total += moves_wh(c, sheet)
    return total


@compiled
def route(c: int, sheet: Sheet) -> bool:
    """Enter a container that was lifted on its cheapest way through the slots, given all others (Viterbi, 1967).

    Exact: a cell costs the energy and overload that the container adds there. Where it comes to a node that was off and
    holds nobody else, it turns that node on; where others turn a node on that it was on before, it spares them the
    price, whether it stays or leaves. Both depend on one end of a step only, so a slot takes as many operations as
    there are nodes.

    Returns:
        Whether there is a way; where there is none the sheet is as before.
    """
    node, where = sheet.node, sheet.where
    value, back = sheet.value, sheet.back
    slots, nodes = sheet.load.shape
    gib, move_wh = sheet.container[CF.MEMORY_GIB, c], sheet.container[CF.MOVE_WH, c]
    for n in range(nodes):
        value[0, n] = BARRED
    value[0, where[c, 0]] = 0.0
    for t in range(1, slots):
        wanted = sheet.demand[c, t]
        best_wh, best = 1e300, 0
        for m in range(nodes):
            # Others turn node m on in this slot; where the container was there before, it was on already.
            spared = sheet.price[0] if sheet.held[t, m] > 0 and sheet.held[t - 1, m] == 0 else 0.0
            if value[t - 1, m] - spared < best_wh:
                best_wh, best = value[t - 1, m] - spared, m
        for n in range(nodes):
            load, limit = sheet.load[t, n], node[NF.LIMIT_CORES, n]
            alone, dark = sheet.held[t, n] == 0, sheet.held[t - 1, n] == 0
            added = min(load + wanted, node[NF.CORES, n]) - min(load, node[NF.CORES, n])
            cell = node[NF.SLOPE_WH, n] * added + sheet.bias[t, n]
            cell += sheet.price[1] * (max(load + wanted - limit, 0.0) - max(load - limit, 0.0))
            if alone:
                cell += node[NF.IDLE_WH, n]
            if sheet.memory[t, n] + gib > node[NF.ROOM_GIB, n] + _SLACK_GIB:
                cell += BARRED
            stay = value[t - 1, n] - (sheet.price[0] if dark and not alone else 0.0)
            come = best_wh + move_wh + (sheet.price[0] if dark and alone else 0.0)
            if stay <= come:
                value[t, n], back[t, n] = stay + cell, n
            else:
                value[t, n], back[t, n] = come + cell, best
    last = 0
    for n in range(1, nodes):
        if value[slots - 1, n] < value[slots - 1, last]:
            last = n
    if value[slots - 1, last] >= BARRED:
        return False
    for t in range(slots - 1, 0, -1):
        where[c, t] = last
        last = back[t, last]
    put(c, sheet)
    return True
