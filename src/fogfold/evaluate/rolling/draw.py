"""Draws a small world of four days in half-hour slots: three to learn from and one to be judged on.

It is far smaller than `fogfold.world`, so that a whole day can be planned with hindsight: a node is on where it holds a
container, and whoever moves is there in the next slot. That gives what no policy can be measured without: how much
there is to win.

The same size and seed give the same arrays: this is a yardstick, so the order of the draws is part of its definition
and must not be changed. That is why the generator is `default_rng(seed)` and not a named stream.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array
from fogfold.errors import ModelError, PlacementError

__all__ = ["DAY_SLOTS", "HISTORY_DAYS", "RollingWorld", "draw_world", "spread"]

DAY_SLOTS = 48
"""Slots of half an hour."""
HISTORY_DAYS = 3
"""Days before the one that is judged."""

_CORES = np.array([32.0, 64.0, 96.0])
_GIB = np.array([128.0, 256.0, 384.0])
_IDLE_W = np.array([95.0, 140.0, 200.0])
_PEAK_W = np.array([260.0, 410.0, 560.0])
_SHARE_OF_KIND = [0.30, 0.45, 0.25]
"""Small, middling and large servers."""
_MEMORY_HEAD = 0.9
"""Share of a node's memory that containers may take."""
_LOAD = 0.33
"""Mean demand over the cores of all nodes."""
_MOST_CORES = 20.0
"""Most that one container wants."""
_SIZES = np.array([1, 2, 4])
"""GiB for each core of mean demand."""


@dataclass(frozen=True)
class RollingWorld:
    """Nodes, containers and four days of demand."""

    seed: int
    cores: Float[Array, " nodes"]
    room_gib: Float[Array, " nodes"]
    """Memory that containers may take."""
    idle_w: Float[Array, " nodes"]
    slope_w: Float[Array, " nodes"]
    """W for each core in use."""
    memory_gib: Float[Array, " containers"]
    demand: Float[Array, "containers slots"]
    """Cores that each container wants, the days of history first."""

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.cores)

    @property
    def containers(self) -> int:
        """Number of containers."""
        return len(self.memory_gib)

    @property
    def first_slot(self) -> int:
        """Where the day that is judged begins in `demand`."""
        return self.demand.shape[1] - DAY_SLOTS

    @property
    def day(self) -> Float[Array, "containers slots"]:
        """Demand on the day that is judged."""
        return self.demand[:, self.first_slot :]


def draw_world(nodes: int, containers: int, seed: int) -> RollingWorld:
    """One world, the same for the same arguments.

    Args:
        nodes: how many nodes, from 1.
        containers: how many containers, from 1.
        seed: which of the worlds of that size, from 0.

    Raises:
        ModelError: if a number is out of range.
    """
    if nodes < 1 or containers < 1 or seed < 0:
        raise ModelError(
            f"a world of {nodes} nodes, {containers} containers and seed {seed} cannot be drawn; give at least one "
            "node and one container, and a seed from 0"
        )
    rng = np.random.default_rng(seed)
    kind = rng.choice(3, nodes, p=_SHARE_OF_KIND)
    cores = _CORES[kind]
    unit = rng.normal(1, 0.06, nodes).clip(0.85, 1.2)
    mean = rng.lognormal(0, 0.7, containers)
    mean = np.minimum(mean / mean.sum() * cores.sum() * _LOAD, 12.0)
    # Of a hundred containers 45 are busiest at 14:00, 25 at 20:00, 15 at 03:00, and 15 all day.
    rhythm = rng.choice(4, containers, p=[0.45, 0.25, 0.15, 0.15])
    busiest = np.array([28, 40, 6, 0])[rhythm] + rng.normal(0, 2, containers)
    swing = np.where(rhythm == 3, 0.1, rng.uniform(0.6, 0.9, containers))
    memory_gib = np.clip(mean * rng.choice(_SIZES, containers, p=[0.3, 0.4, 0.3]), 0.5, 48.0)
    slots = DAY_SLOTS * (HISTORY_DAYS + 1)
    hour = np.arange(slots)
    daily = 1 + swing[:, None] * np.cos(2 * np.pi * (hour[None] - busiest[:, None]) / DAY_SLOTS)
    wander = np.zeros((containers, slots))
    shock = rng.normal(0, 0.08, (containers, slots))
    for k in range(1, slots):
        wander[:, k] = 0.7 * wander[:, k - 1] + shock[:, k]
    demand = mean[:, None] * daily * np.exp(wander)
    for c in range(containers):
        for burst in np.flatnonzero(rng.random(slots) < 0.004):
            demand[c, burst : burst + rng.integers(2, 5)] *= rng.uniform(1.7, 2.5)
    return RollingWorld(
        seed=seed,
        cores=cores,
        room_gib=_GIB[kind] * _MEMORY_HEAD,
        idle_w=_IDLE_W[kind] * unit,
        slope_w=(_PEAK_W[kind] - _IDLE_W[kind]) / cores * unit,
        memory_gib=memory_gib,
        demand=np.minimum(demand, _MOST_CORES),
    )


def spread(world: RollingWorld) -> Int[Array, " containers"]:
    """The placement that a day starts from: every container, the busiest first, on the node that is least full with it.

    Busy is the mean of the days of history. The fullest of CPU and memory counts.

    Raises:
        PlacementError: if a container finds no memory.
    """
    mean = world.demand[:, : world.first_slot].mean(axis=1)
    home = np.zeros(world.containers, np.int64)
    load, taken = np.zeros(world.nodes), np.zeros(world.nodes)
    for c in map(int, np.argsort(-mean, kind="stable")):
        fits = taken + world.memory_gib[c] <= world.room_gib
        if not fits.any():
            raise PlacementError(
                f"container {c} of {world.memory_gib[c]:g} GiB finds no room on {world.nodes} nodes of seed "
                f"{world.seed}; draw with more nodes or fewer containers"
            )
        full = np.maximum((load + mean[c]) / world.cores, (taken + world.memory_gib[c]) / world.room_gib)
        n = int(np.argmin(np.where(fits, full, np.inf)))
        home[c] = n
        load[n] += mean[c]
        taken[n] += world.memory_gib[c]
    return home
