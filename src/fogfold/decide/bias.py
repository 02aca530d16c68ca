"""A world that is believed to be other than it is: power, bandwidth and load of a rehearsal, off by known factors.

A rehearsal is right only as far as its model is. This makes the model wrong on purpose, by factors, so that it can be
measured how much that costs. The cluster itself, what is read of it and what rules propose stay true: only what
proposals are weighed by and played in is off. Every factor is 1 where nobody measures anything.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

from fogfold.decide.futures import Futures
from fogfold.encoding.arrays import FleetArrays
from fogfold.encoding.rows import NodeRow, SiteRow
from fogfold.model.resources import check_number
from fogfold.world.params import WorldParams

__all__ = ["Bias"]

_POWERS = (NodeRow.SLEEP_W, NodeRow.SHUTDOWN_W, NodeRow.WAKE_W)
_LINKS = (NodeRow.NETWORK_BIT_S, NodeRow.NETWORK_DOWN_BIT_S)


@dataclass(frozen=True, slots=True)
class Bias:
    """What is believed over what is true.

    Raises:
        ModelError: if a factor is not above 0.
    """

    power: float = 1.0
    """Of every power of a node: its curve, sleep, shutdown and boot."""
    bandwidth: float = 1.0
    """Of every link, of nodes and of sites, and of what one migration may take."""
    load: float = 1.0
    """Of the demand of every container in all futures, and so of its requests."""

    def __post_init__(self) -> None:
        for field in fields(self):
            check_number(f"bias {field.name}", float(getattr(self, field.name)), above=True)

    def fleet(self, fleet: FleetArrays) -> FleetArrays:
        """The fleet as believed; the same one where power and bandwidth are believed as they are."""
        if self.power == 1.0 and self.bandwidth == 1.0:
            return fleet
        node, site = fleet.node.copy(), fleet.site.copy()
        node[list(_POWERS)] *= self.power
        node[list(_LINKS)] *= self.bandwidth
        site[SiteRow.UPLINK_BIT_S] *= self.bandwidth
        return replace(fleet, node=node, site=site, power_curve=fleet.power_curve * self.power)

    def world(self, world: WorldParams) -> WorldParams:
        """The constants of the world as believed."""
        return replace(world, migration_cap_bit_s=world.migration_cap_bit_s * self.bandwidth)

    def futures(self, futures: Futures) -> Futures:
        """The futures as believed; the same ones where load is believed as it is."""
        if self.load == 1.0:
            return futures
        factor = np.float32(self.load)
        return replace(futures, level=futures.level * factor, mean=futures.mean * factor)
