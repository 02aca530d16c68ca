"""Events that draw a crowd to a region: which evenings have one, and how demand rises and falls with it.

All containers of a region that share a profile share its events, as a stadium's do. Unlike a surge, an event is
part of the level: it lasts for hours, and a forecaster may come to know its hour.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.units import DAY_S, HOUR_S
from fogfold.world.workload.profiles import HOURS_PER_WEEK, WORKDAYS_PER_WEEK, ProfileParams

__all__ = ["event_course"]

RAMP_H = 1.0
"""Hours of rise and of fall at the two ends of an event; `ProfileParams.events_mean` counts on it."""


def event_course(
    params: ProfileParams,
    *,
    region_longitude_deg: Float[Array, " sites"],
    start_s: float,
    samples: int,
    sample_s: float,
    rng: np.random.Generator,
) -> Float[Array, "samples sites"]:
    """How much of a full event each region has at each sample, in [0, 1].

    One number is drawn for each region and local day, whatever comes of it, so that a longer horizon begins with
    the events of a shorter one.
    """
    sites = len(region_longitude_deg)
    course = np.zeros((samples, sites))
    # A day before the start: an event of yesterday may still run, and the west may still have yesterday's date.
    first_day = math.floor(start_s / DAY_S) - 1
    days = math.ceil(samples * sample_s / DAY_S) + 3
    chance = np.array([params.event_chance_workday, params.event_chance_weekend])
    drawn = rng.random((days, sites))
    for day, site in zip(*np.nonzero(drawn < chance.max())):
        weekday = (first_day + int(day)) % (HOURS_PER_WEEK // 24)
        if drawn[day, site] >= chance[int(weekday >= WORKDAYS_PER_WEEK)]:
            continue
        doors_s = (first_day + day) * DAY_S + params.event_start_h * HOUR_S - region_longitude_deg[site] * DAY_S / 360.0
        first = max(0, math.floor((doors_s - start_s) / sample_s))
        last = min(samples, math.ceil((doors_s + params.event_length_h * HOUR_S - start_s) / sample_s) + 1)
        if last <= first:
            continue
        since_h = (start_s + np.arange(first, last) * sample_s - doors_s) / HOUR_S
        part = np.clip(np.minimum(since_h, params.event_length_h - since_h) / RAMP_H, 0.0, 1.0)
        course[first:last, site] = np.maximum(course[first:last, site], part)
    return course
