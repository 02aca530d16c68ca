"""Small worlds for the tests of the simulator."""

from __future__ import annotations

import numpy as np
import pytest

from fogfold.encoding.arrays import fleet_arrays
from fogfold.world.faults import FaultSchedule
from fogfold.world.params import WorldParams
from fogfold.world.workload.base import Workload
from fogfold.world.world import World


@pytest.fixture
def make_world():
    """A world of a cluster with a constant level for all containers, calm unless told otherwise."""

    def make(
        cluster,
        *,
        level=0.5,
        hours=2.0,
        params=None,
        faults=None,
        placement=None,
        worlds=1,
        seed=1,
        **workload,
    ):
        fleet = fleet_arrays(cluster)
        samples = round(hours * 12) + 1
        levels = np.broadcast_to(np.asarray(level, np.float32), (samples, fleet.containers)).copy()
        ticks = (samples - 1) * 10
        surge = workload.pop("surge", np.ones((ticks, fleet.sites), np.float32))
        demand = Workload(levels, 300.0, 0.0, surge, **workload)
        return World(
            fleet,
            params or WorldParams(),
            [(demand, faults or FaultSchedule.none())] * worlds,
            seed=seed,
            placement=placement,
        )

    return make


@pytest.fixture
def order(request):
    """Orders for a batch of one: moves as (container, node) pairs, power as {node: order}."""
    from fogfold.world.dynamics import Orders

    def make(world, moves=(), power=None):
        pairs = np.array(moves, np.int32).reshape(1, len(moves), 2)
        switch = np.zeros((1, world.frame.fleet.nodes), np.int8)
        for node, what in (power or {}).items():
            switch[0, node] = what
        return Orders(pairs, switch)

    return make
