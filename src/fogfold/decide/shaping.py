"""Proposals cut to size: single moves that ease, single nodes that fold, single nodes that wake.

Rules propose all or nothing by marks that are the same for every node. Here each piece is weighed by itself
(`weighing`), and the best few of each kind are proposed, to be rehearsed like any other proposal. All constraints
are those of a draft.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array
from fogfold.decide.weighing import Scales
from fogfold.encoding.arrays import ClusterView
from fogfold.encoding.rows import NodeRow
from fogfold.model.node import NodeState
from fogfold.model.resources import check_number
from fogfold.policy.base import Intensity, Proposal
from fogfold.policy.draft import Draft
from fogfold.policy.worth import estimate_moves, move_cost_wh, sleep_saving_wh
from fogfold.units import HOUR_S

__all__ = ["Shaping", "ShapingParams"]


@dataclass(frozen=True)
class ShapingParams:
    """Figures of the pieces.

    Raises:
        ModelError: if a figure is out of its range.
    """

    hours: float = 2.0
    """How long a piece is expected to last, in h: what it saves by then must be more than what it costs."""
    margin: float = 1.5
    """Least gain of a move that eases, as a multiple of what the move costs."""
    move_share: float = 0.1
    """Most containers on the move at once, as a share of all (at least eight)."""
    folds: int = 3
    """How many single nodes are proposed to fold."""
    looked_at: int = 24
    """How many nodes are looked at for that, and how many containers for a move that eases."""
    most_eased: int = 8
    """Most moves of a proposal that eases."""

    def __post_init__(self) -> None:
        for name in ("hours", "margin", "move_share", "folds", "looked_at", "most_eased"):
            check_number(name, getattr(self, name))


class Shaping:
    """Makes the proposals of one decision.

    Args:
        view: the cluster as it stands.
        scales: what weighs; made for this view, and back as it was after each proposal.
        params: the figures.
    """

    def __init__(self, view: ClusterView, scales: Scales, params: ShapingParams) -> None:
        self._view, self._scales, self._params = view, scales, params
        self._cost_wh = move_cost_wh(view, estimate_moves(view))
        limit = max(8, math.ceil(params.move_share * view.fleet.containers)) - int((view.target >= 0).sum())
        self._draft = Draft(view, ceiling=0.9, move_limit=max(0, limit))
        self._slept: list[int] = []
        # Shutting down, sleeping and booting, less what standing idle costs as long.
        long_s = params.hours * HOUR_S
        self._rest_wh = view.fleet.idle_w * params.hours - sleep_saving_wh(view, long_s)
        self._saving_w = view.fleet.idle_w

    def proposals(self) -> list[Proposal]:
        """All pieces worth a rehearsal; none twice."""
        found: list[Proposal] = []

        def keep(name: str) -> None:
            proposal = self._proposal(name)
            self._restart()
            if proposal.moves or proposal.sleep or proposal.wake:
                found.append(proposal)

        self._ease()
        keep("ease")
        gains = [(self._fold_gain(n), n) for n in self._foldable()]
        best = [n for gain, n in sorted(gains, key=lambda pair: (-pair[0], pair[1])) if gain > 0.0]
        for place, n in enumerate(best[: self._params.folds]):
            self._fold(n)
            keep(f"fold-{place + 1}")
        if len(best) > 1:
            for n in best:
                if self._fold_gain(n) > 0.0:
                    self._fold(n)
            keep("fold-many")
        if best:
            self._fold(best[0])
            self._ease()
            keep("fold-1-ease")
        for place, n in enumerate(self._unfoldable()):
            self._draft.wake(n)
            self._ease(only=n)
            keep(f"unfold-{place + 1}")
        return found

    def _proposal(self, name: str) -> Proposal:
        intensity = Intensity.DEEP if self._slept else Intensity.LIGHT if self._draft.moves else Intensity.HOLD
        return self._draft.proposal(name, intensity, sleep=self._slept)

    def _restart(self) -> None:
        self._undo(0)
        self._draft.state[:] = self._view.state
        self._slept = []

    def _undo(self, moves: int) -> None:
        moved = self._draft.sheet.moved[moves : self._draft.moves, 0].tolist()
        self._draft.take_back(moves)
        for c in reversed(moved):
            self._scales.move(c, int(self._view.placement[c]))

    def _move(self, container: int, node: int) -> None:
        self._draft.move(container, node)
        self._scales.move(container, node)

    def _open(self) -> Array:
        """Nodes that may receive: on or woken, with containers already, or woken for the purpose."""
        draft = self._draft
        used = (draft.staying > 0) | (draft.arriving > 0)
        return ((draft.state == NodeState.ON) & used) | (draft.state == NodeState.WAKING)

    def _ease(self, *, only: int | None = None) -> None:
        """Moves that lower the cost of the cluster as it is, the best first."""
        params, draft = self._params, self._draft
        for _ in range(params.most_eased):
            if draft.full:
                return
            free = np.flatnonzero((self._view.placement >= 0) & (draft.target < 0))
            removed = self._scales.removed_w(free)
            best: tuple[float, int, int] | None = None
            for i in np.argsort(-removed, kind="stable")[: params.looked_at].tolist():
                c = int(free[i])
                wanted = draft.legal(c) & self._open()
                if only is not None:
                    wanted &= np.arange(len(wanted)) == only
                if not wanted.any():
                    continue
                added = self._scales.added_w(c, wanted)
                n = int(np.argmin(added))
                gain = (removed[i] - added[n]) * params.hours - params.margin * self._cost_wh[c]
                if gain > 0.0 and (best is None or gain > best[0]):
                    best = (gain, c, n)
            if best is None:
                return
            self._move(best[1], best[2])

    def _foldable(self) -> list[int]:
        draft, fleet = self._draft, self._view.fleet
        may = [n for n in np.flatnonzero(draft.state == NodeState.ON).tolist() if draft.may_sleep(n)]
        here = self._view.placement
        cost = np.bincount(here[here >= 0], self._cost_wh[here >= 0], fleet.nodes)
        order = sorted(may, key=lambda n: (-(fleet.idle_w[n] * self._params.hours - cost[n]), n))
        return order[: self._params.looked_at]

    def _fold_gain(self, node: int) -> float:
        """What folding the node gains by the end of the expected sleep; -inf where somebody cannot leave."""
        before = self._draft.moves
        if not self._draft.may_sleep(node):
            return -math.inf
        gain = self._fold(node)
        self._undo(before)
        if node in self._slept:
            self._slept.remove(node)
        self._draft.reopen(node)
        return gain

    def _fold(self, node: int) -> float:
        """Empty the node where everybody finds a place; gives what that gains."""
        draft, before, gain = self._draft, self._draft.moves, 0.0
        draft.close(node)
        for c in self._decreasing(draft.stayers(node)):
            wanted = draft.legal(c) & self._open()
            if not wanted.any():
                self._undo(before)
                draft.reopen(node)
                return -math.inf
            removed = float(self._scales.removed_w(np.array([c]))[0])
            added = self._scales.added_w(c, wanted)
            n = int(np.argmin(added))
            gain += (removed - added[n]) * self._params.hours - self._cost_wh[c]
            self._move(c, n)
        self._slept.append(node)
        return gain + self._saving_w[node] * self._params.hours - self._rest_wh[node]

    def _decreasing(self, containers: Int[Array, " some"]) -> list[int]:
        fleet = self._view.fleet
        size: Float[Array, " some"] = (fleet.request[:, containers] / fleet.capacity.mean(axis=1)[:, None]).max(axis=0)
        return [int(c) for c in containers[np.argsort(-size, kind="stable")]]

    def _unfoldable(self) -> list[int]:
        """Sleeping nodes worth a look: those with the least idle power for a core, two kinds at most."""
        fleet = self._view.fleet
        asleep = np.flatnonzero(self._view.state == NodeState.ASLEEP)
        thrifty = asleep[np.argsort(fleet.idle_w[asleep] / fleet.capacity[0, asleep], kind="stable")]
        fast = asleep[np.argsort(-fleet.node[NodeRow.CORE_SPEED, asleep], kind="stable")]
        return list(dict.fromkeys([int(n) for n in [*thrifty[:1], *fast[:1]]]))
