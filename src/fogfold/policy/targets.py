"""Which node takes a container best: legal by the plan, near enough to the users, and first by a score.

One compiled pass over the nodes answers for one container, another places a list of them. The hard constraints are
those of `encoding.feasibility`; on top stand three masks of this file (a target where requests would come too late, one
beyond an uplink that has moves enough, one that the rule itself would call overloaded), and a score: how well the
container fits, less a price for round trip and for an image that must be pulled, so that of two equal nodes the one
near the users is taken.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.compiled import Array, borrowed, compiled, compiled_inline, compiled_inner
from fogfold.cost.latency import late_share, round_trip_ms
from fogfold.cost.power import curve_power_w
from fogfold.encoding.arrays import FleetArrays
from fogfold.encoding.rows import ContainerInt, ContainerRow, NodeInt, NodeRow, SiteRow
from fogfold.model.node import NodeState
from fogfold.model.placement import SLACK
from fogfold.model.reason import Reason
from fogfold.model.resources import RESOURCE_COUNT
from fogfold.policy.draft import Draft
from fogfold.policy.overload import OFF, Detection, is_overloaded
from fogfold.policy.sheet import Sheet, lend, refused, take
from fogfold.units import GIB
from fogfold.world.params import WorldParams

__all__ = [
    "ASLEEP",
    "BARRED",
    "FULL",
    "OPEN",
    "Ceiling",
    "Fit",
    "Targets",
    "Taste",
    "fit_of",
    "has_room",
    "is_narrow",
    "late_on",
    "out_of_patience",
    "trip_to_users_ms",
]

BARRED, OPEN, ASLEEP = 0, 1, 2
"""What a target is to a rule: not wanted, on, or one that would have to be woken."""

_LOAD_BOUND = WorldParams().load_bound


class Fit(IntEnum):
    """How well a node takes a container, before round trip and image are counted."""

    NEAREST = 0
    """All alike: the first of the nearest nodes (first fit)."""
    FULLEST = 1
    """Mean over the four resources of the share taken after the move, by request or usage, whichever is more (best
    fit)."""
    MOST_ALLOCATED = 2
    """Mean over CPU and memory of the share requested after the move (Kubernetes' MostAllocated)."""
    LEAST_POWER = 3
    """Least added power, in units of a mean node's span from idle to peak (PABFD). A node that is asleep counts with
    what it draws asleep, not with its idle power, or waking would look free (Cloudslab/cloudsim issue 167)."""


class Ceiling(NamedTuple):
    """How far usage on a target may go through a move, in ]0, 1]."""

    cpu: float
    """Share of the cores."""
    space: float
    """Share of memory, network and disk."""


FULL = Ceiling(1.0, 1.0)
"""Up to capacity: where a container that runs nowhere may be started."""


class Taste(NamedTuple):
    """What a rule looks for in a target."""

    fit: int
    """A `Fit`."""
    trip_per_ms: float
    """What a millisecond of mean round trip costs, in shares of a node."""
    image_per_gib: float
    """What a GiB of image to be pulled costs, in shares of a node."""
    late_limit: float
    """Share of a container's requests that may be late on a target by its load; beyond it the target is masked."""
    span_w: float
    """Mean span from idle to peak of the fleet's nodes, in W."""
    least_rate_bit_s: float
    """What every move over a site's uplink must be left of the share that moves may take, others included."""
    detection: Detection
    """A target that this rule would call overloaded after the move is masked."""


def trip_to_users_ms(fleet: FleetArrays, world: WorldParams | None = None) -> Float[Array, "containers sites"]:
    """Mean round trip between a container's users and each site on a calm network, in ms, as the world reckons it.

    Access at the users' region, the way between the sites, and the jitter of both uplinks as mean extra delay.
    """
    world = world or WorldParams()
    between = round_trip_ms(
        fleet.site_km,
        path_stretch=world.path_stretch,
        fibre_km_per_ms=world.fibre_km_per_ms,
        hop_ms=world.hop_ms,
    )
    jitter = fleet.site[SiteRow.JITTER_MS]
    apart = ~np.eye(fleet.sites, dtype=bool)
    one = fleet.site[SiteRow.ACCESS_MS][:, None] + (between + jitter[:, None] + jitter[None, :]) * apart
    trip = np.zeros((fleet.containers, fleet.sites))
    for k in range(fleet.user_site.shape[1]):
        trip += fleet.user_share[:, k, None] * one[fleet.user_site[:, k]]
    return trip


def out_of_patience(fleet: FleetArrays, trip_ms: Float[Array, "containers sites"]) -> Bool[Array, "containers sites"]:
    """Where a container's mean round trip alone uses up its latency objective: every request there would be late.

    A mask beside the hard constraints, which know nothing of users: a container must not be moved there
    (`Reason.NO_IMPROVING_TARGET`), unless it is as far from its users where it is now.
    """
    return trip_ms >= fleet.container[ContainerRow.OBJECTIVE_MS][:, None]


@compiled_inline
def late_on(c: int, n: int, trip_ms: Array, load: float, sheet: Sheet) -> float:
    """Share of the container's requests that would be late on the node at that CPU load; 1 without patience."""
    left_ms = sheet.container[ContainerRow.OBJECTIVE_MS, c] - trip_ms[c, sheet.node_int[NodeInt.SITE, n]]
    if left_ms <= 0.0:
        return 1.0
    patience = left_ms * sheet.node[NodeRow.CORE_SPEED, n] / sheet.container[ContainerRow.SERVICE_MS, c]
    return late_share(patience, 1.0 - min(load, _LOAD_BOUND))


@compiled_inline
def _too_late(c: int, n: int, taste: Taste, trip_ms: Array, sheet: Sheet) -> bool:
    """Whether too many requests would be late there, and it is no better where the container is."""
    load = (sheet.foreseen[0, n] + sheet.usage[0, c]) / sheet.node[0, n]
    late = late_on(c, n, trip_ms, load, sheet)
    if late <= taste.late_limit and late < 1.0:
        return False
    here = sheet.placement[c]
    if here < 0:
        return False
    late_here = late_on(
        c, here, trip_ms, (sheet.foreseen[0, here] - sheet.leaving[0, here]) / sheet.node[0, here], sheet
    )
    if late != late_here:
        return late > late_here
    return trip_ms[c, sheet.node_int[NodeInt.SITE, n]] > trip_ms[c, sheet.node_int[NodeInt.SITE, here]]


@compiled_inline
def fit_of(c: int, n: int, taste: Taste, asleep: bool, sheet: Sheet) -> float:
    """How well the node takes the container, higher is better, in shares of a node."""
    if taste.fit == Fit.FULLEST:
        total = 0.0
        for r in range(RESOURCE_COUNT):
            promised = sheet.requested[r, n] + sheet.container[r, c]
            used = sheet.foreseen[r, n] + sheet.usage[r, c]
            total += max(promised, used) / sheet.node[r, n]
        return total / RESOURCE_COUNT
    if taste.fit == Fit.MOST_ALLOCATED:
        cpu = (sheet.requested[0, n] + sheet.container[0, c]) / sheet.node[0, n]
        memory = (sheet.requested[1, n] + sheet.container[1, c]) / sheet.node[1, n]
        return 0.5 * (cpu + memory)
    if taste.fit == Fit.LEAST_POWER:
        used = sheet.foreseen[0, n] - sheet.leaving[0, n]
        before = sheet.node[NodeRow.SLEEP_W, n]
        if not asleep:
            before = curve_power_w(used / sheet.node[0, n], sheet.curve[n])
        after = curve_power_w((used + sheet.usage[0, c]) / sheet.node[0, n], sheet.curve[n])
        return (before - after) / taste.span_w
    return 0.0


@compiled_inner
def _overloads(c: int, n: int, how: Detection, sheet: Sheet) -> bool:
    """Whether the rule would call the node overloaded with the container on it."""
    cores = sheet.node[0, n]
    row = np.empty(sheet.history.shape[1])
    for s in range(len(row)):
        row[s] = sheet.history[n, s] + sheet.cpu_history[c, s] / cores
    return is_overloaded(how, (sheet.foreseen[0, n] + sheet.usage[0, c]) / cores, row)


@compiled_inline
def is_narrow(c: int, n: int, most_crossing: Array, sheet: Sheet) -> bool:
    """Whether the way to the node crosses an uplink that has as many moves already as it can bear."""
    source = sheet.placement[c]
    if source < 0:
        return False
    here, there = sheet.node_int[NodeInt.SITE, source], sheet.node_int[NodeInt.SITE, n]
    if here == there:
        return False
    return sheet.crossing[here] >= most_crossing[here] or sheet.crossing[there] >= most_crossing[there]


@compiled_inline
def has_room(c: int, n: int, ceiling: Ceiling, sheet: Sheet) -> bool:
    """Whether the node has the room, by request and by usage under the two ceilings."""
    for r in range(RESOURCE_COUNT):
        capacity = sheet.node[r, n] * (1.0 + SLACK)
        share = ceiling.cpu if r == 0 else ceiling.space
        if (
            sheet.requested[r, n] + sheet.container[r, c] > capacity
            or sheet.foreseen[r, n] + sheet.usage[r, c] > share * capacity
        ):
            return False
    return True


@compiled_inner
def _best_target(
    c: int, ceiling: Ceiling, wanted: Array, taste: Taste, trip_ms: Array, most_crossing: Array, sheet: Sheet
) -> int:
    """The node that takes container `c` best, -1 where none may; of equals the first.

    Args:
        c: column of the container.
        ceiling: how far the target may be filled.
        wanted: `BARRED`, `OPEN` or `ASLEEP` for each node; the state on the sheet must allow for waking.
        taste: what is looked for.
        trip_ms: as `trip_to_users_ms` gives it.
        most_crossing: how many moves each site's uplink bears at once.
        sheet: the plan so far.
    """
    best, best_score = -1, -1e300
    widest = max(ceiling.cpu, ceiling.space)
    image = sheet.container_int[ContainerInt.IMAGE, c]
    pull = taste.image_per_gib * sheet.container[ContainerRow.IMAGE_BYTES, c] / GIB
    for n in range(len(wanted)):
        if wanted[n] == BARRED:
            continue
        # Cheap questions first; the answer is the same in any order.
        if not has_room(c, n, ceiling, sheet) or is_narrow(c, n, most_crossing, sheet):
            continue
        score = fit_of(c, n, taste, wanted[n] == ASLEEP and sheet.arriving[n] == 0, sheet)
        score -= taste.trip_per_ms * trip_ms[c, sheet.node_int[NodeInt.SITE, n]]
        if not sheet.image_present[n, image]:
            score -= pull
        if score <= best_score or _too_late(c, n, taste, trip_ms, sheet):
            continue
        reason = refused(c, n, widest, sheet)
        if reason == Reason.IN_FLIGHT or reason == Reason.NEVER_MOVES or reason == Reason.GROUP_BUDGET:
            return -1
        if reason != Reason.NONE:
            continue
        if taste.detection.rule != OFF and _overloads(c, n, taste.detection, sheet):
            continue
        best, best_score = n, score
    return best


@compiled
def _best(
    c: int, ceiling: Ceiling, wanted: Array, taste: Taste, trip_ms: Array, most_crossing: Array, sheet: Sheet
) -> int:
    return _best_target(c, ceiling, borrowed(wanted), taste, borrowed(trip_ms), borrowed(most_crossing), lend(sheet))


@compiled
def _place_each(
    order: Array,
    limit: int,
    ceiling: Ceiling,
    wanted: Array,
    taste: Taste,
    trip_ms: Array,
    most_crossing: Array,
    sheet: Sheet,
) -> int:
    """Place containers in that order, each on its best target, until one finds none or `limit` moves are made.

    Gives how many were placed; their moves are in the plan.
    """
    own, receivers, trips, most = lend(sheet), borrowed(wanted), borrowed(trip_ms), borrowed(most_crossing)
    for i in range(min(len(order), limit)):
        n = _best_target(order[i], ceiling, receivers, taste, trips, most, own)
        if n < 0:
            return i
        take(order[i], n, own)
    return min(len(order), limit)


@compiled
def _count_reasons(c: int, ceiling: Ceiling, wanted: Array, most_crossing: Array, sheet: Sheet, counts: Array) -> None:
    own, receivers, most, into = lend(sheet), borrowed(wanted), borrowed(most_crossing), borrowed(counts)
    widest = max(ceiling.cpu, ceiling.space)
    for n in range(len(receivers)):
        if receivers[n] != BARRED:
            reason = refused(c, n, widest, own)
            if reason == Reason.NONE and not has_room(c, n, ceiling, own):
                reason = 0 + Reason.NODE_HOT
            if reason == Reason.NONE and is_narrow(c, n, most, own):
                reason = 0 + Reason.MOVE_LIMIT
            into[reason] += 1


class Targets:
    """The nodes as targets of one plan.

    Args:
        draft: the plan so far.
        taste: what the rule looks for.
        trip_ms: as `trip_to_users_ms` gives it.
    """

    def __init__(self, draft: Draft, taste: Taste, trip_ms: Float[Array, "containers sites"]) -> None:
        self._draft = draft
        self._taste = taste
        self._trip_ms = trip_ms
        share = WorldParams().migration_link_share * draft.view.fleet.site[SiteRow.UPLINK_BIT_S]
        self._most_crossing = np.maximum(1, share // max(taste.least_rate_bit_s, 1.0)).astype(np.int64)

    @property
    def taste(self) -> Taste:
        """What the rule looks for."""
        return self._taste

    @property
    def most_crossing(self) -> Int[Array, " sites"]:
        """How many moves each site's uplink bears at once."""
        return self._most_crossing

    def open(self) -> Int[Array, " nodes"]:
        """`OPEN` for each node that is on or waking by the plan so far, `BARRED` for the others."""
        state = self._draft.state
        return ((state == NodeState.ON) | (state == NodeState.WAKING)).astype(np.int8)

    def best(self, container: int, wanted: Int[Array, " nodes"], ceiling: Ceiling) -> int:
        """The node that takes the container best, -1 where none may; of equals the first.

        Args:
            container: its column.
            wanted: `BARRED`, `OPEN` or `ASLEEP` for each node.
            ceiling: how far the target may be filled.
        """
        return int(
            _best(container, ceiling, wanted, self._taste, self._trip_ms, self._most_crossing, self._draft.sheet)
        )

    def place(self, order: Int[Array, " some"], wanted: Int[Array, " nodes"], ceiling: Ceiling) -> int:
        """How many of the containers were placed, in that order, until one found no target or the plan was full."""
        limit = self._draft.room_for_moves
        return int(
            _place_each(
                order, limit, ceiling, wanted, self._taste, self._trip_ms, self._most_crossing, self._draft.sheet
            )
        )

    def why_nowhere(self, container: int, wanted: Int[Array, " nodes"], ceiling: Ceiling) -> Reason:
        """What keeps the container from most of the wanted nodes; the stricter rule where two are as frequent.

        Nodes that no hard constraint refuses were masked by this file: no target there improves on staying.
        """
        counts = np.zeros(len(Reason), np.int64)
        _count_reasons(container, ceiling, wanted, self._most_crossing, self._draft.sheet, counts)
        counts[Reason.NO_IMPROVING_TARGET] += counts[Reason.NONE]
        counts[Reason.NONE] = counts[Reason.SAME_NODE] = 0
        if not counts.any():
            return Reason.NO_IMPROVING_TARGET
        return Reason(int(np.flatnonzero(counts == counts.max())[-1]))
