"""`fogfold bench chaos`: a day on which the service is killed again and again, and what is left of it at its end."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from fogfold.adapters.simulated.chaos.day import ChaosReport, play_chaos
from fogfold.adapters.simulated.chaos.restless import Restless
from fogfold.adapters.simulated.chaos.settings import ChaosSettings, troubles_of
from fogfold.cli.bench_rows import as_object, table_of
from fogfold.cli.options import seeds_of
from fogfold.cli.output import Track, print_json, progress, screen
from fogfold.errors import MissingExtraError
from fogfold.policy.base import Policy
from fogfold.policy.registry import policy as policy_named
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario

__all__ = ["chaos"]

_POLICY = "drain-relief"


def chaos(
    *,
    kills: int = 200,
    move_failure: float = 0.3,
    troubles: str = "none",
    scenario: str = "city-20",
    hours: float = 24.0,
    seed: int | None = None,
    seeds: int | None = None,
    first_seed: int | None = None,
    json: bool = False,
) -> int:
    """A simulated day of the whole service over SQLite, killed again and again; 1 where something is lost or locked.

    Parameters
    ----------
    kills
        How often it is killed; each time another instance takes over.
    move_failure
        Share of attempts at moves that break, beside those that the simulator breaks.
    troubles
        What else goes wrong, with commas between: `answers`, `nodes`, `readings`, `store`, `ports`, `clock`, `pauses`,
        `rival`; or `all`, or `none`.
    scenario
        The cluster.
    hours
        How long it all lasts, with an hour of calm at the end.
    seed
        Root of all randomness; one day is played.
    seeds
        How many days are played, each with a seed of its own.
    first_seed
        The first of these seeds.
    json
        Print one JSON object.
    """
    settings = ChaosSettings(kills=kills, hours=hours, move_failure=move_failure, troubles=troubles_of(troubles))
    roots = seeds_of(seed, seeds, first_seed)
    shown: AbstractContextManager[Track] = progress("chaos", kills * len(roots), "kills")
    with shown as track:
        reports = [asyncio.run(_play(scenario, root, settings, track)) for root in roots]
    rows = [{"seed": root, **report.row.as_json()} for root, report in zip(roots, reports, strict=True)]
    faults = [f"seed {root}: {fault}" for root, report in zip(roots, reports, strict=True) for fault in _faults(report)]
    if json:
        print_json(as_object("chaos", rows, faults=faults))
    else:
        screen().print(table_of(rows, _text))
        for fault in faults:
            screen().print(fault, markup=False)
    return 0 if all(report.is_good for report in reports) else 1


async def _play(scenario: str, seed: int, settings: ChaosSettings, track: Track) -> ChaosReport:
    try:
        from fogfold.adapters.simulated.chaos.sqlite import sqlite_stores  # noqa: PLC0415  an optional package
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"the store needs the package {error.name!r}; pip install 'fogfold[serve]'") from error
    built = build(load_scenario(scenario), seed, hours=settings.hours)
    async with sqlite_stores() as stores:
        return await play_chaos(built, settings, _policy, stores, on_kill=track.by)


def _policy(rng: np.random.Generator) -> Policy:
    return Restless(policy_named(_POLICY), rng)


def _faults(report: ChaosReport) -> list[str]:
    """What is not as it must be, a sentence each."""
    return [
        *(f"{container} runs nowhere" for container in report.nowhere),
        *report.locked,
        *report.broken,
        *(f"crashed: {crash}" for crash in report.crashes),
        *(f"{key} did not end as the store says" for key in report.unsafe),
    ]


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
