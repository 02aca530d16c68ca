"""`fogfold forecast`: how good forecasters are on real load, and how fast."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from cyclopts import App

from fogfold.cli.bench_rows import as_object, table_of, words
from fogfold.cli.output import Track as Bar
from fogfold.cli.output import print_json, progress, screen
from fogfold.errors import ModelError, UnknownNameError, did_you_mean
from fogfold.evaluate.planetlab.trace import known_days
from fogfold.forecast.backtest import BacktestRow, Track, backtest
from fogfold.forecast.foretold import TurningRow, foretell, nodes_of
from fogfold.forecast.registry import FORECASTERS, YARDSTICK
from fogfold.forecast.speed import ForecastSpeedRow, measure_forecast
from fogfold.seeding import stream
from fogfold.units import HOUR_S, WEEK_S
from fogfold.world.workload.bitbrains import bitbrains_month, read_bitbrains
from fogfold.world.workload.planetlab import planetlab_day, read_planetlab
from fogfold.world.workload.reading import TraceReading

__all__ = ["forecast"]

forecast = App(name="forecast", help="Forecasts of load.")

_WARM_UP_S = {"bitbrains": WEEK_S, "planetlab": 3 * HOUR_S}
"""What a forecaster has seen before it is judged: a week of a month, three hours of a day."""


@forecast.command(name="backtest")
def backtest_command(
    *,
    trace: Literal["bitbrains", "planetlab", "all"] = "all",
    series: int | None = None,
    day: str | None = None,
    forecasters: str = "all",
    horizons: str = "5,30,60",
    machines_a_node: int = 10,
    threshold_share: float = 0.9,
    turning: bool = True,
    speed: bool = False,
    speed_series: int = 8000,
    seed: int = 0,
    json: bool = False,
) -> int:
    """Forecasters on real load: error against the seasonal naive, coverage, and turning points foretold.

    Every sample after a warm-up (a week of Bitbrains, three hours of PlanetLab) is an origin. MASE is the absolute
    error over that of the seasonal naive: the reading a day before, or the last one where there is no day before.

    Parameters
    ----------
    trace
        The trace; `all` takes both.
    series
        So many machines, drawn by the seed; all where not given.
    day
        Day of PlanetLab; all days that are on this machine where not given, side by side.
    forecasters
        Names with commas between, or `all`.
    horizons
        Minutes ahead with commas between, multiples of the trace's 5 min.
    machines_a_node
        Machines put together to a node for turning points.
    threshold_share
        Share of the time that a node stays under the threshold whose crossings are to be foretold.
    turning
        Judge how crossings are foretold.
    speed
        Measure instead how long a tick takes; needs no trace.
    speed_series
        Series of the speed measurement.
    seed
        Root of all randomness: the machines drawn, the bootstrap, the speed measurement's readings.
    json
        Print one JSON object.
    """
    names = list(FORECASTERS) if forecasters == "all" else words(forecasters)
    for name in names:
        if name not in FORECASTERS:
            raise UnknownNameError(f'forecaster "{name}" is unknown; {did_you_mean(name, FORECASTERS)}')
    if not names:
        raise ModelError("no forecaster is named; give --forecasters all, or names with commas between")
    if seed < 0 or (series is not None and series < 1) or speed_series < 1:
        raise ModelError("--seed counts from 0, --series and --speed-series from 1; give no less")
    minutes = [_minutes(part) for part in words(horizons)]
    if not minutes:
        raise ModelError("no horizon is named; give for instance --horizons 5,30,60")
    if speed:
        steps = max(1, round(max(minutes) / 5))
        with progress("forecast speed", len(names), "forecasters") as bar:
            speeds = [_measured(name, speed_series, steps, seed, bar) for name in names]
        _show("forecast speed", speeds, [], json)
        return 0
    tracks = [_track(kind, series, day, seed) for kind in (_WARM_UP_S if trace == "all" else (trace,))]
    rows: list[BacktestRow] = []
    turns: list[TurningRow] = []
    played = len(dict.fromkeys([YARDSTICK, *names]))
    with progress("forecast backtest", sum(played * len(track.level) for track in tracks), "samples") as bar:
        for track in tracks:
            bar.name(f"{track.name}, {track.level.shape[1]} series")
            rows += backtest(track, names, minutes, stream(seed, "forecast", track.name), bar.by)
            if turning and track.level.shape[1] >= machines_a_node:
                nodes = nodes_of(track, machines_a_node)
                steps = max(1, round(max(minutes) * 60 / track.step_s))
                for name in names:
                    turns += foretell(nodes, name, horizon_steps=steps, threshold_share=threshold_share)
    _show("forecast backtest", rows, turns, json)
    return 0


def _minutes(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ModelError(
            f'horizon "{text.strip()}" is no number of minutes; give for instance --horizons 5,30,60'
        ) from error


def _measured(name: str, series: int, steps: int, seed: int, bar: Bar) -> ForecastSpeedRow:
    row = measure_forecast(name, series, steps, stream(seed, "forecast", "speed"))
    bar.by()
    return row


def _track(kind: str, series: int | None, day: str | None, seed: int) -> Track:
    """A trace as plain arrays. The sample that a workload adds at the end to interpolate towards is left off."""
    reading = _read(kind, series, day, seed if series is not None else None)
    workload = reading.workload
    level = workload.level[:-1].astype(np.float64)
    return Track(kind, level, workload.sample_s, workload.start_s, round(_WARM_UP_S[kind] / workload.sample_s))


def _read(kind: str, series: int | None, day: str | None, seed: int | None) -> TraceReading:
    if kind == "bitbrains":
        return read_bitbrains(bitbrains_month(), machines=series, seed=seed)
    days = [day] if day is not None else list(known_days())
    return read_planetlab([planetlab_day(one) for one in days], machines=series, seed=seed)


def _show(name: str, rows: Sequence[BacktestRow | ForecastSpeedRow], turns: Sequence[TurningRow], json: bool) -> None:
    plain = [row.as_json() for row in rows]
    turning = [row.as_json() for row in turns]
    if json:
        print_json(as_object(name, plain, **({"turning": turning} if turns else {})))
        return
    screen().print(table_of(plain, _text))
    if turns:
        screen().print()
        screen().print(table_of(turning, _text))


def _text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)
