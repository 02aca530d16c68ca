"""A world that another process plays: what it answers is what the same world answers here."""

import asyncio
from multiprocessing import active_children

import numpy as np
import pytest

from fogfold.adapters.simulated.apart import course_apart
from fogfold.adapters.simulated.clocks import start_of
from fogfold.adapters.simulated.cluster import SimulatedCluster
from fogfold.adapters.simulated.readings import SimulatedCollector
from fogfold.errors import ModelError
from fogfold.testing.clock import FakeClock
from fogfold.world.faults import FaultKind
from fogfold.world.rows import CI, NI
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario

TICK_S = 30.0


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("city-20", {"nodes.0.count": 8})


class Plane:
    def __init__(self, built, course=None):
        self.clock = FakeClock(start_of(built))
        self.cluster = SimulatedCluster(built, self.clock, course)
        self.collector = SimulatedCollector(self.cluster, self.clock)

    def read_after(self, ticks):
        self.clock.advance(ticks * TICK_S)
        return asyncio.run(self.collector.read())


def a_move(cluster):
    """Columns of a container and of a node that it is not on."""
    where = cluster.state().container_int[0, CI.PLACEMENT]
    return 0, int((where[0] + 1) % len(cluster.cluster.nodes))


def test_a_course_apart_answers_as_one_that_is_here(scenario):
    here = Plane(build(scenario, 5, hours=1.0))
    with course_apart(scenario, 5, hours=1.0) as (built, course):
        there = Plane(built, course)
        assert built.cluster == here.cluster.cluster
        assert built.workload.containers == 1, "the load stays where it is played"
        assert here.read_after(3) == there.read_after(3)
        for plane in (here, there):
            plane.cluster.order_move(*a_move(plane.cluster))
            plane.cluster.order_sleep(2)
            plane.cluster.lose_node(4, for_s=300.0)
        assert here.read_after(1) == there.read_after(1)
        assert here.cluster.state().container_int[0, CI.TARGET].tobytes() == (
            there.cluster.state().container_int[0, CI.TARGET].tobytes()
        )
        for plane in (here, there):
            plane.cluster.give_up(0)
        assert here.read_after(30) == there.read_after(30)
        np.testing.assert_array_equal(here.cluster.total(), there.cluster.total())
        for step, step_there in zip(here.cluster.steps(), there.cluster.steps(), strict=True):
            np.testing.assert_array_equal(step, step_there)
        for rows, rows_there in zip(here.cluster.state().arrays(), there.cluster.state().arrays(), strict=True):
            np.testing.assert_array_equal(rows, rows_there)


def test_what_is_refused_there_is_refused_here_and_it_goes_on(scenario):
    with course_apart(scenario, 5, hours=0.5) as (built, course):
        assert course.ticks == 60
        course.cut(10)
        with pytest.raises(ModelError, match="tick 4 is past"):
            course.state(4)
        course.strike(FaultKind.NODE_LOSS, 1, 5)
        assert course.state(11).node_int.shape == (1, len(NI), 8)
        with pytest.raises(ModelError, match="another process"):
            Plane(built, course).cluster.hold_cost_wh()


def test_what_cannot_be_built_says_why(scenario):
    with pytest.raises(ModelError, match=r"hours is 0\.001"), course_apart(scenario, 5, hours=0.001):
        pass


def test_a_process_that_is_gone_is_told_of(scenario):
    before = set(active_children())
    with course_apart(scenario, 5, hours=0.5) as (_, course):
        (process,) = set(active_children()) - before
        process.kill()
        process.join()
        with pytest.raises(ModelError, match="is gone"):
            course.state(1)
    assert set(active_children()) == before
