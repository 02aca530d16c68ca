"""Runs the benchmark: one row per day and policy, several at once on several cores."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fogfold.errors import ModelError, UnknownNameError, did_you_mean
from fogfold.evaluate.planetlab.bound import lower_bound_kwh
from fogfold.evaluate.planetlab.corrections import Corrections
from fogfold.evaluate.planetlab.day import play_day
from fogfold.evaluate.planetlab.guest import player_named
from fogfold.evaluate.planetlab.rules import Rule, rule_named
from fogfold.evaluate.planetlab.seam import MovePolicy
from fogfold.evaluate.planetlab.trace import DayTrace, known_days, read_day

__all__ = ["PlanetlabRow", "Progress", "run", "run_day"]


@dataclass(frozen=True, slots=True)
class PlanetlabRow:
    """One line of the benchmark's table; shares are in [0, 1], formulas are CloudSim's (see `day.DayFigures`)."""

    day: str
    policy: str
    corrected: tuple[str, ...]
    """Names of the corrections that were on."""
    energy_kwh: float
    migrations: int
    slatah: float
    pdm: float
    slav: float
    """SLATAH x PDM."""
    esv: float
    """Energy x SLAV, in kWh."""
    overall_sla: float
    """Share of the demand that was not served."""
    host_shutdowns: int
    lower_bound_kwh: float
    """Least energy that serves the demand, with or without removed VMs as corrected."""
    cpu_s: float
    """Processor time of reading and playing the day, without compiling."""

    def as_json(self) -> dict[str, Any]:
        """The row as plain values, keys in the order above."""
        return asdict(self) | {"corrected": list(self.corrected)}


Progress = Callable[[int, int, PlanetlabRow], None]
"""Called after each row with how many are done, how many there are, and the row."""


def run_day(
    day: str,
    policy: str | MovePolicy,
    corrections: Corrections | Sequence[str] = (),
    *,
    traces: Path | None = None,
    opening: str = "",
) -> PlanetlabRow:
    """One day under one policy.

    Args:
        day: such as `20110303`.
        policy: `npa`, `dvfs`, `thr`, `iqr`, `mad`, `lr`, `lrr` or an alias such as `lr-mmt`; a policy of fogfold, such
            as `drain-relief`; or any `MovePolicy`.
        corrections: which corrections to switch on, by name (`wake`, `keep`, `ram`, `waking`, `all`).
        traces: the traces folder; None looks it up.
        opening: a policy of fogfold that decides for the first half hour in place of another one of fogfold's.

    Raises:
        UnknownNameError: if the day, the policy or a correction is unknown.
        TraceNotFoundError: if there are no traces.
        TraceError: if the day cannot be read.
        PlacementError: if a `MovePolicy` returns a move that cannot be.
    """
    corrections = _as_corrections(corrections)
    chosen = player_named(policy, opening=opening) if isinstance(policy, str) else policy
    _compile()
    started_s = time.process_time()
    trace = read_day(day, traces)
    figures = play_day(trace, chosen, corrections)
    cpu_s = time.process_time() - started_s
    return PlanetlabRow(
        day=day,
        policy=chosen.name,
        corrected=corrections.applied(),
        energy_kwh=figures.energy_kwh,
        migrations=figures.migrations,
        slatah=figures.slatah,
        pdm=figures.pdm,
        slav=figures.slav,
        esv=figures.esv,
        overall_sla=figures.overall_sla,
        host_shutdowns=figures.host_shutdowns,
        lower_bound_kwh=lower_bound_kwh(trace, corrections),
        cpu_s=cpu_s,
    )


def run(
    days: Sequence[str],
    policies: Sequence[str | MovePolicy],
    corrections: Corrections | Sequence[str] = (),
    progress: Progress | None = None,
    *,
    traces: Path | None = None,
    workers: int | None = None,
    opening: str = "",
) -> list[PlanetlabRow]:
    """Every policy on every day, rows ordered by day, then policy, as given.

    Args:
        days: days of the benchmark.
        policies: names, or `MovePolicy` objects that can be pickled if there is more than one worker.
        corrections: see `run_day`.
        progress: called as rows come in, in whatever order they finish.
        traces: the traces folder; None looks it up.
        workers: processes; None takes one per core, 1 stays in this process.
        opening: see `run_day`.

    Raises:
        UnknownNameError: before anything runs, if a day, a policy or a correction is unknown.
        ModelError: if `workers` is less than 1.
    """
    corrections = _as_corrections(corrections)
    known = known_days(traces)
    for day in days:
        if day not in known:
            raise UnknownNameError(f'PlanetLab day "{day}" is unknown; {did_you_mean(day, known)}')
    for policy in policies:
        if isinstance(policy, str):
            player_named(policy, opening=opening)
    pairs = [(day, policy) for day in days for policy in policies]
    workers = min(len(pairs), os.cpu_count() or 1) if workers is None else workers
    if workers < 1 and pairs:
        raise ModelError(f"workers is {workers}; it must be at least 1")
    rows: dict[int, PlanetlabRow] = {}

    def keep(place: int, row: PlanetlabRow) -> None:
        rows[place] = row
        if progress is not None:
            progress(len(rows), len(pairs), row)

    if workers <= 1:
        for place, (day, policy) in enumerate(pairs):
            keep(place, run_day(day, policy, corrections, traces=traces, opening=opening))
    else:
        # Compiled once here, the workers load it from disk.
        _compile()
        # A fresh interpreter per worker: a fork would copy the threads' state of whoever calls this.
        fresh = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(workers, mp_context=fresh) as pool:
            places = {
                pool.submit(run_day, day, policy, corrections, traces=traces, opening=opening): place
                for place, (day, policy) in enumerate(pairs)
            }
            try:
                for done in as_completed(places):
                    keep(places[done], done.result())
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    return [rows[place] for place in range(len(pairs))]


def _as_corrections(corrections: Corrections | Sequence[str]) -> Corrections:
    return corrections if isinstance(corrections, Corrections) else Corrections.of(corrections)


def _compile() -> None:
    """Plays a day of four VMs and a few samples, so that compiling is not counted as work."""
    percent = np.array([[90, 90, 5, 60]] * 4, np.uint8)
    rule: Rule = rule_named("mad")
    play_day(DayTrace("warm-up", ("a", "b", "c", "d"), percent), rule, Corrections(), hosts=4)
