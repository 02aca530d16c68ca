"""The one power rule of all classic rules: which empty nodes sleep, and which nodes wake, when and for what.

It is lopsided on purpose. Waking needs one decision of evidence: a container without a node that has room for it, a
hot node that finds no target, a mean load above a mark. Sleeping needs several calm decisions in a row, an hour since
the node was last woken, and room to spare on the nodes that stay on. (VMware's distributed power management asks for
5 minutes of evidence to wake and 40 to sleep.) Rules differ in their moves alone, so comparisons are about the moves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.compiled import Array
from fogfold.encoding.arrays import ClusterView
from fogfold.encoding.rows import NodeInt
from fogfold.errors import ModelError
from fogfold.model.cluster import Cluster
from fogfold.model.identity import NodeId
from fogfold.model.node import NodeState
from fogfold.model.reason import Reason
from fogfold.model.resources import check_number
from fogfold.policy.draft import Draft
from fogfold.policy.sheet import hold_room
from fogfold.policy.targets import ASLEEP, FULL, OPEN, Ceiling, Targets
from fogfold.units import HOUR_S

__all__ = ["Evidence", "PowerSwitch", "SleepingParams"]


@dataclass(frozen=True)
class SleepingParams:
    """Figures of the power rule."""

    wake_load: float = 0.6
    """Mean CPU load of the nodes that are on above which another node is woken: below the high mark of single nodes,
    since a node takes minutes to boot."""
    sleep_load: float = 0.45
    """Mean CPU load that must not be passed once a node sleeps: below `wake_load`, so that the node is not woken at the
    next ripple (VMware keeps 18 points to each side of its target)."""
    wake_space: float = 0.9
    """The same for memory, network and disk: share in use above which another node is woken."""
    sleep_space: float = 0.8
    """The same for memory, network and disk: share in use that must not be passed once a node sleeps."""
    sleep_requested: float = 0.9
    """Share of any capacity that requests may take on the nodes that stay on: some room for those that a failed node
    loses."""
    calm_decisions: int = 2
    """Decisions in a row without any wake order before a node may go to sleep."""
    cooldown_s: float = HOUR_S
    """Time for which a node stays on after it was woken, in s: no node is switched off and on more than once in it."""
    spare_nodes: int = 0
    """How many empty nodes stay on, those with the least idle power. None by default: the room that `sleep_load`
    keeps on nodes in use comes without idle power."""

    def __post_init__(self) -> None:
        for name in ("wake_load", "sleep_load", "wake_space", "sleep_space", "sleep_requested"):
            check_number(name, float(getattr(self, name)), above=True, high=1.0)
        for sleep, wake in (("sleep_load", "wake_load"), ("sleep_space", "wake_space")):
            if not getattr(self, sleep) < getattr(self, wake):
                raise ModelError(
                    f"{sleep} is {getattr(self, sleep):g} and {wake} is {getattr(self, wake):g}; {sleep} must be below "
                    f"{wake}, or a node that is sent to sleep is woken at once"
                )
        for name in ("calm_decisions", "cooldown_s", "spare_nodes"):
            check_number(name, float(getattr(self, name)))


class Evidence:
    """What the power rule remembers from one decision to the next; nodes are known by their ids."""

    def __init__(self) -> None:
        self.calm = 0
        """Decisions in a row without a wake order."""
        self._cluster: Cluster | None = None
        self._nodes: tuple[NodeId, ...] = ()
        self._time_s = -math.inf
        self._woken_s: Float[Array, " nodes"] = np.zeros(0)
        self._slept: Bool[Array, " nodes"] = np.zeros(0, bool)

    def see(self, view: ClusterView) -> None:
        """Take in a view: notice which nodes have come out of sleep since the last one."""
        if view.time_s < self._time_s:
            self.calm = 0
            self._cluster, self._nodes = None, ()
        self._align(view.fleet.cluster)
        self._time_s = view.time_s
        awake = view.on | (view.state == NodeState.WAKING)
        self._woken_s[awake & self._slept] = view.time_s
        self._slept = (view.state == NodeState.ASLEEP) | (view.state == NodeState.GOING_TO_SLEEP)

    def conclude(self, *, short: bool) -> None:
        """End a decision in which nodes were woken, or none."""
        self.calm = 0 if short else self.calm + 1

    def since_woken_s(self) -> Float[Array, " nodes"]:
        """Time since each node was last woken, in s; infinite where that was never seen."""
        return self._time_s - self._woken_s

    def memory(self) -> dict[str, Any]:
        """What is remembered, as plain JSON values; of nodes only those that were woken or sleep."""
        woken = np.isfinite(self._woken_s)
        return {
            "calm": self.calm,
            "time_s": self._time_s if math.isfinite(self._time_s) else None,
            "woken_s": {node: at_s for node, at_s, known in zip(self._nodes, self._woken_s.tolist(), woken) if known},
            "slept": [node for node, slept in zip(self._nodes, self._slept) if slept],
        }

    @classmethod
    def of(cls, memory: Mapping[str, Any]) -> Evidence:
        """The evidence with that memory.

        Raises:
            ModelError: if it is none.
        """
        out = cls()
        try:
            slept = {NodeId(str(node)) for node in memory["slept"]}
            woken_s = {NodeId(str(node)): float(at_s) for node, at_s in memory["woken_s"].items()}
            out.calm = int(memory["calm"])
            out._time_s = -math.inf if memory["time_s"] is None else float(memory["time_s"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelError(f"a memory of the power rule cannot be read ({error!r}); let it begin anew") from error
        out._nodes = tuple(sorted(slept | woken_s.keys()))
        out._woken_s = np.array([woken_s.get(node, -np.inf) for node in out._nodes])
        out._slept = np.array([node in slept for node in out._nodes], bool)
        return out

    def _align(self, cluster: Cluster) -> None:
        """Carry memory over to another description of the cluster, by node id."""
        if cluster is self._cluster:
            return
        woken = np.full(len(cluster.nodes), -np.inf)
        slept = np.zeros(len(cluster.nodes), bool)
        for old, node in enumerate(self._nodes):
            new = cluster.node_index.get(node)
            if new is not None:
                woken[new], slept[new] = self._woken_s[old], self._slept[old]
        self._cluster, self._woken_s, self._slept = cluster, woken, slept
        self._nodes = tuple(node.id for node in cluster.nodes)


class PowerSwitch:
    """The power orders of one decision, as they come about.

    Args:
        draft: the plan so far; nodes are closed and woken on it.
        params: the figures.
        evidence: what was seen before; it has seen this view.
        targets: the nodes as targets of this plan.
        saving_wh: what each node saves by a sleep of the expected length.
    """

    def __init__(
        self,
        draft: Draft,
        params: SleepingParams,
        evidence: Evidence,
        targets: Targets,
        saving_wh: Float[Array, " nodes"],
    ) -> None:
        self.sleep: list[int] = []
        """Nodes that may sleep: empty, or emptied by the plan."""
        self.woken = 0
        """How many nodes the plan wakes (or calls off from draining) because somebody is short of room."""
        self._draft = draft
        self._params = params
        self._targets = targets
        self._saving_wh = saving_wh
        self._calm = evidence.calm >= params.calm_decisions
        self._cooling = evidence.since_woken_s() < params.cooldown_s
        fleet = draft.view.fleet
        self._demand: Float[Array, " 4"] = draft.view.usage.sum(axis=1)
        self._promised: Float[Array, " 4"] = fleet.request.sum(axis=1)
        self._capacity: Float[Array, " 4"] = fleet.capacity[:, targets.open() == OPEN].sum(axis=1)

    @property
    def calm(self) -> bool:
        """Whether nodes may go to sleep: nobody was short of room lately, nor in this decision so far."""
        return self._calm and self.woken == 0

    @property
    def can_wake(self) -> bool:
        """Whether there is a node left that could be woken or called off."""
        return len(self._off()) > 0

    def wake_where_short(self, order: Int[Array, " containers"]) -> None:
        """Wake nodes for containers that run nowhere and find no room, and while the mean load is above its mark.

        Room is held for those that find some, in the given order, so that the plan does not give it away.
        """
        view = self._draft.view
        for c in order[(view.placement[order] < 0) & (view.target[order] < 0)]:
            n = self._targets.best(int(c), self._targets.open(), FULL)
            if n < 0:
                n = self.wake_for(int(c), FULL)
            if n >= 0:
                hold_room(int(c), n, self._draft.sheet)
        while not self._bears(self._capacity, self._params.wake_load, self._params.wake_space):
            off = self._off()
            if not len(off):
                return
            fleet = view.fleet
            draining = self._draft.state[off] == NodeState.DRAINING
            thrifty = fleet.idle_w[off] / fleet.capacity[0, off]
            self._wake(int(off[np.lexsort((off, thrifty, ~draining))[0]]))

    def wake_for(self, container: int, ceiling: Ceiling) -> int:
        """Wake the node that would take the container best, and give it; -1 where waking none would help.

        Nodes that are draining are called off like nodes that are woken; that they draw power already is counted.
        """
        return self._choose(container, ceiling, np.zeros(len(self._draft.state), np.int8), self._off())

    def best_awake_or_asleep(self, container: int, ceiling: Ceiling) -> int:
        """The node that takes the container best, on or asleep; woken where it is asleep; -1 where none may."""
        asleep = self._off()
        asleep = asleep[self._draft.state[asleep] == NodeState.ASLEEP]
        n = self._choose(container, ceiling, self._targets.open(), asleep)
        return n if n >= 0 else self._targets.best(container, self._targets.open(), ceiling)

    def _choose(self, container: int, ceiling: Ceiling, wanted: Int[Array, " nodes"], off: Int[Array, " off"]) -> int:
        """The best of the wanted nodes and those that are off, which is then woken."""
        draft = self._draft
        was = draft.state[off]
        wanted[off] = np.where(was == NodeState.DRAINING, OPEN, ASLEEP)
        draft.state[off] = NodeState.WAKING
        n = self._targets.best(container, wanted, ceiling)
        draft.state[off] = was
        if n not in off:
            return n
        draft.wake(n)
        only = np.zeros(len(wanted), np.int8)
        only[n] = wanted[n]
        # With one more node awake, not all of them, a spread over nodes is judged anew.
        if self._targets.best(container, only, ceiling) != n:
            draft.reopen(n)
            return -1
        self._note_woken(n)
        return n

    def wake(self, node: int) -> None:
        """Wake a node, or keep one on that is draining; no sign of a shortage."""
        self._wake(node)
        self.woken -= 1

    def _off(self) -> Int[Array, " off"]:
        """Nodes that could be woken or called off."""
        was, now = self._draft.view.state, self._draft.state
        off = (now == was) & ((was == NodeState.ASLEEP) | (was == NodeState.DRAINING))
        off[self.sleep] = False
        return np.flatnonzero(off)

    def _wake(self, node: int) -> None:
        self._draft.wake(node)
        self._note_woken(node)

    def _note_woken(self, node: int) -> None:
        self._capacity = self._capacity + self._draft.view.fleet.capacity[:, node]
        self.woken += 1

    def _bears(self, capacity: Float[Array, " 4"], load: float, space: float) -> bool:
        """Whether all demand together stays within those shares of a capacity."""
        return bool(self._demand[0] <= load * capacity[0] and (self._demand[1:] <= space * capacity[1:]).all())

    def why_not(self, node: int) -> Reason:
        """What keeps a node from going to sleep once it is empty; `Reason.NONE` where nothing does."""
        if not self._draft.may_sleep(node):
            never = bool(self._draft.view.fleet.node_int[NodeInt.NEVER_SLEEP, node])
            return Reason.NEVER_SLEEPS if never else Reason.IN_FLIGHT
        if self._saving_wh[node] <= 0.0:
            return Reason.SCORE_LOW
        if not self.calm or self._cooling[node]:
            return Reason.COOLDOWN
        # Plain numbers: asked for every node, arrays of four would cost more than all else here.
        all_, own = self._capacity.tolist(), self._draft.view.fleet.capacity[:, node].tolist()
        share = self._params.sleep_requested
        for had, gone, promised in zip(all_, own, self._promised.tolist(), strict=True):
            left = had - gone
            if not left > 1e-9 * had or promised > share * left:
                return Reason.NO_ROOM
        marks = (self._params.sleep_load, *[self._params.sleep_space] * 3)
        for had, gone, demand, mark in zip(all_, own, self._demand.tolist(), marks, strict=True):
            if not demand <= mark * (had - gone):
                return Reason.NODE_HOT
        return Reason.NONE

    def let_go(self, node: int) -> None:
        """Send a node to sleep that is empty, or emptied by the plan; the caller has asked `why_not` before."""
        if self._draft.view.state[node] == NodeState.ON:
            self._capacity = self._capacity - self._draft.view.fleet.capacity[:, node]
        self._draft.close(node)
        self.sleep.append(node)

    def let_empty_sleep(self) -> None:
        """Send nodes to sleep that are on and empty, the most wasteful first, but for the spare ones.

        Nodes that stay for a reason found before are left: one that relief has just emptied was hot.
        """
        draft, fleet = self._draft, self._draft.view.fleet
        idle = (draft.state == NodeState.ON) & (draft.arriving == 0) & (draft.staying == 0)
        idle[list(draft.stays)] = False
        empty = np.flatnonzero(idle)
        wasteful_first = empty[np.lexsort((empty, -fleet.idle_w[empty]))]
        left = len(empty)
        for n in wasteful_first.tolist():
            reason = self.why_not(n) if left > self._params.spare_nodes else Reason.COOLDOWN
            if reason is Reason.NONE:
                self.let_go(n)
                left -= 1
            else:
                draft.stays[n] = reason
