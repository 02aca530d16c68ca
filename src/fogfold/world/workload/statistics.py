"""A few statistics that say whether two workloads are alike: level, spread, tails, memory and daily rhythm.

They serve to hold the generator against real traces (docs/reference/workloads.md) and to look at one's own trace
before a run. Statistics of one container are taken over time, then the median over containers is given; what is
said of the whole is of the sum over containers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Shaped

from fogfold.compiled import Array
from fogfold.units import DAY_S, HOUR_S
from fogfold.world.workload.base import Workload

__all__ = ["LoadReport", "autocorrelation", "load_report", "markdown_table"]


@dataclass(frozen=True, slots=True)
class LoadReport:
    """Statistics of the CPU levels of a workload. None: the workload is too short or too flat to say."""

    mean: float
    """Mean level over all containers, as a share of the request."""
    p95: float
    """95th percentile of all levels."""
    p99: float
    """99th percentile of all levels."""
    scale_spread: float | None
    """Standard deviation of the log of the containers' means, of those above 0."""
    variation: float | None
    """Standard deviation over mean of one container in time (median)."""
    burstiness: float | None
    """99th percentile over mean of one container in time (median)."""
    spike_share: float | None
    """Share of one container's demand at levels above five times its mean (mean over containers)."""
    after_sample: float | None
    """Autocorrelation of one container after one sample (median)."""
    after_hour: float | None
    """The same after an hour."""
    after_day: float | None
    """The same after a day."""
    total_variation: float
    """Standard deviation over mean of the sum of all containers in time."""
    total_peak: float
    """99th percentile over mean of the sum."""
    total_after_day: float | None
    """Autocorrelation of the sum after a day."""


def load_report(workload: Workload) -> LoadReport:
    """The statistics of a workload's CPU levels, without its surges."""
    level = workload.level.astype(np.float64)
    mean = level.mean(axis=0)
    busy = mean > 0
    level_busy, mean_busy = level[:, busy], mean[busy]
    total = level.sum(axis=1, keepdims=True)
    total_mean = float(total.mean())
    hour, day = round(HOUR_S / workload.sample_s), round(DAY_S / workload.sample_s)
    any_busy = bool(busy.any())
    return LoadReport(
        mean=float(level.mean()),
        p95=float(np.quantile(level, 0.95)),
        p99=float(np.quantile(level, 0.99)),
        scale_spread=float(np.log(mean_busy).std()) if any_busy else None,
        variation=float(np.median(level_busy.std(axis=0) / mean_busy)) if any_busy else None,
        burstiness=float(np.median(np.quantile(level_busy, 0.99, axis=0) / mean_busy)) if any_busy else None,
        spike_share=float((np.where(level_busy > 5 * mean_busy, level_busy, 0).mean(axis=0) / mean_busy).mean())
        if any_busy
        else None,
        after_sample=_median(autocorrelation(level, 1)),
        after_hour=_median(autocorrelation(level, hour)),
        after_day=_median(autocorrelation(level, day)),
        total_variation=float(total.std()) / total_mean if total_mean > 0 else 0.0,
        total_peak=float(np.quantile(total, 0.99)) / total_mean if total_mean > 0 else 0.0,
        total_after_day=_median(autocorrelation(total, day)),
    )


def autocorrelation(level: Shaped[Array, "samples series"], lag: int) -> Shaped[Array, " series"]:
    """Autocorrelation of each column at a lag in samples, in [-1, 1]; NaN where a column is flat.

    The usual estimator: mean product of deviations from the mean of the whole over their variance. All NaN where
    fewer than two lags of samples are there, for then the mean itself hides the rhythm.
    """
    if lag < 1 or level.shape[0] < 2 * lag:
        return np.full(level.shape[1], np.nan)
    deviation = level - level.mean(axis=0)
    variance = (deviation**2).mean(axis=0)
    product = (deviation[lag:] * deviation[:-lag]).mean(axis=0)
    result: Shaped[Array, " series"] = np.divide(
        product, variance, out=np.full(len(product), np.nan), where=variance > 0
    )
    return result


def _median(values: Shaped[Array, " series"]) -> float | None:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else None


def markdown_table(reports: Mapping[str, LoadReport]) -> str:
    """The reports as columns of a Markdown table, one statistic a row; a dash where there is none."""
    lines = ["| statistic | " + " | ".join(reports) + " |", "|---|" + "---:|" * len(reports)]
    for field in fields(LoadReport):
        values = [getattr(report, field.name) for report in reports.values()]
        lines.append(
            f"| {field.name} | " + " | ".join("-" if value is None else f"{value:.3f}" for value in values) + " |"
        )
    return "\n".join(lines)
