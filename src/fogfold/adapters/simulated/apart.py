"""A simulated cluster's world in a process of its own, so that what the operating process holds is its own alone.

The load of a whole week and the world that it drives are over there; here is a copy of the latest state, as any
collector holds one. Answers are those of `Course`, to the byte.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from jaxtyping import Float, Int8

from fogfold.adapters.simulated.course import Course
from fogfold.compiled import Array
from fogfold.encoding.arrays import fleet_arrays
from fogfold.errors import FogfoldError, ModelError
from fogfold.units import TICK_S
from fogfold.world.dynamics import Orders
from fogfold.world.faults import FaultKind
from fogfold.world.scenario.build import BuiltScenario, build
from fogfold.world.scenario.schema import Scenario
from fogfold.world.state import WorldState
from fogfold.world.workload.base import Workload
from fogfold.world.world import World

__all__ = ["CourseApart", "course_apart"]


class CourseApart:
    """A course that is played in another process; each call is as that of `Course`, and raises as it.

    Args:
        connection: to that process.
        ticks: how many ticks there are.
    """

    def __init__(self, connection: Connection, ticks: int) -> None:
        self.ticks = ticks
        self._connection = connection
        self._shown: tuple[int, WorldState] | None = None

    def state(self, tick: int) -> WorldState:
        """The state at a tick; to be read, not written."""
        if self._shown is None or self._shown[0] != tick:
            self._shown = (tick, self._ask("state", tick))
        return self._shown[1]

    def cut(self, tick: int) -> WorldState:
        """Settle the course up to a tick, so that orders can be given there; gives the state."""
        self._shown = (tick, self._ask("cut", tick))
        return self._shown[1]

    def order(self, orders: Orders) -> None:
        """What is carried out before the next tick."""
        self._shown = None
        self._ask("order", orders)

    def give_up(self, container: int) -> None:
        """End the move of a container that is on its way."""
        self._shown = None
        self._ask("give_up", container)

    def strike(self, kind: FaultKind, target: int, ticks: int) -> None:
        """Let a fault happen that nobody had drawn."""
        self._shown = None
        self._ask("strike", kind, target, ticks)

    def total(self, tick: int) -> Float[Array, " totals"]:
        """Sums since the start."""
        total: Float[Array, " totals"] = self._ask("total", tick)
        return total

    def steps(self) -> tuple[Float[Array, "steps totals"], Int8[Array, "steps nodes"]]:
        """Of each whole step that is settled: its sums, and how nodes stood at its end."""
        steps: tuple[Float[Array, "steps totals"], Int8[Array, "steps nodes"]] = self._ask("steps")
        return steps

    def _ask(self, call: str, *args: Any) -> Any:
        with suppress(OSError):  # whoever is gone is found to be so by who waits for the answer
            self._connection.send((call, args))
        return _answer(self._connection)


@contextmanager
def course_apart(
    scenario: Scenario, seed: int, *, hours: float | None = None
) -> Iterator[tuple[BuiltScenario, CourseApart]]:
    """A scenario without its load, and its course, which is played in another process until the end of the block.

    Raises:
        ModelError: if it cannot be built, with the sentence that says why.
    """
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_play, args=(there, scenario, seed, hours), daemon=True)
    process.start()
    there.close()
    try:
        built, ticks = _answer(here)
        yield built, CourseApart(here, ticks)
    finally:
        here.close()
        process.join()


def _answer(connection: Connection) -> Any:
    try:
        fault, answer = connection.recv()
    except (EOFError, OSError) as error:
        raise ModelError("the process that plays the simulated cluster is gone; start again") from error
    if fault:
        raise ModelError(fault)
    return answer


def _play(connection: Connection, scenario: Scenario, seed: int, hours: float | None) -> None:
    """Build and play a world for whoever is at the other end, until nobody is."""
    # An interrupt is the other end's to take: it closes the connection.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with suppress(OSError):
        _answer_all(connection, scenario, seed, hours)


def _answer_all(connection: Connection, scenario: Scenario, seed: int, hours: float | None) -> None:
    try:
        built = build(scenario, seed, hours=hours)
        fleet = fleet_arrays(built.cluster)
        course = Course(World(fleet, built.params, [(built.workload, built.faults)], seed=seed))
    except FogfoldError as error:
        connection.send((str(error), None))
        return
    connection.send(("", (_without_load(built), course.ticks)))
    while True:
        try:
            call, args = connection.recv()
        except EOFError:
            return
        try:
            answer = getattr(course, call)(*args)
        except FogfoldError as error:
            connection.send((str(error), None))
        else:
            connection.send(("", answer))


def _without_load(built: BuiltScenario) -> BuiltScenario:
    """The same scenario with a load of one sample of one container, which stands for none."""
    load = built.workload
    ticks = round(load.sample_s / TICK_S)
    hollow = Workload(np.ones((2, 1), np.float32), load.sample_s, load.start_s, np.ones((ticks, 1), np.float32))
    return replace(built, workload=hollow)
