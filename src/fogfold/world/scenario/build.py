"""A scenario and a seed made into a world's inputs: cluster, workload, faults and constants.

Every part draws from named streams of its own (sites, nodes, containers, users, workload, faults), so that a change in
one leaves the others as they were: more hours meet the same cluster, another workload the same nodes. Where containers
run at first is not decided here: the world places them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fogfold.errors import ScenarioError
from fogfold.model.cluster import Cluster
from fogfold.units import HOUR_S, TICK_S
from fogfold.world.faults import FaultParams, FaultSchedule, draw_faults
from fogfold.world.params import WorldParams
from fogfold.world.scenario.crew import draw_crew
from fogfold.world.scenario.demand import generated_workload, replayed_workload
from fogfold.world.scenario.fleet import Fleet, draw_fleet
from fogfold.world.scenario.ground import draw_ground
from fogfold.world.scenario.rules import rule_faults
from fogfold.world.scenario.schema import Scenario
from fogfold.world.workload.base import Workload

__all__ = ["BuiltScenario", "build"]


@dataclass(frozen=True)
class BuiltScenario:
    """One world's inputs, all that two policies on one seed share."""

    scenario: Scenario
    seed: int
    cluster: Cluster
    workload: Workload
    faults: FaultSchedule
    params: WorldParams
    start_s: float
    """World time of the first tick, in seconds since Monday 00:00 UTC."""
    ticks: int
    """How long it runs, in ticks of 30 s; the workload lasts at least as long."""


def build(scenario: Scenario, seed: int, *, hours: float | None = None) -> BuiltScenario:
    """The inputs of one world. Same scenario, same seed, same bytes.

    Args:
        scenario: what to build; `load_scenario` gives one.
        seed: root of all streams, from 0.
        hours: how long it is to run instead of the scenario's hours; the cluster stays the same.

    Raises:
        ScenarioError: if the scenario breaks a rule between its keys, or hours is not a whole number of ticks.
        PlacementError: if a container fits on no node, or the cluster cannot hold its containers.
        TraceNotFoundError: if it needs a trace that is not on this machine.
        TraceError: if a trace cannot be read as it is, or is shorter than asked for.
    """
    faults = rule_faults(scenario.model_dump())
    if faults:
        raise ScenarioError(f"scenario {scenario.name}: {fault.sentence}" for fault in faults)
    hours = scenario.hours if hours is None else _whole_ticks(hours)
    ground = draw_ground(scenario, seed)
    fleet = draw_fleet(scenario, ground, seed)
    replayed = replayed_workload(scenario, len(ground.sites), hours, seed)
    crew = draw_crew(scenario, ground, fleet, _count(scenario, fleet, replayed), seed)
    cluster = Cluster(ground.sites, fleet.nodes, crew.images, crew.groups, crew.containers)
    workload = replayed if replayed is not None else generated_workload(scenario, ground, crew, hours, seed)
    ticks = workload.ticks if hours is None else min(workload.ticks, round(hours * HOUR_S / TICK_S))
    return BuiltScenario(
        scenario=scenario,
        seed=seed,
        cluster=cluster,
        workload=workload,
        faults=_faults(scenario, cluster, ticks, seed),
        params=WorldParams(**scenario.world.model_dump()),
        start_s=workload.start_s,
        ticks=ticks,
    )


def _whole_ticks(hours: float) -> float:
    ticks = hours * HOUR_S / TICK_S
    if not (ticks >= 1 and abs(ticks - round(ticks)) <= 1e-6):
        raise ScenarioError([f"hours is {hours:g}; it must be a whole number of ticks of {TICK_S:g} s, at least one"])
    return hours


def _count(scenario: Scenario, fleet: Fleet, replayed: Workload | None) -> int:
    if replayed is not None:
        return replayed.containers
    part = scenario.containers
    if part.total is not None:
        return part.total
    return max(1, round((part.per_node or 0.0) * int((~fleet.spare).sum())))


def _faults(scenario: Scenario, cluster: Cluster, ticks: int, seed: int) -> FaultSchedule:
    constants = scenario.faults.model_dump()
    if not constants.pop("enabled"):
        return FaultSchedule.none()
    return draw_faults(
        FaultParams(**constants),
        mtbf_s=np.array([node.mtbf_s for node in cluster.nodes]),
        mttr_s=np.array([node.mttr_s for node in cluster.nodes]),
        sites=len(cluster.sites),
        containers=len(cluster.containers),
        ticks=ticks,
        seed=seed,
    )
