"""`fogfold bench foresight`: what looking ahead is worth, part by part, on paired seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table

from fogfold.cli.bench_rows import as_object, words
from fogfold.cli.options import Overrides, jobs_of, scenario_of, seeds_of
from fogfold.cli.output import Track, print_json, progress, screen
from fogfold.cli.service_pace import ServicePace
from fogfold.errors import ModelError
from fogfold.evaluate.foresight.day import DayTask, play_days
from fogfold.evaluate.foresight.lineup import (
    RULE,
    Variant,
    forecasts,
    frontier,
    intervals,
    peaks,
    proposers,
    tasks_of,
    wrong_world,
)
from fogfold.evaluate.foresight.rows import DayRow, VariantLine, equal_energy, row_of, summarise_rows
from fogfold.evaluate.statistics import Interval
from fogfold.policy.registry import policy as policy_named
from fogfold.units import MINUTE_S, TICK_S
from fogfold.world.params import WorldParams

__all__ = ["foresight"]

FIRST_SEED = 20
"""Seeds below it were used to tune rules and rehearsal."""

Part = Literal["peaks", "wrong-world", "interval", "forecast", "proposers"]


def foresight(
    scenario: str = "city-20",
    *,
    part: Part,
    seeds: int = 12,
    first_seed: int = FIRST_SEED,
    hours: float | None = None,
    day: str | None = None,
    days: int | None = None,
    overrides: Annotated[Overrides, Parameter(name="--set")] = (),
    off: float = 0.3,
    careful: float = 3.0,
    policy: str = "rehearsed",
    every: str = "5,10,15",
    checkpoint: str = "",
    without: str = "",
    jobs: int | None = None,
    json: bool = False,
) -> int:
    """What foresight is worth, each part alone, on paired seeds with intervals.

    peaks: violations in the hour before and after each peak of load, of a rule that reacts and of policies that look
    ahead, at equal energy. wrong-world: a rehearsal whose power, bandwidth and load are off. interval: fixed times
    between decisions and one that adapts; between two decisions nothing is done. forecast: who forecasts demand.
    proposers: who proposes.

    Parameters
    ----------
    scenario
        A scenario's name or the path of a scenario file.
    part
        Which part.
    seeds
        How many seeds.
    first_seed
        The first of them; rules were tuned on lower ones.
    hours
        How long to play, where not as long as the scenario says.
    day
        Day of the `planetlab` scenario.
    days
        Days of the `bitbrains` scenario.
    overrides
        Value of the scenario to change, as path=value; may be repeated.
    off
        wrong-world: share by which each figure is off, up and down.
    careful
        peaks: weight of a late request in the careful rehearsal.
    policy
        interval: whose decisions are spaced.
    every
        interval: fixed intervals in minutes, with commas between; the first is what others are held against.
    checkpoint
        proposers: path of a checkpoint that proposes as well.
    without
        Variants to leave out, with commas between (as they are named in the table).
    jobs
        Processes to play on; all processors where not given.
    json
        Print one JSON object.
    """
    chosen = scenario_of(scenario, overrides, day=day, days=days)
    which = seeds_of(None, seeds, first_seed)
    step_min = WorldParams(**chosen.world.model_dump()).ticks_per_step * TICK_S / MINUTE_S
    variants = _variants(part, off, careful, policy, every, checkpoint, step_min)
    left_out = words(without)
    unknown = [name for name in left_out if name not in [variant.name for variant in variants[1:]]]
    if unknown:
        raise ModelError(
            f'--without names "{unknown[0]}"; of this part {", ".join(v.name for v in variants[1:])} can be left out'
        )
    variants = [variant for variant in variants if variant.name not in left_out]
    for variant in variants:
        policy_named(variant.policy, **variant.parameters)
    tasks = tasks_of(variants, chosen, which, hours)
    marks = tasks_of(frontier(), chosen, which, hours) if part == "peaks" else []
    rows: list[DayRow] = []
    lines: list[VariantLine] = []
    whole = True
    try:
        with progress(f"foresight, {part}", len(tasks) + len(marks), "days") as track:
            rows = _play(tasks, jobs_of(jobs), track, rows)
            lines = summarise_rows(rows, variants[0].name)
            if part == "peaks":
                track.name("equal energy")
                more, equal = _at_equal_energy(rows, variants[1:], _play(marks, jobs_of(jobs), track, []))
                rows += more
                lines += equal
    except KeyboardInterrupt:
        whole = False
    _show(part, rows, lines or summarise_rows(rows, variants[0].name), json)
    if not whole:
        Console(stderr=True).print(f"fogfold: interrupted after {len(rows)} of {len(tasks)} days, which are kept")
        return 130
    return 0


def _variants(
    part: Part, off: float, careful: float, policy: str, every: str, checkpoint: str, step_min: float
) -> list[Variant]:
    if part == "peaks":
        return peaks(careful=careful)
    if part == "wrong-world":
        return wrong_world(off)
    if part == "forecast":
        return forecasts()
    if part == "proposers":
        return proposers(checkpoint)
    return intervals(policy, [_minutes(one) for one in words(every)], ServicePace, step_min)


def _minutes(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ModelError(f'"{text}" is no number of minutes; give for instance --every 5,10,15') from error


def _play(tasks: Sequence[DayTask], jobs: int, track: Track, rows: list[DayRow]) -> list[DayRow]:
    """The rows of all tasks, in their order; those that ended before an interruption stay in `rows`."""
    done: dict[int, DayRow] = {}
    for index, day in play_days(tasks, jobs=jobs):
        done[index] = row_of(day)
        rows.append(done[index])
        track.by()
    return [done[index] for index in sorted(done)]


def _at_equal_energy(
    rows: Sequence[DayRow], ahead: Sequence[Variant], marked: Sequence[DayRow]
) -> tuple[list[DayRow], list[VariantLine]]:
    """For each policy that looks ahead: the rule's setting of equal energy, and the policy held against it."""
    settings: dict[str, list[DayRow]] = {}
    for row in marked:
        settings.setdefault(row.variant, []).append(row)
    names = list(settings)
    more: dict[str, list[DayRow]] = {}
    lines = []
    for variant in ahead:
        own = [row for row in rows if row.variant == variant.name]
        name = names[equal_energy(own, list(settings.values()))]
        more[name] = settings[name]
        lines += [line for line in summarise_rows([*settings[name], *own], name) if line.variant == variant.name]
        lines += summarise_rows(settings[name], RULE)
    unique = {(line.variant, line.against): line for line in lines}
    return [row for rows_of in more.values() for row in rows_of], list(unique.values())


def _show(part: str, rows: Sequence[DayRow], lines: Sequence[VariantLine], json: bool) -> None:
    if json:
        print_json(
            as_object(
                "foresight", [row.as_json() for row in rows], part=part, summary=[line.as_json() for line in lines]
            )
        )
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("variant")
    table.add_column("against")
    for column in (
        "J",
        "energy, kWh",
        "SLA, %",
        "near peaks, %",
        "decisions",
        "moves",
        "J, rel.",
        "energy, rel.",
        "peaks, rel.",
    ):
        table.add_column(column, justify="right")
    for line in lines:
        table.add_row(
            line.variant,
            line.against,
            _range(line.figures["total_cost"], ",.0f"),
            _range(line.figures["energy_kwh"], ".2f"),
            *(_range(line.figures[name], ".3f", 100.0) for name in ("sla_violation_rate", "peak_violation_rate")),
            *(f"{line.figures[name].mean:,.0f}" for name in ("decisions", "moves")),
            *(_range(line.relative[name], "+.1%") for name in ("total_cost", "energy_kwh", "peak_violation_rate")),
        )
    screen().print(table)


def _range(interval: Interval | None, form: str, times: float = 1.0) -> str:
    """A mean, and its interval where there is one."""
    if interval is None:
        return "-"
    mean = format(times * interval.mean, form)
    if interval.low is None or interval.high is None:
        return mean
    return f"{mean} ({times * interval.low:{form}} to {times * interval.high:{form}})"
