"""Where a day's load peaks, and how the hour before and after each went.

A peak is found in the load that was truly asked for, so that it is the same for every policy: the sum over all
containers, as a mean over half an hour. It is the highest within two hours on either side, above the day's mean, and
neither end of the day. Windows reach an hour to either side and are cut off where the day ends; they never overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from fogfold.compiled import Array
from fogfold.evaluate.foresight.day import Day
from fogfold.units import HOUR_S, MINUTE_S
from fogfold.world.rows import Total

__all__ = ["PeakRule", "near_peaks", "peaks_of", "violations_near_peaks"]


@dataclass(frozen=True, slots=True)
class PeakRule:
    """What counts as a peak."""

    smoothing_s: float = 30 * MINUTE_S
    """Load is the mean over so long about each step: a surge of minutes is no peak of the day."""
    apart_s: float = 2 * HOUR_S
    """A peak is the highest this far to either side."""
    window_s: float = HOUR_S
    """How far before and after a peak is looked."""


def peaks_of(load: Float[Array, " steps"], step_s: float, rule: PeakRule | None = None) -> Int[Array, " peaks"]:
    """Steps at which load peaks, in order; of equals within reach the first.

    >>> peaks_of(np.array([1, 1, 2, 5, 2, 1, 1, 1.0]), 1800.0).tolist()
    [3]
    """
    rule = rule or PeakRule()
    width = max(1, round(rule.smoothing_s / step_s))
    kernel = np.ones(width)
    # At the ends the mean is over what there is.
    smooth = np.convolve(load, kernel, "same") / np.convolve(np.ones(len(load)), kernel, "same")
    reach = max(1, round(rule.apart_s / step_s))
    found: list[int] = []
    for k in range(1, len(load) - 1):
        about = smooth[max(0, k - reach) : k + reach + 1]
        is_first = smooth[max(0, k - reach) : k].max() < smooth[k]
        is_inside = smooth[k + 1 :].min() < smooth[k]
        if smooth[k] >= about.max() and is_first and is_inside and smooth[k] > smooth.mean():
            found.append(k)
    return np.array(found, np.int64)


def near_peaks(day: Day, rule: PeakRule | None = None) -> Bool[Array, " steps"]:
    """Which steps lie within the window of a peak."""
    rule = rule or PeakRule()
    reach = round(rule.window_s / day.step_s)
    near = np.zeros(len(day.load_cores), bool)
    for k in peaks_of(day.load_cores, day.step_s, rule).tolist():
        near[max(0, k - reach) : k + reach] = True
    return near


def violations_near_peaks(day: Day, rule: PeakRule | None = None) -> tuple[float, float]:
    """Share of the requests near peaks that were late, failed or unserved, and how many such there were an hour.

    Both are 0 where the day has no peak.
    """
    near = near_peaks(day, rule)
    happened = day.happened[near]
    bad = float(happened[:, Total.LATE].sum() + happened[:, Total.UNSERVED].sum())
    requests = float(happened[:, Total.REQUESTS].sum())
    hours = near.sum() * day.step_s / HOUR_S
    return (bad / requests if requests > 0 else 0.0), (bad / hours if hours > 0 else 0.0)
