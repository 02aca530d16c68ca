"""`fogfold audit`: what a policy is shown, held against what a live cluster can tell and against what varies."""

from __future__ import annotations

from cyclopts import App
from rich.table import Table

from fogfold.cli.bench_rows import words
from fogfold.cli.output import print_json, progress, screen
from fogfold.errors import ModelError
from fogfold.policy.learned.rows import ENCODING_VERSION
from fogfold.train.state_audit import StateAudit, audit_state
from fogfold.train.state_sources import METRICS

__all__ = ["audit"]

audit = App(name="audit", help="Hold what a policy is shown against what a live cluster can tell.")


@audit.command
def state(
    *,
    scenario: str = "city-20,city-50",
    days: str = "monday,saturday",
    hours: float | None = None,
    seed: int = 0,
    json: bool = False,
) -> int:
    """Every figure that a policy is shown: its live metric, and how it varies; ends with code 1 where one is refused.

    Parameters
    ----------
    scenario
        Scenarios that are played, with commas between; all count together.
    days
        Days of the week on which a generated load begins, with commas between.
    hours
        How long each is played, instead of the scenario's hours.
    seed
        Root of all draws.
    json
        Print one JSON object.
    """
    names, starts = words(scenario), words(days)
    if not names or not starts:
        raise ModelError("an audit needs at least one scenario and one day; give them with commas between")
    with progress("audit", len(names) * len(starts), "days") as track:
        found = audit_state(names, days=starts, hours=hours, seed=seed, on_world=track.by)
    if json:
        print_json({"audit": "state", "encoding_version": ENCODING_VERSION, **found.as_json()})
    else:
        _show(found)
    return 1 if found.refused else 0


def _show(found: StateAudit) -> None:
    lines = screen()
    table = Table(box=None, pad_edge=False)
    for column in ("figure", "unit", "mean", "variance", "low", "high", "missing"):
        table.add_column(column, justify="left" if column in ("figure", "unit") else "right")
    table.add_column("from")
    for d in found.dimensions:
        figures = ["-" if value is None else f"{value:.4g}" for value in (d.mean, d.variance, d.low, d.high)]
        missing = "-" if d.missing is None else f"{d.missing:.1%}"
        table.add_row(f"{d.group}.{d.name}", d.unit, *figures, missing, ", ".join(d.sources) or "nothing")
    lines.print(table, markup=False)
    lines.print()
    for word in dict.fromkeys(word for d in found.dimensions for word in d.sources):
        metric = METRICS[word]
        lines.print(f"{word}: {metric.live}{f' [{metric.unit}]' if metric.unit else ''}", markup=False)
    lines.print()
    for d in found.refused:
        lines.print(f"refused: {d.group}.{d.name}: {d.refused}", style="red", markup=False)
    lines.print(
        f"{len(found.dimensions)} figures over {found.decisions} decisions of {', '.join(found.scenarios)}: "
        f"{len(found.refused)} refused",
        markup=False,
    )
