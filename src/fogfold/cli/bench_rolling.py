"""`fogfold bench rolling`: what policies cost over rolling days of small worlds, and what hindsight would have cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from fogfold.cli.bench_rows import as_object, words
from fogfold.cli.options import jobs_of, seeds_of
from fogfold.cli.output import print_json, progress, screen
from fogfold.errors import ModelError, UnknownNameError, did_you_mean
from fogfold.evaluate.rolling.bench import LINEUP, Figures, RollingRow, run_days, workers
from fogfold.evaluate.rolling.room import PolicyLine, Room, room_of, summarise_days
from fogfold.evaluate.rolling.tune import FIRST_TUNING_SEED, tune_figures, tuning_days
from fogfold.evaluate.statistics import Interval

__all__ = ["rolling"]


def rolling(
    *,
    nodes: int = 8,
    containers: int = 32,
    migration_price: float = 5.0,
    worlds: int = 10,
    first_seed: int = 0,
    policies: str = ",".join(LINEUP),
    tuning_worlds: int = 10,
    jobs: int | None = None,
    json: bool = False,
) -> int:
    """Rolling days of small worlds: hold, tuned greedy, the best single slot, forecast MPC, hindsight, a lower bound.

    Parameters
    ----------
    nodes
        Nodes of each world.
    containers
        Containers of each world.
    migration_price
        Factor on the price of a move: 1 for live moves in a quiet network, 20 for restarts that are felt.
    worlds
        How many worlds are judged.
    first_seed
        The first of them.
    policies
        Names with commas between.
    tuning_worlds
        Other worlds, on which greedy, the best single slot and MPC are tuned first; 0 takes their default figures.
    jobs
        Processes to run on; all processors where not given.
    json
        Print one JSON object.
    """
    names = list(dict.fromkeys(words(policies)))
    if not names:
        raise UnknownNameError(f"--policies names none; {did_you_mean('', LINEUP)}")
    for name in names:
        if name not in LINEUP:
            raise UnknownNameError(f'"{name}" plays no rolling days; {did_you_mean(name, LINEUP)}')
    seeds = seeds_of(None, worlds, first_seed)
    if seeds[-1] >= FIRST_TUNING_SEED:
        raise ModelError(f"seed {seeds[-1]} is asked for; worlds from {FIRST_TUNING_SEED} on are for tuning alone")
    total = tuning_days(tuning_worlds) + len(names) * len(seeds)
    figures: Figures | None = None
    rows: list[RollingRow] = []
    whole = True
    try:
        with workers(jobs_of(jobs)) as mapper, progress("tuning", total, "days") as track:

            def keep(row: RollingRow) -> None:
                rows.append(row)
                track.by()

            figures = tune_figures(
                nodes, containers, migration_price, worlds=tuning_worlds, mapper=mapper, on_day=lambda: track.by()
            )
            track.name("judging")
            run_days(*(nodes, containers, migration_price, names, seeds, figures), mapper=mapper, on_row=keep)
    except KeyboardInterrupt:
        whole = False
    _show(rows, figures, tuning_worlds, json)
    if not whole:
        judged = f"after {len(rows)} of {len(names) * len(seeds)} judged days, which are kept"
        Console(stderr=True).print(
            f"fogfold: interrupted {judged if figures else 'while tuning, nothing is judged yet'}"
        )
        return 130
    return 0


def _show(rows: Sequence[RollingRow], figures: Figures | None, tuning_worlds: int, json: bool) -> None:
    """Print what was judged; policies that played fewer worlds than others (an interruption) stand in no summary.

    Args:
        rows: the days that were judged.
        figures: what the policies went by; None where nothing was judged for want of them.
        tuning_worlds: how many worlds the figures are tuned on.
        json: whether to print one JSON object.
    """
    days = Counter(row.policy for row in rows)
    compared = [row for row in rows if days[row.policy] == max(days.values())]
    lines, room = summarise_days(compared), room_of(compared)
    if json:
        print_json(
            as_object(
                "rolling",
                [row.as_json() for row in rows],
                figures=None if figures is None else figures.as_json(),
                tuning_worlds=tuning_worlds,
                summary=[line.as_json() for line in lines],
                room=None if room is None else room.as_json(),
            )
        )
        return
    if lines:
        screen().print(_table(lines))
    if figures is not None:
        screen().print(f"\n{_figures_text(figures, tuning_worlds)}", markup=False)
    if room is not None:
        screen().print(_room_text(room), markup=False)


def _table(lines: list[PolicyLine]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("policy")
    for column in ("total, Wh-eq", "against greedy", "energy", "migration", "SLA", "moves", "decision, ms", "CPU s"):
        table.add_column(column, justify="right")
    for line in lines:
        table.add_row(
            line.policy,
            _range(line.total_cost, ",.0f"),
            "-" if line.against_greedy is None else _range(line.against_greedy, "+.1%"),
            *("-" if part is None else f"{part:,.0f}" for part in (line.energy, line.migration, line.sla, line.moves)),
            "-" if line.decision_ms is None else f"{line.decision_ms:.3g}",
            f"{line.cpu_s:.3g}",
        )
    return table


def _range(interval: Interval, form: str) -> str:
    """A mean, and its interval where there is one."""
    mean = format(interval.mean, form)
    if interval.low is None or interval.high is None:
        return mean
    return f"{mean} ({interval.low:{form}} to {interval.high:{form}})"


def _figures_text(figures: Figures, worlds: int) -> str:
    parts = [
        f"{policy} " + ", ".join(f"{name} {value:g}" for name, value in values.items())
        for policy, values in figures.as_json().items()
    ]
    return (f"Tuned on {worlds} other worlds: " if worlds else "By default: ") + "; ".join(parts) + "."


def _room_text(room: Room) -> str:
    text = f"Room left for learning: {_range(room.share, '.1%')} of what tuned greedy costs"
    if room.closed_by_mpc is None:
        return text + "."
    return text + f"; forecast MPC closes {_range(room.closed_by_mpc, '.0%')} of it."
