"""Ruin and recreate: take a part of a plan out, put it together otherwise, keep what is cheaper.

The local search of Schrimpf, Schneider, Stamm-Wilbrandt and Dueck (J. Computational Physics 159, 2000) for plans that
empty nodes. A ruin closes a node more, opens one that was being emptied, or lifts what was sent to a few nodes; the
recreation places what has become homeless, largest first, each where it costs least, with some nodes passed over at
random (the blinks of Christiaens and Vanden Berghe, Transportation Science 54, 2020). A container that finds no place
keeps its node open. A plan somewhat dearer than the best is accepted, less so towards the end (record to record).

It matters where few containers share a node and packing is tight. How much is tried is counted in checks of a node,
never in time, so the same view gives the same plan on any machine.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool

from fogfold.compiled import Array, compiled
from fogfold.policy.targets import Ceiling, Taste
from fogfold.policy.workbench import Workbench, close_node, cost_w, lift, open_node, place, put
from fogfold.world.chance import chance

__all__ = ["empty_nodes", "improve"]

_THRESHOLD = 2e-3
"""How much dearer than the best, relative to what is at stake, a plan may be at the start of a search."""
_BLINK = 0.03
"""Share of nodes passed over while a plan is put together again."""
_OVERHEAD = 300
"""What a round costs beside its checks, in checks of a node."""
_ORDER, _SKIP, _RUIN, _OPEN = 1, 2, 3, 4
"""What a draw is for, so that no two draws are the same number."""
_SHAKEN = 0.3
"""How far the order by size is shaken: a container may pass for this share larger than it is."""


@compiled
def _place_all(
    homeless: Array,
    many: int,
    noise: float,
    key: int,
    occasion: int,
    ceiling: Ceiling,
    taste: Taste,
    snug: float,
    bench: Workbench,
) -> None:
    """Place the first `many` of the homeless, largest first; one who finds no place keeps its node open."""
    weight = np.empty(many)
    for i in range(many):
        shake = 1.0 + noise * _SHAKEN * chance(key, homeless[i], occasion, _ORDER) if noise > 0.0 else 1.0
        weight[i] = -bench.size[homeless[i]] * shake
    order = np.argsort(weight, kind="mergesort")
    draws = np.zeros(len(bench.closing))
    for i in range(many):
        c = homeless[order[i]]
        home = bench.sheet.placement[c]
        if not bench.closing[home] or bench.sheet.target[c] >= 0:
            continue
        if noise > 0.0:
            for n in range(len(draws)):
                draws[n] = chance(key, n, occasion * 1_000_003 + i, _SKIP)
        n = place(c, ceiling, taste, snug, noise * _BLINK, draws, bench)
        if n >= 0:
            put(c, n, bench)
        else:
            open_node(home, bench)


@compiled
def _empty_each(wanted: Array, ceiling: Ceiling, taste: Taste, snug: float, bench: Workbench) -> None:
    homeless = np.empty(len(bench.resident), np.int64)
    many = 0
    for n in range(len(wanted)):
        if wanted[n] and bench.may_close[n]:
            close_node(n, bench)
            for i in range(bench.first[n], bench.first[n + 1]):
                homeless[many] = bench.resident[i]
                many += 1
    _place_all(homeless, many, 0.0, 0, 0, ceiling, taste, snug, bench)


def empty_nodes(
    wanted: Bool[Array, " nodes"], ceiling: Ceiling, taste: Taste, snug: float, bench: Workbench
) -> tuple[float, float]:
    """Empty all wanted nodes at once, largest containers first. Nodes of which somebody finds no place stay open.

    Gives the cost before and after, in W up to the same constant.
    """
    before_w = float(cost_w(taste, bench))
    _empty_each(wanted, ceiling, taste, snug, bench)
    return before_w, float(cost_w(taste, bench))


@compiled
def _ruin(homeless: Array, key: int, occasion: int, limit: int, bench: Workbench) -> int:
    """Take a part of the plan out; gives how many are homeless now."""
    nodes = len(bench.closing)
    closing, keeping = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    closed, kept = 0, 0
    for n in range(nodes):
        if bench.closing[n]:
            closing[closed] = n
            closed += 1
        elif bench.may_close[n]:
            keeping[kept] = n
            kept += 1
    many = 0
    what = chance(key, 0, occasion, _RUIN)
    if closed and what < 0.5:
        # One that was being emptied stays after all: room for another.
        closed = _open_one(closing, closed, chance(key, 1, occasion, _RUIN), bench)
    for k in range(1 if what < 0.6 else 2 if what < 0.8 else 0):
        if kept == 0:
            break
        pick = int(kept * chance(key, 2 + k, occasion, _RUIN))
        n = keeping[pick]
        kept -= 1
        keeping[pick] = keeping[kept]
        while closed and bench.tally[0] + bench.sheet.staying[n] > limit:
            closed = _open_one(closing, closed, chance(key, closed, occasion, _OPEN), bench)
        many = _lift_from(n, homeless, many, bench)
        close_node(n, bench)
        for i in range(bench.first[n], bench.first[n + 1]):
            homeless[many] = bench.resident[i]
            many += 1
    # What was sent to a few other nodes is sent anew.
    for k in range(int(4 * chance(key, 4, occasion, _RUIN))):
        many = _lift_from(int(nodes * chance(key, 5 + k, occasion, _RUIN)), homeless, many, bench)
    return many


@compiled
def _open_one(closing: Array, closed: int, draw: float, bench: Workbench) -> int:
    """Keep one of the first `closed` nodes after all, and take it off the list; gives how many are left on it."""
    pick = int(closed * draw)
    open_node(closing[pick], bench)
    closing[pick] = closing[closed - 1]
    return closed - 1


@compiled
def _lift_from(n: int, homeless: Array, many: int, bench: Workbench) -> int:
    """Lift every move of this search that leads to node `n`."""
    if bench.sheet.arriving[n] == 0:
        return many
    for i in range(len(bench.resident)):
        c = bench.resident[i]
        if bench.sheet.target[c] == n:
            lift(c, bench)
            homeless[many] = c
            many += 1
    return many


@compiled
def _copy(source: Workbench, target: Workbench) -> None:
    """Make one plan the same as the other."""
    target.closing[:] = source.closing
    target.sheet.state[:] = source.sheet.state
    target.sheet.target[:] = source.sheet.target
    target.sheet.requested[:] = source.sheet.requested
    target.sheet.foreseen[:] = source.sheet.foreseen
    target.sheet.leaving[:] = source.sheet.leaving
    target.sheet.taken[:] = source.sheet.taken
    target.sheet.arriving[:] = source.sheet.arriving
    target.sheet.staying[:] = source.sheet.staying
    target.tally[0] = source.tally[0]


@compiled
def _search(
    key: int,
    effort: int,
    enough_w: float,
    stake_w: float,
    limit: int,
    ceiling: Ceiling,
    taste: Taste,
    snug: float,
    bench: Workbench,
    now: Workbench,
    best: Workbench,
) -> float:
    _copy(bench, now)
    _copy(bench, best)
    best_w = cost_w(taste, bench)
    homeless = np.empty(2 * len(bench.resident) + 1, np.int64)
    occasion = 0
    start = bench.tally[1]
    while bench.tally[1] - start < effort and best_w > enough_w:
        occasion += 1
        bench.tally[1] += _OVERHEAD + len(bench.resident) // 4
        many = _ruin(homeless, key, occasion, limit, bench)
        _place_all(homeless, many, 1.0, key, occasion, ceiling, taste, snug, bench)
        cost = cost_w(taste, bench)
        left = 1.0 - (bench.tally[1] - start) / effort
        if bench.tally[0] <= limit and cost < best_w + _THRESHOLD * stake_w * max(left, 0.0):
            _copy(bench, now)
            if cost < best_w - 1e-9:
                _copy(bench, best)
                best_w = cost
        else:
            _copy(now, bench)
    _copy(best, bench)
    return best_w


def improve(
    bench: Workbench,
    *,
    key: int,
    effort: int,
    enough_w: float,
    stake_w: float,
    limit: int,
    ceiling: Ceiling,
    taste: Taste,
    snug: float,
) -> float:
    """Search for a cheaper plan, and leave the best on the bench; gives its cost, in W up to a constant.

    Args:
        bench: the plan to start from.
        key: from which all draws come.
        effort: how many checks of a node to spend.
        enough_w: the cost at which to stop.
        stake_w: what there is to save, in W.
        limit: how many moves a plan may hold.
        ceiling: how far targets may be filled.
        taste: what a longer way and a missing image cost, and how many requests may be late.
        snug: what room left unused on a target costs, in shares of a mean node's span.
    """
    copies = [_duplicate(bench), _duplicate(bench)]
    return float(_search(key, effort, enough_w, stake_w, limit, ceiling, taste, snug, bench, *copies))


def _duplicate(bench: Workbench) -> Workbench:
    sheet = bench.sheet
    names = ("state", "target", "requested", "foreseen", "leaving", "taken", "arriving", "staying")
    sheet = sheet._replace(**{name: getattr(sheet, name).copy() for name in names})
    return bench._replace(sheet=sheet, closing=bench.closing.copy(), tally=bench.tally.copy())
