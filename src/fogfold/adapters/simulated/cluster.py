"""A simulated cluster at a clock's time: where it stands now, and the orders that it is given on the way.

World time is the clock's, in ticks. Orders that are given within one tick are carried out together before the next, in
the world's order: wake and cordon, then moves in the order in which they came.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float, Int8

from fogfold.adapters.simulated.apart import CourseApart
from fogfold.adapters.simulated.clocks import start_of
from fogfold.adapters.simulated.course import Course
from fogfold.compiled import Array
from fogfold.control.failure import PortError
from fogfold.control.ports import Clock
from fogfold.cost.total import ExchangeRates, TermsWh
from fogfold.encoding.arrays import FleetArrays, fleet_arrays
from fogfold.errors import ModelError, did_you_mean
from fogfold.model.cluster import Cluster
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.node import NodeState
from fogfold.units import TICK_S
from fogfold.world.dynamics import KEEP, SLEEP, WAKE, Orders
from fogfold.world.faults import FaultKind
from fogfold.world.rows import NI
from fogfold.world.scenario.build import BuiltScenario
from fogfold.world.state import WorldState
from fogfold.world.twin import HoldTwin, terms_wh
from fogfold.world.world import World

__all__ = ["SimulatedCluster"]


class SimulatedCluster:
    """One world, played by a clock.

    Args:
        built: the scenario's inputs under a seed.
        clock: whose time it follows; the scenario begins now.
        course: its world, where that is played elsewhere.
    """

    def __init__(self, built: BuiltScenario, clock: Clock, course: CourseApart | None = None) -> None:
        self.built = built
        self.fleet: FleetArrays = fleet_arrays(built.cluster)
        self._clock = clock
        self._began_s = clock.monotonic_s()
        self._course: Course | CourseApart = course or Course(self._world())
        self._power = np.zeros((1, self.fleet.nodes), np.int8)
        self._moves: list[tuple[int, int]] = []
        self._ordered_at = -1
        self._to_wake: set[int] = set()
        self.marks: dict[NodeId, str] = {}
        """Our marks, by node."""

    def _world(self) -> World:
        built = self.built
        return World(self.fleet, built.params, [(built.workload, built.faults)], seed=built.seed)

    @property
    def cluster(self) -> Cluster:
        """What there is."""
        return self.built.cluster

    @property
    def start_s(self) -> float:
        """When the scenario begins by the calendar of simulated clocks, in seconds since the epoch."""
        return start_of(self.built)

    @property
    def tick(self) -> int:
        """The tick that has begun, at most the last: a world that has ended stands still."""
        passed_s = self._clock.monotonic_s() - self._began_s
        return min(math.floor(passed_s / TICK_S + 1e-9), self._course.ticks)

    @property
    def is_over(self) -> bool:
        """Whether the scenario has been played to its end."""
        return self.tick >= self._course.ticks

    def state(self) -> WorldState:
        """The state now; to be read, not written."""
        if self._to_wake:
            self._wake_the_waiting()
        return self._course.state(self.tick)

    def node(self, node: NodeId) -> int:
        """Its column.

        Raises:
            PortError: if there is no such node.
        """
        return _column("node", node, self.cluster.node_index)

    def container(self, container: ContainerId) -> int:
        """Its column. Raises as `node`."""
        return _column("container", container, self.cluster.container_index)

    def state_of(self, node: NodeId) -> NodeState:
        """How a node stands."""
        return NodeState(int(self.state().node_int[0, NI.STATE, self.node(node)]))

    def order_move(self, container: int, target: int) -> None:
        """Have a container moved; whether the world takes it shows at the next tick."""
        self._gather()
        self._moves.append((container, target))
        self._give()

    def give_up(self, container: int) -> None:
        """End a move that was ordered, or is on its way."""
        self._gather()
        if any(move[0] == container for move in self._moves):
            self._moves = [move for move in self._moves if move[0] != container]
            self._give()
        else:
            self._course.give_up(container)

    def order_sleep(self, node: int) -> None:
        """Have a node shut down."""
        self._to_wake.discard(node)
        self._order_power(node, SLEEP)

    def order_wake(self, node: int) -> None:
        """Have a node woken, or its going off called back; one that is still shutting down is woken once it is off."""
        if self.tick == self._ordered_at and self._power[0, node] == SLEEP:
            self._order_power(node, KEEP)
        elif self._course.state(self.tick).node_int[0, NI.STATE, node] == NodeState.GOING_TO_SLEEP:
            self._to_wake.add(node)
        elif self._course.state(self.tick).node_int[0, NI.STATE, node] == NodeState.ASLEEP:
            self._order_power(node, WAKE)

    def lose_node(self, node: int, for_s: float) -> None:
        """Have a node stop now and be repaired after so long; nothing happens to one that sleeps or is gone already."""
        if not self.is_over:
            self._course.cut(self.tick)
            self._course.strike(FaultKind.NODE_LOSS, node, round(for_s / TICK_S))

    def total(self) -> Float[Array, " totals"]:
        """Sums since the start, rows of `world.rows.Total`."""
        return self._course.total(self.tick)

    def steps(self) -> tuple[Float[Array, "steps totals"], Int8[Array, "steps nodes"]]:
        """Of each step that is over and was looked at: its sums, and the `NodeState` of each node at its end."""
        return self._course.steps()

    def cost_wh(self, rates: ExchangeRates | None = None) -> TermsWh:
        """Terms of the total cost J since the start."""
        return terms_wh(self.total(), rates or ExchangeRates())

    def hold_cost_wh(self, rates: ExchangeRates | None = None) -> list[TermsWh]:
        """What each step of the same future costs where nothing is ever ordered; plays it to its end.

        Raises:
            ModelError: if its world is played elsewhere.
        """
        if isinstance(self._course, CourseApart):
            raise ModelError("the load is in another process; ask a cluster whose world is played here")
        steps = self._course.ticks // self.built.params.ticks_per_step
        return HoldTwin(self._world(), steps, rates or ExchangeRates()).steps

    def _order_power(self, node: int, order: int) -> None:
        self._gather()
        self._power[0, node] = order
        self._give()

    def _wake_the_waiting(self) -> None:
        states = self._course.state(self.tick).node_int[0, NI.STATE]
        for node in sorted(self._to_wake):
            if states[node] != NodeState.GOING_TO_SLEEP:
                self._to_wake.discard(node)
                if states[node] == NodeState.ASLEEP:
                    self._order_power(node, WAKE)

    def _gather(self) -> None:
        """Begin to gather the orders of this tick, where that has not begun."""
        if self.is_over:
            raise PortError(f"scenario {self.built.scenario.name} is over; nothing can be ordered any more")
        tick = self.tick
        self._course.cut(tick)
        if tick != self._ordered_at:
            self._ordered_at = tick
            self._moves = []
            self._power[:] = 0

    def _give(self) -> None:
        moves = np.array([self._moves], np.int32).reshape(1, len(self._moves), 2)
        self._course.order(Orders(moves, self._power.copy()))


def _column(kind: str, name: str, index: Mapping[Any, int]) -> int:
    found = index.get(name)
    if found is None:
        raise PortError(f"there is no {kind} {name!r}; {did_you_mean(name, index)}")
    return found
