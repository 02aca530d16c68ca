"""Orders that make a cluster show what it is: moves here and there, and one node after another put to sleep and woken.

Loads of every day visit a few states only, and a quiet cluster moves nothing. An exercise is no policy: it saves
nothing and is to be run where that does no harm, above all on a simulated world.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool

from fogfold.compiled import Array
from fogfold.encoding.arrays import ClusterView
from fogfold.encoding.feasibility import reason_row
from fogfold.encoding.rows import ContainerInt, NodeInt
from fogfold.model.container import Movability
from fogfold.model.node import NodeState
from fogfold.world.dynamics import SLEEP, WAKE, Orders

__all__ = ["Exercise"]

_PATIENCE = 60
"""Decisions after which a node that cannot be emptied is left alone."""


class Exercise:
    """Decides what to stir next.

    Args:
        rng: whose draws choose containers, targets and nodes.
        moves_at_once: how many moves are to be on their way.
        sleeps_for: decisions for which a node that was emptied stays asleep.
        ceiling: share of a node's capacity that usage may reach through a move.
    """

    def __init__(
        self, rng: np.random.Generator, *, moves_at_once: int = 4, sleeps_for: int = 4, ceiling: float = 0.9
    ) -> None:
        self._rng = rng
        self._moves_at_once = moves_at_once
        self._sleeps_for = sleeps_for
        self._ceiling = ceiling
        self._node = -1
        self._since = 0

    def orders(self, view: ClusterView) -> Orders:
        """What to order now."""
        power = np.zeros((1, view.fleet.nodes), np.int8)
        self._since += 1
        if self._node < 0:
            self._choose(view)
        elif view.state[self._node] == NodeState.ASLEEP and self._since > self._sleeps_for:
            power[0, self._node] = WAKE
            self._node = -1
        elif view.state[self._node] == NodeState.ON and self._is_empty(view):
            power[0, self._node] = SLEEP
            self._since = 0
        elif self._since > _PATIENCE:
            self._node = -1
        moves = np.array([self._moves(view)], np.int32).reshape(1, -1, 2)
        return Orders(moves, power)

    def _choose(self, view: ClusterView) -> None:
        may_sleep = (view.fleet.node_int[NodeInt.NEVER_SLEEP] == 0) & (view.state == NodeState.ON)
        pinned = view.fleet.container_int[ContainerInt.PINNED] >= 0
        never = view.fleet.container_int[ContainerInt.MOVABILITY] == Movability.NEVER
        may_sleep[view.placement[(pinned | never) & (view.placement >= 0)]] = False
        nodes = np.flatnonzero(may_sleep)
        if len(nodes) > 1:
            self._node, self._since = int(self._rng.choice(nodes)), 0

    def _is_empty(self, view: ClusterView) -> bool:
        return not ((view.placement == self._node) | (view.target == self._node)).any()

    def _moves(self, view: ClusterView) -> list[tuple[int, int]]:
        """Random containers to random nodes, those of the node to be emptied first."""
        still = (view.placement >= 0) & (view.target < 0)
        order = self._rng.permutation(np.flatnonzero(still))
        order = order[np.argsort(view.placement[order] != self._node, kind="stable")]
        found: list[tuple[int, int]] = []
        for c in order.tolist():
            if len(found) + int((view.target >= 0).sum()) >= self._moves_at_once:
                break
            open_to = self._targets(view, c)
            if open_to.any():
                found.append((c, int(self._rng.choice(np.flatnonzero(open_to)))))
        return found

    def _targets(self, view: ClusterView, container: int) -> Bool[Array, " nodes"]:
        legal = np.asarray(reason_row(view, container, ceiling=self._ceiling) == 0)
        legal[view.placement[container]] = False
        legal &= view.state == NodeState.ON
        if self._node >= 0:
            legal[self._node] = False
        return legal
