"""The workload that a scenario names: generated for its containers, or read from a trace."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from fogfold.errors import TraceError
from fogfold.units import DAY_S, HOUR_S, TICK_S
from fogfold.world.scenario.crew import Crew
from fogfold.world.scenario.ground import Ground
from fogfold.world.scenario.schema import Scenario
from fogfold.world.scenario.schema.workload import (
    FileWorkload,
    GeneratedWorkload,
    PlanetLabWorkload,
)
from fogfold.world.workload.archive import load_workload
from fogfold.world.workload.base import Workload
from fogfold.world.workload.bitbrains import bitbrains_month, read_bitbrains
from fogfold.world.workload.generate import generate
from fogfold.world.workload.planetlab import planetlab_day, read_planetlab

__all__ = ["generated_workload", "replayed_workload"]

_SAMPLE_S = 300.0
_DEFAULT_HOURS = 24.0


def replayed_workload(scenario: Scenario, sites: int, hours: float | None, seed: int) -> Workload | None:
    """The trace that a scenario replays, with its machines in an order drawn from the seed; None if it generates.

    Args:
        scenario: what to read.
        sites: number of sites, each a region without surges.
        hours: how much of the trace; None for all that the scenario names.
        seed: decides which machine of the trace each container is.

    Raises:
        TraceNotFoundError: if the trace is not on this machine.
        TraceError: if it cannot be read as it is, or is shorter than asked for.
    """
    part = scenario.workload
    if isinstance(part, GeneratedWorkload):
        return None
    if isinstance(part, FileWorkload):
        return _times(_from_file(Path(part.path), sites, hours), part.load_factor)
    duration_s = None if hours is None else math.ceil(hours * HOUR_S / _SAMPLE_S - 1e-9) * _SAMPLE_S
    if isinstance(part, PlanetLabWorkload):
        reading = read_planetlab(
            planetlab_day(part.day), machines=part.containers, seed=seed, duration_s=duration_s, sites=sites
        )
    else:
        reading = read_bitbrains(
            bitbrains_month(),
            machines=part.containers,
            seed=seed,
            offset_s=part.first_day * DAY_S,
            duration_s=part.days * DAY_S if duration_s is None else duration_s,
            # A request stands for what was provisioned: the largest reading of a machine counts as level 1.
            reference_quantile=1.0,
            sites=sites,
        )
    return _times(reading.workload, part.load_factor)


def generated_workload(scenario: Scenario, ground: Ground, crew: Crew, hours: float | None, seed: int) -> Workload:
    """The workload that a scenario generates: each container by its profile, at the clock of its main user region.

    Raises:
        TypeError: if the scenario replays a trace.
    """
    part = scenario.workload
    if not isinstance(part, GeneratedWorkload):
        raise TypeError(f"scenario {scenario.name!r} replays a trace of kind {part.kind}; it generates nothing")
    ticks = round((_DEFAULT_HOURS if hours is None else hours) * HOUR_S / TICK_S)
    return generate(
        profiles=crew.profiles,
        main_region=crew.main_region,
        region_longitude_deg=ground.longitude_deg,
        start_s=scenario.start.seconds,
        ticks=ticks,
        seed=seed,
        mean_level=part.mean_level * part.load_factor,
    )


def _times(workload: Workload, factor: float) -> Workload:
    """The workload with its demand for CPU, network and disk multiplied; memory is held, not asked for anew."""
    if factor == 1.0:
        return workload
    times = np.float32(factor)
    network, disk = workload.network_level, workload.disk_level
    return replace(
        workload,
        level=workload.level * times,
        network_level=None if network is None else network * times,
        disk_level=None if disk is None else disk * times,
    )


def _from_file(path: Path, sites: int, hours: float | None) -> Workload:
    workload = load_workload(path)
    if workload.surge.shape[1] != sites:
        raise TraceError(
            f"{path} has surges for {workload.surge.shape[1]} sites, the scenario has {sites}; they must agree"
        )
    if hours is not None and workload.ticks * TICK_S < hours * HOUR_S - 1e-6:
        raise TraceError(
            f"{path} lasts {workload.ticks * TICK_S / HOUR_S:g} h, {hours:g} h are asked for; stay within it"
        )
    return workload
