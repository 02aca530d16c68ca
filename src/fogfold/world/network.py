"""The network between sites: how far users are from where a container runs, and what a move gets of the links."""

from __future__ import annotations

from fogfold.compiled import compiled_inner
from fogfold.cost.migration import failure_probability
from fogfold.encoding.rows import ContainerInt, ContainerRow, NodeInt, NodeRow, SiteRow
from fogfold.model.container import Movability
from fogfold.model.node import NodeState
from fogfold.units import BITS_PER_BYTE, TICK_S
from fogfold.world.live import Fixed, Live
from fogfold.world.phase import Phase
from fogfold.world.rows import CI, NI, C, K, P, S

__all__ = ["attempt_failure_probability", "count_transfers", "settle", "settle_all", "transfer_rate_byte_s"]


@compiled_inner
def settle(c: int, n: int, fixed: Fixed, live: Live) -> None:
    """Write what container `c` at node `n` costs its users: round trip, service time and patience.

    The round trip to a user of the same site is the access time; to one of another region it adds the way between
    the sites and, as mean extra delay, the jitter of both uplinks (times how degraded they are).
    """
    here = fixed.node_int[NodeInt.SITE, n]
    trip = 0.0
    for k in range(fixed.user_site.shape[1]):
        share = fixed.user_share[c, k]
        if share == 0.0:
            continue
        region = fixed.user_site[c, k]
        one = fixed.site[SiteRow.ACCESS_MS, region]
        if region != here:
            one += fixed.round_trip_ms[region, here]
            one += (
                fixed.site[SiteRow.JITTER_MS, region] * live.site[S.FACTOR, region]
                + fixed.site[SiteRow.JITTER_MS, here] * live.site[S.FACTOR, here]
            )
        trip += share * one
    service = fixed.container[ContainerRow.SERVICE_MS, c] / fixed.node[NodeRow.CORE_SPEED, n]
    live.container[C.ROUND_TRIP_MS, c] = trip
    live.container[C.SERVICE_MS, c] = service
    live.container[C.PATIENCE, c] = (fixed.container[ContainerRow.OBJECTIVE_MS, c] - trip) / service


@compiled_inner
def settle_all(fixed: Fixed, live: Live) -> None:
    """Write the same for all containers, after a link has changed."""
    for c in range(len(live.container_int[CI.PLACEMENT])):
        if live.container_int[CI.PLACEMENT, c] >= 0:
            settle(c, int(live.container_int[CI.PLACEMENT, c]), fixed, live)


@compiled_inner
def attempt_failure_probability(source: int, target: int, fixed: Fixed, live: Live) -> float:
    """Chance that a move between two nodes fails, from the jitter and loss of the uplinks that it crosses."""
    a, b = fixed.node_int[NodeInt.SITE, source], fixed.node_int[NodeInt.SITE, target]
    jitter, loss = 0.0, 0.0
    if a != b:
        jitter = (
            fixed.site[SiteRow.JITTER_MS, a] * live.site[S.FACTOR, a]
            + fixed.site[SiteRow.JITTER_MS, b] * live.site[S.FACTOR, b]
        )
        loss = 1.0 - (1.0 - fixed.site[SiteRow.LOSS, a]) * (1.0 - fixed.site[SiteRow.LOSS, b])
    constants = fixed.constants
    return failure_probability(
        jitter, loss, constants[P.FAILURE_BASE], constants[P.FAILURE_PER_JITTER], constants[P.FAILURE_PER_LOSS]
    )


_IMAGE, _MEMORY = 1, 2


@compiled_inner
def _transfers(c: int, fixed: Fixed, live: Live) -> int:
    """What the container's move may send in this tick: an image (1), memory (2), both (3) or nothing (0).

    An image that a tick could bring over counts with the memory that would follow it.
    """
    phase = live.container_int[CI.PHASE, c]
    if phase == Phase.COPYING:
        return _MEMORY
    target = live.container_int[CI.TARGET, c]
    image_left = 0.0
    if phase == Phase.PULLING:
        image_left = live.container[C.LEFT_BYTES, c]
    elif phase == Phase.WAITING and live.container[C.TIMER_S, c] < TICK_S:
        if live.node_int[NI.STATE, target] != NodeState.ON:
            return 0
        if live.image[target, fixed.container_int[ContainerInt.IMAGE, c]] == 0:
            image_left = fixed.container[ContainerRow.IMAGE_BYTES, c]
    else:
        return 0
    what = _IMAGE if image_left > 0.0 else 0
    is_live = fixed.container_int[ContainerInt.MOVABILITY, c] == Movability.LIVE
    if is_live and image_left < fixed.constants[P.RATE_CAP_BYTE_S] * TICK_S:
        what += _MEMORY
    return what


@compiled_inner
def count_transfers(fixed: Fixed, live: Live) -> None:
    """Count for each node and site how many moves share its links in this tick, those about to begin included."""
    active, placement, target = (
        live.container_int[CI.ACTIVE],
        live.container_int[CI.PLACEMENT],
        live.container_int[CI.TARGET],
    )
    site_of, crossing = fixed.node_int[NodeInt.SITE], live.site[S.CROSSING]
    for i in range(live.clock[K.ACTIVE]):
        source, n = placement[active[i]], target[active[i]]
        live.node_int[NI.SENDING, source] = 0
        live.node_int[NI.RECEIVING, n] = 0
        crossing[site_of[source]] = 0.0
        crossing[site_of[n]] = 0.0
    for i in range(live.clock[K.ACTIVE]):
        c = int(active[i])
        what = _transfers(c, fixed, live)
        if what == 0:
            continue
        source, n = placement[c], target[c]
        live.node_int[NI.RECEIVING, n] += 1
        apart = site_of[source] != site_of[n]
        if what != _MEMORY or apart:
            crossing[site_of[n]] += 1.0
        if what >= _MEMORY:
            live.node_int[NI.SENDING, source] += 1
            if apart:
                crossing[site_of[source]] += 1.0


@compiled_inner
def _offered(capacity: float, in_use: float, fixed: Fixed) -> float:
    """What a link has for moves: what service traffic leaves, within a floor and a share of its capacity."""
    free = capacity - in_use
    return min(max(free, fixed.constants[P.LINK_FLOOR] * capacity), fixed.constants[P.LINK_SHARE] * capacity)


@compiled_inner
def transfer_rate_byte_s(c: int, fixed: Fixed, live: Live) -> float:
    """Rate of container `c`'s transfer: the least of its fair shares of both ends and of the path, in byte/s.

    An image comes from a registry behind the target's uplink; memory goes from source to target.
    """
    source, target = int(live.container_int[CI.PLACEMENT, c]), int(live.container_int[CI.TARGET, c])
    a, b = fixed.node_int[NodeInt.SITE, source], fixed.node_int[NodeInt.SITE, target]
    share = fixed.constants[P.LINK_SHARE]
    rate = _offered(fixed.node[NodeRow.NETWORK_DOWN_BIT_S, target], 0.0, fixed) / max(
        1, live.node_int[NI.RECEIVING, target]
    )
    if live.container_int[CI.PHASE, c] == Phase.PULLING:
        rate = min(
            rate,
            share * fixed.site[SiteRow.UPLINK_BIT_S, b] / live.site[S.FACTOR, b] / max(1.0, live.site[S.CROSSING, b]),
        )
    else:
        rate = min(
            rate,
            _offered(fixed.node[NodeRow.NETWORK_BIT_S, source], live.used[source, 2], fixed)
            / max(1, live.node_int[NI.SENDING, source]),
        )
        if a != b:
            rate = min(
                rate,
                share
                * fixed.site[SiteRow.UPLINK_BIT_S, a]
                / live.site[S.FACTOR, a]
                / max(1.0, live.site[S.CROSSING, a]),
            )
            rate = min(
                rate,
                share
                * fixed.site[SiteRow.UPLINK_BIT_S, b]
                / live.site[S.FACTOR, b]
                / max(1.0, live.site[S.CROSSING, b]),
            )
    return min(rate / BITS_PER_BYTE, fixed.constants[P.RATE_CAP_BYTE_S])
