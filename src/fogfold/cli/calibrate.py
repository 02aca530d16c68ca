"""`fogfold calibrate`: a scenario fitted to what was measured on a real cluster, and how well it then predicts."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import App, Parameter
from rich.table import Table

from fogfold.calibrate.calibration import Calibration, calibrate
from fogfold.calibrate.estimate import CalibrationSettings, Estimate
from fogfold.calibrate.files import observations_of, read_folder, write_rows
from fogfold.calibrate.playing import exercise_of, record_world
from fogfold.calibrate.records import Kind
from fogfold.cli.options import Overrides, scenario_of
from fogfold.cli.output import print_json, progress, screen
from fogfold.errors import MissingExtraError, ModelError
from fogfold.world.scenario.build import build

__all__ = ["calibrate_app"]

calibrate_app = App(name="calibrate", help="The simulated world fitted to measurements.")


@calibrate_app.default
def fit(
    scenario: str,
    *,
    records: Path | None = None,
    store: str | None = None,
    to: Path | None = None,
    seed: int = 0,
    hold_back: float = 0.2,
    overrides: Annotated[Overrides, Parameter(name="--set")] = (),
    json: bool = False,
) -> int:
    """Fit power curves, boot times, bandwidth, dirty rates and the failure of moves to records, and check the fit.

    The latest records are held back: a value is adopted only where it predicts them better than the scenario's own.

    Parameters
    ----------
    scenario
        The scenario that describes the cluster: its name or the path of its file.
    records
        Folder with readings, moves and boots as .csv or .parquet, those that there are.
    store
        Store of the service, for moves and boots: sqlite:///path or postgresql://user@host/name.
    to
        Write the calibrated scenario to this file, in full.
    seed
        Seed with which the scenario describes the cluster.
    hold_back
        Share of the records, the latest, that nothing is fitted to.
    overrides
        Value of the scenario to change, as path=value; may be repeated.
    json
        Print one JSON object.
    """
    if records is None and store is None:
        raise ModelError("nothing was given to calibrate to; give --records FOLDER, --store URL, or both")
    if to is not None and not to.parent.is_dir():
        raise ModelError(f"there is no folder {str(to.parent)!r} to write {to.name!r} to; make it first")
    settings = CalibrationSettings(hold_back=hold_back)
    built = build(scenario_of(scenario, overrides), seed)
    rows: dict[Kind, list[dict[str, Any]]] = {} if records is None else read_folder(records)
    for kind, more in ({} if store is None else asyncio.run(_stored_rows(store))).items():
        if kind in rows:
            raise ModelError(f"both the folder and the store have {kind.value}; take {kind.value} out of the folder")
        rows[kind] = more
    if not rows:
        raise ModelError(f"{store} tells of no moves and no boots yet; give --records FOLDER")
    found = calibrate(built, observations_of(rows), settings)
    if to is not None:
        to.write_text(found.text(), encoding="utf-8")
    if json:
        print_json(found.as_json() | {"file": None if to is None else str(to)})
    else:
        _show(found)
        if to is not None:
            screen().print(f"\nThe calibrated scenario is in {to}.", markup=False)
    return 0


@calibrate_app.command
def record(
    scenario: str,
    to: Path,
    *,
    seed: int = 0,
    hours: float | None = None,
    read_every: int = 10,
    noise: float = 0.01,
    moves_at_once: int = 4,
    overrides: Annotated[Overrides, Parameter(name="--set")] = (),
    json: bool = False,
) -> int:
    """Exercise a simulated cluster (moves here and there, nodes put to sleep and woken) and write its records down.

    Parameters
    ----------
    scenario
        A scenario's name or the path of its file.
    to
        Folder for readings.csv, moves.csv and boots.csv; it is made where it is not there.
    seed
        Root of all randomness.
    hours
        How long to run, where not as long as the scenario says.
    read_every
        Ticks of 30 s between two readings of power.
    noise
        Relative standard deviation of the power meters.
    moves_at_once
        How many moves are to be on their way.
    overrides
        Value of the scenario to change, as path=value; may be repeated.
    json
        Print one JSON object.
    """
    if read_every < 1 or moves_at_once < 1 or not 0.0 <= noise < 1.0:
        raise ModelError(
            f"--read-every {read_every}, --moves-at-once {moves_at_once} and --noise {noise:g} are given; "
            "the first two are at least 1, noise is in [0, 1["
        )
    if to.exists() and not to.is_dir():
        raise ModelError(f"{str(to)!r} is a file; give the folder to write records to")
    built = build(scenario_of(scenario, overrides), seed, hours=hours)
    with progress(f"{built.scenario.name} exercised", built.ticks, "ticks") as track:
        notes = record_world(
            built,
            exercise_of(built, moves_at_once=moves_at_once),
            read_every=read_every,
            noise=noise,
            on_tick=lambda done, total: track.to(done, total=total),
        )
    to.mkdir(parents=True, exist_ok=True)
    counts = {kind.value: write_rows(to / f"{kind.value}.csv", kind, rows) for kind, rows in notes.rows.items() if rows}
    if json:
        print_json({"folder": str(to), **{kind.value: counts.get(kind.value, 0) for kind in Kind}})
    else:
        told = ", ".join(f"{count} {name}" for name, count in counts.items()) or "nothing"
        screen().print(f"{told} in {to}", markup=False)
    return 0


async def _stored_rows(url: str) -> Mapping[Kind, list[dict[str, Any]]]:
    scheme, _, path = url.partition(":///")
    if scheme.startswith("sqlite") and not Path(path).is_file():
        raise ModelError(f"there is no store {url}; give the one that stands in the settings of the service")
    try:
        from fogfold.adapters.storage import schema  # noqa: PLC0415 - an extra
        from fogfold.adapters.storage.observed import observed_rows  # noqa: PLC0415
        from fogfold.adapters.storage.sql_store import SqlStore  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(f"the store needs the package {error.name!r}; pip install 'fogfold[serve]'") from error
    at, needed = await schema.current(url), schema.newest()
    if at != needed:
        raise ModelError(
            f"{url} is at revision {at}, and {needed} is needed; start the service once, which brings it there"
        )
    async with SqlStore(url) as store:
        return await observed_rows(store)


def _show(found: Calibration) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("parameter", "of", "was", "fitted", "95 % interval", "records", "verdict", "why"):
        table.add_column(column, overflow="fold")
    for one in found.estimates:
        table.add_row(one.parameter.value, one.of, *_figures(one), str(one.records), str(one.verdict), one.why)
    screen().print(table)
    errors = Table("held back", "records", "measure", "before", "after", box=None, pad_edge=False)
    for prediction in found.predictions:
        for measure, before in prediction.before.items():
            unit = prediction.unit if measure == "mae" else "%" if measure == "mape" else ""
            factor = 100.0 if measure == "mape" else 1.0
            told = [f"{factor * value:.4g} {unit}".strip() for value in (before, prediction.after[measure])]
            errors.add_row(prediction.quantity, str(prediction.held_back), measure, *told)
    screen().print()
    screen().print(errors)
    for row in found.refused.as_json():
        screen().print(
            f"refused: {row['rows']} {row['records']}: {row['reason']} (first in line {row['first_line']})",
            markup=False,
        )
    left_out = [f"{count} {reason.replace('_', ' ')}" for reason, count in found.unused.items() if count]
    if left_out:
        screen().print(f"moves that say nothing of bandwidth: {', '.join(left_out)}", markup=False)


def _figures(one: Estimate) -> tuple[str, str, str]:
    """Was, fitted and interval, in few signs: of a curve its idle and its peak."""

    def short(values: Any) -> str:
        if values is None:
            return "-"
        ends = [values[0], values[-1]] if len(values) > 1 else [values[0]]
        return " to ".join(f"{float(value):.4g}" for value in np.asarray(ends)) + (f" {one.unit}" if one.unit else "")

    if one.low is None or one.high is None:
        return short(one.was), short(one.fitted), "-"
    if len(one.low) > 1:
        widths = (one.high - one.low) / (2.0 * np.maximum(one.was, 1e-9))
        return short(one.was), short(one.fitted), f"+-{100.0 * float(widths.max()):.2g} % at most"
    return short(one.was), short(one.fitted), f"{float(one.low[0]):.4g} to {float(one.high[0]):.4g}"
