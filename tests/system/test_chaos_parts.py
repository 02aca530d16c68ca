"""What a day of chaos is made of: instances that die, ports that fail, nodes that are lost, and a loop that goes on."""

import asyncio

import numpy as np
import pytest

from fogfold.adapters.simulated.chaos.life import Killed, Life, MortalClock, was_killed
from fogfold.adapters.simulated.chaos.sqlite import sqlite_stores
from fogfold.adapters.simulated.chaos.unreliable import SetClock, Unreliable
from fogfold.adapters.simulated.chaos.witness import Eye, Witness
from fogfold.adapters.simulated.clocks import SimulatedClock, start_of
from fogfold.adapters.simulated.cluster import SimulatedCluster
from fogfold.adapters.simulated.orchestrator import SimulatedOrchestrator
from fogfold.adapters.simulated.power import SimulatedPower
from fogfold.adapters.simulated.readings import SimulatedCollector
from fogfold.control.deciding import Decider
from fogfold.control.failure import PortTimeoutError
from fogfold.control.loop import Loop, LoopSettings
from fogfold.control.means import Means
from fogfold.control.orders import MoveOrder
from fogfold.control.ports import MigrationRow
from fogfold.control.watch import Watch
from fogfold.errors import ModelError
from fogfold.model.migration import MigrationState
from fogfold.model.node import NodeState
from fogfold.policy.registry import policy
from fogfold.seeding import stream
from fogfold.testing.clock import FakeClock
from fogfold.testing.memory_store import MemoryStore
from fogfold.world.invariants import check_state
from fogfold.world.rows import CI, NI, Total
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario
from fogfold.world.world import World


class Bell:
    """A port that notes how often it was rung."""

    def __init__(self):
        self.rung = 0

    async def keep(self):
        self.rung += 1

    async def kept(self):
        return self.rung


@pytest.mark.asyncio
@pytest.mark.parametrize(("point", "rung"), [(0, 0), (1, 1), (2, 1), (3, 2)])
async def test_instance_dies_before_a_call_or_after_it_and_never_calls_again(point, rung):
    bell, life = Bell(), Life(FakeClock())
    port = life.wrap(bell)
    life.die_at(point)
    for _ in range(point // 2):
        await port.keep()
    for _ in range(3):
        with pytest.raises(Killed):
            await port.keep()
    assert bell.rung == rung
    assert life.where == ("before keep", "after keep")[point % 2]


@pytest.mark.asyncio
async def test_only_acts_count_where_it_is_to_die_in_an_act():
    bell, life = Bell(), Life(FakeClock())
    port = life.wrap(bell)
    life.die_at(0, of_acts=True)
    for _ in range(5):
        assert await port.kept() == 0
    with pytest.raises(Killed):
        await port.keep()


@pytest.mark.asyncio
async def test_dead_do_not_wake():
    clock = FakeClock()
    life = Life(clock)
    woke = []

    async def sleeper():
        await MortalClock(clock, life).sleep(10.0)
        woke.append(True)

    task = asyncio.create_task(sleeper())
    await clock.run(5.0)
    life.end()
    await clock.run(10.0)
    assert was_killed(task.exception())
    assert woke == []


@pytest.mark.asyncio
async def test_who_stands_still_goes_on_with_what_it_was_about_to_do():
    clock, bell = FakeClock(), Bell()
    life = Life(clock)
    life.stand_still(90.0)
    task = asyncio.create_task(life.wrap(bell).keep())
    await clock.run(89.0)
    assert bell.rung == 0
    await clock.run(1.0)
    await task
    assert bell.rung == 1


@pytest.mark.asyncio
async def test_lost_answers_are_of_calls_that_were_taken_and_of_some_that_were_not():
    bell = Bell()
    port = Unreliable(bell, FakeClock(), stream(0, "answers"), lost_answers=1.0)
    for _ in range(200):
        with pytest.raises(PortTimeoutError):
            await port.keep()
    assert 70 < bell.rung < 130
    port.come_back()
    await port.keep()


@pytest.mark.asyncio
async def test_port_that_is_gone_is_back_after_that_time():
    clock, bell = FakeClock(), Bell()
    port = Unreliable(bell, clock, stream(0, "answers"))
    port.go(60.0)
    clock.advance(59.0)
    with pytest.raises(PortTimeoutError, match="gone for now"):
        await port.keep()
    clock.advance(1.0)
    await port.keep()
    assert bell.rung == 1


def test_wall_clock_is_set_and_monotonic_time_goes_on():
    clock = FakeClock(1000.0)
    wall = SetClock(clock)
    wall.ahead_s = -3600.0
    clock.advance(10.0)
    assert (wall.now_s(), wall.monotonic_s()) == (-2590.0, 10.0)


def test_past_points_are_refused():
    with pytest.raises(ModelError, match="-1"):
        Life(FakeClock()).die_at(-1)


def test_node_that_is_lost_comes_back_and_nobody_is_lost_with_it():
    built = build(load_scenario("tiny-4"), 0, hours=1.0)
    clock = FakeClock(start_of(built))
    cluster = SimulatedCluster(built, clock)
    frame = World(cluster.fleet, built.params, [(built.workload, built.faults)], seed=0).frame
    node = int(np.argmax(cluster.state().node_int[0, NI.RUNNING]))
    clock.advance(60.0)
    cluster.lose_node(node, 300.0)
    clock.advance(30.0)
    state = cluster.state()
    check_state(frame, state)
    assert state.node_int[0, NI.STATE, node] == NodeState.FAILED
    assert (state.container_int[0, CI.PLACEMENT] != node).all()
    assert cluster.total()[Total.NODE_LOSSES] == 1
    clock.advance(1800.0)
    state = cluster.state()
    check_state(frame, state)
    assert state.node_int[0, NI.STATE, node] == NodeState.ON
    assert (state.container_int[0, CI.PLACEMENT] >= 0).all()
    assert cluster.total()[Total.NODE_LOSSES] == 1


def test_loop_goes_on_where_the_store_is_gone_in_the_middle_of_recovery():
    # Recovery does many things at once, so what it meets comes as a group and not as one error.
    class Forgetful(MemoryStore):
        is_gone = True

        async def open_migrations(self):
            if self.is_gone:
                raise PortTimeoutError("the store is gone")
            return await super().open_migrations()

    built = build(load_scenario("tiny-4"), 0, hours=1.0)
    clock = SimulatedClock(start_of(built))
    cluster, store = SimulatedCluster(built, clock), Forgetful()
    watch = Watch(SimulatedCollector(cluster, clock), clock)
    orchestrator = SimulatedOrchestrator(cluster, stream(0, "orchestrator"))
    means = Means(orchestrator, SimulatedPower(cluster), store, clock, watch, stream(0, "executor"))
    loop = Loop(means, watch, Decider(policy("hold")), LoopSettings("one"))

    async def cycles():
        await loop.cycle()
        met = loop.trouble
        store.is_gone = False
        await loop.cycle()
        return met, loop.trouble

    assert asyncio.run(cycles()) == ("nobody answers: the store is gone", "")


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_lease_of_the_dead_does_not_outlive_them_by_as_much_as_the_clock_is_set_back(kind):
    async def ask(store):
        assert await store.acquire("dead", for_s=60.0, now_s=10_000.0) is not None
        assert await store.acquire("next", for_s=60.0, now_s=6_400.0) is None
        assert await store.acquire("next", for_s=60.0, now_s=6_459.0) is None
        lease = await store.acquire("next", for_s=60.0, now_s=6_460.0)
        assert lease is not None
        assert lease.fence == 2

    if kind == "memory":
        await ask(MemoryStore())
    else:
        async with sqlite_stores() as stores, stores() as store:
            await ask(store)


@pytest.mark.asyncio
async def test_holder_that_lives_keeps_its_lease_however_far_ahead_its_clock_is():
    store = MemoryStore()
    first = await store.acquire("ahead", for_s=60.0, now_s=3_600.0)
    for k in range(1, 20):
        assert await store.acquire("behind", for_s=60.0, now_s=30.0 * k) is None
        assert await store.acquire("ahead", for_s=60.0, now_s=3_600.0 + 30.0 * k) is not None
    assert first is not None
    renewed = await store.acquire("ahead", for_s=60.0, now_s=4_200.0)
    assert renewed is not None
    assert renewed.fence == first.fence


class CutsOff(MemoryStore):
    """A store that takes a step to one state and whose caller never hears of it."""

    state = MigrationState.VERIFIED

    async def transition(self, key, before, after, **more):
        row = await super().transition(key, before, after, **more)
        if after is self.state:
            raise asyncio.CancelledError
        return row


@pytest.mark.asyncio
@pytest.mark.parametrize("is_true", [True, False])
async def test_a_step_that_was_accepted_and_never_answered_is_seen_before_the_next(is_true):
    built = build(load_scenario("city-20", {"nodes.0.count": 8}), 1, hours=1.0)
    cluster = SimulatedCluster(built, FakeClock(start_of(built)))
    container, other = (one.id for one in built.cluster.containers[:2])
    place = cluster.state().container_int[0, CI.PLACEMENT]
    here = built.cluster.nodes[int(place[0])].id
    runs_on = here if is_true else built.cluster.nodes[(int(place[0]) + 1) % 8].id
    store, eye = CutsOff(), Eye(cluster)
    witness = Witness(store, eye)
    lease = await witness.acquire("one", for_s=60.0, now_s=0.0)
    assert lease is not None

    def row(key, moved):
        return MigrationRow(key, key.partition("/")[0], MoveOrder(moved, here, here), MigrationState.PLANNED)

    async def step(key, before, after, **facts):
        await witness.transition(key, before, after, at_s=1.0, facts=facts, fence=lease.fence)

    planned, reserved, moving = MigrationState.PLANNED, MigrationState.RESERVED, MigrationState.MOVING
    await witness.add_migrations([row("1/0", container), row("2/0", container), row("3/0", other)], fence=lease.fence)
    await step("1/0", planned, reserved)
    await step("1/0", reserved, moving)
    with pytest.raises(asyncio.CancelledError):
        await step("1/0", moving, MigrationState.VERIFIED, runs_on=runs_on)
    assert eye.seen.safe == set()
    await step("2/0", planned, reserved)
    assert eye.seen.doubled == set(), "the first move was over before the second began"
    assert eye.seen.safe == ({"1/0"} if is_true else set())
    # A beginning that nobody heard of counts as well: a second move of that container is one too many.
    store.state = MigrationState.RESERVED
    with pytest.raises(asyncio.CancelledError):
        await step("3/0", planned, reserved)
    await witness.add_migrations([row("4/0", other)], fence=lease.fence)
    store.state = MigrationState.UNDONE
    await step("4/0", planned, reserved)
    assert eye.seen.doubled == {other}
