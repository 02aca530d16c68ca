"""A policy that never rests: folds as another does, moves others to and fro, and wakes nodes for no reason.

It is there to have much under way whenever something goes wrong, and proposes nothing that anybody should do. What it
proposes is legal one by one; whether it is so all together is for the guard to find out.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fogfold.encoding.arrays import ClusterView
from fogfold.encoding.feasibility import mask
from fogfold.model.node import NodeState
from fogfold.policy.base import Intensity, Move, Policy, Proposal

__all__ = ["Restless"]

_MOVES = 2
_WAKE_SHARE = 0.3


class Restless:
    """Another policy's proposals, and more.

    Args:
        inner: the other one.
        rng: what else; a stream of its own.
    """

    name = "restless"

    def __init__(self, inner: Policy, rng: np.random.Generator) -> None:
        self._inner, self._rng = inner, rng

    def reset(self, seed: int) -> None:
        """Have the other one forget everything; the draws go on."""
        self._inner.reset(seed)

    def propose(self, view: ClusterView) -> Proposal:
        """What the other one proposes, some random moves, and now and then a node to wake."""
        proposal, rng = self._inner.propose(view), self._rng
        taken = {move.container for move in proposal.moves}
        emptied = set(proposal.sleep)
        loaded = set(view.placement.tolist()) - emptied
        moves = list(proposal.moves)
        rest = [
            c
            for c in rng.permutation(view.fleet.containers)[: 8 * _MOVES].tolist()
            if c not in taken and view.placement[c] >= 0
        ]
        open_to = mask(view, np.array(rest, np.int64), ceiling=0.8)
        for c, nodes in zip(rest, open_to, strict=True):
            targets = [n for n in np.flatnonzero(nodes).tolist() if n in loaded and n != view.placement[c]]
            if targets and len(moves) < len(proposal.moves) + _MOVES:
                moves.append(Move(c, targets[int(rng.integers(len(targets)))]))
        sleeping = np.flatnonzero(view.state == NodeState.ASLEEP)
        wake = proposal.wake
        if len(sleeping) and rng.random() < _WAKE_SHARE:
            wake = tuple(dict.fromkeys((*wake, int(rng.choice(sleeping)))))
        return replace(proposal, policy=self.name, intensity=Intensity.DEEP, moves=tuple(moves), wake=wake)
