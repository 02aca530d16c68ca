"""A policy that knows of no budget, asked about one snapshot again and again until it stays or the budget is spent.

The suite tells a policy how many containers it may move by its figure `move_share`. One without that figure plans for
its own limits, and cutting its plan off in the middle of a node would charge it for moves that empty nothing. So only
what fits is carried out, whole nodes alone, and the policy is asked once more about what it has left behind. What a
policy proposes is not changed in any other way.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Int

from fogfold.compiled import Array
from fogfold.encoding.arrays import ClusterView
from fogfold.model.node import NodeState
from fogfold.policy.base import Intensity, Move, Policy, Proposal

__all__ = ["AskedAgain", "moves_that_fit"]

_MOST_QUESTIONS = 50
_STEP_S = 300.0
"""Time between two questions: a policy that remembers is to see time go by."""


class AskedAgain:
    """A policy whose proposals are carried out on paper, one after another, and given as one.

    Args:
        inner: the policy that is asked.
        limit: how many containers may be moved in all; None for no limit.
    """

    def __init__(self, inner: Policy, limit: int | None) -> None:
        self.name = inner.name
        self._inner, self._limit = inner, limit

    def reset(self, seed: int) -> None:
        """Forget everything."""
        self._inner.reset(seed)

    def propose(self, view: ClusterView) -> Proposal:
        """Where all its proposals together lead. Never changes the view."""
        where, state = view.placement.copy(), view.state.copy()
        most = view.fleet.containers if self._limit is None else self._limit
        for k in range(_MOST_QUESTIONS):
            seen = replace(view, placement=where.copy(), state=state.copy(), time_s=view.time_s + k * _STEP_S)
            proposal = self._inner.propose(seen)
            moves = moves_that_fit(proposal, where, frozenset(_moved(view, where)), most)
            for move in moves:
                where[move.container] = move.target
            before = state.copy()
            state[list(proposal.wake)] = NodeState.ON
            empty = np.bincount(where[where >= 0], minlength=len(state)) == 0
            asleep = [n for n in proposal.sleep if empty[n]]
            state[asleep] = NodeState.ASLEEP
            if not moves and bool((state == before).all()):
                break
        sleep = (state == NodeState.ASLEEP) & (view.state != NodeState.ASLEEP)
        woken = (state == NodeState.ON) & (view.state == NodeState.ASLEEP)
        moved = _moved(view, where)
        return Proposal(
            self.name,
            Intensity.DEEP if sleep.any() else (Intensity.LIGHT if moved else Intensity.HOLD),
            moves=tuple(Move(c, int(where[c])) for c in moved),
            sleep=tuple(np.flatnonzero(sleep).tolist()),
            wake=tuple(np.flatnonzero(woken).tolist()),
        )


def moves_that_fit(
    proposal: Proposal, where: Int[Array, " containers"], moved: frozenset[int], most: int
) -> list[Move]:
    """The moves of a proposal that a budget still allows: a node that is emptied goes whole, or not at all.

    Nodes are taken in the order in which the proposal empties them, single moves after them; one that does not fit is
    passed over. Leaving moves out never makes another one illegal, since a plan counts no room as free before a
    container has arrived elsewhere.

    Args:
        proposal: what a policy would do.
        where: the node of each container before it.
        moved: containers that were moved before, for which another move costs nothing.
        most: how many containers may be moved in all, those included.
    """
    folded = set(proposal.sleep)
    parts: dict[int, list[Move]] = {}
    for k, move in enumerate(proposal.moves):
        source = int(where[move.container])
        parts.setdefault(source if source in folded else -1 - k, []).append(move)
    done, kept = set(moved), []
    for _, part in sorted(parts.items(), key=lambda item: item[0] < 0):
        new = {move.container for move in part} - done
        if len(done) + len(new) <= most:
            kept += part
            done |= new
    return kept


def _moved(view: ClusterView, where: Int[Array, " containers"]) -> list[int]:
    """Containers that are elsewhere than in the view."""
    moved: list[int] = np.flatnonzero(where != view.placement).tolist()
    return moved
