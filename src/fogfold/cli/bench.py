"""`fogfold bench`: named benchmarks, each a table or `{bench, machine, rows}` as JSON."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cyclopts import App
from rich.table import Table

from fogfold.cli.output import print_json, progress, screen
from fogfold.evaluate.planetlab.bench import run as run_planetlab
from fogfold.evaluate.planetlab.trace import known_days
from fogfold.evaluate.speed import measure_world

__all__ = ["bench"]

bench = App(name="bench", help="Run a named benchmark.")


def _machine() -> dict[str, Any]:
    """What the figures were taken on, as far as it matters for them."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return {"processor": model, "cores": os.cpu_count(), "python": platform.python_version()}


def _show(name: str, rows: Sequence[dict[str, Any]], json: bool) -> None:
    if json:
        print_json({"bench": name, "machine": _machine(), "rows": list(rows)})
        return
    table = Table(box=None, pad_edge=False)
    for key in rows[0] if rows else ():
        table.add_column(key, justify="right" if isinstance(rows[0][key], int | float) else "left")
    for row in rows:
        table.add_row(*(_text(value) for value in row.values()))
    screen().print(table)


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.5g}"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, list | tuple):
        return "+".join(map(str, value)) or "-"
    return str(value)


@bench.command
def world(
    *,
    nodes: tuple[int, ...] = (20, 50, 200, 1000),
    worlds: tuple[int, ...] = (1, 64),
    seed: int = 0,
    budget_s: float = 1.0,
    json: bool = False,
) -> int:
    """Speed of the world on one core, every effect switched on, eight containers a node.

    Parameters
    ----------
    nodes
        Sizes of the cluster.
    worlds
        Sizes of the batch of worlds that run in one call.
    seed
        Root of all randomness.
    budget_s
        About how much CPU time each stretch takes; the fastest of five counts.
    json
        Print one JSON object.
    """
    with progress("world", len(nodes) * len(worlds), "rows") as track:
        rows = measure_world(nodes, worlds, seed=seed, budget_s=budget_s, on_row=lambda _: track.by())
    _show("world", [row.as_json() for row in rows], json)
    return 0


@bench.command
def planetlab(
    *,
    days: str = "20110303",
    policies: str = "npa,dvfs,thr,iqr,mad,lr,lrr",
    corrected: str = "",
    jobs: int | None = None,
    json: bool = False,
) -> int:
    """The classic benchmark of the field (CloudSim's PlanetLab, 800 hosts, one day), digit for digit.

    Parameters
    ----------
    days
        Days with commas between, or `all` for those on this machine.
    policies
        Rules with commas between, each with minimum-migration-time selection.
    corrected
        Corrections to switch on, with commas between, or `all`.
    jobs
        Processes to run on; all processors where not given.
    json
        Print one JSON object.
    """
    which = list(known_days(None)) if days == "all" else _list(days)
    names, switches = _list(policies), _list(corrected)
    with progress("planetlab", len(which) * len(names), "days") as track:
        rows = run_planetlab(which, names, switches, lambda *_: track.by(), workers=jobs)
    _show("planetlab", [row.as_json() for row in rows], json)
    return 0


def _list(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
