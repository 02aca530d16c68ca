"""`fogfold bench control`: what operating a cluster costs beside deciding, part by part, and the memory it takes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fogfold.adapters.simulated.apart import course_apart
from fogfold.cli.bench_rows import as_object, table_of
from fogfold.cli.output import print_json, progress, screen
from fogfold.errors import MissingExtraError, ModelError
from fogfold.model.resources import check_number
from fogfold.policy.registry import policy as policy_named
from fogfold.units import HOUR_S
from fogfold.world.scenario.build import BuiltScenario
from fogfold.world.scenario.load import load_scenario
from fogfold.world.scenario.schema import Scenario

if TYPE_CHECKING:
    from fogfold.bootstrap.overhead import Cycle, Played

__all__ = ["ControlRow", "control"]

_SCENARIOS = ((1000, "region-1000"), (200, "city-200"), (50, "city-50"), (0, "city-20"))
_WARM_UP = 1
"""Whole decisions that do not count: loops are compiled, and the store is new."""


@dataclass(frozen=True, slots=True)
class ControlRow:
    """How long a part of a macro cycle takes."""

    nodes: int
    containers: int
    part: str
    """`total` is all of them, deciding left out."""
    p50_ms: float
    p99_ms: float


def control(
    *,
    nodes: tuple[int, ...] = (20, 200, 1000),
    policy: str = "drain-relief",
    hours: float = 2.0,
    look_s: float = 30.0,
    macro_s: float = 300.0,
    cpu: bool = False,
    seed: int = 0,
    json: bool = False,
) -> int:
    """Time of a macro cycle without deciding, over SQLite on disk, and memory day by day.

    The simulator and the policy are timed apart and left out. The simulator runs in a process of its own, so that
    memory is the service's alone. With `--hours 168` it plays a week; `--look-s 300` then keeps that short, and
    `--policy hold` looks at memory alone.

    Parameters
    ----------
    nodes
        Sizes of the cluster, eight containers a node.
    policy
        Who decides, so that there is something to guard, plan and carry out.
    hours
        How long is played, in hours of the cluster.
    look_s
        Time between two looks, in seconds of the cluster.
    macro_s
        Time between two whole decisions, in seconds of the cluster.
    cpu
        Count processor time instead of time that passes: for busy machines; waiting for the disk is then left out.
    seed
        Root of all randomness.
    json
        Print one JSON object.
    """
    check_number("--look-s", look_s, above=True)
    if macro_s < look_s:
        raise ModelError(f"--macro-s is {macro_s:g} and --look-s {look_s:g}; decide no more often than you look")
    if hours * HOUR_S < (_WARM_UP + 1) * macro_s:
        raise ModelError(f"--hours is {hours:g}; give at least {_WARM_UP + 1} whole decisions of {macro_s:g} s")
    parts = _parts()
    settings = parts["OverheadSettings"](hours, look_s, macro_s, by_processor=cpu)
    policy_named(policy)
    rows: list[dict[str, Any]] = []
    memory: list[dict[str, Any]] = []
    with progress("control", hours * len(nodes), "h") as track:
        for k, count in enumerate(nodes):
            with course_apart(_scenario(count), seed, hours=hours) as (built, course):
                played: Played = asyncio.run(
                    parts["play_control"](
                        built,
                        policy_named(policy),
                        settings,
                        course=course,
                        on_hour=lambda hour, k=k: track.to(k * hours + hour),
                    )
                )
            size = {"nodes": len(built.cluster.nodes), "containers": len(built.cluster.containers)}
            rows += [asdict(row) for row in rows_of(built, played)]
            memory += [{**size, **asdict(day)} for day in played.days]
    if json:
        print_json(as_object("control", rows, clock="cpu" if cpu else "wall", memory=memory))
    else:
        out = screen()
        out.print(table_of(rows, _text))
        out.print()
        out.print(table_of(memory, _text))
    return 0


def rows_of(built: BuiltScenario, played: Played) -> list[ControlRow]:
    """A row a part, the dearest first, the total last; then what a look costs on which nothing whole was decided."""
    nodes, containers = len(built.cluster.nodes), len(built.cluster.containers)
    whole = [cycle for cycle in played.cycles if cycle.is_macro][_WARM_UP:]
    looks = [cycle for cycle in played.cycles if not cycle.is_macro]
    parts = {part for cycle in whole for part in cycle.part_s} if whole else set()
    rows = [
        ControlRow(nodes, containers, part, *_quantiles([cycle.part_s.get(part, 0.0) for cycle in whole]))
        for part in parts
    ]
    rows.sort(key=lambda row: (-row.p50_ms, -row.p99_ms, row.part))
    if whole:
        rows.append(ControlRow(nodes, containers, "total", *_totals(whole)))
    if looks:
        rows.append(ControlRow(nodes, containers, "a look between", *_totals(looks)))
    return rows


def _totals(cycles: Sequence[Cycle]) -> tuple[float, float]:
    return _quantiles([cycle.total_s for cycle in cycles])


def _quantiles(times_s: Sequence[float]) -> tuple[float, float]:
    p50_s, p99_s = np.quantile(times_s, [0.5, 0.99])
    return 1e3 * float(p50_s), 1e3 * float(p99_s)


def _scenario(nodes: int) -> Scenario:
    name = next(name for least, name in _SCENARIOS if nodes >= least)
    overrides = {} if str(nodes) == name.rpartition("-")[2] else {"nodes.0.count": nodes}
    return load_scenario(name, overrides)


def _parts() -> dict[str, Any]:
    try:
        from fogfold.bootstrap.overhead import OverheadSettings, play_control  # noqa: PLC0415  an extra
    except ImportError as error:
        raise MissingExtraError(f"the store needs the package {error.name!r}; pip install 'fogfold[serve]'") from error
    return {"OverheadSettings": OverheadSettings, "play_control": play_control}


def _text(value: object) -> str:
    return f"{value:,.1f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
