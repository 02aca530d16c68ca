"""Moves that empty no node: a container goes where a core costs less, if that repays the move within the hour.

Emptying nodes saves most, but where servers differ in watts for a core, and some moves are left to be made, a large
container on a thirsty node is worth one. Greedy: those with most to gain first, each to where it costs least.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array, compiled
from fogfold.model.node import NodeState
from fogfold.policy.workbench import CF, CI, NI, Workbench, cost_w, lift, load_w, place, price_w

__all__ = ["resettle"]

_LEAST_W = 1e-9
"""A gain smaller than this is none."""


@compiled
def _try(c: int, draws: Array, bench: Workbench) -> float:
    """Plan the move of container `c` to where it costs least; gives what it saves, in W, or 0 with nothing planned."""
    home = bench.container_int[CI.HOME, c]
    home_before_w = load_w(home, bench.node, bench.curve)
    # The target is known only afterwards; what it drew before is found by taking the move out again.
    n = place(c, 0.0, draws, bench)
    if n < 0:
        return 0.0
    after_w = load_w(home, bench.node, bench.curve) + load_w(n, bench.node, bench.curve)
    after_w += price_w(c, bench.container, bench.container_int, bench.node_int, bench.way_w, bench.image_present)
    lift(c, bench)
    before_w = home_before_w + load_w(n, bench.node, bench.curve)
    return before_w - after_w


@compiled
def _gains(gain: Array, bench: Workbench) -> None:
    draws = np.zeros(bench.node.shape[1])
    for i in range(len(bench.resident)):
        c = bench.resident[i]
        home = bench.container_int[CI.HOME, c]
        if not bench.movable[c] or bench.container_int[CI.TARGET, c] >= 0 or bench.node_int[NI.CLOSING, home] > 0:
            continue
        if bench.node_int[NI.STATE, home] != NodeState.ON:
            continue
        # Nothing can be saved beyond what the home draws for it.
        cores, used_w = bench.container[4, c], load_w(home, bench.node, bench.curve)
        if cores <= 0.0 or used_w <= bench.container[CF.MOVE_W, c]:
            continue
        gain[c] = _try(c, draws, bench)


@compiled
def _settle(order: Array, limit: int, bench: Workbench) -> None:
    draws = np.zeros(bench.node.shape[1])
    for i in range(len(order)):
        if bench.tally[0] >= limit:
            return
        if _try(order[i], draws, bench) > _LEAST_W:
            place(order[i], 0.0, draws, bench)


def resettle(bench: Workbench, *, limit: int) -> float:
    """Add moves to a plan that empty no node but pay for themselves; gives its cost, in W up to a constant.

    Args:
        bench: the plan.
        limit: how many moves it may hold.
    """
    if bench.tally[0] >= limit:
        return float(cost_w(bench))
    gain: Float[Array, " containers"] = np.zeros(bench.container.shape[1])
    _gains(gain, bench)
    order = np.argsort(-gain, kind="stable")
    _settle(order[gain[order] > _LEAST_W], limit, bench)
    return float(cost_w(bench))
