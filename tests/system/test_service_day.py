"""Days that are played through the whole loop, from collecting to the journal, on the embedded simulated cluster."""

import asyncio
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from fogfold.adapters.simulated.clocks import MONDAY_S, SimulatedClock, start_of
from fogfold.adapters.simulated.cluster import SimulatedCluster
from fogfold.adapters.simulated.orchestrator import SimulatedOrchestrator
from fogfold.adapters.simulated.power import SimulatedPower
from fogfold.adapters.simulated.readings import SimulatedCollector
from fogfold.control.deciding import Decider, Limits
from fogfold.control.guard.memory import MemorySettings
from fogfold.control.loop import Loop, LoopSettings, Mode
from fogfold.control.means import ExecuteSettings, Means
from fogfold.control.power import PowerSettings
from fogfold.control.schedule import ScheduleSettings
from fogfold.control.signs import SignSettings
from fogfold.control.switching import SwitchSettings
from fogfold.control.watch import Watch
from fogfold.encoding.arrays import fleet_arrays
from fogfold.policy.orders import orders_of
from fogfold.policy.registry import policy
from fogfold.seeding import stream
from fogfold.testing.memory_store import MemoryStore
from fogfold.world.rows import CI, Total
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario
from fogfold.world.world import World

STEP_S = 300.0
CALM = {
    "world.migration_failure_base": 0.0,
    "world.migration_failure_per_jitter": 0.0,
    "world.migration_failure_per_loss": 0.0,
}


class Seeing:
    """A policy that notes where everything runs when it is asked."""

    def __init__(self, inner):
        self.name, self.inner, self.placements = inner.name, inner, []

    def reset(self, seed):
        self.inner.reset(seed)

    def propose(self, view):
        self.placements.append(view.placement.copy())
        return self.inner.propose(view)


class Service:
    """The loop on a simulated cluster."""

    def __init__(self, built, decider, *, hours, mode=Mode.AUTOMATIC, store=None, holder="one", **settings):
        self.clock = SimulatedClock(start_of(built), lasts_s=hours * 3600.0)
        self.cluster = SimulatedCluster(built, self.clock)
        self.store = store or MemoryStore()
        self.written: list[tuple[str, int, Mapping[str, Any]]] = []
        watch = Watch(SimulatedCollector(self.cluster, self.clock), self.clock)
        orchestrator = SimulatedOrchestrator(self.cluster, stream(0, "orchestrator"))
        means = Means(orchestrator, SimulatedPower(self.cluster), self.store, self.clock, watch, stream(0, "executor"))
        self.loop = Loop(
            means,
            watch,
            decider,
            LoopSettings(holder, mode, **settings),
            on_change=lambda kind, number, value: self.written.append((kind, number, value)),
        )

    async def play(self):
        running = asyncio.create_task(self.loop.run())
        over = asyncio.create_task(self.clock.ended())
        await asyncio.wait([running, over], return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
        running.cancel()

    def of_kind(self, kind):
        return [value for k, _, value in self.written if k == kind]


def test_day_through_the_whole_loop_is_the_day_that_is_driven_directly():
    # Guards, rests and faults off; one whole decision every five minutes and no others.
    hours = 12.0
    built = build(load_scenario("city-20", CALM), 0, hours=hours)
    fleet = fleet_arrays(built.cluster)
    world = World(fleet, built.params, [(built.workload, built.faults)], seed=0)
    directly, rule = [], policy("drain-relief")
    rule.reset(0)
    for _ in range(built.ticks // built.params.ticks_per_step):
        directly.append(world.state.container_int[0, CI.PLACEMENT].copy())
        world.step(orders_of(rule.propose(world.view()), fleet.nodes))

    seeing = Seeing(policy("drain-relief"))
    seeing.reset(0)
    limits = Limits.none(week_began_s=MONDAY_S)
    switching = SwitchSettings(power=PowerSettings(rest_s=0.0, settle_s=0.0))
    service = Service(
        built,
        Decider(seeing, limits),
        hours=hours,
        schedule=ScheduleSettings(macro_shortest_s=STEP_S, macro_unknown_s=STEP_S, macro_longest_s=STEP_S, micro_s=1e9),
        signs=SignSettings(surge_factor=1e9),
        memory=MemorySettings(bounce_s=1e-3, first_wait_s=1e-3, longest_wait_s=1e-3, veto_s=1e-3),
        execute=ExecuteSettings(settle_s=0.0, caps=limits.plan, switching=switching),
    )
    asyncio.run(service.play())
    through = seeing.placements[: len(directly)]
    assert len(through) == len(directly)
    assert [k for k, (a, b) in enumerate(zip(directly, through, strict=True)) if (a != b).any()] == []
    assert len({placement.tobytes() for placement in directly}) > 10


def test_guarded_day_saves_energy_and_loses_nobody():
    built = build(load_scenario("city-20"), 0, hours=12.0)
    service = Service(built, Decider(policy("drain-relief"), Limits(week_began_s=MONDAY_S)), hours=12.0)
    asyncio.run(service.play())
    total, hold = service.cluster.total(), service.cluster.hold_cost_wh()
    assert service.loop.trouble == ""
    assert total[Total.MOVES_DONE] > 0
    assert total[Total.ASLEEP_NODE_S] > 0.0
    assert service.cluster.cost_wh().energy < 0.98 * sum(step.energy for step in hold)
    assert (service.cluster.state().container_int[0, CI.PLACEMENT] >= 0).all()
    executions = service.of_kind("execution")
    assert executions
    assert all(not report["marked"] for report in executions)
    # Every node that is up and stays so has its reason.
    for decision in service.of_kind("decision"):
        assert set(decision["sleep"]).isdisjoint(decision["stays"])
    last = service.of_kind("decision")[-1]
    assert last["stays"]


@pytest.mark.parametrize("mode", [Mode.RECOMMEND, Mode.APPROVE])
def test_nothing_is_done_that_nobody_asked_for(mode):
    built = build(load_scenario("city-20"), 0, hours=2.0)
    limits = Limits.none(week_began_s=MONDAY_S)
    service = Service(built, Decider(policy("drain-relief"), limits), hours=2.0, mode=mode)
    asyncio.run(service.play())
    assert service.cluster.total()[Total.MOVES_STARTED] == 0
    assert service.cluster.marks == {}
    plans = {decision["plan"] for decision in service.of_kind("decision") if decision["moves"]}
    assert plans == {"show" if mode is Mode.RECOMMEND else "wait"}
    assert np.isfinite(service.loop.status().interval_s)


@pytest.mark.slow
def test_night_is_quieter_than_the_morning():
    night, morning = 0, 0
    for seed in (20, 21):
        built = build(load_scenario("city-20"), seed, hours=10.0)
        service = Service(built, Decider(policy("drain-relief"), Limits(week_began_s=MONDAY_S)), hours=10.0)
        asyncio.run(service.play())
        whole = [value for value in service.of_kind("decision") if value["rhythm"] == "macro"]
        times = np.array([value["at_s"] for value in whole]) - start_of(built)
        gaps = np.diff(times)
        assert 120.0 <= gaps.min() < gaps.max() <= 1800.0 + 1.0
        night += int((times < 5.0 * 3600.0).sum())
        morning += int((times >= 5.0 * 3600.0).sum())
    # A fixed five minutes would be 120 each.
    assert night < 0.9 * morning < 60
