"""The rule to beat: relieve nodes above a mark, then empty the emptiest where what that saves pays for the moves.

Containers go where least room is left (best fit). What a drain saves is counted over a number of slots for which it is
thought to last. Both figures make or break the rule, so they are searched for (`tune`) on worlds that are not judged.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array, compiled
from fogfold.errors import ModelError
from fogfold.evaluate.rolling.draw import RollingWorld
from fogfold.evaluate.rolling.referee import Prices
from fogfold.evaluate.rolling.sheet import CF, NF, figures_of

__all__ = ["Greedy", "GreedyFigures"]


@dataclass(frozen=True)
class GreedyFigures:
    """What the rule goes by."""

    mark: float = 0.8
    """Load over cores above which a node is relieved, and up to which others are filled, in ]0, 1]."""
    lasts_slots: float = 1.0
    """How many slots a drained node is thought to stay off."""

    def __post_init__(self) -> None:
        if not 0.0 < self.mark <= 1.0 or self.lasts_slots < 0.0:
            raise ModelError(
                f"mark {self.mark:g} and {self.lasts_slots:g} slots cannot be; give a mark in ]0, 1] and slots from 0"
            )


class Greedy:
    """Goes by the last slot that was seen."""

    def __init__(self, past: RollingWorld, prices: Prices, figures: GreedyFigures) -> None:
        self._node, self._container = figures_of(past, prices)
        self._figures = figures

    def place(self, seen: Float[Array, "containers seen"], placement: Int[Array, " containers"]) -> Array:
        """Node of each container in the next slot."""
        where = placement.copy()
        demand = np.ascontiguousarray(seen[:, -1])
        load = np.bincount(where, demand, self._node.shape[1])
        memory = np.bincount(where, self._container[CF.MEMORY_GIB], self._node.shape[1])
        count = np.bincount(where, minlength=self._node.shape[1])
        books = (load, memory, count)
        _relieve(where, demand, *books, self._figures.mark, self._node, self._container)
        _drain(where, demand, *books, self._figures.mark, self._figures.lasts_slots, self._node, self._container)
        return where


@compiled
def _best_fit(
    c: int,
    barred: int,
    only_on: bool,
    demand: Array,
    load: Array,
    memory: Array,
    count: Array,
    mark: float,
    node: Array,
    container: Array,
) -> int:
    """Where container `c` leaves least room, or -1; where none that is on fits, the thriftiest that is off."""
    best, best_room = -1, 1e300
    thrifty, least_wh = -1, 1e300
    for n in range(node.shape[1]):
        room = mark * node[NF.CORES, n] - load[n] - demand[c]
        if n == barred or room < 0.0 or memory[n] + container[CF.MEMORY_GIB, c] > node[NF.ROOM_GIB, n]:
            continue
        if count[n] > 0:
            if room < best_room:
                best, best_room = n, room
        elif not only_on and node[NF.IDLE_WH, n] < least_wh:
            thrifty, least_wh = n, node[NF.IDLE_WH, n]
    return best if best >= 0 else thrifty


@compiled
def _shift(c: int, to: int, where: Array, demand: Array, load: Array, memory: Array, count: Array, gib: Array) -> None:
    for n, sign in ((where[c], -1), (to, 1)):
        load[n] += sign * demand[c]
        memory[n] += sign * gib[c]
        count[n] += sign
    where[c] = to


@compiled
def _relieve(
    where: Array,
    demand: Array,
    load: Array,
    memory: Array,
    count: Array,
    mark: float,
    node: Array,
    container: Array,
) -> None:
    """Move containers off nodes above the mark: the cheapest that suffices, or else the largest."""
    fullest = np.argsort(-load / node[NF.CORES])
    for k in range(len(fullest)):
        n = fullest[k]
        tried = np.zeros(len(where), np.bool_)
        while load[n] > mark * node[NF.CORES, n]:
            over = load[n] - mark * node[NF.CORES, n]
            pick, enough = -1, False
            for c in range(len(where)):
                if where[c] != n or tried[c]:
                    continue
                suffices = demand[c] >= over
                if pick < 0 or (suffices and not enough):
                    better = True
                elif suffices != enough:
                    better = False
                elif suffices:
                    better = container[CF.MOVE_WH, c] < container[CF.MOVE_WH, pick]
                else:
                    better = demand[c] > demand[pick]
                if better:
                    pick, enough = c, suffices
            if pick < 0:
                break
            tried[pick] = True
            to = _best_fit(pick, n, False, demand, load, memory, count, mark, node, container)
            if to >= 0:
                _shift(pick, to, where, demand, load, memory, count, container[CF.MEMORY_GIB])


@compiled
def _drain(
    where: Array,
    demand: Array,
    load: Array,
    memory: Array,
    count: Array,
    mark: float,
    lasts_slots: float,
    node: Array,
    container: Array,
) -> None:
    """Empty nodes, the emptiest first, as long as one pays."""
    drained = True
    while drained:
        drained = False
        emptiest = np.argsort(load / node[NF.CORES])
        for k in range(len(emptiest)):
            n = emptiest[k]
            if count[n] == 0:
                continue
            leaving = np.flatnonzero(where == n)
            leaving = leaving[np.argsort(-demand[leaving])]
            saved_wh, moves_wh, placed = node[NF.IDLE_WH, n], 0.0, 0
            for i in range(len(leaving)):
                c = leaving[i]
                to = _best_fit(c, n, True, demand, load, memory, count, mark, node, container)
                if to < 0:
                    break
                _shift(c, to, where, demand, load, memory, count, container[CF.MEMORY_GIB])
                placed += 1
                saved_wh += demand[c] * (node[NF.SLOPE_WH, n] - node[NF.SLOPE_WH, to])
                moves_wh += container[CF.MOVE_WH, c]
            if placed == len(leaving) and lasts_slots * saved_wh > moves_wh:
                drained = True
                break
            for i in range(placed):
                _shift(leaving[i], n, where, demand, load, memory, count, container[CF.MEMORY_GIB])
