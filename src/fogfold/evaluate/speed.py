"""How fast the world runs: macro steps, node-ticks and container-ticks a second and core, every effect switched on.

Each row plays a scenario's cluster with its faults, surges and failing moves, and orders five random moves a step, so
that moves are under way at all times. A first stretch is thrown away (it compiles and fills caches); then the fastest
of several stretches counts, since other work on the machine can only slow one down.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fogfold.encoding.arrays import fleet_arrays
from fogfold.seeding import stream
from fogfold.world.dynamics import Orders
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario
from fogfold.world.world import World

__all__ = ["SpeedRow", "measure_world"]

_MOVES_A_STEP = 5
_STRETCHES = 5


@dataclass(frozen=True, slots=True)
class SpeedRow:
    """Speed of a batch of worlds on one core."""

    nodes: int
    containers: int
    worlds: int
    macro_steps_per_s: float
    """Steps of 10 ticks, each world's counted, in a second of CPU time."""
    node_ticks_per_s: float
    container_ticks_per_s: float
    cpu_s: float
    """CPU time of the stretch that counts."""

    def as_json(self) -> dict[str, Any]:
        """The row as plain values."""
        return asdict(self)


def measure_world(
    nodes: Sequence[int],
    batches: Sequence[int],
    *,
    seed: int = 0,
    budget_s: float = 1.0,
    on_row: Callable[[SpeedRow], None] | None = None,
) -> list[SpeedRow]:
    """A row for each number of nodes (8 containers a node) and each size of batch.

    Args:
        nodes: sizes of the cluster.
        batches: numbers of worlds run in one call, on one core.
        seed: root of all randomness.
        budget_s: about how much CPU time each stretch takes.
        on_row: called with each row when it is there.
    """
    rows = []
    for count in nodes:
        for worlds in batches:
            row = _measure(count, worlds, seed, budget_s)
            rows.append(row)
            if on_row is not None:
                on_row(row)
    return rows


def _measure(nodes: int, worlds: int, seed: int, budget_s: float) -> SpeedRow:
    name = "region-1000" if nodes >= 1000 else "city-200" if nodes >= 200 else "city-50" if nodes >= 50 else "city-20"
    overrides = {} if str(nodes) == name.rpartition("-")[2] else {"nodes.edge.count": nodes}
    scenario = load_scenario(name, overrides)
    built = build(scenario, seed)
    fleet = fleet_arrays(built.cluster)
    world = World(fleet, built.params, [(built.workload, built.faults)] * worlds, seed=seed)
    steps = built.ticks // built.params.ticks_per_step
    rng = stream(seed, "speed", nodes, worlds)
    orders = [_random_orders(rng, world) for _ in range(min(steps, 64))]
    fresh = world.state.copy()
    cost = _stretch(world, orders, min(8, steps))
    length = int(np.clip(budget_s / max(cost, 1e-9), 8, steps))
    best = np.inf
    for _ in range(_STRETCHES):
        for array, before in zip(world.state.arrays(), fresh.arrays()):
            array[:] = before
        best = min(best, _stretch(world, orders, length))
    per_s = worlds / best
    ticks = built.params.ticks_per_step
    return SpeedRow(
        fleet.nodes,
        fleet.containers,
        worlds,
        per_s,
        per_s * ticks * fleet.nodes,
        per_s * ticks * fleet.containers,
        best * length,
    )


def _random_orders(rng: np.random.Generator, world: World) -> Orders:
    fleet, worlds = world.frame.fleet, world.worlds
    shape = (worlds, _MOVES_A_STEP)
    moves = np.stack([rng.integers(0, fleet.containers, shape), rng.integers(0, fleet.nodes, shape)], axis=2)
    return Orders(moves.astype(np.int32), np.zeros((worlds, fleet.nodes), np.int8))


def _stretch(world: World, orders: Sequence[Orders], steps: int) -> float:
    """CPU seconds a step."""
    started = time.process_time()
    for k in range(steps):
        world.step(orders[k % len(orders)])
    return (time.process_time() - started) / steps
