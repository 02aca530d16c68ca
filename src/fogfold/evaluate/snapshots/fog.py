"""Where things are: one place for all, or a region of sites with accelerators, data and users that tie containers down.

Only the fog variant draws anything. Its draws come from a stream of their own, after the base draw, and every tie is
made from where a container already runs, so that the snapshot is legal as it stands: data lies at the container's own
site, its users live round it, and an accelerator that it needs is on its node.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.compiled import Array
from fogfold.evaluate.snapshots.generate import DrawnSnapshot
from fogfold.evaluate.snapshots.unit import Units
from fogfold.seeding import stream
from fogfold.units import MBIT

__all__ = ["ACCELERATORS_PER_NODE", "Places", "draw_places", "one_place"]

ACCELERATORS_PER_NODE = 4

_NODES_PER_SITE = 20
_CENTRE_DEG = (-37.0, 144.5)
_HALF_WIDTH_DEG = (1.2, 1.5)
"""A region of some 270 km by 270 km: the far ends are 7 ms of round trip apart."""

_BATCH_SERVICE_MS = 60_000.0
"""CPU time of one piece of work of a container that nobody waits for."""
_USER_SERVICE_MS = 0.25
"""CPU time of a request of a container that serves users: a lookup, a small reply."""
_OBJECTIVES_MS = (7.0, 9.0, 12.0)
"""Latency objectives. With 4 ms of access, hop and jitter they leave some 150, 250 or 400 km to the users."""
_DATA_KM = (0.0, 60.0, 150.0)
_SERVES_USERS, _TIED_TO_DATA, _HAS_ACCELERATOR, _NEEDS_ACCELERATOR = 0.4, 0.15, 0.15, 0.2
"""Shares: of units; of units; of nodes; of the units on those nodes, as far as the accelerators go."""


@dataclass(frozen=True)
class Places:
    """Sites, and what ties units and nodes to them."""

    latitude_deg: Float[Array, " sites"]
    longitude_deg: Float[Array, " sites"]
    site_of_node: Int[Array, " nodes"]
    has_accelerator: Bool[Array, " nodes"]
    needs_accelerator: Bool[Array, " units"]
    service_ms: Float[Array, " units"]
    objective_ms: Float[Array, " units"]
    """Infinite where nobody waits."""
    data_km: Float[Array, " units"]
    """How far from the data at its home site the unit may run; infinite where it may be anywhere."""
    network_bit_s: Float[Array, " units"]


def one_place(draw: DrawnSnapshot, units: Units) -> Places:
    """Everything at one site, and nobody tied to anything."""
    count = len(units.cpu)
    return Places(
        latitude_deg=np.array([_CENTRE_DEG[0]]),
        longitude_deg=np.array([_CENTRE_DEG[1]]),
        site_of_node=np.zeros(draw.nodes, int),
        has_accelerator=np.zeros(draw.nodes, bool),
        needs_accelerator=np.zeros(count, bool),
        service_ms=np.full(count, _BATCH_SERVICE_MS),
        objective_ms=np.full(count, np.inf),
        data_km=np.full(count, np.inf),
        network_bit_s=np.zeros(count),
    )


def draw_places(draw: DrawnSnapshot, units: Units, seed: int) -> Places:
    """A region of sites with everything that ties containers to places, the same for the same draw and seed."""
    rng = stream(seed, "fog", draw.nodes)
    count, sites = len(units.cpu), max(3, draw.nodes // _NODES_PER_SITE)
    position = rng.uniform(-1.0, 1.0, (2, sites))
    site_of_node = rng.integers(sites, size=draw.nodes)
    has_accelerator = rng.random(draw.nodes) < _HAS_ACCELERATOR
    wants = (rng.random(count) < _NEEDS_ACCELERATOR) & has_accelerator[units.home]
    serves = rng.random(count) < _SERVES_USERS
    objective_ms = rng.choice(_OBJECTIVES_MS, count)
    network_bit_s = rng.uniform(5.0, 50.0, count) * MBIT
    tied = rng.random(count) < _TIED_TO_DATA
    data_km = rng.choice(_DATA_KM, count)
    return Places(
        latitude_deg=_CENTRE_DEG[0] + _HALF_WIDTH_DEG[0] * position[0],
        longitude_deg=_CENTRE_DEG[1] + _HALF_WIDTH_DEG[1] * position[1],
        site_of_node=site_of_node,
        has_accelerator=has_accelerator,
        needs_accelerator=wants & (_earlier_on_the_node(units.home, wants) < ACCELERATORS_PER_NODE),
        service_ms=np.where(serves, _USER_SERVICE_MS, _BATCH_SERVICE_MS),
        objective_ms=np.where(serves, objective_ms, np.inf),
        data_km=np.where(tied, data_km, np.inf),
        network_bit_s=np.where(serves, network_bit_s, 0.0),
    )


def _earlier_on_the_node(home: Int[Array, " units"], among: Bool[Array, " units"]) -> Int[Array, " units"]:
    """How many of those before each unit share its home."""
    earlier, seen = np.zeros(len(home), int), np.zeros(int(home.max(initial=-1)) + 1, int)
    for u in np.flatnonzero(among):
        earlier[u] = seen[home[u]]
        seen[home[u]] += 1
    return earlier
