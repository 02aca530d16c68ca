"""One day under one policy, with what happened step by step kept: what the ablations of foresight are made from.

The world is the one of `evaluate.episodes`, and so are the figures. Two things are added: the load that was truly asked
for, by which peaks are found, and a policy that is asked more often than it decides (`paced`). Days are independent, so
several are played at once; what comes back is in the order of the tasks.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.cost.total import ExchangeRates
from fogfold.encoding.arrays import fleet_arrays
from fogfold.encoding.rows import ContainerInt
from fogfold.evaluate.foresight.paced import Pace, Paced
from fogfold.evaluate.metrics import StepRecord, result_of
from fogfold.evaluate.result import RunResult
from fogfold.model.node import NodeState
from fogfold.policy.foresight import Foresighted
from fogfold.policy.orders import orders_of
from fogfold.policy.registry import policy as policy_named
from fogfold.units import TICK_S
from fogfold.world.dynamics import Orders, advance
from fogfold.world.scenario.build import BuiltScenario, build
from fogfold.world.scenario.schema import Scenario
from fogfold.world.world import World

__all__ = ["Day", "DayTask", "play_day", "play_days", "true_load_cores"]

LOOK_TICKS = 2
"""Ticks between two looks of a paced policy: a minute, the finest time between decisions that is asked about."""


@dataclass(frozen=True)
class DayTask:
    """One day to play: everything a worker process needs to know."""

    scenario: Scenario
    seed: int
    variant: str
    """What it is called in the table."""
    policy: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Figures of the policy that differ from its defaults."""
    pace: Callable[[], Pace] | None = None
    """Makes what says when to decide; None decides before every step of the world."""
    hours: float | None = None
    rates: ExchangeRates = field(default_factory=ExchangeRates)


@dataclass(frozen=True)
class Day:
    """What one day left."""

    variant: str
    result: RunResult
    happened: Float[Array, "steps totals"]
    """Sums of each step, rows of `world.rows.Total`."""
    load_cores: Float[Array, " steps"]
    """What was truly asked for in each step, whatever was done."""
    step_s: float
    decisions: int
    """Whole decisions that were taken."""


def play_day(task: DayTask) -> Day:
    """Play one day.

    Raises:
        UnknownNameError, ModelError: if the policy is unknown or a figure of it out of range.
        ScenarioError, PlacementError, TraceError: as `world.scenario.build.build`.
    """
    built = build(task.scenario, task.seed, hours=task.hours)
    fleet = fleet_arrays(built.cluster)
    world = World(fleet, built.params, [(built.workload, built.faults)], seed=built.seed)
    inner = policy_named(task.policy, **task.parameters)
    policy = inner if task.pace is None else Paced(inner, task.pace(), step_s=built.params.ticks_per_step * TICK_S)
    policy.reset(built.seed)
    if isinstance(inner, Foresighted):
        inner.foresee(built.workload)
    ticks = built.params.ticks_per_step
    look = ticks if task.pace is None else LOOK_TICKS
    records = []
    for _ in range(built.ticks // ticks):
        happened = np.zeros_like(world.state.total[0])
        for done in range(0, ticks, look):
            orders = orders_of(policy.propose(world.view()), fleet.nodes)
            happened += _pass(world, orders, look, done, ticks)
        states = world.view().state
        records.append(
            StepRecord(
                happened, ticks, int((states == NodeState.ASLEEP).sum()), int((states == NodeState.FAILED).sum()), 0.0
            )
        )
    result = result_of(
        records,
        scenario=built.scenario.name,
        policy=policy.name,
        seed=built.seed,
        nodes=fleet.nodes,
        containers=fleet.containers,
        rates=task.rates,
        cpu_s=None,
    )
    load = true_load_cores(built, fleet.container_int[ContainerInt.REGION], fleet.request[0])
    decisions = policy.decisions if isinstance(policy, Paced) else len(records)
    return Day(task.variant, result, np.array([r.happened for r in records]), load, ticks * TICK_S, decisions)


def _pass(world: World, orders: Orders, look: int, done: int, ticks: int) -> Float[Array, " totals"]:
    """Carry out the orders and let the ticks of a look pass; gives what happened."""
    if look == ticks:
        return np.asarray(world.step(orders)[0])
    before = world.state.total[0].copy()
    # Readings are means since the last whole step, as they are where nobody looks in between.
    advance(world.frame, world.tape, world.state, orders, ticks=min(look, ticks - done), done=done)
    return np.asarray(world.state.total[0] - before)


def true_load_cores(
    built: BuiltScenario, region: Array, request_cores: Float[Array, " containers"]
) -> Float[Array, " steps"]:
    """Cores that all containers ask for in each step, surges included; what is done changes nothing of it."""
    workload, ticks = built.workload, built.params.ticks_per_step
    steps = built.ticks // ticks
    at = np.arange(steps * ticks)
    sample_ticks = round(workload.sample_s / TICK_S)
    low, part = at // sample_ticks, at % sample_ticks / sample_ticks
    load = np.empty(len(at))
    for tick in range(len(at)):
        before, after = workload.level[low[tick]], workload.level[low[tick] + 1]
        level = before + (after - before) * part[tick]
        load[tick] = float((level * workload.surge[tick, region]) @ request_cores)
    return load.reshape(steps, ticks).mean(axis=1)


def _indexed(index: int, task: DayTask) -> tuple[int, Day]:
    return index, play_day(task)


def play_days(tasks: Sequence[DayTask], *, jobs: int = 1) -> Iterator[tuple[int, Day]]:
    """The days as they end, each with the position of its task.

    Args:
        tasks: what to play.
        jobs: processes to play on; 1 stays in this one.
    """
    if jobs <= 1 or len(tasks) <= 1:
        for index, task in enumerate(tasks):
            yield index, play_day(task)
        return
    # The first is played here, so that what it compiles is on disk before the others look for it.
    yield 0, play_day(tasks[0])
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(tasks) - 1), mp_context=context) as pool:
        futures = [pool.submit(_indexed, i, tasks[i]) for i in range(1, len(tasks))]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            for future in futures:
                future.cancel()
