"""One policy over one scenario and seed, from the first tick to the last: the referee of every comparison."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.cost.total import ExchangeRates
from fogfold.encoding.arrays import fleet_arrays
from fogfold.errors import ModelError
from fogfold.evaluate.metrics import StepRecord, result_of, series_of
from fogfold.evaluate.result import RunResult, RunSeries, SiteMap
from fogfold.model.node import NodeState
from fogfold.policy.base import Policy
from fogfold.policy.foresight import Foresighted
from fogfold.policy.orders import orders_of
from fogfold.world.invariants import check_step
from fogfold.world.scenario.build import BuiltScenario
from fogfold.world.world import World

__all__ = ["Episode", "run_episode"]


@dataclass(frozen=True)
class Episode:
    """What one run left: figures, series, and where the sites are."""

    result: RunResult
    series: RunSeries
    sites: SiteMap


def run_episode(
    built: BuiltScenario,
    policy: Policy,
    *,
    rates: ExchangeRates | None = None,
    timing: bool = False,
    check: bool = False,
    on_step: Callable[[int, int], None] | None = None,
) -> Episode:
    """Play a scenario under a policy, which decides before every step.

    Args:
        built: the scenario's inputs under a seed.
        policy: who decides; it is reset with the scenario's seed.
        rates: exchange rates of the total cost; the defaults where none are given.
        timing: whether to report clock times, which differ from run to run.
        check: whether the referee of `world.invariants` looks at every step.
        on_step: called with the steps done and the steps in all after each.

    Raises:
        PlacementError: if a container fits nowhere.
        ModelError: if the scenario is shorter than one step.
        InvariantError: with `check`, if the world breaks a rule of its own.
    """
    fleet = fleet_arrays(built.cluster)
    world = World(fleet, built.params, [(built.workload, built.faults)], seed=built.seed)
    ticks = built.params.ticks_per_step
    steps = built.ticks // ticks
    if steps < 1:
        raise ModelError(f"the scenario lasts {built.ticks} ticks; one step takes {ticks}")
    policy.reset(built.seed)
    if isinstance(policy, Foresighted):
        policy.foresee(built.workload)
    records: list[StepRecord] = []
    asleep_s = np.zeros(fleet.nodes)
    cpu_before = time.process_time()
    for k in range(steps):
        view = world.view()
        started = time.perf_counter()
        proposal = policy.propose(view)
        decision_s = time.perf_counter() - started
        before = world.state.copy() if check else None
        happened = world.step(orders_of(proposal, fleet.nodes))[0]
        if before is not None:
            check_step(world.frame, before, world.state)
        states = world.view().state
        asleep_s += states == NodeState.ASLEEP
        records.append(
            StepRecord(
                happened,
                ticks,
                int((states == NodeState.ASLEEP).sum()),
                int((states == NodeState.FAILED).sum()),
                decision_s,
            )
        )
        if on_step is not None:
            on_step(k + 1, steps)
    result = result_of(
        records,
        scenario=built.scenario.name,
        policy=policy.name,
        seed=built.seed,
        nodes=fleet.nodes,
        containers=fleet.containers,
        rates=rates or ExchangeRates(),
        cpu_s=time.process_time() - cpu_before if timing else None,
    )
    return Episode(result, series_of(records, cores=float(fleet.capacity[0].sum())), _sites(built, asleep_s / steps))


def _sites(built: BuiltScenario, asleep_share: Float[Array, " nodes"]) -> SiteMap:
    sites = built.cluster.sites
    site_of = np.array([built.cluster.site_index[node.site] for node in built.cluster.nodes])
    count = np.bincount(site_of, minlength=len(sites))
    asleep = np.bincount(site_of, asleep_share, minlength=len(sites))
    return SiteMap(
        name=tuple(site.id for site in sites),
        latitude_deg=np.array([site.latitude_deg for site in sites]),
        longitude_deg=np.array([site.longitude_deg for site in sites]),
        nodes=count,
        asleep_share=np.divide(asleep, count, out=np.zeros(len(sites)), where=count > 0),
    )
