"""Runs the benchmark: every policy on every world, several worlds at once on several cores.

All meet the same worlds. What a policy is tuned by are worlds of their own (`tune`), which are never judged.
"""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from fogfold.errors import ModelError, UnknownNameError, did_you_mean
from fogfold.evaluate.rolling.bound import lower_bound_wh
from fogfold.evaluate.rolling.clairvoyant import Hindsight, plan_with_hindsight
from fogfold.evaluate.rolling.draw import draw_world, spread
from fogfold.evaluate.rolling.greedy import Greedy, GreedyFigures
from fogfold.evaluate.rolling.policies import Hold, Maker, Mpc, MpcFigures, one_slot, play
from fogfold.evaluate.rolling.referee import Prices, judge
from fogfold.policy.program import require_solver

__all__ = ["BOUND", "LINEUP", "Figures", "RollingRow", "RollingTask", "run_day", "run_days", "workers"]

BOUND = "lower-bound"
LINEUP = ("hold", "greedy", "one-slot", "mpc", "clairvoyant", BOUND)
"""Everything that can stand in a table, from the least to the most that may be known."""


@dataclass(frozen=True)
class Figures:
    """What the policies go by."""

    greedy: GreedyFigures = field(default_factory=GreedyFigures)
    one_slot: MpcFigures = field(default_factory=one_slot)
    mpc: MpcFigures = field(default_factory=MpcFigures)
    hindsight: Hindsight = field(default_factory=Hindsight)

    def as_json(self) -> dict[str, dict[str, float]]:
        """Those that are tuned, by policy."""
        return {
            "greedy": {"mark": self.greedy.mark, "lasts_slots": self.greedy.lasts_slots},
            "one-slot": {"margin": self.one_slot.margin},
            "mpc": {"horizon_slots": self.mpc.horizon_slots, "margin": self.mpc.margin},
        }


@dataclass(frozen=True)
class RollingTask:
    """One day to play: everything a worker process needs to know."""

    nodes: int
    containers: int
    migration_price: float
    policy: str
    seed: int
    figures: Figures = field(default_factory=Figures)


@dataclass(frozen=True, slots=True)
class RollingRow:
    """One day's cost, in Wh-equivalents. What a bound does not know is absent."""

    nodes: int
    containers: int
    migration_price: float
    policy: str
    seed: int
    total_cost: float
    energy: float | None
    migration: float | None
    sla: float | None
    moves: int | None
    decision_ms: float | None
    """Mean clock time of a decision; absent where none is taken from slot to slot."""
    cpu_s: float

    def as_json(self) -> dict[str, Any]:
        """The row as plain values, keys in the order above."""
        return asdict(self)


def run_day(task: RollingTask) -> RollingRow:
    """One day under one policy.

    Raises:
        UnknownNameError: if there is no such policy.
        MissingExtraError: if the bound is asked for and HiGHS is not installed.
        ModelError, PlacementError: as `draw.draw_world` and `draw.spread`.
    """
    _check_name(task.policy)
    world = draw_world(task.nodes, task.containers, task.seed)
    start, prices = spread(world), Prices(migration=task.migration_price)
    _compile()
    began_s = time.process_time()
    row = RollingRow(
        *(task.nodes, task.containers, task.migration_price, task.policy, task.seed),
        total_cost=0.0,
        energy=None,
        migration=None,
        sla=None,
        moves=None,
        decision_ms=None,
        cpu_s=0.0,
    )
    if task.policy == BOUND:
        bound_wh = lower_bound_wh(world, start, prices)
        return replace(row, total_cost=bound_wh, cpu_s=time.process_time() - began_s)
    decision_ms = None
    if task.policy == "clairvoyant":
        where = plan_with_hindsight(world, start, prices, task.figures.hindsight)
    else:
        played = play(world, start, prices, _maker(task.policy, task.figures))
        where, decision_ms = played.where, played.decision_ms
    cpu_s = time.process_time() - began_s
    cost = judge(world, start, where, prices)
    return replace(
        row,
        total_cost=cost.total,
        energy=cost.energy,
        migration=cost.migration,
        sla=cost.sla,
        moves=cost.moves,
        decision_ms=decision_ms,
        cpu_s=cpu_s,
    )


def _maker(name: str, figures: Figures) -> Maker:
    if name == "hold":
        return lambda past, prices: Hold()  # noqa: ARG005 - it needs nothing
    if name == "greedy":
        return lambda past, prices: Greedy(past, prices, figures.greedy)
    return lambda past, prices: Mpc(past, prices, figures.one_slot if name == "one-slot" else figures.mpc)


def _check_name(name: str) -> None:
    if name not in LINEUP:
        raise UnknownNameError(f'"{name}" plays no rolling days; {did_you_mean(name, LINEUP)}')


Mapper = Callable[[Sequence[RollingTask]], Iterator[RollingRow]]
"""Plays tasks and gives their rows in the order of the tasks."""


@contextmanager
def workers(jobs: int | None) -> Iterator[Mapper]:
    """A way to play tasks on several processes.

    Args:
        jobs: processes; None takes one per core, 1 stays in this process.

    Raises:
        ModelError: if `jobs` is less than 1.
    """
    count = (os.cpu_count() or 1) if jobs is None else jobs
    if count < 1:
        raise ModelError(f"there are {count} processes to run on; give at least 1")
    # Compiled once here, the workers load it from disk.
    _compile()
    if count == 1:
        yield lambda tasks: map(run_day, tasks)
        return
    # A fresh interpreter per worker: a fork would copy the threads' state of whoever calls this.
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:
        try:
            yield lambda tasks: pool.map(run_day, tasks)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def run_days(
    nodes: int,
    containers: int,
    migration_price: float,
    policies: Sequence[str],
    seeds: Sequence[int],
    figures: Figures,
    *,
    mapper: Mapper,
    on_row: Callable[[RollingRow], None] | None = None,
) -> list[RollingRow]:
    """Every policy on every world, rows ordered by policy, then seed, as given.

    Args:
        nodes: size of the worlds.
        containers: size of the worlds.
        migration_price: factor on the price of a move.
        policies: names, of `LINEUP`.
        seeds: which worlds.
        figures: what the policies go by.
        mapper: as `workers` gives it.
        on_row: called with each row as it is there.

    Raises:
        UnknownNameError, MissingExtraError: before anything runs, as `run_day`.
    """
    for name in policies:
        _check_name(name)
    if BOUND in policies:
        require_solver()
    rows = []
    tasks = [
        RollingTask(nodes, containers, migration_price, policy, seed, figures) for policy in policies for seed in seeds
    ]
    for row in mapper(tasks):
        rows.append(row)
        if on_row is not None:
            on_row(row)
    return rows


def _compile() -> None:
    """Plays a day of two nodes, so that compiling is not counted as work."""
    world = draw_world(2, 3, 0)
    figures = Figures(mpc=MpcFigures(1, effort=1))
    for name in ("greedy", "mpc"):
        play(world, spread(world), Prices(), _maker(name, figures))
