"""`fogfold bench tradeoff`: what each policy gives up for what, setting by setting, and who is on the front."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from fogfold.cli.bench_rows import as_object, words
from fogfold.cli.options import Overrides, jobs_of, policies_of, scenario_of, seeds_of
from fogfold.cli.output import print_json, progress, screen
from fogfold.errors import UnknownNameError, did_you_mean
from fogfold.evaluate.report import check_report_extra
from fogfold.evaluate.result import RunResult
from fogfold.evaluate.runs import run_tasks
from fogfold.evaluate.statistics import Difference, Interval
from fogfold.evaluate.trade_offs import (
    DIALS,
    Best,
    Setting,
    TradeOff,
    best_by_weight,
    settings_of,
    trade_off_tasks,
    trade_offs,
    weights_of,
)
from fogfold.policy.registry import policy as policy_named

__all__ = ["tradeoff"]


def tradeoff(
    scenario: str,
    *,
    policies: str = "drain-relief,thr-mmt,guided",
    dials: str = ",".join(DIALS),
    weights: tuple[str, ...] = ("sla=0.25,0.5,1,2,4",),
    seeds: int | None = None,
    first_seed: int | None = None,
    seed: int | None = None,
    hours: float | None = None,
    overrides: Annotated[Overrides, Parameter(name="--set")] = (),
    figure: Path | None = None,
    jobs: int | None = None,
    json: bool = False,
) -> int:
    """Every policy at several settings on the same seeds: energy against SLA violations against moves.

    Parameters
    ----------
    scenario
        A scenario's name (see `fogfold scenarios`) or the path of a scenario file.
    policies
        Names with commas between; each is played at all settings of its dials, one without dials as it comes.
    dials
        What is turned, with commas between: `marks` (how full nodes may be), `calm` (how reluctantly they are emptied),
        `late` (what a late request counts in a rehearsal), `margin` (what a rehearsed proposal must save).
    weights
        Factors on the price of a term of J (energy, migration, sla, latency), as in sla=0.5,1,2; may be repeated. For
        each the setting of least total cost is named.
    seeds
        How many seeds (5 where no seed is named).
    first_seed
        The first of them.
    seed
        One seed alone.
    hours
        How long to run, where not as long as the scenario says.
    overrides
        Value of the scenario to change, as path=value; may be repeated.
    figure
        Draw the trade-off into this file, PNG or SVG.
    jobs
        Processes to run on; all processors where not given.
    json
        Print one JSON object.
    """
    names = policies_of(policies)
    if not names:
        raise UnknownNameError(f"--policies names none; {did_you_mean('', ['rules', 'all'])}")
    for name in names:
        policy_named(name)
    factors = weights_of(weights)
    if figure is not None:
        check_report_extra()
        import_module("fogfold.evaluate.figures.saved").check_figure_path(figure)
    chosen = scenario_of(scenario, overrides)
    which = seeds_of(seed, 5 if seed is None and seeds is None else seeds, first_seed)
    settings = [setting for name in names for setting in settings_of(name, words(dials))]
    tasks = trade_off_tasks(chosen, settings, which, hours=hours)
    done: dict[int, RunResult] = {}
    whole = True
    try:
        with progress(chosen.name, len(tasks), "runs") as track:
            for index, episode in run_tasks(tasks, jobs=jobs_of(jobs)):
                done[index] = episode.result
                track.by()
                track.name(f"{chosen.name} ({settings[index // len(which)].label})")
    except KeyboardInterrupt:
        whole = False
    runs = [(settings[index // len(which)], done[index]) for index in sorted(done)]
    if runs:
        _show(runs, factors, figure, json)
    if not whole:
        Console(stderr=True).print(f"fogfold: interrupted after {len(runs)} of {len(tasks)} runs, which are kept")
        return 130
    return 0


def _show(
    runs: Sequence[tuple[Setting, RunResult]], factors: Sequence[tuple[str, float]], figure: Path | None, json: bool
) -> None:
    rows, best = trade_offs(runs), best_by_weight(runs, factors)
    if figure is not None:
        saved = import_module("fogfold.evaluate.figures.saved")
        drawn = import_module("fogfold.evaluate.figures.settings")
        saved.save_figure(figure, lambda look, paint: drawn.settings_figure(rows, look, paint))
    if json:
        print_json(as_object("tradeoff", [row.as_json() for row in rows], best=[each.as_json() for each in best]))
        return
    screen().print(_table(rows))
    for line in _notes(rows, best):
        screen().print(line, markup=False)


def _table(rows: Sequence[TradeOff]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("policy", "setting"):
        table.add_column(column)
    for column in ("energy, kWh", "SLA violations", "moves", "total cost J, Wh-eq", "J against reference"):
        table.add_column(column, justify="right")
    table.add_column("on front")
    for row in rows:
        figures = row.figures
        table.add_row(
            row.setting.policy,
            row.setting.name,
            f"{figures['energy_kwh'].mean:.3f}",
            f"{figures['sla_violation_rate'].mean:.3%}",
            f"{figures['moves'].mean:,.0f}",
            f"{figures['total_cost'].mean:,.0f}",
            "-" if row.against is None else _difference(row.against["total_cost"]),
            "yes" if row.is_on_front else "",
        )
    return table


def _difference(difference: Difference | None) -> str:
    found: Interval | None = None if difference is None else difference.relative
    if found is None:
        return "-"
    if found.low is None or found.high is None:
        return f"{found.mean:+.1%}"
    return f"{found.mean:+.1%} ({found.low:+.1%} to {found.high:+.1%})"


def _notes(rows: Sequence[TradeOff], best: Sequence[Best]) -> list[str]:
    reference = next(row for row in rows if row.against is None)
    lines = [
        f"\nReference: {reference.setting.label}; seeds: {reference.seeds}, paired, 95 % intervals. On the front: no "
        "other setting is as good in energy, violations and moves and better in one, by means."
    ]
    lines += [f"Least J at {each.weight}: {each.setting.label}, {each.total_cost.mean:,.0f} Wh-eq" for each in best]
    return lines
