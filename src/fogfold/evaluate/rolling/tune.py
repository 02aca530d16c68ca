"""Finds the figures that policies go by, on worlds that are never judged.

Every policy gets the same worlds. Greedy has two figures that matter alike, so all pairs are tried. The planners have a
margin, and then a horizon with that margin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from fogfold.errors import ModelError
from fogfold.evaluate.rolling.bench import Figures, Mapper, RollingTask
from fogfold.evaluate.rolling.greedy import GreedyFigures
from fogfold.evaluate.rolling.policies import MpcFigures

__all__ = ["FIRST_TUNING_SEED", "tune_figures", "tuning_days"]

FIRST_TUNING_SEED = 1_000_000
"""Worlds from here on are for tuning alone."""

_MARKS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
_LASTS_SLOTS = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 24.0, 48.0)
_MARGINS = (0.0, 0.02, 0.04, 0.06, 0.08, 0.1)
_HORIZONS = (8, 12, 24)


def tuning_days(worlds: int) -> int:
    """How many days a search over that many worlds plays."""
    return worlds * (len(_MARKS) * len(_LASTS_SLOTS) + 2 * len(_MARGINS) + len(_HORIZONS))


def tune_figures(
    nodes: int,
    containers: int,
    migration_price: float,
    *,
    worlds: int,
    mapper: Mapper,
    start: Figures | None = None,
    on_day: Callable[[], None] | None = None,
) -> Figures:
    """The figures with the least mean cost over the tuning worlds of that size; of equals the first.

    Args:
        nodes: size of the worlds.
        containers: size of the worlds.
        migration_price: factor on the price of a move.
        worlds: how many to tune on; with 0 the figures stay as they are.
        mapper: as `bench.workers` gives it.
        start: figures to start from.
        on_day: called after every day.

    Raises:
        ModelError: if the number of worlds is negative.
    """
    if worlds < 0:
        raise ModelError(f"there are {worlds} worlds to tune on; give a number from 0")
    figures = start or Figures()
    if worlds == 0:
        return figures

    def best(policy: str, options: Sequence[Figures]) -> Figures:
        seeds = range(FIRST_TUNING_SEED, FIRST_TUNING_SEED + worlds)
        tasks = [
            RollingTask(nodes, containers, migration_price, policy, seed, option)
            for option in options
            for seed in seeds
        ]
        total = [0.0] * len(options)
        for number, row in enumerate(mapper(tasks)):
            total[number // worlds] += row.total_cost
            if on_day is not None:
                on_day()
        return options[total.index(min(total))]

    pairs = [GreedyFigures(mark, lasts_slots) for mark in _MARKS for lasts_slots in _LASTS_SLOTS]
    figures = best("greedy", [replace(figures, greedy=pair) for pair in pairs])
    figures = best("one-slot", [replace(figures, one_slot=planner) for planner in _with_margins(figures.one_slot)])
    figures = best("mpc", [replace(figures, mpc=planner) for planner in _with_margins(figures.mpc)])
    horizons = [replace(figures.mpc, horizon_slots=slots) for slots in _HORIZONS]
    return best("mpc", [replace(figures, mpc=planner) for planner in horizons])


def _with_margins(planner: MpcFigures) -> list[MpcFigures]:
    return [replace(planner, margin=margin) for margin in _MARGINS]
