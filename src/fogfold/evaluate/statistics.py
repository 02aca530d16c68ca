"""What several seeds say together: means, 95 % intervals, and differences paired by seed.

Intervals are of the *mean* over seeds. From five seeds on they are percentile bootstrap intervals (Efron and
Tibshirani, An Introduction to the Bootstrap, 1993, ch. 13) with the percentiles moved outwards for small samples
(Hesterberg, What Teachers Should Know About the Bootstrap, The American Statistician 69(4), 2015, section 5.3):
the plain percentiles cover a normal mean in 84 % of cases at five seeds and 91 % at ten, the moved ones in 93 to
95 %. A bootstrap interval lies within the range of the sample, which misses the mean of a symmetric distribution
with chance 2^(1 - n); below five seeds it therefore cannot reach 95 %, and Student's t is used instead. One seed
has no interval: it is absent, never of zero width.

Two policies on one seed meet the same users and faults, so they are compared seed by seed: what the seeds have in
common cancels. Nothing here corrects for comparing many policies at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array
from fogfold.errors import ModelError, UnknownNameError, did_you_mean
from fogfold.evaluate.result import FIGURES, RunResult
from fogfold.seeding import stream

__all__ = [
    "CONFIDENCE",
    "LEAST_BOOTSTRAP_SEEDS",
    "RESAMPLES",
    "Difference",
    "Interval",
    "Paired",
    "Summary",
    "compare",
    "figure_value",
    "mean_interval",
    "ratio_interval",
    "summarise",
]

CONFIDENCE = 0.95
"""Share of intervals that should hold the true mean."""
RESAMPLES = 10_000
"""Bootstrap resamples: the ends of an interval then wander by about 1 % of its width from one stream to another."""
LEAST_BOOTSTRAP_SEEDS = 5
"""Seeds from which the bootstrap can reach its confidence: 1 - 2^(1 - n) is 0.875 at four and 0.94 at five."""

_TAIL = (1.0 - CONFIDENCE) / 2.0
_SMALL_STUDENT = {1: 12.70620, 2: 4.30265, 3: 3.18245}
"""Quantile 0.975 of Student's t where the expansion below is too coarse, by degrees of freedom."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over seeds and where the true mean lies with 95 % confidence; no ends where one seed cannot tell."""

    mean: float
    low: float | None
    high: float | None

    def __post_init__(self) -> None:
        if not math.isfinite(self.mean):
            raise ModelError(f"the mean of an interval is {self.mean}; leave the interval out where it is not known")
        if (self.low is None) != (self.high is None):
            raise ModelError(f"an interval has low {self.low} and high {self.high}; give both ends or neither")
        if self.low is not None and self.high is not None and not self.low <= self.high:
            raise ModelError(f"an interval has low {self.low} above high {self.high}; swap them")

    @property
    def half_width(self) -> float | None:
        """Half the distance between the ends, or nothing where there are none."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2.0

    @property
    def holds_zero(self) -> bool | None:
        """Whether zero lies inside, so that even the sign is open; nothing where there are no ends."""
        return None if self.low is None or self.high is None else self.low <= 0.0 <= self.high

    def as_json(self) -> dict[str, float | None]:
        """Plain values; an end that is not known is null."""
        return {"mean": self.mean, "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True)
class Difference:
    """A policy's figure less the other's, in the figure's unit and as a share of the other's mean."""

    absolute: Interval
    relative: Interval | None
    """Absent where the other's mean is zero: there is no share of nothing."""

    def as_json(self) -> dict[str, Any]:
        """The absolute difference, with the relative one (or null) under `relative`."""
        return {**self.absolute.as_json(), "relative": None if self.relative is None else self.relative.as_json()}


@dataclass(frozen=True, slots=True)
class Summary:
    """One policy over its seeds: every figure of `FIGURES` by key, absent where a run does not know it."""

    policy: str
    seeds: tuple[int, ...]
    figures: Mapping[str, Interval | None]

    def as_json(self) -> dict[str, Any]:
        """`{policy, seeds, <figure>: {mean, low, high} or null}`; `seeds` is their number."""
        return {"policy": self.policy, "seeds": len(self.seeds), **_figures_json(self.figures)}


@dataclass(frozen=True, slots=True)
class Paired:
    """One policy less another over the seeds that both ran."""

    policy: str
    against: str
    seeds: tuple[int, ...]
    figures: Mapping[str, Difference | None]

    def as_json(self) -> dict[str, Any]:
        """`{policy, against, seeds, <figure>: {mean, low, high, relative} or null}`; `seeds` is their number."""
        head = {"policy": self.policy, "against": self.against, "seeds": len(self.seeds)}
        return {**head, **_figures_json(self.figures)}


def figure_value(run: RunResult, key: str) -> float:
    """A run's figure as a number; not a number where the run does not know it."""
    value = getattr(run, key)
    return math.nan if value is None else float(value)


def mean_interval(values: Float[Array, " seeds"], *, seed: int = 0) -> Interval:
    """The mean of a sample and its 95 % interval.

    Args:
        values: one number a seed, finite, at least one.
        seed: root of the resampling; the same seed gives the same interval.

    Raises:
        ModelError: if there is no value, or one is not finite.
    """
    _check_sample(values)
    count = len(values)
    mean = float(values.mean())
    if count == 1:
        return Interval(mean, None, None)
    if count < LEAST_BOOTSTRAP_SEEDS:
        return _student(mean, values)
    means = np.einsum("rs,s->r", _resample_weights(count, seed), values)
    return _percentiles(mean, means, count)


def ratio_interval(
    values: Float[Array, " seeds"], against: Float[Array, " pairs"], *, seed: int = 0
) -> Interval | None:
    """The relative difference of two means paired by seed, `mean(values) / mean(against) - 1`, with its 95 % interval.

    Below five seeds the ratio is linearised (Cochran, Sampling Techniques, 1977, section 6.3): the spread is that of
    `(values - ratio * against) / mean(against)`. The ends are absent where a resample's mean of `against` is zero,
    the whole where the mean itself is.

    Args:
        values: one number a seed, finite.
        against: the other policy's number on the same seeds, finite, none negative.
        seed: root of the resampling.

    Raises:
        ModelError: if the samples are empty or differ in length, a value is not finite, or one of `against` is
            negative.
    """
    _check_sample(values)
    _check_sample(against)
    count = len(values)
    if len(against) != count:
        raise ModelError(f"{count} values are paired with {len(against)}; pair them seed by seed")
    if (against < 0.0).any():
        raise ModelError(f"{against.min():g} is negative; a share can only be taken of figures from 0 up")
    base = float(against.mean())
    if base == 0.0:
        return None
    relative = float(values.mean()) / base - 1.0
    if count == 1:
        return Interval(relative, None, None)
    if count < LEAST_BOOTSTRAP_SEEDS:
        return _student(relative, (values - (1.0 + relative) * against) / base)
    weights = _resample_weights(count, seed)
    bases = np.einsum("rs,s->r", weights, against)
    if bases.min() <= 0.0:
        return Interval(relative, None, None)
    return _percentiles(relative, np.einsum("rs,s->r", weights, values) / bases - 1.0, count)


def summarise(runs: Iterable[RunResult], *, seed: int = 0) -> list[Summary]:
    """Each policy's mean and interval of every figure, policies in the order of their first run.

    Raises:
        ModelError: if there is no run, a policy ran a seed twice, or the runs are of different scenarios or lengths.
    """
    summaries = []
    for policy, by_seed in _by_policy(runs).items():
        seeds = tuple(sorted(by_seed))
        figures: dict[str, Interval | None] = {}
        for figure in FIGURES:
            values = _values(by_seed, seeds, figure.key)
            figures[figure.key] = mean_interval(values, seed=seed) if np.isfinite(values).all() else None
        summaries.append(Summary(policy, seeds, figures))
    return summaries


def compare(runs: Iterable[RunResult], against: str, *, seed: int = 0) -> list[Paired]:
    """Every other policy less `against`, paired over the seeds that both ran; none where `against` ran alone.

    Raises:
        ModelError: as `summarise`, and where a policy shares no seed with `against`.
        UnknownNameError: if `against` did not run.
    """
    policies = _by_policy(runs)
    if against not in policies:
        raise UnknownNameError(f'"{against}" is not among the policies that ran; {did_you_mean(against, policies)}')
    base_runs = policies[against]
    paired = []
    for policy, by_seed in policies.items():
        if policy == against:
            continue
        seeds = tuple(sorted(by_seed.keys() & base_runs.keys()))
        if not seeds:
            raise ModelError(f'"{policy}" and "{against}" have no seed in common; run both on the same seeds')
        figures: dict[str, Difference | None] = {}
        for figure in FIGURES:
            values = _values(by_seed, seeds, figure.key)
            base = _values(base_runs, seeds, figure.key)
            figures[figure.key] = _difference(values, base, seed)
        paired.append(Paired(policy, against, seeds, figures))
    return paired


def _difference(values: Float[Array, " seeds"], base: Float[Array, " seeds"], seed: int) -> Difference | None:
    """The absolute and relative difference, or nothing where a run does not know the figure."""
    if not (np.isfinite(values).all() and np.isfinite(base).all()):
        return None
    relative = None if (base < 0.0).any() else ratio_interval(values, base, seed=seed)
    return Difference(mean_interval(values - base, seed=seed), relative)


def _by_policy(runs: Iterable[RunResult]) -> dict[str, dict[int, RunResult]]:
    """The runs by policy and seed, after the checks that make them comparable."""
    policies: dict[str, dict[int, RunResult]] = {}
    first: RunResult | None = None
    for run in runs:
        first = first or run
        if run.scenario != first.scenario or run.hours != first.hours:
            raise ModelError(
                f'"{run.policy}" ran "{run.scenario}" for {run.hours:g} h and "{first.policy}" ran "{first.scenario}" '
                f"for {first.hours:g} h; compare runs of one scenario and length"
            )
        by_seed = policies.setdefault(run.policy, {})
        if run.seed in by_seed:
            raise ModelError(f'"{run.policy}" has two runs of seed {run.seed}; give each seed once')
        by_seed[run.seed] = run
    if first is None:
        raise ModelError("there are 0 runs to summarise; give at least one")
    return policies


def _values(by_seed: Mapping[int, RunResult], seeds: Sequence[int], key: str) -> Float[Array, " seeds"]:
    return np.array([figure_value(by_seed[seed], key) for seed in seeds])


def _check_sample(values: Float[Array, " seeds"]) -> None:
    if len(values) == 0:
        raise ModelError("a sample has 0 values; an interval needs at least one")
    if not np.isfinite(values).all():
        bad = values[~np.isfinite(values)][0]
        raise ModelError(f"a sample holds {bad}; leave the figure out where it is not known")


@lru_cache(maxsize=8)
def _resample_weights(count: int, seed: int) -> Float[Array, "resamples seeds"]:
    """How often each resample draws each seed, over `count`; the same for every figure, so that figures agree."""
    draws: Int[Array, "resamples seeds"] = stream(seed, "bootstrap", count).integers(0, count, (RESAMPLES, count))
    weights = np.zeros((RESAMPLES, count))
    np.add.at(weights, (np.arange(RESAMPLES)[:, None], draws), 1.0)
    weights /= count
    weights.flags.writeable = False
    return weights


def _percentiles(estimate: float, resampled: Float[Array, " resamples"], count: int) -> Interval:
    """The interval between the moved percentiles: a tail of `Phi(-t sqrt(n / (n - 1)))` in place of 0.025.

    The estimate is kept inside against rounding: resampled means of equal values may miss it by one last digit.
    """
    tail = NormalDist().cdf(-_student_quantile(count - 1) * math.sqrt(count / (count - 1)))
    low, high = np.quantile(resampled, (tail, 1.0 - tail))
    return Interval(estimate, min(float(low), estimate), max(float(high), estimate))


def _student(estimate: float, residuals: Float[Array, " seeds"]) -> Interval:
    """The estimate plus and minus Student's t times its standard error."""
    count = len(residuals)
    half = _student_quantile(count - 1) * float(residuals.std(ddof=1)) / math.sqrt(count)
    return Interval(estimate, estimate - half, estimate + half)


def _student_quantile(freedom: int) -> float:
    """Quantile 0.975 of Student's t: an expansion round the normal (Abramowitz and Stegun 26.7.5), to 0.1 %."""
    if freedom in _SMALL_STUDENT:
        return _SMALL_STUDENT[freedom]
    z = NormalDist().inv_cdf(1.0 - _TAIL)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(term / freedom**power for power, term in enumerate(terms))


def _figures_json(figures: Mapping[str, Interval | None] | Mapping[str, Difference | None]) -> dict[str, Any]:
    return {key: None if value is None else value.as_json() for key, value in figures.items()}
