"""Ruin and recreate over a horizon: lift some containers, send each on its cheapest way again, keep what is cheaper.

The local search of Schrimpf, Schneider, Stamm-Wilbrandt and Dueck (J. Computational Physics 159, 2000). A ruin closes a
node for some slots, opens one for some, or lifts containers that share a node or nothing at all; the recreation sends
one after the other, the largest first, on the way that is cheapest given all others (`sheet.route`). Plans somewhat
dearer than the best are accepted, less so towards the end (record to record).

How much is tried is counted in cells (a node in a slot), never in time, so the same input gives the same plan anywhere.
"""

from __future__ import annotations

import numpy as np

from fogfold.compiled import Array, compiled
from fogfold.evaluate.rolling.sheet import BARRED, CF, NF, Sheet, cost_of, lift, moves_wh, nodes_wh, put, route, settle
from fogfold.world.chance import chance

__all__ = ["improve"]

_RUIN, _ORDER = 1, 2
"""What a draw is for, so that no two draws are the same number."""
_SHAKEN = 0.5
"""How far the order by size is shaken: a container may pass for this share larger than it is."""
_THRESHOLD = 0.3
"""How much dearer than the best a plan may be at the start, in shares of a mean node's idle energy in one slot."""
_SETTLE = 256
"""Rounds after which sums are made anew."""
_SOME = 6
"""Most containers that are lifted at random."""


@compiled
def _lift_all(n: int, first: int, last: int, taken: Array, many: int, sheet: Sheet) -> int:
    """Lift everybody who is on node `n` in any of these slots; gives how many are lifted in all."""
    for c in range(sheet.where.shape[0]):
        lifted = False
        for i in range(many):
            if taken[i] == c:
                lifted = True
                break
        if lifted:
            continue
        for t in range(first, last):
            if sheet.where[c, t] == n:
                lift(c, sheet)
                taken[many] = c
                many += 1
                break
    return many


@compiled
def _lift_some(most: int, taken: Array, many: int, key: int, occasion: int, sheet: Sheet) -> int:
    """Lift up to so many containers at random; gives how many are lifted in all."""
    for k in range(1 + int(most * chance(key, 20, occasion, _RUIN))):
        c = int(sheet.where.shape[0] * chance(key, 21 + k, occasion, _RUIN))
        new = True
        for i in range(many):
            if taken[i] == c:
                new = False
        if new:
            lift(c, sheet)
            taken[many] = c
            many += 1
    return many


@compiled
def _ruin(taken: Array, key: int, occasion: int, sheet: Sheet) -> int:
    """Lift containers, and bias the cells of some nodes in a window; gives how many are lifted."""
    slots = sheet.load.shape[0]
    kind = chance(key, 0, occasion, _RUIN)
    at = 1 + int((slots - 1) * chance(key, 1, occasion, _RUIN))
    first, last = 1, slots
    if chance(key, 2, occasion, _RUIN) < 0.7:
        length = 1 + int((slots - 1) * chance(key, 3, occasion, _RUIN) * chance(key, 4, occasion, _RUIN))
        first = max(1, at - int(length * chance(key, 5, occasion, _RUIN)))
        last = min(slots, first + length)
    many = 0
    if kind < 0.7:
        # One or two nodes are barred, and often one or two offered as if their idle energy were free.
        for k in range(1 + int(1.3 * chance(key, 6, occasion, _RUIN))):
            n = _one_that_is(True, at, chance(key, 7 + k, occasion, _RUIN), sheet)
            many = _lift_all(n, first, last, taken, many, sheet)
            for t in range(first, last):
                sheet.bias[t, n] = BARRED
        for k in range(int(2.5 * chance(key, 9, occasion, _RUIN))):
            n = _one_that_is(False, at, chance(key, 10 + k, occasion, _RUIN), sheet)
            for t in range(first, last):
                if sheet.bias[t, n] == 0.0:
                    sheet.bias[t, n] = -sheet.node[NF.IDLE_WH, n]
        return many
    if kind < 0.85:
        # Two nodes mix what they hold.
        for k in range(2):
            n = _one_that_is(True, at, chance(key, 12 + k, occasion, _RUIN), sheet)
            many = _lift_all(n, at, at + 1, taken, many, sheet)
        return many
    return _lift_some(_SOME, taken, 0, key, occasion, sheet)


@compiled
def _one_that_is(on: bool, at: int, draw: float, sheet: Sheet) -> int:
    """A node that is on, or off, in that slot; any, where there is none."""
    nodes = sheet.load.shape[1]
    n = int(nodes * draw)
    for _ in range(nodes):
        if (sheet.held[at, n] > 0) == on:
            break
        n = (n + 1) % nodes
    return n


@compiled
def _order(taken: Array, many: int, key: int, occasion: int, sheet: Sheet) -> None:
    """Put those who were lifted in order of size, the largest first, with some chance in it."""
    weight = np.empty(many)
    for i in range(many):
        c = taken[i]
        w = sheet.container[CF.SIZE, c] * (1.0 + _SHAKEN * chance(key, c, occasion, _ORDER))
        j = i
        while j > 0 and weight[j - 1] < w:
            weight[j], taken[j] = weight[j - 1], taken[j - 1]
            j -= 1
        weight[j], taken[j] = w, c


@compiled
def _recreate(taken: Array, many: int, sheet: Sheet) -> bool:
    """Send everybody who was lifted on the cheapest way; where one has none, they are all lifted again."""
    for i in range(many):
        if not route(taken[i], sheet):
            for j in range(i):
                lift(taken[j], sheet)
            return False
    return True


@compiled
def _search(sheet: Sheet, key: int, effort: int, taken: Array, old: Array, best: Array) -> float:
    columns = sheet.where.shape[1]
    slots, nodes = sheet.load.shape
    cells = slots * nodes
    now_wh = best_wh = cost_of(sheet)
    best[:] = sheet.where
    moving_wh = now_wh - nodes_wh(sheet)
    slack_wh = _THRESHOLD * sheet.node[NF.IDLE_WH].mean()
    spent, occasion = 0, 0
    while spent < effort:
        occasion += 1
        if occasion % _SETTLE == 0:
            settle(sheet)
        many = _ruin(taken, key, occasion, sheet)
        _order(taken, many, key, occasion, sheet)
        change_wh = 0.0
        for i in range(many):
            c = taken[i]
            change_wh -= moves_wh(c, sheet)
            for t in range(columns):
                old[i, t] = sheet.where[c, t]
        routed = _recreate(taken, many, sheet)
        sheet.bias[:] = 0.0
        spent += cells * (1 + many)
        found_wh = 1e300
        if routed:
            for i in range(many):
                change_wh += moves_wh(taken[i], sheet)
            found_wh = nodes_wh(sheet) + moving_wh + change_wh
        if found_wh < best_wh + slack_wh * max(1.0 - spent / effort, 0.0):
            now_wh = found_wh
            moving_wh += change_wh
            if now_wh < best_wh - 1e-9:
                best_wh = now_wh
                best[:] = sheet.where
            continue
        for i in range(many):
            c = taken[i]
            if routed:
                lift(c, sheet)
            for t in range(columns):
                sheet.where[c, t] = old[i, t]
            put(c, sheet)
    sheet.where[:] = best
    settle(sheet)
    return cost_of(sheet)


def improve(sheet: Sheet, *, key: int, effort: int) -> float:
    """Search for a cheaper plan and leave the best on the sheet; gives its cost, in Wh-equivalents.

    Args:
        sheet: the plan to start from, which must fit in memory.
        key: from which all draws come.
        effort: how many cells to look at; a few hundred million take a second.
    """
    containers, columns = sheet.where.shape
    taken = np.empty(containers, np.int64)
    old = np.empty((containers, columns), np.int64)
    return float(_search(sheet, key, effort, taken, old, np.empty_like(sheet.where)))
