"""Moves on a simulated cluster: the `Orchestrator` port. Marks are kept beside the world, which knows none.

Acts can fail as they do elsewhere: a share of moves breaks, and a share of answers is lost, after the act or before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fogfold.adapters.simulated.cluster import SimulatedCluster
from fogfold.control.failure import PortTimeoutError
from fogfold.control.orders import MoveOrder
from fogfold.control.ports import Capabilities, MoveSight, MoveStatus
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.migration import MigrationState
from fogfold.model.resources import check_number
from fogfold.world.phase import STATE_OF_PHASE, Phase
from fogfold.world.rows import CI, C

__all__ = ["SimulatedOrchestrator"]


@dataclass
class _Attempt:
    container: int
    source: int
    target: int
    ordered_at: int
    moves_before: int
    breaks: bool
    is_given_up: bool = False


class SimulatedOrchestrator:
    """The `Orchestrator` port of a simulated cluster.

    Args:
        cluster: where things move.
        rng: chance of the failures below; a stream of its own.
        move_failure: share of moves that break beside those that the world breaks, in [0, 1].
        lost_answers: share of calls that time out, half of them after they were carried out, in [0, 1].
    """

    def __init__(
        self,
        cluster: SimulatedCluster,
        rng: np.random.Generator,
        *,
        move_failure: float = 0.0,
        lost_answers: float = 0.0,
    ) -> None:
        self._cluster, self._rng = cluster, rng
        check_number("move_failure", move_failure, high=1.0)
        check_number("lost_answers", lost_answers, high=1.0)
        self.move_failure, self._lost_answers = move_failure, lost_answers
        self._attempts: dict[str, _Attempt] = {}

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        return Capabilities(live=True, restart=True, exact_target=True)

    async def start(self, key: str, move: MoveOrder, *, live: bool, rate_limit_bit_s: float | None) -> None:
        """Begin a move; the world knows by itself which move live, and how fast."""
        del live, rate_limit_bit_s
        is_lost = self._lose("start")
        if key not in self._attempts:
            cluster = self._cluster
            container, target = cluster.container(move.container), cluster.node(move.target)
            before = int(cluster.state().container_int[0, CI.MOVES, container])
            breaks = bool(self._rng.random() < self.move_failure)
            if not breaks:
                cluster.order_move(container, target)
            self._attempts[key] = _Attempt(container, cluster.node(move.source), target, cluster.tick, before, breaks)
        self._answer(is_lost, "start")

    async def watch(self, key: str, container: ContainerId) -> MoveSight:
        """How the move stands now."""
        cluster, c = self._cluster, self._cluster.container(container)
        runs_on = self._runs_on(c)
        attempt = self._attempts.get(key)
        if attempt is None:
            return MoveSight(MoveStatus.UNKNOWN, runs_on)
        state = cluster.state()
        if cluster.tick <= attempt.ordered_at and not attempt.is_given_up:
            return MoveSight(MoveStatus.RESERVED, runs_on, 0.0)
        figures = state.container_int[0, :, c]
        made = int(figures[CI.MOVES])
        if attempt.is_given_up or attempt.breaks:
            detail = "the copy broke off" if attempt.breaks else "given up"
            return MoveSight(MoveStatus.FAILED, runs_on, detail=detail)
        if made == attempt.moves_before:
            return MoveSight(MoveStatus.FAILED, runs_on, detail="refused by the cluster: no room, or not allowed there")
        if made == attempt.moves_before + 1 and figures[CI.TARGET] >= 0:
            status = STATE_OF_PHASE[Phase(int(figures[CI.PHASE]))]
            sent = state.container[0, C.SENT_BYTES, c]
            size = max(float(state.container[0, C.USAGE_MEMORY, c]), 1.0)
            moving = status is MigrationState.MOVING
            return MoveSight(
                MoveStatus.MOVING if moving else MoveStatus.RESERVED, runs_on, min(1.0, float(sent) / size)
            )
        if runs_on == cluster.cluster.nodes[attempt.target].id:
            return MoveSight(MoveStatus.ARRIVED, runs_on, 1.0)
        return MoveSight(MoveStatus.FAILED, runs_on, detail="it did not arrive, or was elsewhere soon after")

    async def undo(self, key: str, move: MoveOrder) -> None:
        """Give the move up; where it has arrived it stays."""
        is_lost = self._lose("undo")
        attempt = self._attempts.get(key)
        if attempt is not None and not (attempt.is_given_up or attempt.breaks):
            cluster = self._cluster
            figures = cluster.state().container_int[0, :, attempt.container]
            own = int(figures[CI.MOVES]) == attempt.moves_before + 1 and figures[CI.TARGET] >= 0
            if own or cluster.tick <= attempt.ordered_at:
                cluster.give_up(cluster.container(move.container))
                attempt.is_given_up = True
        self._answer(is_lost, "undo")

    async def cordon(self, node: NodeId, mark: str) -> None:
        """Put our mark on a node."""
        is_lost = self._lose("cordon")
        self._cluster.node(node)
        self._cluster.marks[node] = mark
        self._answer(is_lost, "cordon")

    async def uncordon(self, node: NodeId) -> None:
        """Remove our mark."""
        is_lost = self._lose("uncordon")
        self._cluster.node(node)
        self._cluster.marks.pop(node, None)
        self._answer(is_lost, "uncordon")

    async def marks(self) -> Mapping[NodeId, str]:
        """Every node that bears a mark of ours."""
        return dict(self._cluster.marks)

    def _runs_on(self, container: int) -> NodeId | None:
        n = int(self._cluster.state().container_int[0, CI.PLACEMENT, container])
        return self._cluster.cluster.nodes[n].id if n >= 0 else None

    def _lose(self, call: str) -> bool:
        """Whether the answer is lost after the act. Raises where the call is lost before it."""
        if self._lost_answers == 0.0 or self._rng.random() >= self._lost_answers:
            return False
        if self._rng.random() < 0.5:
            raise PortTimeoutError(f"{call} was not answered; it was not taken")
        return True

    @staticmethod
    def _answer(is_lost: bool, call: str) -> None:
        if is_lost:
            raise PortTimeoutError(f"{call} was not answered; it may have been taken")
