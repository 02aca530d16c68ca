"""A plan in the making: every move takes its room at once, and any stretch of moves can be taken back.

A draft starts from a view and holds what the moves so far would make of it. Room on the target is taken when a move is
drafted; room on the source is not given free, since the world keeps it until the container has arrived. So whatever a
draft says fits, fits in any order of execution. The constraints themselves stand in `encoding.feasibility` alone.

Nodes that are to be emptied count as draining from the moment they are closed: whoever carries a plan out closes them
to newcomers first, and moves then.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.compiled import Array
from fogfold.encoding.arrays import ClusterView
from fogfold.encoding.feasibility import reasons_into
from fogfold.encoding.rows import NodeInt
from fogfold.model.node import NodeState
from fogfold.model.reason import Reason
from fogfold.policy.base import Intensity, Move, Proposal
from fogfold.policy.sheet import SAVED, Sheet, give_back, take

__all__ = ["Draft"]


class Draft:
    """A plan in the making on a view.

    Args:
        view: the cluster as it stands; not changed.
        ceiling: share of each capacity that usage on a target may reach through a move, in ]0, 1].
        move_limit: most moves that the plan may hold; None for no limit.
        with_history: whether to keep what each node's containers used earlier (`history`); costs some time.
    """

    def __init__(
        self,
        view: ClusterView,
        *,
        ceiling: float = 0.9,
        move_limit: int | None = None,
        with_history: bool = False,
    ) -> None:
        self.view = view
        self.ceiling = ceiling
        self.move_limit = move_limit
        fleet = view.fleet
        nodes, containers = fleet.nodes, fleet.containers
        self.state: Int[Array, " nodes"] = view.state.copy()
        """State of each node as the plan would have it: drained nodes are draining, woken ones waking."""
        self.target: Int[Array, " containers"] = view.target.copy()
        self.requested: Float[Array, "4 nodes"] = view.requested.copy()
        self.foreseen: Float[Array, "4 nodes"] = view.used.copy()
        """Usage of those on each node and of those on their way there."""
        self.leaving: Float[Array, "4 nodes"] = np.zeros((4, nodes))
        """Usage on each node of those on their way elsewhere."""
        self.taken: Int[Array, " nodes"] = view.accelerators_taken.copy()
        self.stays: dict[int, Reason] = {}
        here = np.flatnonzero(view.placement >= 0)
        away = view.target >= 0
        moving = here[away[here]]
        for r in range(4):
            self.leaving[r] += np.bincount(view.placement[moving], view.usage[r, moving], nodes)
        self.arriving: Int[Array, " nodes"] = np.bincount(view.target[away], minlength=nodes)
        """How many containers are on their way to each node."""
        self.staying: Int[Array, " nodes"] = np.bincount(view.placement[here[~away[here]]], minlength=nodes)
        """How many containers are on each node and stay there by the plan so far."""
        ends = fleet.site_of[np.stack([view.placement[moving], view.target[moving]])]
        self.crossing: Int[Array, " sites"] = np.bincount(ends[:, ends[0] != ends[1]].ravel(), minlength=fleet.sites)
        """How many moves take each site's uplink, to leave it or to reach it."""
        past = view.cpu_history if with_history else view.cpu_history[:0]
        if not past.shape[1]:
            past = np.zeros((0, containers))
        self.history: Float[Array, "nodes samples"] = _history_by_node(view, past)
        """CPU usage that those on each node, or on their way there, had at earlier decisions, over the node's cores,
        newest last; it follows the containers, not the node."""
        self.by_node: Int[Array, " placed"] = here[np.argsort(view.placement[here], kind="stable")]
        """Containers that run somewhere as the cluster stands, node after node, on each in the cluster's order."""
        self.first: Int[Array, " nodes_edges"] = np.searchsorted(view.placement[self.by_node], np.arange(nodes + 1))
        """Where each node's containers start in `by_node`; one more at the end."""
        self._reasons = np.empty(nodes, np.int32)
        self.sheet = Sheet(
            node=fleet.node,
            node_int=fleet.node_int,
            curve=fleet.power_curve,
            container=fleet.container,
            container_int=fleet.container_int,
            group=fleet.group,
            members=fleet.members,
            site_km=fleet.site_km,
            usage=view.usage,
            placement=view.placement,
            image_present=view.image_present,
            cpu_history=np.ascontiguousarray(past.T),
            state=self.state,
            target=self.target,
            requested=self.requested,
            foreseen=self.foreseen,
            leaving=self.leaving,
            taken=self.taken,
            arriving=self.arriving,
            crossing=self.crossing,
            staying=self.staying,
            history=self.history,
            moved=np.empty((containers, 2), np.int32),
            saved=np.empty((containers, SAVED + len(past))),
            length=np.zeros(1, np.int64),
        )
        """The same arrays for compiled loops; they are written in place and never replaced."""

    @property
    def moves(self) -> int:
        """How many moves the plan holds; give it to `take_back` to return here."""
        return int(self.sheet.length[0])

    @property
    def room_for_moves(self) -> int:
        """How many more moves the plan may hold."""
        limit = self.view.fleet.containers if self.move_limit is None else self.move_limit
        return max(0, limit - self.moves)

    @property
    def full(self) -> bool:
        """Whether the plan holds as many moves as it may."""
        return self.move_limit is not None and self.moves >= self.move_limit

    def load(self) -> Float[Array, "4 nodes"]:
        """Share of each capacity that would be used once all moves are done, (4, nodes)."""
        return np.maximum(self.foreseen - self.leaving, 0.0) / self.view.fleet.capacity

    def load_of(self, node: int) -> Float[Array, " 4"]:
        """The same for one node."""
        left = np.maximum(self.foreseen[:, node] - self.leaving[:, node], 0.0)
        return left / self.view.fleet.capacity[:, node]

    def everyone(self, node: int) -> Int[Array, " here"]:
        """Containers on a node as the cluster stands, in its order."""
        return self.by_node[self.first[node] : self.first[node + 1]]

    def stayers(self, node: int) -> Int[Array, " residents"]:
        """Those of them that stay there by the plan so far."""
        here = self.everyone(node)
        return here[self.target[here] < 0]

    def residents(self, node: int) -> list[int]:
        """Containers on a node that stay there by the plan so far, as a list in the cluster's order."""
        return [int(c) for c in self.stayers(node)]

    def reasons(self, container: int) -> Int[Array, " nodes"]:
        """For each node, the `Reason` that keeps the container from it by the plan so far; 0 where it may go.

        A container that runs nowhere can be started, not moved: `UNPLACED` everywhere. The array is overwritten by
        the next call.
        """
        view, fleet = self.view, self.view.fleet
        if view.placement[container] < 0:
            self._reasons[:] = Reason.UNPLACED
            return self._reasons
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
        take(container, node, self.sheet)

    def take_back(self, moves: int) -> None:
        """Drop the latest moves until the plan holds that many; every sum is then what it was, to the last bit."""
        give_back(moves, self.sheet)

    def may_sleep(self, node: int) -> bool:
        """Whether the node is on (or draining), is not bound to stay on, and nobody is on the way there."""
        on = int(self.state[node]) in (NodeState.ON, NodeState.DRAINING)
        never = bool(self.view.fleet.node_int[NodeInt.NEVER_SLEEP, node])
        return on and not never and int(self.arriving[node]) == 0

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
        return bool(self.arriving[node] == 0 and self.staying[node] == 0)

    def proposal(self, policy: str, intensity: Intensity, *, sleep: Iterable[int] = ()) -> Proposal:
        """The plan as a proposal. Nodes that the draft woke are woken; `sleep` names those to put to sleep."""
        was, now = self.view.state, self.state
        woken = ((was == NodeState.ASLEEP) & (now == NodeState.WAKING)) | (
            (was == NodeState.DRAINING) & (now == NodeState.ON)
        )
        return Proposal(
            policy=policy,
            intensity=intensity,
            moves=tuple(Move(c, n) for c, n in self.sheet.moved[: self.moves].tolist()),
            sleep=tuple(sorted(int(n) for n in sleep)),
            wake=tuple(int(n) for n in np.flatnonzero(woken)),
            stays=dict(self.stays),
        )


def _history_by_node(view: ClusterView, past: Float[Array, "samples containers"]) -> Float[Array, "nodes samples"]:
    """Sum of the containers' earlier usage over the cores of the node where they are or are going."""
    nodes = view.fleet.nodes
    total = np.zeros((nodes, len(past)))
    for where in (view.placement, view.target):
        there = np.flatnonzero(where >= 0)
        for s in range(len(past)):
            total[:, s] += np.bincount(where[there], past[s, there], nodes)
    return total / view.fleet.capacity[0][:, None]
