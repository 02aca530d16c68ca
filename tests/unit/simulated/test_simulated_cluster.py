"""The simulated data plane: a world that can be looked at on the way, and the ports that act on it."""

import asyncio

import numpy as np
import pytest

from fogfold.adapters.simulated.clocks import Pace, PacedClock, SimulatedClock, start_of
from fogfold.adapters.simulated.cluster import SimulatedCluster
from fogfold.adapters.simulated.holding import Holding
from fogfold.adapters.simulated.orchestrator import SimulatedOrchestrator
from fogfold.adapters.simulated.power import SimulatedPower
from fogfold.adapters.simulated.readings import ReadingFault, SimulatedCollector
from fogfold.control.collect import Blindness, assemble
from fogfold.control.failure import PortError, PortTimeoutError
from fogfold.control.orders import MoveOrder
from fogfold.control.ports import Clock, Collector, MoveStatus, Orchestrator, Power, PowerReading
from fogfold.errors import ModelError
from fogfold.model.identity import NodeId
from fogfold.model.node import NodeState
from fogfold.seeding import stream
from fogfold.testing.clock import FakeClock
from fogfold.world.dynamics import advance, no_orders
from fogfold.world.rows import CI, NI, N, Total
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario
from fogfold.world.world import World

TICK_S = 30.0


@pytest.fixture(scope="module")
def built():
    calm = {"world.migration_failure_base": 0.0, "world.migration_failure_per_jitter": 0.0}
    return build(load_scenario("city-20", calm), 3, hours=3.0)


class Plane:
    def __init__(self, built, **failures):
        self.clock = FakeClock(start_of(built))
        self.cluster = SimulatedCluster(built, self.clock)
        self.collector = SimulatedCollector(self.cluster, self.clock)
        self.orchestrator = SimulatedOrchestrator(self.cluster, stream(1, "failures"), **failures)
        self.power = SimulatedPower(self.cluster)

    def a_move(self):
        """A move that the world takes, and that is still going on a tick later."""
        readings = asyncio.run(self.collector.read())
        for container, source in readings.placement.items():
            for node in self.cluster.cluster.nodes:
                c = self.cluster.container(container)
                copy = self.cluster.state().copy()
                world = World(
                    self.cluster.fleet, self.cluster.built.params,
                    [(self.cluster.built.workload, self.cluster.built.faults)], seed=3,
                )  # fmt: skip
                nothing = no_orders(1, self.cluster.fleet.nodes)
                moves = np.array([[[c, self.cluster.node(node.id)]]], np.int32)
                advance(world.frame, world.tape, copy, type(nothing)(moves, nothing.power), ticks=1)
                if copy.container_int[0, CI.TARGET, c] >= 0 and node.id != source:
                    return MoveOrder(container, source, node.id)
        raise AssertionError("nothing can move")


def call(coroutine):
    return asyncio.run(coroutine)


def test_adapters_are_ports(built):
    plane = Plane(built)
    assert isinstance(plane.collector, Collector)
    assert isinstance(plane.orchestrator, Orchestrator)
    assert isinstance(plane.power, Power)
    assert isinstance(SimulatedClock(), Clock)
    assert isinstance(PacedClock(FakeClock(), 60.0), Clock)


def test_course_that_is_looked_at_ends_in_the_same_bytes(built):
    plane = Plane(built)
    alone = World(plane.cluster.fleet, built.params, [(built.workload, built.faults)], seed=built.seed)
    for _ in range(4):
        alone.step(no_orders(1, plane.cluster.fleet.nodes))
    for _ in range(40):
        plane.clock.advance(TICK_S)
        plane.cluster.state()
    assert plane.cluster.state().fingerprint() == alone.state.fingerprint()
    assert (plane.cluster.total() == alone.state.total[0]).all()


def test_orders_in_mid_step_do_not_begin_readings_anew(built):
    # Waking a node that is on changes nothing, but cuts the step in two.
    looked, cut = Plane(built), Plane(built)
    for plane in (looked, cut):
        plane.clock.advance(4 * TICK_S)
    cut.cluster.order_move(0, int(cut.cluster.state().container_int[0, CI.PLACEMENT, 0]))  # to where it is: refused
    for plane in (looked, cut):
        plane.clock.advance(6 * TICK_S)
    assert (looked.cluster.state().container == cut.cluster.state().container).all()


def test_move_goes_through_its_states_and_arrives(built):
    plane = Plane(built)
    move = plane.a_move()
    call(plane.orchestrator.start("k", move, live=True, rate_limit_bit_s=None))
    call(plane.orchestrator.start("k", move, live=True, rate_limit_bit_s=None))
    assert call(plane.orchestrator.watch("k", move.container)).status is MoveStatus.RESERVED
    seen = []
    for _ in range(40):
        plane.clock.advance(TICK_S)
        seen.append(call(plane.orchestrator.watch("k", move.container)).status)
    assert seen[-1] is MoveStatus.ARRIVED
    assert call(plane.collector.read()).placement[move.container] == move.target
    assert plane.cluster.state().container_int[0, CI.MOVES, plane.cluster.container(move.container)] == 1


def test_undone_move_stays_at_its_source_and_frees_its_room(built):
    plane = Plane(built)
    move = plane.a_move()
    call(plane.orchestrator.start("k", move, live=True, rate_limit_bit_s=None))
    plane.clock.advance(TICK_S)
    call(plane.orchestrator.undo("k", move))
    call(plane.orchestrator.undo("k", move))
    sight = call(plane.orchestrator.watch("k", move.container))
    assert (sight.status, sight.runs_on) == (MoveStatus.FAILED, move.source)
    assert plane.cluster.state().node_int[0, NI.ARRIVING].sum() == 0
    plane.clock.advance(20 * TICK_S)
    assert call(plane.collector.read()).placement[move.container] == move.source


def test_order_is_taken_back_before_the_tick_in_which_it_would_begin(built):
    plane = Plane(built)
    move = plane.a_move()
    call(plane.orchestrator.start("k", move, live=True, rate_limit_bit_s=None))
    call(plane.orchestrator.undo("k", move))
    plane.clock.advance(2 * TICK_S)
    assert plane.cluster.state().container_int[0, CI.MOVES].sum() == 0


def test_share_of_moves_breaks_and_leaves_them_at_their_source(built):
    plane = Plane(built, move_failure=1.0)
    move = plane.a_move()
    call(plane.orchestrator.start("k", move, live=True, rate_limit_bit_s=None))
    for _ in range(40):
        plane.clock.advance(TICK_S)
        sight = call(plane.orchestrator.watch("k", move.container))
        if sight.status is MoveStatus.FAILED:
            break
    assert (sight.status, sight.runs_on) == (MoveStatus.FAILED, move.source)


def test_lost_answers_are_time_outs_that_may_have_been_acted_on(built):
    plane = Plane(built, lost_answers=1.0)
    node = plane.cluster.cluster.nodes[0].id
    taken = set()
    for _ in range(20):
        plane.cluster.marks.clear()
        with pytest.raises(PortTimeoutError):
            call(plane.orchestrator.cordon(node, "m"))
        taken.add(node in plane.cluster.marks)
    assert taken == {True, False}


def test_unknown_names_are_refused_with_the_nearest(built):
    plane = Plane(built)
    with pytest.raises(PortError, match="did you mean"):
        plane.cluster.node(NodeId("edge-0l"))


def test_node_with_containers_is_not_switched_off(built):
    plane = Plane(built)
    node = plane.cluster.cluster.nodes[int(plane.cluster.state().container_int[0, CI.PLACEMENT, 0])].id
    with pytest.raises(PortError, match="not empty"):
        call(plane.power.off(node, "k"))
    assert plane.cluster.state_of(node) is NodeState.ON


def test_node_that_is_woken_while_it_shuts_down_comes_up_once_it_is_off(built):
    plane = Plane(built)
    node = max(plane.cluster.cluster.nodes, key=lambda one: one.shutdown_s).id
    n = plane.cluster.node(node)
    state = plane.cluster.state()
    # Put it to sleep as an empty machine would be.
    state.container_int[0, CI.PLACEMENT][state.container_int[0, CI.PLACEMENT] == n] = -1
    state.node_int[0, NI.RUNNING, n] = 0
    call(plane.power.off(node, "k"))
    call(plane.power.on(node, "k"))
    plane.clock.advance(TICK_S)
    assert plane.cluster.state_of(node) is NodeState.ON
    call(plane.power.off(node, "k"))
    plane.clock.advance(TICK_S)
    # Machines of this scenario are off within a tick; one is held on its way by hand.
    settled = plane.cluster._course.cut(plane.cluster.tick)
    settled.node_int[0, NI.STATE, n], settled.node[0, N.TIMER_S, n] = NodeState.GOING_TO_SLEEP, 2 * TICK_S
    assert call(plane.power.read(node)).reading is PowerReading.ON
    call(plane.power.on(node, "k"))
    seen = []
    for _ in range(40):
        plane.clock.advance(TICK_S)
        seen.append(plane.cluster.state_of(node))
    assert NodeState.WAKING in seen
    assert seen[-1] in (NodeState.ON, NodeState.FAILED)


def test_readings_can_stop_lag_and_lie(built):
    plane = Plane(built)
    plane.clock.advance(10 * TICK_S)
    silent, late, zero, well = (node.id for node in plane.cluster.cluster.nodes[:4])
    until_s = plane.clock.now_s() + 60.0
    plane.collector.faults = {
        silent: ReadingFault(until_s, is_silent=True),
        late: ReadingFault(until_s, lag_s=600.0),
        zero: ReadingFault(until_s, factor=0.0),
    }
    collected = assemble(call(plane.collector.read()), plane.clock.now_s())
    assert {node: spot.why for node, spot in collected.blind.items()} == {
        silent: Blindness.NO_READING,
        late: Blindness.OLD,
        zero: Blindness.NO_POWER,
    }
    assert well in collected.pressure
    plane.clock.advance(60.0)
    assert not assemble(call(plane.collector.read()), plane.clock.now_s()).blind


def test_nothing_was_measured_before_the_first_tick(built):
    plane = Plane(built)
    readings = call(plane.collector.read())
    assert readings.containers == {}
    assert {reading.power_w for reading in readings.nodes.values()} == {None}


def test_cluster_that_does_not_answer_is_a_time_out(built):
    plane = Plane(built)
    plane.collector.gone_until_s = plane.clock.now_s() + 1.0
    with pytest.raises(PortTimeoutError):
        call(plane.collector.read())


def test_world_that_has_ended_stands_still_and_takes_no_orders(built):
    plane = Plane(built)
    plane.clock.advance(4 * 3600.0)
    assert plane.cluster.is_over
    with pytest.raises(PortError, match="over"):
        plane.cluster.order_move(0, 1)


def test_clock_jumps_from_sleeper_to_sleeper_and_stands_still_while_held():
    async def play():
        clock, woken = SimulatedClock(lasts_s=100.0), []

        async def sleeper(s):
            await clock.sleep(s)
            woken.append((s, clock.monotonic_s()))

        class Slow:
            async def work(self):
                for _ in range(500):
                    await asyncio.sleep(0)
                return clock.monotonic_s()

        holding = Holding(Slow(), clock)
        tasks = [asyncio.create_task(sleeper(s)) for s in (30.0, 10.0, 20.0)]
        await asyncio.sleep(0)
        assert await holding.work() == 0.0
        await asyncio.gather(*tasks)
        assert woken == [(10.0, 10.0), (20.0, 20.0), (30.0, 30.0)]

    asyncio.run(play())


def test_paced_clock_runs_as_many_times_as_fast():
    clock = FakeClock()
    paced = PacedClock(clock, 60.0)
    clock.advance(2.0)
    assert paced.monotonic_s() == pytest.approx(120.0)
    with pytest.raises(ModelError):
        PacedClock(clock, 0.0)


def test_paced_jumps_wait_for_their_time_and_whoever_comes_meanwhile_is_woken_first():
    async def jumps():
        machine, woken = FakeClock(), []
        clock = SimulatedClock(pace=Pace(machine, 60.0))

        async def sleeper(name, duration_s):
            await clock.sleep(duration_s)
            woken.append((name, clock.monotonic_s(), machine.monotonic_s()))

        async def run(duration_s):
            # In small steps: the paced clock goes round as often as this one, and must keep up with it.
            for _ in range(round(duration_s / 0.05)):
                await machine.run(0.05)

        late = asyncio.create_task(sleeper("late", 600.0))
        await run(4.0)
        assert woken == []
        early = asyncio.create_task(sleeper("early", 300.0))
        await run(1.5)
        assert [name for name, *_ in woken] == ["early"]
        await run(6.0)
        await asyncio.gather(late, early)
        return woken

    woken = asyncio.run(jumps())
    assert [(name, at_s) for name, at_s, _ in woken] == [("early", 300.0), ("late", 600.0)]
    # At 60 a second, 300 s take 5 s of the machine and 600 s take 10 s.
    assert [machine_s for *_, machine_s in woken] == pytest.approx([5.0, 10.0], abs=0.2)


def test_pace_that_stands_still_is_refused():
    with pytest.raises(ModelError, match="speed is 0"):
        Pace(FakeClock(), 0.0)


def test_steps_are_what_the_world_did_between_decisions(built):
    clock = SimulatedClock(start_of(built))
    cluster = SimulatedCluster(built, clock)
    sums, states = cluster.steps()
    assert (sums.shape, states.shape) == ((0, len(Total)), (0, cluster.fleet.nodes))

    async def an_hour():
        for _ in range(7):
            await clock.sleep(510.0)
            cluster.state()

    asyncio.run(an_hour())
    sums, states = cluster.steps()
    world = World(cluster.fleet, built.params, [(built.workload, built.faults)], seed=3)
    directly = [world.step(no_orders(1, cluster.fleet.nodes))[0] for _ in range(11)]
    np.testing.assert_array_equal(sums, directly)
    assert states.shape == (11, cluster.fleet.nodes)
