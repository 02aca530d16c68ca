"""One decision as a problem to be solved: who may go where, and what each node that stays on and each move costs.

Bounds, exact plans and referees need the same words for the same cluster, so they stand here once. A folding asks: in
one decision, which nodes sleep, and where do their containers go, so that the mean power over the time after it, with
the price of the moves spread over that time, is least? What one decision cannot change (containers on the move, those
that run nowhere) is part of the question, not of the answer.

The hard constraints are those of `encoding.feasibility`, in two parts. *Reach* is what no other move can change:
instruction set, accelerators, pins, distance to data, users who would wait too long. Room, usage and groups depend on
the other moves, and are stated by whoever solves a folding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.compiled import Array
from fogfold.cost.power import node_power_w
from fogfold.cost.total import ExchangeRates
from fogfold.encoding.arrays import ClusterView
from fogfold.encoding.rows import ContainerInt, ContainerRow, GroupRow, NodeInt, NodeRow
from fogfold.model.container import Movability
from fogfold.model.node import NodeState
from fogfold.policy.targets import Ceiling, trip_to_users_ms
from fogfold.policy.worth import estimate_moves, move_cost_wh, sleep_saving_wh
from fogfold.units import HOUR_S

__all__ = ["Folding", "folding_of"]


@dataclass(frozen=True)
class Folding:
    """One decision as a problem. Containers that run nowhere, or on a node that is not awake, are left out of it."""

    view: ClusterView
    ceiling: Ceiling
    """How far usage on a target may go."""
    home: Int[Array, " containers"]
    """Where each container is when nothing more is moved: where it runs or is going; -1 where it is left out."""
    movable: Bool[Array, " containers"]
    """Whether the decision may move it, and some other node is within its reach."""
    kind: Int[Array, " containers"]
    """Row of `reach` of each container."""
    reach: Bool[Array, "kinds nodes"]
    """Nodes to which containers of a kind may ever go. Staying at home is always allowed."""
    may_run: Bool[Array, " nodes"]
    """Whether the node may run containers after the decision."""
    may_rest: Bool[Array, " nodes"]
    """Whether it may be asleep after it: it need not stay on, and everybody there could leave."""
    awake_w: Float[Array, " nodes"]
    """What being awake costs without load, in W."""
    asleep_w: Float[Array, " nodes"]
    """What being asleep costs, in W, the switching spread over the time of the sleep."""
    move_w: Float[Array, " containers"]
    """Price of moving each container, in W over that time."""
    moves_left: Int[Array, " groups"]
    """How many more members of each group may be on the move."""

    @cached_property
    def amount(self) -> Float[Array, "8 containers"]:
        """What each container takes on its node: its requests, then its usage; nothing where it is left out."""
        both = np.concatenate([self.view.fleet.request, self.view.usage])
        return np.where(self.home >= 0, both, 0.0)

    @cached_property
    def at_home(self) -> Float[Array, "8 nodes"]:
        """The same for each node, of those whose home it is."""
        return np.array([self.by_home(row) for row in self.amount])

    @cached_property
    def room(self) -> Float[Array, "8 nodes"]:
        """What arrivals may fill a node up to: its capacity by requests, its ceiling by usage."""
        capacity = self.view.fleet.capacity
        share = np.array([self.ceiling.cpu, self.ceiling.space, self.ceiling.space, self.ceiling.space])
        return np.concatenate([capacity, share[:, None] * capacity])

    @cached_property
    def most(self) -> Float[Array, "8 nodes"]:
        """What a node may hold after the decision: its room, or what it has where that is more."""
        return np.maximum(self.room, self.at_home)

    def by_home(self, amount: Float[Array, " containers"]) -> Float[Array, " nodes"]:
        """Sum over the containers whose home each node is."""
        there = np.flatnonzero(self.home >= 0)
        return np.bincount(self.home[there], amount[there], self.view.fleet.nodes)

    def may_go(self, container: int) -> Bool[Array, " nodes"]:
        """Nodes on which the container may be after the decision, its home included."""
        where: Bool[Array, " nodes"] = np.zeros(self.view.fleet.nodes, bool)
        if self.movable[container]:
            where |= self.reach[self.kind[container]]
        if self.home[container] >= 0:
            where[self.home[container]] = True
        return where

    @cached_property
    def awake_anyway(self) -> Bool[Array, " nodes"]:
        """Which nodes are awake after a decision that does nothing."""
        state = self.view.state
        drained = (state == NodeState.DRAINING) & (self.by_home(np.ones(len(self.home))) == 0)
        return _awake(self.view) & ~drained

    def mean_power_w(self, where: Int[Array, " containers"], awake: Bool[Array, " nodes"]) -> float:
        """What a plan costs: mean power of all nodes on their full curves, and the price of its moves, in W.

        Args:
            where: the node of each container after the plan; ignored for those that are left out.
            awake: which nodes are awake after it.
        """
        fleet = self.view.fleet
        counted = np.flatnonzero(self.home >= 0)
        cores = np.bincount(where[counted], self.view.usage[0, counted], fleet.nodes)
        running_w = node_power_w(np.minimum(cores / fleet.capacity[0], 1.0), fleet.power_curve) - fleet.idle_w
        moved = counted[where[counted] != self.home[counted]]
        return float(np.where(awake, self.awake_w + running_w, self.asleep_w).sum() + self.move_w[moved].sum())

    @property
    def anyway_w(self) -> float:
        """What doing nothing costs, in W."""
        return self.mean_power_w(self.home, self.awake_anyway)


def folding_of(
    view: ClusterView,
    *,
    ceiling: Ceiling,
    sleep_s: float = HOUR_S,
    waking: bool = True,
    patience: bool = True,
    rates: ExchangeRates | None = None,
    trip_ms: Float[Array, "containers sites"] | None = None,
) -> Folding:
    """The decision that a view asks for, as a problem.

    Args:
        view: the cluster as it stands.
        ceiling: how far usage on a target may go.
        sleep_s: how long a node is expected to sleep, in s: savings and prices are spread over that time.
        waking: whether sleeping nodes may be woken.
        patience: whether nodes are out of reach where the round trip alone uses up a container's latency objective
            (unless it is as far from its users now).
        rates: what moves cost; the defaults where none are given.
        trip_ms: as `targets.trip_to_users_ms` gives it, where it has been made before.
    """
    fleet = view.fleet
    awake = _awake(view)
    home = np.where(view.target >= 0, view.target, view.placement).astype(np.int64)
    home[(home >= 0) & ~awake[home]] = -1
    may_run = awake | ((view.state == NodeState.ASLEEP) & waking)
    if trip_ms is None and patience:
        trip_ms = trip_to_users_ms(fleet)
    kind, reach = _reach(view, may_run, _sites_in_reach(view, trip_ms if patience else None))
    moves_left = _moves_left(view)
    group = fleet.container_int[ContainerInt.GROUP]
    movable = (home >= 0) & (view.target < 0) & (fleet.container_int[ContainerInt.MOVABILITY] != Movability.NEVER)
    movable &= (group < 0) | (moves_left[group] > 0) if len(moves_left) else True
    elsewhere = reach.sum(axis=1)[kind] - reach[kind, np.maximum(home, 0)]
    movable &= elsewhere > 0
    hours = sleep_s / HOUR_S
    saving_w = sleep_saving_wh(view, sleep_s) / hours
    asleep = view.state == NodeState.ASLEEP
    boot_w = fleet.node[NodeRow.WAKE_W] * fleet.node[NodeRow.WAKE_S] / sleep_s
    resting_w = np.where(view.state == NodeState.FAILED, 0.0, fleet.node[NodeRow.SLEEP_W])
    return Folding(
        view=view,
        ceiling=ceiling,
        home=home,
        movable=movable,
        kind=kind,
        reach=reach,
        may_run=may_run,
        may_rest=_may_rest(view, home, movable, moves_left),
        awake_w=fleet.idle_w + np.where(asleep, boot_w, 0.0),
        asleep_w=np.where(awake, fleet.idle_w - saving_w, resting_w),
        move_w=move_cost_wh(view, estimate_moves(view), rates) / hours,
        moves_left=moves_left,
    )


def _awake(view: ClusterView) -> Bool[Array, " nodes"]:
    """Nodes that are on, draining or waking."""
    return view.on | (view.state == NodeState.WAKING)


def _sites_in_reach(
    view: ClusterView, trip_ms: Float[Array, "containers sites"] | None
) -> Bool[Array, "containers sites"]:
    """Sites to which a container may go for the sake of its data and (with `trip_ms`) of its users."""
    fleet = view.fleet
    near: Bool[Array, "containers sites"] = np.ones((fleet.containers, fleet.sites), bool)
    tied = np.flatnonzero(fleet.container_int[ContainerInt.DATA_SITE] >= 0)
    data_site = fleet.container_int[ContainerInt.DATA_SITE, tied]
    near[tied] = fleet.site_km[data_site] <= fleet.container[ContainerRow.DATA_KM, tied][:, None]
    if trip_ms is not None:
        too_far = trip_ms >= fleet.container[ContainerRow.OBJECTIVE_MS][:, None]
        placed = np.flatnonzero((view.placement >= 0) & too_far.any(axis=1))
        here = fleet.site_of[view.placement[placed]]
        too_far[placed] &= trip_ms[placed] > trip_ms[placed, here][:, None]
        near &= ~too_far
    return near


def _reach(
    view: ClusterView, may_run: Bool[Array, " nodes"], near: Bool[Array, "containers sites"]
) -> tuple[Int[Array, " containers"], Bool[Array, "kinds nodes"]]:
    """Kind of each container, and the nodes within reach of each kind. Containers of like needs are of one kind."""
    fleet = view.fleet
    if not fleet.containers:
        return np.zeros(0, np.int64), np.zeros((0, fleet.nodes), bool)
    needs = fleet.container_int[
        [
            ContainerInt.ARCHITECTURES,
            ContainerInt.ACCELERATOR_KIND,
            ContainerInt.ACCELERATOR_COUNT,
            ContainerInt.PINNED,
        ]
    ].T
    needs = np.concatenate([needs, np.packbits(near, axis=1)], axis=1)
    _, first, kind = np.unique(needs, axis=0, return_index=True, return_inverse=True)
    architecture = fleet.node_int[NodeInt.ARCHITECTURE]
    accelerator, count = fleet.node_int[NodeInt.ACCELERATOR_KIND], fleet.node_int[NodeInt.ACCELERATOR_COUNT]
    reach = near[first][:, fleet.site_of] & may_run
    for row, (architectures, needed, how_many, pinned) in enumerate(needs[first, :4].astype(np.int64)):
        reach[row] &= (architectures >> architecture) & 1 == 1
        if needed >= 0:
            reach[row] &= (accelerator == needed) & (count >= how_many)
        if pinned >= 0:
            reach[row] &= np.arange(fleet.nodes) == pinned
    return kind.reshape(-1).astype(np.int64), reach


def _moves_left(view: ClusterView) -> Int[Array, " groups"]:
    """How many more members of each group may be on the move, by its disruption budget."""
    fleet = view.fleet
    group = fleet.container_int[ContainerInt.GROUP]
    gone = (group >= 0) & ((view.target >= 0) | (view.placement < 0))
    missing = np.bincount(group[gone], minlength=fleet.group.shape[1])
    return np.maximum(fleet.group[GroupRow.MAY_BE_MISSING] - missing, 0)


def _may_rest(
    view: ClusterView,
    home: Int[Array, " containers"],
    movable: Bool[Array, " containers"],
    moves_left: Int[Array, " groups"],
) -> Bool[Array, " nodes"]:
    """Nodes that need not stay on, and that one decision could empty."""
    fleet = view.fleet
    may = (fleet.node_int[NodeInt.NEVER_SLEEP] == 0) & (view.state != NodeState.WAKING)
    counted = home >= 0
    may[home[counted & ~movable]] = False
    grouped = np.flatnonzero(counted & (fleet.container_int[ContainerInt.GROUP] >= 0))
    group = fleet.container_int[ContainerInt.GROUP, grouped]
    pair, members = np.unique(group.astype(np.int64) * fleet.nodes + home[grouped], return_counts=True)
    stuck = members > moves_left[pair // fleet.nodes] if len(pair) else np.zeros(0, bool)
    may[pair[stuck] % fleet.nodes] = False
    asleep = ~_awake(view)
    return may | asleep
