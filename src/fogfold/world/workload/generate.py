"""Generated workloads: named profiles, one for each container, played over a horizon from a seed.

The level of container c at time t is

    level = m s_c [(1 - w) cycle_c(t) noise_c(t) + w spikes_c(t)],  cut at the ceiling,

where m is the mean level asked for, s_c the container's own scale (lognormal), cycle_c the week of its profile at
the solar time of its main region, noise_c a lognormal of mean 1 with memory (AR(1) in the log) and spikes_c a train
of blocks with Pareto heights and mean 1. Surges of whole regions stand beside, tick by tick. Every part draws from
a stream of its own, and a longer horizon begins with the values of a shorter one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array
from fogfold.errors import ModelError, UnknownNameError, did_you_mean
from fogfold.model.resources import check_number
from fogfold.seeding import stream
from fogfold.units import DAY_S, HOUR_S, TICK_S
from fogfold.world.workload.base import Workload
from fogfold.world.workload.events import event_course
from fogfold.world.workload.levels import SPIKE_BOUND, add_spikes, play_cycles
from fogfold.world.workload.pareto import bounded_pareto_mean
from fogfold.world.workload.profiles import HOURS_PER_WEEK, PROFILES, ProfileParams, week_table
from fogfold.world.workload.surges import SurgeParams, draw_surges

__all__ = ["MEAN_LEVEL", "generate"]

MEAN_LEVEL = 0.11
"""Mean level where none is given, as a share of the request: 0.108 is the mean of six PlanetLab days (0.093 to
0.123 by day), 0.071 that of the Bitbrains month. Fog nodes are idle most of the time."""
DEGREES_PER_HOUR = 15.0
"""Longitude by which solar time shifts in an hour."""


def generate(
    *,
    profiles: Sequence[str],
    main_region: Int[Array, " containers"],
    region_longitude_deg: Float[Array, " sites"],
    start_s: float,
    ticks: int,
    seed: int,
    mean_level: float | Float[Array, " containers"] = MEAN_LEVEL,
    sample_s: float = 300.0,
    params: Mapping[str, ProfileParams] = PROFILES,
    surges: SurgeParams | None = None,
) -> Workload:
    """A workload of that many ticks or, where a sample is longer than a tick, up to the next whole sample.

    Args:
        profiles: the name of each container's profile.
        main_region: the index of the site from whose region most of its requests come.
        region_longitude_deg: longitude of each site in degrees east: one hour of solar time for 15 degrees.
        start_s: world time of the first sample, in seconds since Monday 00:00 UTC.
        ticks: length in ticks of 30 s, at least 1.
        seed: same seed, same bytes.
        mean_level: mean over a week as a share of the request, for all containers together, or one expected value
            for each. The sum over the containers of a profile is met; what the ceiling cuts is lost (2 % at the
            default, 6 % at 0.3). Surges come on top (`SurgeParams.mean_factor`).
        sample_s: time between two samples, a multiple of a tick.
        params: profiles by name; `{**PROFILES, "mine": replace(PROFILES["steady"], noise_sigma=0.3)}` adds one.
        surges: rates and heights of surges; None is `SurgeParams()`, `SurgeParams.none()` switches them off.

    Raises:
        UnknownNameError: if a profile is unknown.
        ModelError: if the arrays do not agree or a value lies outside its range.
    """
    _check(len(profiles), main_region, region_longitude_deg, start_s, ticks, sample_s)
    kinds, kind = _kinds_in_use(profiles, params)
    chosen = [params[name] for name in kinds]

    def each(name: str) -> Float[Array, " containers"]:
        return np.array([getattr(one, name) for one in chosen], np.float64)[kind]

    samples = math.ceil(ticks * TICK_S / sample_s - 1e-9) + 1
    mean = _container_means(mean_level, kind, chosen, seed)
    spread = each("cycle_depth_high") - each("cycle_depth_low")
    depth = each("cycle_depth_low") + spread * stream(seed, "workload", "depth").random(len(kind))
    shift_h = each("phase_spread_h") * stream(seed, "workload", "phase").standard_normal(len(kind))
    local_h = start_s / HOUR_S + region_longitude_deg[main_region] / DEGREES_PER_HOUR + shift_h
    courses, course_of = _event_courses(kinds, chosen, region_longitude_deg, start_s, samples, sample_s, seed)

    level = np.empty((samples, len(kind)), np.float32)
    play_cycles(
        level,
        np.stack([week_table(one) for one in chosen]),
        kind,
        local_h % HOURS_PER_WEEK,
        sample_s / HOUR_S,
        depth,
        courses,
        course_of[kind],
        main_region.astype(np.int64),
        mean * (1.0 - each("spike_share")),
        each("noise_sigma"),
        each("noise_memory_share"),
        np.exp(-sample_s / each("noise_time_constant_s")),
        stream(seed, "workload", "noise-slow"),
        stream(seed, "workload", "noise-fast"),
    )
    add_spikes(
        level,
        max(1, round(DAY_S / sample_s)),
        each("spikes_per_day") * sample_s / DAY_S,
        mean * np.array([_lowest_spike(one, sample_s) for one in chosen])[kind],
        each("spike_tail"),
        each("spike_length_s") / sample_s,
        stream(seed, "workload", "spikes"),
    )
    np.minimum(level, each("ceiling").astype(np.float32), out=level)
    whole_ticks = round((samples - 1) * sample_s / TICK_S)
    surge = draw_surges(surges or SurgeParams(), sites=len(region_longitude_deg), ticks=whole_ticks, seed=seed)
    return Workload(level=level, sample_s=sample_s, start_s=start_s, surge=surge)


def _check(
    containers: int,
    main_region: Int[Array, " containers"],
    region_longitude_deg: Float[Array, " sites"],
    start_s: float,
    ticks: int,
    sample_s: float,
) -> None:
    sites = len(region_longitude_deg)
    if containers < 1 or sites < 1:
        raise ModelError(f"workload of {containers} containers and {sites} regions; give at least one of each")
    if main_region.shape != (containers,):
        raise ModelError(
            f"main_region has {len(main_region)} entries for {containers} profiles; give one region for each container"
        )
    if main_region.min() < 0 or main_region.max() >= sites:
        raise ModelError(
            f"main_region runs from {main_region.min()} to {main_region.max()}; the regions are 0 to {sites - 1}"
        )
    beyond = ~(np.abs(region_longitude_deg) <= 180.0)
    if beyond.any():
        raise ModelError(
            f"region_longitude_deg holds {region_longitude_deg[beyond][0]}; longitudes lie in [-180, 180] degrees east"
        )
    if ticks < 1:
        raise ModelError(f"horizon is {ticks} ticks; it must be at least 1")
    check_number("start_s", start_s)
    check_number("sample_s", sample_s, low=TICK_S)
    if abs(sample_s / TICK_S - round(sample_s / TICK_S)) > 1e-9:
        raise ModelError(f"sample_s is {sample_s:g}; it must be a multiple of a tick of {TICK_S:g} s")


def _kinds_in_use(
    profiles: Sequence[str], params: Mapping[str, ProfileParams]
) -> tuple[list[str], Int[Array, " containers"]]:
    """The profiles in use, in the order of their first container, and which of them each container has."""
    kinds = list(dict.fromkeys(profiles))
    for name in kinds:
        if name not in params:
            raise UnknownNameError(f'profile "{name}" is unknown; {did_you_mean(name, params)}')
    number = {name: i for i, name in enumerate(kinds)}
    return kinds, np.array([number[name] for name in profiles], np.int64)


def _container_means(
    mean_level: float | Float[Array, " containers"],
    kind: Int[Array, " containers"],
    chosen: Sequence[ProfileParams],
    seed: int,
) -> Float[Array, " containers"]:
    """Mean level of each container: lognormal round what was asked, corrected so that each profile's sum is met.

    Where a scale would take a container's mean above half its ceiling, or its busiest hour above the ceiling, it
    stops there, and others of its profile take what is left (PlanetLab: 99 % of the means are below 0.74): a
    container that stood at its limit hour after hour would have been given more.
    """
    if np.ndim(mean_level) and np.shape(mean_level) != kind.shape:
        raise ModelError(f"mean_level has shape {np.shape(mean_level)} for {len(kind)} containers; give one for each")
    asked = np.broadcast_to(np.asarray(mean_level, np.float64), kind.shape)
    normal = stream(seed, "workload", "scale").standard_normal(len(kind))
    means = np.empty(len(kind))
    for i, one in enumerate(chosen):
        members = kind == i
        wanted = asked[members]
        for value in (wanted.min(), wanted.max()):
            check_number("mean_level", float(value), high=one.ceiling)
        cap = np.maximum(wanted, one.ceiling / max(2.0, one.peak))
        means[members] = _with_sum(wanted * np.exp(one.scale_sigma * normal[members]), cap, float(wanted.sum()))
    return means


def _with_sum(
    weight: Float[Array, " members"], cap: Float[Array, " members"], total: float
) -> Float[Array, " members"]:
    """Shares of a total in proportion to weights, none above its cap; the caps together hold the total."""
    shares = np.zeros(len(weight))
    held = np.zeros(len(weight), np.bool_)
    # Each round holds at least one more at its cap, or ends.
    while (free := float(weight[~held].sum())) > 0.0:
        shares[~held] = weight[~held] * ((total - cap[held].sum()) / free)
        over = (shares > cap) & ~held
        if not over.any():
            break
        held |= over
        shares[over] = cap[over]
    return shares


def _event_courses(
    kinds: Sequence[str],
    chosen: Sequence[ProfileParams],
    region_longitude_deg: Float[Array, " sites"],
    start_s: float,
    samples: int,
    sample_s: float,
    seed: int,
) -> tuple[Float[Array, "courses samples sites"], Int[Array, " kinds"]]:
    """What events add to the cycles, and which of these courses each profile follows (-1: none)."""
    courses: list[Array] = []
    course_of = np.full(len(kinds), -1, np.int64)
    for i, (name, one) in enumerate(zip(kinds, chosen)):
        if one.events_mean > 0:
            course_of[i] = len(courses)
            courses.append(
                one.event_gain
                / one.mean_demand
                * event_course(
                    one,
                    region_longitude_deg=region_longitude_deg,
                    start_s=start_s,
                    samples=samples,
                    sample_s=sample_s,
                    rng=stream(seed, "workload", "events", name),
                )
            )
    return (np.stack(courses) if courses else np.zeros((0, samples, len(region_longitude_deg)))), course_of


def _lowest_spike(params: ProfileParams, sample_s: float) -> float:
    """Height of the lowest spike over the container's mean, such that spikes hold their share of the demand.

    A spike lasts 1 + floor(X) samples with X exponential of mean L = length / sample, which is geometric with mean
    1 / (1 - exp(-1 / L)).
    """
    if params.spike_share == 0.0:
        return 0.0
    starts = params.spikes_per_day * sample_s / DAY_S
    length = 1.0 / (1.0 - math.exp(-sample_s / params.spike_length_s))
    return params.spike_share / (starts * length * bounded_pareto_mean(1.0, SPIKE_BOUND, params.spike_tail))
