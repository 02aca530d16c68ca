"""A world played tick by tick while somebody takes notes: the records that a real cluster would leave.

What is written down is what could be seen from outside: draw and usage of nodes that are on, moves with the times at
which they were seen to begin and to end, boots. A tick is the resolution of the clock, and the records say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fogfold.calibrate.exercise import Exercise
from fogfold.calibrate.records import Kind
from fogfold.compiled import Array
from fogfold.encoding.arrays import ClusterView, fleet_arrays
from fogfold.encoding.rows import ContainerInt
from fogfold.model.container import Movability
from fogfold.model.node import NodeState
from fogfold.seeding import stream
from fogfold.units import TICK_S
from fogfold.world.dynamics import Orders
from fogfold.world.phase import Phase
from fogfold.world.rows import CI, NI, C, N
from fogfold.world.scenario.build import BuiltScenario
from fogfold.world.world import World

__all__ = ["Notes", "exercise_of", "record_world"]

Decide = Callable[[ClusterView], Orders]


@dataclass
class Notes:
    """Rows of each form, as they were written down."""

    rows: dict[Kind, list[Mapping[str, Any]]] = field(default_factory=lambda: {kind: [] for kind in Kind})


def exercise_of(built: BuiltScenario, *, moves_at_once: int = 4) -> Decide:
    """An exercise of a scenario's cluster, drawn from its seed."""
    rng = stream(built.seed, "calibrate", "exercise")
    return Exercise(rng, moves_at_once=moves_at_once, ceiling=built.params.ceiling).orders


def record_world(
    built: BuiltScenario,
    decide: Decide,
    *,
    read_every: int = 10,
    noise: float = 0.0,
    on_tick: Callable[[int, int], None] | None = None,
) -> Notes:
    """Play a scenario to its end, deciding every tick, and write down what is seen.

    Args:
        built: the scenario's inputs under a seed.
        decide: what to order, given a view.
        read_every: ticks between two readings of power.
        noise: relative standard deviation of the power meters.
        on_tick: called with the ticks done and in all.
    """
    built = replace(built, params=replace(built.params, ticks_per_step=1))
    fleet = fleet_arrays(built.cluster)
    world = World(fleet, built.params, [(built.workload, built.faults)], seed=built.seed)
    nodes = [str(node.id) for node in built.cluster.nodes]
    rng = stream(built.seed, "calibrate", "meters")
    notes, boots = Notes(), _BootNotes(nodes)
    moves = _MoveNotes(built, nodes)
    before = _seen(world)
    for tick in range(built.ticks):
        orders = decide(world.view())
        began_s = built.start_s + tick * TICK_S
        world.step(orders)
        after = _seen(world)
        ended_s = began_s + TICK_S
        notes.rows[Kind.MOVES] += moves.between(before, after, began_s, ended_s)
        notes.rows[Kind.BOOTS] += boots.between(before.state, after.state, began_s, ended_s)
        if tick % read_every == read_every - 1:
            notes.rows[Kind.READINGS] += _readings(world, before, after, nodes, ended_s, noise, rng)
        before = after
        if on_tick is not None:
            on_tick(tick + 1, built.ticks)
    return notes


@dataclass(frozen=True)
class _Sight:
    """What is to be seen at the end of a tick."""

    state: Array
    container_int: Array
    container: Array
    image: Array


def _seen(world: World) -> _Sight:
    state = world.state
    return _Sight(
        state.node_int[0, NI.STATE].copy(),
        state.container_int[0].copy(),
        state.container[0].copy(),
        state.image[0].copy(),
    )


def _readings(
    world: World,
    before: _Sight,
    after: _Sight,
    nodes: list[str],
    at_s: float,
    noise: float,
    rng: np.random.Generator,
) -> Iterator[Mapping[str, Any]]:
    """Nodes that were on all through the tick: others draw what their switching takes."""
    capacity, used = world.frame.fleet.capacity[0], world.state.used[0, :, 0]
    power_w = world.state.node[0, N.POWER_W] * (1.0 + noise * rng.standard_normal(len(nodes)))
    on = (before.state == NodeState.ON) & (after.state == NodeState.ON)
    for n in np.flatnonzero(on).tolist():
        yield {
            "time_s": at_s,
            "node": nodes[n],
            "power_w": float(power_w[n]),
            "cpu_cores": float(min(used[n], capacity[n])),
            "state": "on",
        }


class _BootNotes:
    """When nodes were ordered on, and when they were seen to be up."""

    def __init__(self, nodes: list[str]) -> None:
        self._nodes = nodes
        self._ordered_s: dict[int, float] = {}

    def between(self, before: Array, after: Array, began_s: float, ended_s: float) -> Iterator[Mapping[str, Any]]:
        """Boots that ended in this tick."""
        for n in np.flatnonzero((before == NodeState.ASLEEP) & (after != NodeState.ASLEEP)).tolist():
            self._ordered_s[n] = began_s
        for n in np.flatnonzero((after != NodeState.WAKING) & (after != NodeState.ASLEEP)).tolist():
            ordered_s = self._ordered_s.pop(n, None)
            if ordered_s is None:
                continue
            came = after[n] == NodeState.ON
            yield {
                "node": self._nodes[n],
                "ordered_s": ordered_s,
                "up_s": ended_s if came else None,
                "outcome": "up" if came else "failed",
                "resolution_s": TICK_S,
            }


class _MoveNotes:
    """When moves were seen to begin and to end, and the attempts that broke."""

    def __init__(self, built: BuiltScenario, nodes: list[str]) -> None:
        self._names = [str(container.id) for container in built.cluster.containers]
        self._nodes = nodes
        fleet = fleet_arrays(built.cluster)
        self._image = fleet.container_int[ContainerInt.IMAGE]
        self._live = fleet.container_int[ContainerInt.MOVABILITY] == Movability.LIVE
        self._began: dict[int, tuple[float, float]] = {}

    def between(self, before: _Sight, after: _Sight, began_s: float, ended_s: float) -> Iterator[Mapping[str, Any]]:
        """Attempts that ended in this tick; those that were called off are no attempts that failed."""
        was, now = before.container_int, after.container_int
        ordered = now[CI.MOVES] > was[CI.MOVES]
        touched = np.flatnonzero((was[CI.TARGET] >= 0) | (now[CI.TARGET] >= 0) | ordered)
        for c in touched.tolist():
            tries = int(now[CI.ATTEMPT, c] - (0 if ordered[c] else was[CI.ATTEMPT, c]))
            source = int(was[CI.PLACEMENT, c])
            arrived = now[CI.TARGET, c] < 0 and now[CI.PLACEMENT, c] >= 0 and now[CI.PLACEMENT, c] != source
            target = int(now[CI.TARGET, c] if now[CI.TARGET, c] >= 0 else was[CI.TARGET, c])
            if arrived:
                target = int(now[CI.PLACEMENT, c])
            row = {"container": self._names[c], "source": self._nodes[source] if source >= 0 else ""}
            for _ in range(tries):
                start_s, resolution_s = self._began.pop(c, (began_s, 2.0 * TICK_S))
                # An attempt that broke within its first tick, and was given up, leaves no target to read: it is lost.
                if target >= 0 and source >= 0:
                    yield row | {
                        "target": self._nodes[target],
                        "outcome": "failed",
                        "start_s": start_s,
                        "end_s": ended_s,
                        "resolution_s": resolution_s,
                    }
            copying = now[CI.PHASE, c] in {Phase.COPYING, Phase.FROZEN}
            if c not in self._began and (copying or arrived) and source >= 0:
                first = bool(ordered[c]) and tries == 0 and bool(before.image[target, self._image[c]])
                self._began[c] = (began_s, TICK_S if first else 2.0 * TICK_S)
            if arrived and source >= 0:
                start_s, resolution_s = self._began.pop(c)
                live = bool(self._live[c])
                yield row | {
                    "target": self._nodes[target],
                    "outcome": "arrived",
                    "memory_bytes": float(before.container[1, c]),
                    "sent_bytes": float(after.container[C.SENT_BYTES, c] + after.container[C.LEFT_BYTES, c])
                    if live
                    else None,
                    "start_s": start_s,
                    "end_s": ended_s,
                    "resolution_s": resolution_s,
                }
            elif now[CI.TARGET, c] < 0:
                self._began.pop(c, None)
