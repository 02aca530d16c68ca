"""A plan in the making: every move takes its room at once, and any stretch of moves can be taken back.

A draft starts from a view and holds what the moves so far would make of it. Room on the target is taken when a move is
drafted; room on the source is not given free, since the world keeps it until the container has arrived. So whatever a
draft says fits, fits in any order of execution. The constraints themselves stand in `encoding.feasibility` alone.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.compiled import Array
from fogfold.encoding.arrays import ClusterView
from fogfold.encoding.feasibility import reasons_into
from fogfold.encoding.rows import ContainerInt, NodeInt
from fogfold.model.node import NodeState
from fogfold.model.reason import Reason
from fogfold.policy.base import Intensity, Move, Proposal

__all__ = ["Draft"]


class Draft:
    """A plan in the making on a view.

    Args:
        view: the cluster as it stands; not changed.
        ceiling: share of each capacity that usage on a target may reach through a move, in ]0, 1].
        move_limit: most moves that the plan may hold; None for no limit.
    """

    def __init__(self, view: ClusterView, *, ceiling: float = 0.9, move_limit: int | None = None) -> None:
        self.view = view
        self.ceiling = ceiling
        self.move_limit = move_limit
        fleet = view.fleet
        self.state: Int[Array, " nodes"] = view.state.copy()
        """State of each node as the plan would have it: drained nodes are draining, woken ones waking."""
        self.target: Int[Array, " containers"] = view.target.copy()
        self.requested: Float[Array, "4 nodes"] = view.requested.copy()
        self.foreseen: Float[Array, "4 nodes"] = view.used.copy()
        """Usage of those on each node and of those on their way there."""
        self.leaving: Float[Array, "4 nodes"] = np.zeros((4, fleet.nodes))
        """Usage on each node of those on their way elsewhere."""
        self.taken: Int[Array, " nodes"] = view.accelerators_taken.copy()
        self.stays: dict[int, Reason] = {}
        self._moves: list[Move] = []
        self._reasons = np.empty(fleet.nodes, np.int32)
        self._residents: list[list[int]] = [[] for _ in range(fleet.nodes)]
        for c in np.flatnonzero(view.placement >= 0):
            self._residents[int(view.placement[c])].append(int(c))
        moving = np.flatnonzero((view.target >= 0) & (view.placement >= 0))
        for r in range(4):
            self.leaving[r] += np.bincount(view.placement[moving], view.usage[r, moving], fleet.nodes)
        self.arriving: Int[Array, " nodes"] = np.bincount(view.target[view.target >= 0], minlength=fleet.nodes)
        """How many containers are on their way to each node."""

    @property
    def moves(self) -> int:
        """How many moves the plan holds; give it to `take_back` to return here."""
        return len(self._moves)

    @property
    def full(self) -> bool:
        """Whether the plan holds as many moves as it may."""
        return self.move_limit is not None and len(self._moves) >= self.move_limit

    def load(self) -> Float[Array, "4 nodes"]:
        """Share of each capacity that would be used once all moves are done, (4, nodes)."""
        return np.maximum(self.foreseen - self.leaving, 0.0) / self.view.fleet.capacity

    def residents(self, node: int) -> list[int]:
        """Containers on a node that stay there by the plan so far, in the cluster's order."""
        return [c for c in self._residents[node] if self.target[c] < 0]

    def reasons(self, container: int) -> Int[Array, " nodes"]:
        """For each node, the `Reason` that keeps the container from it by the plan so far; 0 where it may go.

        The array is overwritten by the next call.
        """
        view, fleet = self.view, self.view.fleet
        reasons_into(
            container,
            self.ceiling,
            fleet.node,
            fleet.node_int,
            fleet.container,
            fleet.container_int,
            fleet.group,
            fleet.members,
            fleet.site_km,
            self.state,
            view.placement,
            self.target,
            view.usage,
            self.requested,
            self.foreseen,
            self.taken,
            self._reasons,
        )
        return self._reasons

    def legal(self, container: int) -> Bool[Array, " nodes"]:
        """Where the container may go by the plan so far; nowhere where the plan is full."""
        if self.full:
            return np.zeros(self.view.fleet.nodes, bool)
        return self.reasons(container) == Reason.NONE

    def move(self, container: int, node: int) -> None:
        """Add a move. The caller has asked `legal` before."""
        fleet, usage = self.view.fleet, self.view.usage[:, container]
        self._moves.append(Move(container, node))
        self.target[container] = node
        self.requested[:, node] += fleet.request[:, container]
        self.foreseen[:, node] += usage
        self.leaving[:, int(self.view.placement[container])] += usage
        self.arriving[node] += 1
        if fleet.container_int[ContainerInt.ACCELERATOR_KIND, container] >= 0:
            self.taken[node] += fleet.container_int[ContainerInt.ACCELERATOR_COUNT, container]

    def take_back(self, moves: int) -> None:
        """Drop the latest moves until the plan holds that many."""
        fleet = self.view.fleet
        while len(self._moves) > moves:
            last = self._moves.pop()
            usage = self.view.usage[:, last.container]
            self.target[last.container] = -1
            self.requested[:, last.target] -= fleet.request[:, last.container]
            self.foreseen[:, last.target] -= usage
            self.leaving[:, int(self.view.placement[last.container])] -= usage
            self.arriving[last.target] -= 1
            if fleet.container_int[ContainerInt.ACCELERATOR_KIND, last.container] >= 0:
                self.taken[last.target] -= fleet.container_int[ContainerInt.ACCELERATOR_COUNT, last.container]

    def may_sleep(self, node: int) -> bool:
        """Whether the node is on (or draining), is not bound to stay on, and nobody is on the way there."""
        on = self.state[node] in (NodeState.ON, NodeState.DRAINING)
        never = bool(self.view.fleet.node_int[NodeInt.NEVER_SLEEP, node])
        return on and not never and self.arriving[node] == 0

    def close(self, node: int) -> None:
        """Take the node out of the targets: it is to be emptied."""
        self.state[node] = NodeState.DRAINING

    def reopen(self, node: int) -> None:
        """Call the emptying off."""
        self.state[node] = self.view.state[node]

    def wake(self, node: int) -> None:
        """Wake a sleeping node (or call off its draining): moves may go there."""
        self.state[node] = NodeState.WAKING if self.view.state[node] == NodeState.ASLEEP else NodeState.ON

    def is_emptied(self, node: int) -> bool:
        """Whether nobody would be left on the node, or on the way there, once all moves are done."""
        return self.arriving[node] == 0 and all(self.target[c] >= 0 for c in self._residents[node])

    def proposal(self, policy: str, intensity: Intensity, *, sleep: Iterable[int] = ()) -> Proposal:
        """The plan as a proposal. Nodes that the draft woke are woken; `sleep` names those to put to sleep."""
        was, now = self.view.state, self.state
        woken = ((was == NodeState.ASLEEP) & (now == NodeState.WAKING)) | (
            (was == NodeState.DRAINING) & (now == NodeState.ON)
        )
        return Proposal(
            policy=policy,
            intensity=intensity,
            moves=tuple(self._moves),
            sleep=tuple(sorted(int(n) for n in sleep)),
            wake=tuple(int(n) for n in np.flatnonzero(woken)),
            stays=dict(self.stays),
        )
