"""Draws the day from a fogfold scenario: its nodes, containers and first placement, and random moves legal everywhere.

fogfold is played once, untimed, and asked before each step where its containers may go; moves are drawn among those
answers, and among what also fits if every earlier move had been instant. So each move is legal in fogfold at the moment
it is ordered and fits in simulators where moves are instant. Sleep and wake orders of empty nodes come on top, for
fogfold alone: the others know none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fogfold.encoding.arrays import ClusterView, FleetArrays, fleet_arrays
from fogfold.encoding.feasibility import reason_row
from fogfold.encoding.rows import NodeInt
from fogfold.model.node import NodeState
from fogfold.model.resources import Resource
from fogfold.seeding import stream
from fogfold.units import MIB, TICK_S
from fogfold.world.dynamics import SLEEP, WAKE, Orders
from fogfold.world.scenario.build import BuiltScenario, build
from fogfold.world.scenario.load import load_scenario
from fogfold.world.world import World
from simulators.workload import TICKS_A_STEP, Day

NODES, CONTAINERS, STEPS, MOVES_A_STEP = 60, 240, 288, 5
_SCENARIO = "city-50"
_SLEEP_SHARE, _WAKE_SHARE = 0.25, 1 / 12
"""Chance per step that an empty node is sent to sleep, and that a sleeping one is woken (after an hour on average)."""
_TRIES = 100_000
"""Draws of a container before giving up: by then no container can move."""


@dataclass(frozen=True)
class Ground:
    """What fogfold plays on."""

    built: BuiltScenario
    fleet: FleetArrays

    def worlds(self, count: int) -> World:
        """So many fresh worlds of the day, each with luck of its own."""
        futures = [(self.built.workload, self.built.faults)] * count
        return World(self.fleet, self.built.params, futures, seed=self.built.seed)


def ground(seed: int, nodes: int = NODES, containers: int = CONTAINERS, steps: int = STEPS) -> Ground:
    """A city of so many nodes and containers, for so many steps of five minutes, with all its faults."""
    overrides = {"nodes.edge.count": nodes, "containers.per_node": containers / nodes}
    built = build(load_scenario(_SCENARIO, overrides), seed, hours=steps / 12)
    return Ground(built, fleet_arrays(built.cluster))


class _Instant:
    """Where one world's containers would be if every move were instant, and what room that leaves."""

    def __init__(self, day: Day) -> None:
        self.where = np.array(day.placement)
        self._request = np.array([day.request_mcpu, day.request_mib])
        self._room = np.array([day.capacity_mcpu, day.capacity_mib])
        for container, node in enumerate(self.where):
            self._room[:, node] -= self._request[:, container]

    def takes(self, container: int) -> np.ndarray:
        """Which nodes could take the container."""
        fits = (self._room >= self._request[:, container, None]).all(axis=0)
        fits[self.where[container]] = False
        return fits

    def move(self, container: int, node: int) -> None:
        self._room[:, self.where[container]] += self._request[:, container]
        self._room[:, node] -= self._request[:, container]
        self.where[container] = node


def draw_day(here: Ground, worlds: int, moves_a_step: int = MOVES_A_STEP) -> tuple[Day, list[Orders]]:
    """The day, with the moves of the first world, and each step's orders for so many worlds."""
    fleet, seed = here.fleet, here.built.seed
    batch = here.worlds(worlds)
    steps = here.built.ticks // here.built.params.ticks_per_step
    day = _still_day(here, batch.view(0).placement, steps)
    instant = [_Instant(day) for _ in range(worlds)]
    rngs = [stream(seed, "simulators", "orders", world) for world in range(worlds)]
    ceiling = here.built.params.ceiling
    orders = []
    for _ in range(steps):
        moves = np.empty((worlds, moves_a_step, 2), np.int32)
        power = np.zeros((worlds, fleet.nodes), np.int8)
        for world, (rng, ledger) in enumerate(zip(rngs, instant)):
            view = batch.view(world)
            power[world] = _draw_power(rng, view)
            view = replace(view, state=np.where(power[world] == SLEEP, NodeState.DRAINING, view.state).astype(np.int32))
            for place in range(moves_a_step):
                container, node = _draw_move(rng, view, ledger, ceiling)
                ledger.move(container, node)
                moves[world, place] = container, node
                target = view.target.copy()
                target[container] = node
                view = replace(view, target=target)
        orders.append(Orders(moves, power))
        batch.step(orders[-1])
    return replace(day, moves=first_moves(orders)), orders


def first_moves(orders: Sequence[Orders]) -> list[list[tuple[int, int]]]:
    """The moves of the first world, step by step."""
    return [[(int(container), int(node)) for container, node in step.moves[0]] for step in orders]


def _draw_power(rng: np.random.Generator, view: ClusterView) -> np.ndarray:
    fleet = view.fleet
    busy = np.zeros(fleet.nodes, bool)
    for where in (view.placement, view.target):
        busy[where[where >= 0]] = True
    chance = rng.random(fleet.nodes)
    idle = (view.state == NodeState.ON) & ~busy & (fleet.node_int[NodeInt.NEVER_SLEEP] == 0)
    power = np.zeros(fleet.nodes, np.int8)
    power[idle & (chance < _SLEEP_SHARE)] = SLEEP
    power[(view.state == NodeState.ASLEEP) & (chance < _WAKE_SHARE)] = WAKE
    return power


def _draw_move(rng: np.random.Generator, view: ClusterView, ledger: _Instant, ceiling: float) -> tuple[int, int]:
    for _ in range(_TRIES):
        container = int(rng.integers(view.fleet.containers))
        if view.placement[container] < 0:
            continue
        legal = np.flatnonzero((reason_row(view, container, ceiling=ceiling) == 0) & ledger.takes(container))
        if len(legal):
            return container, int(rng.choice(legal))
    raise RuntimeError(f"no container may move anywhere after {_TRIES} draws; use fewer moves a step or more nodes")


def _still_day(here: Ground, placement: np.ndarray, steps: int) -> Day:
    """The day before any move. Rounding down keeps what fits: a sum of floors is at most the floor of the sum."""
    fleet, workload = here.fleet, here.built.workload
    request = fleet.request[Resource.CPU] * 1000
    ticks = np.arange(steps * TICKS_A_STEP) * TICK_S
    samples = np.arange(len(workload.level)) * workload.sample_s
    level = np.stack([np.interp(ticks, samples, column) for column in workload.level.T], axis=1)
    demand = np.floor(np.minimum(level, 1.0) * np.floor(request))
    return Day(
        seed=here.built.seed,
        capacity_mcpu=np.floor(fleet.capacity[Resource.CPU] * 1000).astype(int).tolist(),
        capacity_mib=np.floor(fleet.capacity[Resource.MEMORY] / MIB).astype(int).tolist(),
        idle_w=fleet.power_curve[:, 0].tolist(),
        peak_w=fleet.power_curve[:, -1].tolist(),
        request_mcpu=np.floor(request).astype(int).tolist(),
        request_mib=np.floor(fleet.request[Resource.MEMORY] / MIB).astype(int).tolist(),
        placement=placement.astype(int).tolist(),
        moves=[],
        demand_mcpu=demand.astype(int).tolist(),
        site=fleet.site_of.tolist(),
        user_site=fleet.user_site[np.arange(fleet.containers), fleet.user_share.argmax(axis=1)].tolist(),
    )
