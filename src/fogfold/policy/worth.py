"""What a sleeping node saves and what moving its containers costs, in the same unit: Wh-equivalents.

Estimates for rules, made for all nodes and containers at once: a calm network, the image taken as missing on the
target. The world charges what really happens.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array
from fogfold.cost.migration import precopy
from fogfold.cost.total import ExchangeRates
from fogfold.encoding.arrays import ClusterView
from fogfold.encoding.rows import ContainerInt, ContainerRow, NodeRow, SiteRow
from fogfold.model.container import Movability
from fogfold.units import BITS_PER_BYTE, GIB, J_PER_WH, MS_PER_S
from fogfold.world.params import WorldParams

__all__ = ["MoveEstimate", "estimate_moves", "move_cost_wh", "requests_per_s", "sleep_saving_wh"]


@dataclass(frozen=True)
class MoveEstimate:
    """What moving each container from where it runs would take; containers that run nowhere count as at node 0."""

    duration_s: Float[Array, " containers"]
    downtime_s: Float[Array, " containers"]
    sent_bytes: Float[Array, " containers"]


def estimate_moves(
    view: ClusterView, world: WorldParams | None = None, *, at_once: Int[Array, " nodes"] | None = None
) -> MoveEstimate:
    """Duration, downtime and traffic of moving each container on a calm network.

    Live moves by the formula of `cost.migration.precopy` at the share of the source's uplink that moves may take;
    moves by restart are down for the start-up time. The image is pulled first, while the container still serves.

    Args:
        view: the cluster.
        world: constants of the network and of moves; their defaults where None.
        at_once: how many moves leave each node at once and share its uplink and that of its site, at least 1. Where
            None each move is alone and stays within its site.
    """
    world = world or WorldParams()
    fleet = view.fleet
    source = np.maximum(view.placement, 0)
    link = fleet.node[NodeRow.NETWORK_BIT_S, source]
    if at_once is not None:
        link = np.minimum(link, fleet.site[SiteRow.UPLINK_BIT_S, fleet.site_of[source]]) / at_once[source]
    rate = np.minimum(world.migration_link_share * link, world.migration_cap_bit_s) / BITS_PER_BYTE
    duration_s, downtime_s, sent_bytes = precopy(
        view.usage[1],
        rate,
        fleet.container[ContainerRow.DIRTY_BYTE_S],
        stop_bytes=world.precopy_stop_bytes,
        traffic_limit=world.precopy_traffic_limit,
        restore_s=world.restore_s,
    )
    live = fleet.container_int[ContainerInt.MOVABILITY] == Movability.LIVE
    start_s = fleet.container[ContainerRow.START_S]
    image_bytes = fleet.container[ContainerRow.IMAGE_BYTES]
    pull_s = image_bytes / rate
    return MoveEstimate(
        duration_s=pull_s + np.where(live, duration_s, start_s),
        downtime_s=np.where(live, downtime_s, start_s),
        sent_bytes=image_bytes + np.where(live, sent_bytes, 0.0),
    )


def requests_per_s(view: ClusterView) -> Float[Array, " containers"]:
    """Requests a second of each container, by its CPU usage over its service time (utilisation law)."""
    return view.usage[0] * MS_PER_S / view.fleet.container[ContainerRow.SERVICE_MS]


def move_cost_wh(
    view: ClusterView, moves: MoveEstimate, rates: ExchangeRates | None = None
) -> Float[Array, " containers"]:
    """Cost of moving each container, in Wh-equivalents: traffic, downtime, and the requests that are lost in it."""
    rates = rates or ExchangeRates()
    lost = moves.downtime_s * (rates.downtime_s_wh + requests_per_s(view) * rates.late_request_wh)
    return moves.sent_bytes / GIB * rates.migrated_gib_wh + lost


def sleep_saving_wh(view: ClusterView, sleep_s: float) -> Float[Array, " nodes"]:
    """Energy that each node saves by a sleep, against standing idle as long; negative where the sleep is too short.

    What its containers draw goes with them; only the idle power is saved, less shutting down, sleeping and booting.

    Args:
        view: the cluster.
        sleep_s: time from the order to sleep to the order to wake, in s.
    """
    node = view.fleet.node
    shutdown_s, wake_s = node[NodeRow.SHUTDOWN_S], node[NodeRow.WAKE_S]
    idle_j = view.fleet.idle_w * (sleep_s + wake_s)
    switching_j = node[NodeRow.SHUTDOWN_W] * shutdown_s + node[NodeRow.WAKE_W] * wake_s
    asleep_j = node[NodeRow.SLEEP_W] * np.maximum(sleep_s - shutdown_s, 0.0)
    return (idle_j - switching_j - asleep_j) / J_PER_WH
