"""A plan that can be taken apart anywhere: which nodes are being emptied, and where each of their containers would go.

A draft (`draft`) only takes back its latest moves, to the last bit. A search has to take out any move, try another, and
compare thousands of such plans, so it works on a copy of the draft's arrays here; what it settles on is carried out
through the draft, which checks every move again. The hard constraints are asked where they always are
(`encoding.feasibility`, by way of `sheet.refused`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from fogfold.compiled import Array, compiled
from fogfold.cost.power import curve_power_w
from fogfold.encoding.rows import ContainerInt, ContainerRow, NodeInt
from fogfold.model.node import NodeState
from fogfold.model.reason import Reason
from fogfold.model.resources import RESOURCE_COUNT
from fogfold.policy.draft import Draft
from fogfold.policy.folding import Folding
from fogfold.policy.sheet import Sheet, hold_room, refused
from fogfold.policy.targets import Ceiling, Taste, _has_room, _too_late
from fogfold.units import GIB

__all__ = ["Workbench", "close_node", "cost_w", "lift", "open_node", "place", "put", "workbench_of"]


class Workbench(NamedTuple):
    """What a search reads, and the arrays it works on."""

    sheet: Sheet
    """Copies of a draft's arrays: its state, targets and sums are written."""
    closing: Array
    """Which nodes are being emptied."""
    may_close: Array
    """Which nodes may be."""
    rest_w: Array
    """What each node costs less when it is asleep than awake without load, in W."""
    move_w: Array
    """Price of moving each container, in W."""
    size: Array
    """How large each container is; larger ones are placed first."""
    resident: Array
    """Containers that would stay by the draft, node after node."""
    first: Array
    """Where the residents of each node start in that list, and where the last one ends."""
    trip_ms: Array
    """Mean round trip between each container's users and each site."""
    tally: Array
    """Moves so far, and node checks so far, (2,)."""


def workbench_of(
    draft: Draft,
    folding: Folding,
    *,
    may_close: Bool[Array, " nodes"],
    size: Float[Array, " containers"],
    trip_ms: Float[Array, "containers sites"],
) -> Workbench:
    """A workbench on which nothing is closed yet.

    Args:
        draft: the plan so far; not changed.
        folding: the decision that is left; its prices are used.
        may_close: which nodes may be emptied.
        size: how large each container is.
        trip_ms: as `targets.trip_to_users_ms` gives it.
    """
    sheet = draft.sheet
    copies = ("state", "target", "requested", "foreseen", "leaving", "taken", "arriving", "staying")
    sheet = sheet._replace(**{name: getattr(sheet, name).copy() for name in copies})
    stays = np.flatnonzero((sheet.placement >= 0) & (sheet.target < 0))
    resident = stays[np.argsort(sheet.placement[stays], kind="stable")]
    nodes = len(sheet.state)
    return Workbench(
        sheet=sheet,
        closing=np.zeros(nodes, bool),
        may_close=may_close.copy(),
        rest_w=folding.awake_w - folding.asleep_w,
        move_w=folding.move_w,
        size=size,
        resident=resident,
        first=np.searchsorted(sheet.placement[resident], np.arange(nodes + 1)),
        trip_ms=trip_ms,
        tally=np.zeros(2, np.int64),
    )


@compiled
def put(c: int, n: int, bench: Workbench) -> None:
    """Plan the move of container `c` to node `n`; the caller knows that it is legal."""
    sheet = bench.sheet
    source = sheet.placement[c]
    hold_room(c, n, sheet)
    for r in range(RESOURCE_COUNT):
        sheet.leaving[r, source] += sheet.usage[r, c]
    sheet.target[c] = n
    sheet.staying[source] -= 1
    bench.tally[0] += 1


@compiled
def lift(c: int, bench: Workbench) -> None:
    """Take the planned move of container `c` out again, whenever it was planned."""
    sheet = bench.sheet
    source, n = sheet.placement[c], sheet.target[c]
    for r in range(RESOURCE_COUNT):
        sheet.requested[r, n] -= sheet.container[r, c]
        sheet.foreseen[r, n] -= sheet.usage[r, c]
        sheet.leaving[r, source] -= sheet.usage[r, c]
    if sheet.container_int[ContainerInt.ACCELERATOR_KIND, c] >= 0:
        sheet.taken[n] -= sheet.container_int[ContainerInt.ACCELERATOR_COUNT, c]
    sheet.arriving[n] -= 1
    sheet.target[c] = -1
    sheet.staying[source] += 1
    bench.tally[0] -= 1


@compiled
def close_node(n: int, bench: Workbench) -> None:
    """Begin to empty a node: nobody may go there."""
    bench.closing[n] = True
    bench.sheet.state[n] = NodeState.DRAINING


@compiled
def open_node(n: int, bench: Workbench) -> None:
    """Keep a node after all: its containers stay, and others may come."""
    bench.closing[n] = False
    bench.sheet.state[n] = NodeState.ON
    for i in range(bench.first[n], bench.first[n + 1]):
        if bench.sheet.target[bench.resident[i]] >= 0:
            lift(bench.resident[i], bench)


@compiled
def _price(c: int, n: int, taste: Taste, snug: float, bench: Workbench) -> float:
    """What it costs to have the container there, in W: power, a longer way, an image, and room that is left unused."""
    sheet = bench.sheet
    cores = sheet.node[0, n]
    used = sheet.foreseen[0, n] - sheet.leaving[0, n]
    power = curve_power_w((used + sheet.usage[0, c]) / cores, sheet.curve[n]) - curve_power_w(
        used / cores, sheet.curve[n]
    )
    other = taste.trip_per_ms * bench.trip_ms[c, sheet.node_int[NodeInt.SITE, n]]
    if not sheet.image_present[n, sheet.container_int[ContainerInt.IMAGE, c]]:
        other += taste.image_per_gib * sheet.container[ContainerRow.IMAGE_BYTES, c] / GIB
    fullest = 0.0
    for r in range(RESOURCE_COUNT):
        promised = (sheet.requested[r, n] + sheet.container[r, c]) / sheet.node[r, n]
        fullest = max(fullest, promised, (sheet.foreseen[r, n] + sheet.usage[r, c]) / sheet.node[r, n])
    return power + taste.span_w * (other + snug * (1.0 - fullest))


@compiled
def place(c: int, ceiling: Ceiling, taste: Taste, snug: float, skip: float, draws: Array, bench: Workbench) -> int:
    """The node on which the container costs least, -1 where it may go nowhere; of equals the first.

    Args:
        c: column of the container.
        ceiling: how far a target may be filled.
        taste: what a longer way and a missing image cost, and how many requests may be late.
        snug: what room left unused on a target costs, in shares of a mean node's span from idle to peak.
        skip: share of nodes to be passed over at random, so that a search sees other plans than the obvious one.
        draws: numbers in [0, 1[, one for each node; where `skip` is 0 they are not read.
        bench: the plan.
    """
    sheet = bench.sheet
    best, best_price = -1, 1e300
    widest = max(ceiling.cpu, ceiling.space)
    for n in range(len(sheet.state)):
        if sheet.state[n] != NodeState.ON and sheet.state[n] != NodeState.WAKING:
            continue
        bench.tally[1] += 1
        if (skip > 0.0 and draws[n] < skip) or not _has_room(c, n, ceiling, sheet):
            continue
        price = _price(c, n, taste, snug, bench)
        if price >= best_price:
            continue
        reason = refused(c, n, widest, sheet)
        if reason == Reason.IN_FLIGHT or reason == Reason.NEVER_MOVES or reason == Reason.GROUP_BUDGET:
            return -1
        if reason != Reason.NONE or _too_late(c, n, taste, bench.trip_ms, sheet):
            continue
        best, best_price = n, price
    return best


@compiled
def cost_w(taste: Taste, bench: Workbench) -> float:
    """Mean power of the plan, its moves included, up to a constant, in W; with the price of longer ways and images."""
    sheet = bench.sheet
    total = 0.0
    for n in range(len(sheet.state)):
        if bench.closing[n]:
            total -= bench.rest_w[n]
            for i in range(bench.first[n], bench.first[n + 1]):
                c = bench.resident[i]
                to, site = sheet.target[c], sheet.node_int[NodeInt.SITE, n]
                way = bench.trip_ms[c, sheet.node_int[NodeInt.SITE, to]] - bench.trip_ms[c, site]
                other = taste.trip_per_ms * way
                if not sheet.image_present[to, sheet.container_int[ContainerInt.IMAGE, c]]:
                    other += taste.image_per_gib * sheet.container[ContainerRow.IMAGE_BYTES, c] / GIB
                total += bench.move_w[c] + taste.span_w * other
        elif sheet.state[n] == NodeState.ON or sheet.state[n] == NodeState.WAKING:
            used = sheet.foreseen[0, n] - sheet.leaving[0, n]
            total += curve_power_w(used / sheet.node[0, n], sheet.curve[n]) - sheet.curve[n, 0]
    return total
