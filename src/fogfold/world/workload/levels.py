"""The two compiled passes that fill a workload's levels: cycles under noise, then spikes.

Both run sample by sample over all containers, and draw in that order, so that a longer horizon begins with the
values of a shorter one. They hold no state of their own and know nothing of names.
"""

from __future__ import annotations

import numpy as np

from fogfold.compiled import Array, compiled
from fogfold.world.workload.pareto import bounded_pareto
from fogfold.world.workload.profiles import HOURS_PER_WEEK

__all__ = ["SPIKE_BOUND", "add_spikes", "play_cycles"]

SPIKE_BOUND = 20.0
"""Highest spike over the lowest. The lowest is about a container's mean; the 99.9th percentile of level over mean is
15 in PlanetLab and 24 in Bitbrains."""


@compiled
def play_cycles(
    level: Array,
    tables: Array,
    kind: Array,
    hour: Array,
    step_h: float,
    depth: Array,
    courses: Array,
    course_of: Array,
    region: Array,
    mean: Array,
    sigma: Array,
    memory_share: Array,
    retention: Array,
    slow: np.random.Generator,
    fast: np.random.Generator,
) -> None:
    """Write mean x cycle x noise of each container at each sample.

    Noise is exp(x - sigma^2 / 2) with x normal of deviation sigma, so its mean is 1. A share of x's variance follows
    z' = r z + sqrt(1 - r^2) e, begun in its stationary law; the rest is new at each sample.

    Args:
        level: float32 (samples, containers), written.
        tables: (kinds, 168) relative demand by hour of the week, mean 1 with events.
        kind: (containers,) row of `tables`.
        hour: (containers,) local hour of the week at sample 0, in [0, 168].
        step_h: hours between two samples.
        depth: (containers,) depth of the cycle, in [0, 1].
        courses: (courses, samples, sites) what events add to the cycle.
        course_of: (containers,) index into `courses`; -1 where the profile has no events.
        region: (containers,) main region.
        mean: (containers,) mean level of this part.
        sigma: (containers,) deviation of the noise in the log.
        memory_share: (containers,) share of the variance that has memory.
        retention: (containers,) r for one sample.
        slow: stream of the noise with memory.
        fast: stream of the noise without.
    """
    samples, containers = level.shape
    at_h = hour.copy()
    z = np.empty(containers)
    slow_weight = sigma * np.sqrt(memory_share)
    fast_weight = sigma * np.sqrt(1.0 - memory_share)
    renewal = np.sqrt(1.0 - retention * retention)
    for sample in range(samples):
        for c in range(containers):
            drawn = slow.standard_normal()
            z[c] = drawn if sample == 0 else retention[c] * z[c] + renewal[c] * drawn
            if at_h[c] >= HOURS_PER_WEEK:
                at_h[c] %= HOURS_PER_WEEK
            before = int(at_h[c])
            after = before + 1 if before + 1 < HOURS_PER_WEEK else 0
            part = at_h[c] - before
            cycle = (1.0 - part) * tables[kind[c], before] + part * tables[kind[c], after]
            if course_of[c] >= 0:
                cycle += courses[course_of[c], sample, region[c]]
            x = slow_weight[c] * z[c] + fast_weight[c] * fast.standard_normal() - 0.5 * sigma[c] * sigma[c]
            level[sample, c] = mean[c] * (1.0 + depth[c] * (cycle - 1.0)) * np.exp(x)
            at_h[c] += step_h


@compiled
def add_spikes(
    level: Array,
    block_samples: int,
    per_sample: Array,
    height: Array,
    tail: Array,
    length_samples: Array,
    rng: np.random.Generator,
) -> None:
    """Add to each container its spikes: Poisson starts, Pareto heights, geometric lengths of at least one sample.

    Args:
        level: float32 (samples, containers), added to.
        block_samples: samples drawn at a time (a day), whole even where the horizon ends before.
        per_sample: (containers,) mean number of starts at a sample.
        height: (containers,) lowest height of a spike, as a share of the request.
        tail: (containers,) exponent of the Pareto tail.
        length_samples: (containers,) mean of the exponential law whose whole part is added to the length of one.
        rng: stream of the spikes.
    """
    samples, containers = level.shape
    for block in range((samples + block_samples - 1) // block_samples):
        for c in range(containers):
            for _ in range(rng.poisson(per_sample[c] * block_samples)):
                start = block * block_samples + int(rng.random() * block_samples)
                size = height[c] * bounded_pareto(rng.random(), 1.0, SPIKE_BOUND, tail[c])
                length = 1 + int(length_samples[c] * rng.standard_exponential())
                for sample in range(start, min(start + length, samples)):
                    level[sample, c] += size
