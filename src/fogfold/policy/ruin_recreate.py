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

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from fogfold.compiled import Array, compiled
from fogfold.model.node import NodeState
from fogfold.policy.workbench import CF, CI, NI, Workbench, close_node, cost_w, lift, open_node, place
from fogfold.world.chance import chance

__all__ = ["empty_nodes", "improve"]

_THRESHOLD = 0.2
"""How much dearer than the best a plan may be at the start of a search, as a share of what one node saves."""
_BLINK = 0.03
"""Share of nodes passed over while a plan is put together again."""
_OVERHEAD = 300
"""What a round costs beside its checks, in checks of a node."""
_STALL = 0.3
"""Share of the effort after which a search that has found nothing better gives up: then there seldom is anything."""
_ORDER, _SKIP, _RUIN, _OPEN = 1, 2, 3, 4
"""What a draw is for, so that no two draws are the same number."""
_SHAKEN = 0.3
"""How far the order by size is shaken: a container may pass for this share larger than it is."""


@compiled
def _shake(homeless: Array, many: int, key: int, occasion: int, bench: Workbench) -> None:
    """Put the first `many` of the homeless in order of size, the largest first, with some chance in it."""
    weight = np.empty(many)
    for i in range(many):
        c = homeless[i]
        w = bench.container[CF.SIZE, c] * (1.0 + _SHAKEN * chance(key, c, occasion, _ORDER))
        j = i
        while j > 0 and weight[j - 1] < w:
            weight[j], homeless[j] = weight[j - 1], homeless[j - 1]
            j -= 1
        weight[j], homeless[j] = w, c


@compiled
def _place_all(homeless: Array, many: int, blink: float, key: int, occasion: int, bench: Workbench) -> None:
    """Place the first `many` of the homeless in their order; one who finds no place keeps its node open."""
    draws = np.zeros(bench.node.shape[1])
    for i in range(many):
        c = homeless[i]
        home = bench.container_int[CI.HOME, c]
        if bench.node_int[NI.CLOSING, home] == 0 or bench.container_int[CI.TARGET, c] >= 0:
            continue
        if blink > 0.0:
            for n in range(len(draws)):
                draws[n] = chance(key, n, occasion * 1_000_003 + i, _SKIP)
        if place(c, blink, draws, bench) < 0:
            open_node(home, bench)


def empty_nodes(wanted: Bool[Array, " nodes"], bench: Workbench) -> tuple[float, float]:
    """Empty all wanted nodes at once, largest containers first. Nodes of which somebody finds no place stay open.

    Gives the cost before and after, in W up to the same constant.
    """
    before_w = float(cost_w(bench))
    closing = wanted & (bench.node_int[NI.MAY_CLOSE] > 0)
    bench.node_int[NI.CLOSING, closing] = 1
    bench.node_int[NI.STATE, closing] = NodeState.DRAINING
    homeless = bench.resident[closing[bench.container_int[CI.HOME, bench.resident]]]
    homeless = homeless[np.argsort(-bench.container[CF.SIZE, homeless], kind="stable")]
    _place_all(homeless, len(homeless), 0.0, 0, 0, bench)
    return before_w, float(cost_w(bench))


@compiled
def _ruin(homeless: Array, key: int, occasion: int, limit: int, bench: Workbench) -> int:
    """Take a part of the plan out; gives how many are homeless now."""
    nodes = bench.node.shape[1]
    closing, keeping = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    closed, kept = 0, 0
    for n in range(nodes):
        if bench.node_int[NI.CLOSING, n] > 0:
            closing[closed] = n
            closed += 1
        elif bench.node_int[NI.MAY_CLOSE, n] > 0:
            keeping[kept] = n
            kept += 1
    many = 0
    opens = int(3 * chance(key, 0, occasion, _RUIN) * chance(key, 1, occasion, _RUIN) + 0.4)
    for k in range(min(opens, closed)):
        # One that was being emptied stays after all: room for another.
        closed = _open_one(closing, closed, chance(key, 2 + k, occasion, _RUIN), bench)
    for k in range(int(4 * chance(key, 5, occasion, _RUIN))):
        if kept == 0:
            break
        pick = int(kept * chance(key, 6 + k, occasion, _RUIN))
        n = keeping[pick]
        kept -= 1
        keeping[pick] = keeping[kept]
        while closed and bench.tally[0] + bench.node_int[NI.STAYING, n] > limit:
            closed = _open_one(closing, closed, chance(key, closed, occasion, _OPEN), bench)
        many = _lift_from(n, homeless, many, bench)
        close_node(n, bench)
        for i in range(bench.first[n], bench.first[n + 1]):
            homeless[many] = bench.resident[i]
            many += 1
    # What was sent to a few other nodes is sent anew.
    for k in range(int(4 * chance(key, 10, occasion, _RUIN))):
        many = _lift_from(int(nodes * chance(key, 11 + k, occasion, _RUIN)), homeless, many, bench)
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
    if bench.node_int[NI.ARRIVING, n] == 0:
        return many
    for i in range(len(bench.resident)):
        c = bench.resident[i]
        if bench.container_int[CI.TARGET, c] == n:
            lift(c, bench)
            homeless[many] = c
            many += 1
    return many


class _Kept(NamedTuple):
    """What changes on a bench, put aside."""

    node: Array
    node_int: Array
    target: Array
    tally: Array


def _empty_shelf(bench: Workbench) -> _Kept:
    return _Kept(
        np.empty_like(bench.node),
        np.empty_like(bench.node_int),
        np.empty(bench.container.shape[1], np.int64),
        np.zeros(1, np.int64),
    )


@compiled
def _put_aside(bench: Workbench, kept: _Kept) -> None:
    for n in range(bench.node.shape[1]):
        for r in range(bench.node.shape[0]):
            kept.node[r, n] = bench.node[r, n]
        for r in range(bench.node_int.shape[0]):
            kept.node_int[r, n] = bench.node_int[r, n]
    for c in range(len(kept.target)):
        kept.target[c] = bench.container_int[CI.TARGET, c]
    kept.tally[0] = bench.tally[0]


@compiled
def _take_up(kept: _Kept, bench: Workbench) -> None:
    for n in range(bench.node.shape[1]):
        for r in range(bench.node.shape[0]):
            bench.node[r, n] = kept.node[r, n]
        for r in range(bench.node_int.shape[0]):
            bench.node_int[r, n] = kept.node_int[r, n]
    for c in range(len(kept.target)):
        bench.container_int[CI.TARGET, c] = kept.target[c]
    bench.tally[0] = kept.tally[0]


@compiled
def _search(
    key: int, effort: int, enough_w: float, stake_w: float, limit: int, bench: Workbench, now: _Kept, best: _Kept
) -> float:
    _put_aside(bench, now)
    _put_aside(bench, best)
    best_w = cost_w(bench)
    homeless = np.empty(2 * len(bench.resident) + 1, np.int64)
    start, occasion = bench.tally[1], 0
    found_at = start
    slack_w = _THRESHOLD * stake_w / max(1, bench.node_int[NI.CLOSING].sum())
    while bench.tally[1] - start < effort and bench.tally[1] - found_at < _STALL * effort and best_w > enough_w:
        occasion += 1
        bench.tally[1] += _OVERHEAD + len(bench.resident)
        many = _ruin(homeless, key, occasion, limit, bench)
        _shake(homeless, many, key, occasion, bench)
        _place_all(homeless, many, _BLINK, key, occasion, bench)
        found_w = cost_w(bench)
        left = 1.0 - (bench.tally[1] - start) / effort
        if bench.tally[0] <= limit and found_w < best_w + slack_w * max(left, 0.0):
            _put_aside(bench, now)
            if found_w < best_w - 1e-9:
                _put_aside(bench, best)
                best_w, found_at = found_w, bench.tally[1]
        else:
            _take_up(now, bench)
    _take_up(best, bench)
    return best_w


def improve(bench: Workbench, *, key: int, effort: int, enough_w: float, stake_w: float, limit: int) -> float:
    """Search for a cheaper plan, and leave the best on the bench; gives its cost, in W up to a constant.

    Args:
        bench: the plan to start from.
        key: from which all draws come.
        effort: how many checks of a node to spend.
        enough_w: the cost at which to stop.
        stake_w: what there is to save, in W.
        limit: how many moves a plan may hold.
    """
    return float(_search(key, effort, enough_w, stake_w, limit, bench, _empty_shelf(bench), _empty_shelf(bench)))
