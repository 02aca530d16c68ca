"""How good forecasters are on what really happened: each is played through a trace and asked at every step.

Every sample after the warm-up is an origin. A forecaster sees the trace up to the origin and no further, and says what
comes at each distance ahead. Its median is held against what came.

* MASE, mean absolute scaled error (Hyndman and Koehler, International Journal of Forecasting 22, 2006), here scaled out
  of sample: the sum of absolute errors over all origins and series, over the same sum of the seasonal naive forecast
  (the reading a day before; the last reading where that day is not in the trace, so in a trace of one day always).
  Below 1 is better. Sums run over all series, so a series counts as much as it moves; the median over series of
  their own ratios stands beside it. The interval is a bootstrap over series (percentiles of resampled ratios): what
  other machines of the same kind, on the same days, would give.
* Coverage: the share of what came that lies within the 90 % interval, ends included.

Nothing is fitted on the trace beforehand, and nothing is written; where traces come from is the caller's affair.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.errors import ModelError
from fogfold.forecast.base import Forecast
from fogfold.forecast.registry import DEFAULT, YARDSTICK, forecaster

__all__ = ["BacktestRow", "Track", "backtest", "play"]

_LEVELS = (0.05, 0.5, 0.95)
_RESAMPLES = 1000
_TINY = 1e-9


@dataclass(frozen=True)
class Track:
    """What happened to many series, to be forecast after the fact.

    Raises:
        ModelError: if the warm-up leaves nothing to judge.
    """

    name: str
    level: Float[Array, "samples series"]
    """Readings, oldest first, gaps as NaN."""
    step_s: float
    start_s: float
    """World time of the first sample."""
    warm_up: int
    """Samples before the first origin."""

    def __post_init__(self) -> None:
        if not 1 <= self.warm_up < len(self.level) or self.level.shape[1] < 1:
            raise ModelError(
                f"trace {self.name} has {len(self.level)} samples of {self.level.shape[1]} series and a warm-up of "
                f"{self.warm_up}; give at least one series and more samples than the warm-up, which is at least 1"
            )


@dataclass(frozen=True, slots=True)
class BacktestRow:
    """One forecaster on one trace, so far ahead."""

    trace: str
    forecaster: str
    default: bool
    """Whether it is the forecaster that is used where none is named."""
    horizon_min: float
    mase: float
    """Absolute error of the median over that of the seasonal naive; below 1 is better."""
    coverage_90: float
    """Share of readings within the 90 % interval."""
    cpu_s: float
    """CPU time of the whole play: every sample observed, and forecast from the warm-up on."""
    mase_low: float
    mase_high: float
    """Ends of the 95 % interval of `mase`."""
    mase_middle_series: float
    """Median over series of their own ratio; series on which the seasonal naive makes no error are left out."""
    mase_mean: float
    """The same as `mase` for the mean, which is forecast to add up rather than to be near."""
    bias: float
    """Sum of the mean's errors (forecast less reading) over the sum of readings."""
    width_90: float
    """Mean width of the 90 % interval over the mean reading."""
    series: int
    origins: int

    def as_json(self) -> dict[str, Any]:
        """The row as plain values."""
        return asdict(self)


def play(
    name: str,
    track: Track,
    horizon_steps: int,
    look: Callable[[int, Forecast], None],
    on_sample: Callable[[], None] | None = None,
) -> float:
    """Play a forecaster through a trace; after every sample from the warm-up on, `look` is given the sample's
    number and the forecast made at it. What comes back is the CPU time, in s, without that of `look`.

    Raises:
        UnknownNameError, ModelError: as `registry.forecaster` and its forecasts.
    """
    level = np.asarray(track.level, np.float64)
    follower = forecaster(
        name, level[:0], step_s=track.step_s, start_s=track.start_s, horizon_steps=horizon_steps, levels=_LEVELS
    )
    _compile_first(name, track, horizon_steps)
    spent_s = 0.0
    for sample in range(len(level)):
        started_s = time.process_time()
        follower.observe(level[sample])
        forecast = follower.forecast(horizon_steps) if sample + 1 >= track.warm_up else None
        spent_s += time.process_time() - started_s
        if forecast is not None:
            look(sample, forecast)
        if on_sample is not None:
            on_sample()
    return spent_s


def _compile_first(name: str, track: Track, horizon_steps: int) -> None:
    """One step that is thrown away, so that no compiling is counted."""
    one = np.ones((1, 1))
    forecaster(name, one, step_s=track.step_s, horizon_steps=horizon_steps, levels=_LEVELS).forecast(horizon_steps)


def backtest(
    track: Track,
    names: Sequence[str],
    horizons_min: Sequence[float],
    rng: np.random.Generator,
    on_sample: Callable[[], None] | None = None,
) -> list[BacktestRow]:
    """A row for each forecaster and distance ahead.

    Args:
        track: what happened.
        names: forecasters.
        horizons_min: distances ahead in minutes, each a whole number of the trace's steps.
        rng: randomness of the bootstrap.
        on_sample: called after every sample that a forecaster has seen; the yardstick is played too.

    Raises:
        UnknownNameError: if a forecaster is unknown.
        ModelError: if a distance is no whole number of steps, or the trace too short for it.
    """
    steps = [_steps(minutes, track) for minutes in horizons_min]
    scores = {name: _Score(track, steps) for name in dict.fromkeys([YARDSTICK, *names])}
    for name, score in scores.items():
        score.cpu_s = play(name, track, max(steps), score.look, on_sample)
    rows = []
    for name in dict.fromkeys(names):
        for index, minutes in enumerate(horizons_min):
            rows.append(_row(track, name, minutes, index, scores[name], scores[YARDSTICK], rng))
    return rows


def _steps(minutes: float, track: Track) -> int:
    steps = minutes * 60.0 / track.step_s
    if steps < 1 or abs(steps - round(steps)) > 1e-9:
        raise ModelError(
            f"horizon of {minutes:g} min is no whole number of steps of {track.step_s:g} s; give multiples of a step"
        )
    if round(steps) > len(track.level) - track.warm_up:
        raise ModelError(
            f"horizon of {minutes:g} min reaches over the end of trace {track.name} from every origin; "
            "give a shorter one"
        )
    return round(steps)


class _Score:
    """Errors of one forecaster, added up by series as they come."""

    def __init__(self, track: Track, steps: Sequence[int]) -> None:
        self._level = np.asarray(track.level, np.float64)
        self._steps = steps
        shape = (len(steps), self._level.shape[1])
        self.absolute, self.absolute_mean, self.signed = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.inside, self.judged, self.width, self.actual = (
            np.zeros(shape),
            np.zeros(shape),
            np.zeros(shape),
            np.zeros(shape),
        )
        self.cpu_s = 0.0

    def look(self, sample: int, forecast: Forecast) -> None:
        """Hold what is forecast at this sample against what comes."""
        for index, ahead in enumerate(self._steps):
            if sample + ahead >= len(self._level):
                continue
            came = self._level[sample + ahead]
            low, median, high = forecast.quantiles[:, ahead - 1]
            mean = forecast.mean[ahead - 1]
            # Where nothing came, or nothing was said, nothing is judged.
            judged = ~(np.isnan(came) | np.isnan(low) | np.isnan(high) | np.isnan(mean))
            self.judged[index] += judged
            self.absolute[index] += np.where(judged, np.abs(median - came), 0.0)
            self.absolute_mean[index] += np.where(judged, np.abs(mean - came), 0.0)
            self.signed[index] += np.where(judged, mean - came, 0.0)
            self.inside[index] += judged & (came >= low - _TINY) & (came <= high + _TINY)
            self.width[index] += np.where(judged, high - low, 0.0)
            self.actual[index] += np.where(judged, came, 0.0)


def _row(
    track: Track,
    name: str,
    minutes: float,
    index: int,
    score: _Score,
    yardstick: _Score,
    rng: np.random.Generator,
) -> BacktestRow:
    own, base = score.absolute[index], yardstick.absolute[index]
    judged = score.judged[index]
    if base.sum() == 0.0 or judged.sum() == 0.0:
        raise ModelError(
            f"trace {track.name} is forecast without error by {YARDSTICK} {minutes:g} min ahead, or nothing in it can "
            "be judged; there is nothing to scale errors by, give a trace that moves"
        )
    count = len(own)
    resampled = np.empty(_RESAMPLES)
    for draw in range(_RESAMPLES):
        chosen = rng.integers(0, count, count)
        below = base[chosen].sum()
        resampled[draw] = own[chosen].sum() / below if below > 0 else np.nan
    low, high = np.nanpercentile(resampled, [2.5, 97.5])
    moving = base > 0
    return BacktestRow(
        trace=track.name,
        forecaster=name,
        default=name == DEFAULT,
        horizon_min=float(minutes),
        mase=float(own.sum() / base.sum()),
        coverage_90=float(score.inside[index].sum() / judged.sum()),
        cpu_s=score.cpu_s,
        mase_low=float(low),
        mase_high=float(high),
        mase_middle_series=float(np.median(own[moving] / base[moving])),
        mase_mean=float(score.absolute_mean[index].sum() / base.sum()),
        bias=float(score.signed[index].sum() / max(score.actual[index].sum(), _TINY)),
        width_90=float(score.width[index].sum() / max(score.actual[index].sum(), _TINY)),
        series=count,
        origins=len(track.level) - track.warm_up + 1 - round(minutes * 60.0 / track.step_s),
    )
