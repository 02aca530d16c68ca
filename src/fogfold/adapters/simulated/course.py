"""One world that can be looked at between two decisions, and is none the wiser for it.

The world goes from decision to decision in one go: its readings are means over that stretch, and its orders are carried
out at the start of it. So a look in between is taken at a copy, and only what is over is written down; a course that is
only looked at ends in the same bytes as one that is not. Whoever gives orders in between cuts the stretch there, and
means go on over the cut.
"""

from __future__ import annotations

import bisect
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int8

from fogfold.compiled import Array, compiled
from fogfold.errors import ModelError
from fogfold.world.dynamics import Orders, advance, fixed_of, no_orders, one_world
from fogfold.world.faults import FaultKind
from fogfold.world.live import Fixed, Live
from fogfold.world.moves import undo
from fogfold.world.rows import NI, K
from fogfold.world.state import WorldState
from fogfold.world.world import World

__all__ = ["Course"]


@compiled
def _give_up(container: int, fixed: Fixed, state: Live) -> None:
    undo(container, fixed, one_world(state, 0))


class Course:
    """A world of one, tick by tick.

    Args:
        world: a batch of one at its first tick; nobody else steps it.

    Raises:
        ModelError: if it is a batch of several worlds.
    """

    def __init__(self, world: World) -> None:
        if world.worlds != 1:
            raise ModelError(f"a course is that of one world, this is a batch of {world.worlds}; give a batch of one")
        self._world = world
        self._step_ticks = world.frame.params.ticks_per_step
        self._nothing = no_orders(1, world.frame.fleet.nodes)
        self._orders = self._nothing
        self._shown: tuple[int, WorldState] | None = None
        self._tick = [world.tick]
        self._total = [world.state.total[0].copy()]
        self._node_state: list[Int8[Array, " nodes"]] = []

    @property
    def tick(self) -> int:
        """The tick up to which the course is settled: nothing can be ordered before it."""
        return self._world.tick

    @property
    def ticks(self) -> int:
        """How many ticks there are."""
        return self._world.tape.ticks

    @property
    def _done(self) -> int:
        """Ticks of the present step that are settled."""
        return self._world.tick % self._step_ticks

    def is_decision(self, tick: int) -> bool:
        """Whether the world takes stock there: draining that no move supports is called off, readings begin anew."""
        return tick % self._step_ticks == 0

    def state(self, tick: int) -> WorldState:
        """The state at a tick; to be read, not written.

        Raises:
            ModelError: if the tick is settled and past, or the world ends before it.
        """
        self._settle(tick)
        if tick == self.tick:
            return self._world.state
        if self._shown is None or self._shown[0] != tick:
            copy = self._world.state.copy()
            advance(self._world.frame, self._world.tape, copy, self._orders, ticks=tick - self.tick, done=self._done)
            self._shown = (tick, copy)
        return self._shown[1]

    def cut(self, tick: int) -> WorldState:
        """Settle the course up to a tick, so that orders can be given there; gives the state. Raises as `state`."""
        self._settle(tick)
        if tick > self.tick:
            self._go(tick - self.tick)
        return self._world.state

    def order(self, orders: Orders) -> None:
        """What is carried out before the next tick; it takes the place of what was ordered at the same tick before."""
        self._orders = orders
        self._shown = None

    def give_up(self, container: int) -> None:
        """End the move of a container that is on its way, at the tick up to which the course is settled."""
        world = self._world
        _give_up(container, fixed_of(world.frame), Live(*world.state.arrays()))
        self._shown = None

    def strike(self, kind: FaultKind, target: int, ticks: int) -> None:
        """Let a fault happen that nobody had drawn, in the tick up to which the course is settled.

        Args:
            kind: which.
            target: index of the node, site or container.
            ticks: how long it lasts, at least 1.
        """
        world, tape = self._world, self._world.tape
        at = int(world.state.clock[0, K.NEXT_FAULT])
        column = np.array([world.tick, kind, target, max(1, ticks)], tape.fault.dtype).reshape(1, 4, 1)
        fault, magnitude = tape.fault, tape.fault_magnitude
        world.tape = replace(
            tape,
            fault=np.concatenate([fault[:, :, :at], column, fault[:, :, at:]], axis=2),
            fault_magnitude=np.concatenate([magnitude[:, :at], np.ones((1, 1)), magnitude[:, at:]], axis=1),
        )
        self._shown = None

    def total(self, tick: int) -> Float[Array, " totals"]:
        """Sums since the start, rows of `world.rows.Total`: at any tick to come, and at past ones that are decisions.

        Raises:
            ModelError: if the tick is past and no decision.
        """
        if tick >= self.tick:
            total: Float[Array, " totals"] = self.state(tick).total[0].copy()
            return total
        place = bisect.bisect_left(self._tick, tick)
        if self._tick[place] != tick:
            raise ModelError(f"sums at tick {tick} were not kept; ask for a multiple of {self._step_ticks}")
        return self._total[place].copy()

    def steps(self) -> tuple[Float[Array, "steps totals"], Int8[Array, "steps nodes"]]:
        """Of each whole step that is settled: its sums (rows of `world.rows.Total`), and how nodes stood at its end."""
        return np.diff(np.array(self._total), axis=0), np.array(self._node_state, np.int8).reshape(
            len(self._node_state), self._world.frame.fleet.nodes
        )

    def _settle(self, tick: int) -> None:
        if tick < self.tick:
            raise ModelError(f"tick {tick} is past, the course is settled up to tick {self.tick}; ask for a later one")
        if tick > self.ticks:
            raise ModelError(f"the world ends at tick {self.ticks}; ask for no later tick than that, {tick} was asked")
        while tick >= (end := (self.tick // self._step_ticks + 1) * self._step_ticks):
            self._go(end - self.tick)

    def _go(self, ticks: int) -> None:
        world = self._world
        advance(world.frame, world.tape, world.state, self._orders, ticks=ticks, done=self._done)
        self._orders, self._shown = self._nothing, None
        if self.is_decision(self.tick):
            self._tick.append(self.tick)
            self._total.append(np.array(world.state.total[0]))
            self._node_state.append(world.state.node_int[0, NI.STATE].astype(np.int8))
