"""fogfold's forecasters beside those of statsforecast, on real load: error, coverage, and CPU time of a tick.

The others fit each series anew at every instant that they are asked, which takes too long to be asked at every sample;
so some series and some instants are drawn, the same for all, and only there is anybody judged. fogfold's are carried
forward through every sample all the same, as they are made to be. Errors are scaled by those of the seasonal naive
forecast, as in `fogfold forecast backtest`; the interval is a bootstrap over series.

    python -m pip install --group yardstick
    python benchmarks/forecasts/yardstick.py --trace planetlab --series 100 --origins 24 --json
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict, dataclass

import numpy as np
import statsforecast
from statsforecast.models import AutoETS, DynamicOptimizedTheta, SeasonalNaive

from fogfold.cli.bench_rows import machine
from fogfold.evaluate.planetlab.trace import known_days
from fogfold.forecast.backtest import Track, play
from fogfold.forecast.registry import DEFAULT, FORECASTERS, YARDSTICK
from fogfold.seeding import stream
from fogfold.units import DAY_S, HOUR_S, WEEK_S
from fogfold.world.workload.bitbrains import bitbrains_month, read_bitbrains
from fogfold.world.workload.planetlab import planetlab_day, read_planetlab

WARM_UP_S = {"bitbrains": WEEK_S, "planetlab": 3 * HOUR_S}
HORIZONS_MIN = (5, 30, 60)
STEPS_A_DAY = 288
RESAMPLES = 1000
TINY = 1e-9
OTHERS = {
    "statsforecast SeasonalNaive(288)": lambda: SeasonalNaive(STEPS_A_DAY),
    "statsforecast AutoETS": lambda: AutoETS(season_length=1),
    "statsforecast DynamicOptimizedTheta": lambda: DynamicOptimizedTheta(season_length=1),
}


@dataclass(frozen=True)
class Row:
    trace: str
    forecaster: str
    default: bool
    horizon_min: int
    mase: float
    mase_low: float
    mase_high: float
    coverage_90: float
    tick_ms_a_series: float
    series: int
    origins: int


@dataclass
class Said:
    """What one forecaster said at the drawn instants: low, median, high by origin, horizon and series."""

    values: np.ndarray
    cpu_s: float = 0.0
    ticks: int = 0


def read(trace: str, series: int, seed: int) -> Track:
    if trace == "bitbrains":
        workload = read_bitbrains(bitbrains_month(), machines=series, seed=seed).workload
    else:
        workload = read_planetlab([planetlab_day(next(iter(known_days())))], machines=series, seed=seed).workload
    level = workload.level[:-1].astype(np.float64)
    return Track(trace, level, workload.sample_s, workload.start_s, round(WARM_UP_S[trace] / workload.sample_s))


def ask_own(name: str, track: Track, origins: np.ndarray, ahead: list[int]) -> Said:
    said = Said(np.full((len(origins), len(ahead), 3, track.level.shape[1]), np.nan), ticks=len(track.level))
    where = {int(origin): k for k, origin in enumerate(origins)}

    def look(sample, forecast):
        if sample in where:
            for h, step in enumerate(ahead):
                said.values[where[sample], h] = forecast.quantiles[:, step - 1]

    said.cpu_s = play(name, track, max(ahead), look)
    return said


def ask_other(name: str, track: Track, origins: np.ndarray, ahead: list[int], window: int) -> Said:
    count = track.level.shape[1]
    said = Said(np.full((len(origins), len(ahead), 3, count), np.nan), ticks=len(origins))
    for k, origin in enumerate(origins.tolist()):
        for c in range(count):
            past = track.level[max(0, origin + 1 - window) : origin + 1, c]
            # A season that is not there cannot be repeated; the last reading is the naive forecast then.
            short = name.endswith("(288)") and len(past) < STEPS_A_DAY
            model = SeasonalNaive(1) if short else OTHERS[name]()
            began_s = time.process_time()
            try:
                found = model.forecast(y=past, h=max(ahead), level=[90])
            except Exception as error:  # noqa: BLE001 - what a model cannot be fitted to is left unsaid
                print(f"{name}, series {c}, sample {origin}: {error}", file=sys.stderr)
                continue
            said.cpu_s += time.process_time() - began_s
            for h, step in enumerate(ahead):
                said.values[k, h, :, c] = [found[key][step - 1] for key in ("lo-90", "mean", "hi-90")]
    return said


def rows_of(track: Track, said: dict[str, Said], origins: np.ndarray, ahead: list[int], seed: int) -> list[Row]:
    rng = stream(seed, "yardstick", track.name)
    came = np.stack([[track.level[o + step] for step in ahead] for o in origins])
    error = {name: np.abs(one.values[:, :, 1] - came) for name, one in said.items()}
    # Judged is only what everybody spoke of.
    judged = ~np.any([np.isnan(e) for e in error.values()], axis=0)
    count = track.level.shape[1]
    rows = []
    for name, one in said.items():
        inside = (came >= one.values[:, :, 0] - TINY) & (came <= one.values[:, :, 2] + TINY)
        for h in range(len(ahead)):
            own = np.where(judged[:, h], error[name][:, h], 0.0).sum(axis=0)
            base = np.where(judged[:, h], error[YARDSTICK][:, h], 0.0).sum(axis=0)
            draws = rng.integers(0, count, (RESAMPLES, count))
            below = base[draws].sum(axis=1)
            ratios = own[draws].sum(axis=1)[below > 0] / below[below > 0]
            low, high = np.percentile(ratios, [2.5, 97.5])
            rows.append(
                Row(
                    track.name,
                    name,
                    name == DEFAULT,
                    HORIZONS_MIN[h],
                    float(own.sum() / base.sum()),
                    float(low),
                    float(high),
                    float(inside[:, h][judged[:, h]].mean()),
                    1e3 * one.cpu_s / one.ticks / count,
                    count,
                    len(origins),
                )
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trace", choices=[*WARM_UP_S, "all"], default="all")
    parser.add_argument("--series", type=int, default=12, help="series drawn")
    parser.add_argument("--origins", type=int, default=12, help="instants drawn, evenly spread after the warm-up")
    parser.add_argument("--window-days", type=float, default=2.0, help="what the others are fitted to")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = []
    for trace in WARM_UP_S if given.trace == "all" else (given.trace,):
        track = read(trace, given.series, given.seed)
        ahead = [round(60 * minutes / track.step_s) for minutes in HORIZONS_MIN]
        origins = np.linspace(track.warm_up, len(track.level) - 1 - max(ahead), given.origins).astype(int)
        said = {name: ask_own(name, track, origins, ahead) for name in FORECASTERS}
        window = round(given.window_days * DAY_S / track.step_s)
        said |= {name: ask_other(name, track, origins, ahead, window) for name in OTHERS}
        rows += rows_of(track, said, origins, ahead, given.seed)
    found = {"bench": "forecast yardstick", "machine": machine(), "statsforecast": statsforecast.__version__}
    plain = [asdict(row) for row in rows]
    if given.json:
        print(json.dumps({**found, "rows": plain}))
        return
    for row in plain:
        print("  ".join(f"{v:.3f}" if isinstance(v, float) else str(v) for v in row.values()))


if __name__ == "__main__":
    main()
