"""A plan that can be taken apart anywhere: which nodes are being emptied, and where each of their containers would go.

A draft (`draft`) takes back its latest moves only. A search has to take out any move, try another, and compare
thousands of such plans, so it works here, on arrays made for it from a `folding`; what it settles on is carried out
through the draft, which checks every move again (`carry_out`).

What keeps a container from a node comes from where it always comes from: reach and room from the folding, groups from
`encoding.feasibility`. The mask of late requests is the one of `targets`, in a form without exponentials: the share of
late requests falls with patience times slack (`ease`), so shares compare as those products do.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from fogfold.compiled import Array, borrowed, compiled, compiled_inline
from fogfold.cost.power import curve_power_w
from fogfold.encoding.feasibility import group_refusal
from fogfold.encoding.rows import ContainerInt, ContainerRow, NodeInt, NodeRow
from fogfold.model.node import NodeState
from fogfold.model.placement import SLACK
from fogfold.model.reason import Reason
from fogfold.policy.folding import Folding
from fogfold.units import GIB
from fogfold.world.params import WorldParams

__all__ = [
    "CF",
    "CI",
    "NF",
    "NI",
    "Tastes",
    "Workbench",
    "close_node",
    "cost_w",
    "lift",
    "load_w",
    "open_node",
    "place",
    "price_w",
    "workbench_of",
]

_LOAD_BOUND = WorldParams().load_bound


class NF(IntEnum):
    """Rows of float figures of nodes; the first eight are the room that is left, as in `Folding.amount`."""

    ROOM = 0
    USED_CORES = 8
    """CPU usage once all moves are done."""
    CORES = 9
    SPEED = 10
    REST_W = 11
    """What the node costs less when it is asleep than awake without load."""


class NI(IntEnum):
    """Rows of whole-number figures of nodes."""

    STATE = 0
    SITE = 1
    SPARE = 2
    """Accelerators that are free."""
    ARRIVING = 3
    """Containers that this plan sends there."""
    STAYING = 4
    """Containers that stay there."""
    CLOSING = 5
    """1 while the node is being emptied."""
    MAY_CLOSE = 6


class CF(IntEnum):
    """Rows of float figures of containers; the first eight as in `Folding.amount`."""

    AMOUNT = 0
    MOVE_W = 8
    SIZE = 9
    PULL_W = 10
    """Price of an image that must be pulled."""


class CI(IntEnum):
    """Rows of whole-number figures of containers."""

    HOME = 0
    TARGET = 1
    KIND = 2
    ACCELERATORS = 3
    IMAGE = 4


class Tastes(NamedTuple):
    """What a search prefers beside power."""

    trip_w_per_ms: float
    """What a millisecond more of mean round trip to the users costs, in W."""
    image_w_per_gib: float
    """What a GiB of image to be pulled costs, in W."""
    snug_w: float
    """What a target without anything on it costs more than a full one, in W."""
    late_limit: float
    """Share of a container's requests that may be late on a target."""


class Workbench(NamedTuple):
    """A plan, and what is needed to change it."""

    node: Array
    """Rows as `NF`."""
    node_int: Array
    """Rows as `NI`."""
    container: Array
    """Rows as `CF`."""
    container_int: Array
    """Rows as `CI`."""
    movable: Array
    """Which containers may be moved, whether or not their node is emptied."""
    reach: Array
    way_w: Array
    """Price of the round trip between each container's users and each site, (containers, sites)."""
    patience: Array
    """What the way leaves of the latency objective, in service times on a reference core, (containers, sites)."""
    image_present: Array
    curve: Array
    fleet_node_int: Array
    fleet_container_int: Array
    group: Array
    members: Array
    resident: Array
    """Containers that stay where they are unless their node is emptied, node after node."""
    first: Array
    """Where those of each node start in that list, and where the last one ends, (nodes + 1)."""
    limits: Array
    """Price of room left unused, in W, and the least ease of a container that is not late, (2,)."""
    tally: Array
    """Moves in the plan, and checks of a node so far, (2,)."""


def workbench_of(
    folding: Folding,
    *,
    may_close: Bool[Array, " nodes"],
    size: Float[Array, " containers"],
    trip_ms: Float[Array, "containers sites"],
    tastes: Tastes,
) -> Workbench:
    """A workbench on which nothing is closed yet.

    Args:
        folding: the decision; targets are its nodes that may run and are not asleep.
        may_close: which nodes may be emptied.
        size: how large each container is; larger ones are placed first.
        trip_ms: as `targets.trip_to_users_ms` gives it.
        tastes: what is preferred beside power.
    """
    view, fleet = folding.view, folding.view.fleet
    node = np.zeros((NF.REST_W + 1, fleet.nodes))
    node[NF.ROOM : NF.ROOM + 8] = folding.room * (1.0 + SLACK) - np.concatenate([view.requested, view.used])
    node[NF.USED_CORES] = folding.at_home[4]
    node[NF.CORES], node[NF.SPEED] = fleet.capacity[0], fleet.node[NodeRow.CORE_SPEED]
    node[NF.REST_W] = folding.awake_w - folding.asleep_w
    node_int = np.zeros((len(NI), fleet.nodes), np.int64)
    node_int[NI.STATE], node_int[NI.SITE] = view.state, fleet.site_of
    node_int[NI.SPARE] = fleet.node_int[NodeInt.ACCELERATOR_COUNT] - view.accelerators_taken
    node_int[NI.MAY_CLOSE] = may_close
    image_gib = fleet.container[ContainerRow.IMAGE_BYTES] / GIB
    container = np.concatenate([folding.amount, [folding.move_w, size, tastes.image_w_per_gib * image_gib]])
    container_int = np.zeros((len(CI), fleet.containers), np.int64)
    container_int[CI.HOME], container_int[CI.TARGET] = view.placement, view.target
    container_int[CI.KIND] = folding.kind
    needs = fleet.container_int[ContainerInt.ACCELERATOR_KIND] >= 0
    container_int[CI.ACCELERATORS] = np.where(needs, fleet.container_int[ContainerInt.ACCELERATOR_COUNT], 0)
    container_int[CI.IMAGE] = fleet.container_int[ContainerInt.IMAGE]
    stays = np.flatnonzero((view.placement >= 0) & (view.target < 0))
    resident = stays[np.argsort(view.placement[stays], kind="stable")]
    first = np.searchsorted(view.placement[resident], np.arange(fleet.nodes + 1))
    node_int[NI.STAYING] = np.diff(first)
    left_ms = np.maximum(fleet.container[ContainerRow.OBJECTIVE_MS][:, None] - trip_ms, 0.0)
    with np.errstate(divide="ignore"):
        least_ease = -np.log(np.minimum(tastes.late_limit, 1.0))
    return Workbench(
        node=node,
        node_int=node_int,
        container=container,
        container_int=container_int,
        movable=folding.movable,
        reach=folding.reach,
        way_w=tastes.trip_w_per_ms * trip_ms,
        patience=left_ms / fleet.container[ContainerRow.SERVICE_MS][:, None],
        image_present=view.image_present,
        curve=fleet.power_curve,
        fleet_node_int=fleet.node_int,
        fleet_container_int=fleet.container_int,
        group=fleet.group,
        members=fleet.members,
        resident=resident,
        first=first,
        limits=np.array([tastes.snug_w, least_ease]),
        tally=np.zeros(2, np.int64),
    )


@compiled
def _shift(c: int, n: int, sign: int, bench: Workbench) -> None:
    """Take the room of a move of container `c` to node `n` (sign 1), or give it back (sign -1)."""
    node, node_int, home = bench.node, bench.node_int, bench.container_int[CI.HOME, c]
    for r in range(8):
        node[r, n] -= sign * bench.container[r, c]
    cores = sign * bench.container[4, c]
    node[NF.USED_CORES, n] += cores
    node[NF.USED_CORES, home] -= cores
    node_int[NI.SPARE, n] -= sign * bench.container_int[CI.ACCELERATORS, c]
    node_int[NI.ARRIVING, n] += sign
    node_int[NI.STAYING, home] -= sign
    bench.container_int[CI.TARGET, c] = n if sign > 0 else -1
    bench.tally[0] += sign


@compiled
def lift(c: int, bench: Workbench) -> None:
    """Take the planned move of container `c` out again, whenever it was planned."""
    _shift(c, bench.container_int[CI.TARGET, c], -1, bench)


@compiled
def close_node(n: int, bench: Workbench) -> None:
    """Begin to empty a node: nobody may go there."""
    bench.node_int[NI.CLOSING, n] = 1
    bench.node_int[NI.STATE, n] = NodeState.DRAINING


@compiled
def open_node(n: int, bench: Workbench) -> None:
    """Keep a node after all: its containers stay, and others may come."""
    bench.node_int[NI.CLOSING, n] = 0
    bench.node_int[NI.STATE, n] = NodeState.ON
    for i in range(bench.first[n], bench.first[n + 1]):
        c = bench.resident[i]
        target = bench.container_int[CI.TARGET, c]
        if target >= 0:
            _shift(c, target, -1, bench)


@compiled
def _ease(c: int, n: int, cores: float, bench: Workbench) -> float:
    """Patience times slack of a container on a node that uses so many cores: the more, the fewer requests are late."""
    slack = 1.0 - min(cores / bench.node[NF.CORES, n], _LOAD_BOUND)
    return bench.patience[c, bench.node_int[NI.SITE, n]] * bench.node[NF.SPEED, n] * slack


@compiled
def place(c: int, skip: float, draws: Array, bench: Workbench) -> int:
    """Send container `c` where it costs least, and give that node; -1 where it may go nowhere. Of equals the first.

    Args:
        c: column of the container; it is not on the move.
        skip: share of nodes to be passed over at random, so that a search sees other plans than the obvious one.
        draws: numbers in [0, 1[, one for each node; where `skip` is 0 they are not read.
        bench: the plan.
    """
    node, node_int, container = bench.node, bench.node_int, bench.container
    kind, home = bench.container_int[CI.KIND, c], bench.container_int[CI.HOME, c]
    cores, image = container[4, c], bench.container_int[CI.IMAGE, c]
    ease_home = _ease(c, home, node[NF.USED_CORES, home], bench)
    best, best_w = -1, 1e300
    for n in range(node.shape[1]):
        state = node_int[NI.STATE, n]
        if not bench.reach[kind, n] or (state != NodeState.ON and state != NodeState.WAKING) or n == home:
            continue
        bench.tally[1] += 1
        if skip > 0.0 and draws[n] < skip:
            continue
        fits = True
        for r in range(8):
            if node[r, n] < container[r, c]:
                fits = False
                break
        if not fits or node_int[NI.SPARE, n] < bench.container_int[CI.ACCELERATORS, c]:
            continue
        used, capacity = node[NF.USED_CORES, n], node[NF.CORES, n]
        unused = min(node[0, n] - container[0, c], node[4, n] - cores) / capacity
        price = curve_power_w((used + cores) / capacity, bench.curve[n]) - curve_power_w(
            used / capacity, bench.curve[n]
        )
        price += bench.limits[0] * unused + bench.way_w[c, node_int[NI.SITE, n]]
        if not bench.image_present[n, image]:
            price += container[CF.PULL_W, c]
        if price >= best_w:
            continue
        ease = _ease(c, n, used + cores, bench)
        if ease < bench.limits[1] and ease < ease_home:
            continue
        reason = group_refusal(
            c,
            n,
            bench.fleet_node_int,
            bench.fleet_container_int,
            bench.group,
            bench.members,
            node_int[NI.STATE],
            bench.container_int[CI.HOME],
            bench.container_int[CI.TARGET],
        )
        if reason == Reason.GROUP_BUDGET:
            return -1
        if reason == Reason.NONE:
            best, best_w = n, price
    if best >= 0:
        _shift(c, best, 1, bench)
    return best


@compiled_inline
def load_w(n: int, node: Array, curve: Array) -> float:
    """What node `n` draws for what runs on it, beyond its power without load, in W."""
    return curve_power_w(node[NF.USED_CORES, n] / node[NF.CORES, n], curve[n]) - curve[n, 0]


@compiled_inline
def price_w(
    c: int, container: Array, container_int: Array, node_int: Array, way_w: Array, image_present: Array
) -> float:
    """What the planned move of container `c` costs, in W: its price, a longer way to the users, an image to pull."""
    home, target = container_int[CI.HOME, c], container_int[CI.TARGET, c]
    price = container[CF.MOVE_W, c] + way_w[c, node_int[NI.SITE, target]] - way_w[c, node_int[NI.SITE, home]]
    if not image_present[target, container_int[CI.IMAGE, c]]:
        price += container[CF.PULL_W, c]
    return price


@compiled
def cost_w(bench: Workbench) -> float:
    """Mean power of the plan, its moves included, up to a constant, in W; with the price of longer ways and images."""
    # Small functions are handed borrowed arrays: counting owners would take longer than what they do.
    node, node_int = borrowed(bench.node), borrowed(bench.node_int)
    container, container_int = borrowed(bench.container), borrowed(bench.container_int)
    way_w, image_present, curve = borrowed(bench.way_w), borrowed(bench.image_present), borrowed(bench.curve)
    total = 0.0
    for n in range(node.shape[1]):
        if node_int[NI.CLOSING, n] > 0:
            total -= node[NF.REST_W, n]
        else:
            total += load_w(n, node, curve)
        if node_int[NI.STAYING, n] == bench.first[n + 1] - bench.first[n]:
            continue
        for i in range(bench.first[n], bench.first[n + 1]):
            c = bench.resident[i]
            if container_int[CI.TARGET, c] >= 0:
                total += price_w(c, container, container_int, node_int, way_w, image_present)
    return total
