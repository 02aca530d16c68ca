"""Views, proposals by name, and small worlds for the tests of policies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fogfold.encoding.arrays import fleet_arrays, view_of
from fogfold.model.node import NodeState
from fogfold.testing.builders import a_snapshot
from fogfold.world.faults import FaultSchedule
from fogfold.world.params import WorldParams
from fogfold.world.workload.base import Workload
from fogfold.world.world import World


@pytest.fixture
def look():
    """A cluster as a view: placement and states by name, CPU usage in cores (half of the request unless told)."""

    def make(cluster, placement, *, time_s=0.0, history=None, **more):
        view = view_of(a_snapshot(cluster, placement, time_s=time_s, **more))
        past = np.zeros((0, view.fleet.containers)) if history is None else np.asarray(history, float)
        return replace(view, cpu_history=past)

    return make


@pytest.fixture
def named():
    """A proposal in names: moves as "container>node" in order, and the nodes to sleep and to wake."""

    def make(view, proposal):
        cluster = view.fleet.cluster
        moves = [f"{cluster.containers[m.container].id}>{cluster.nodes[m.target].id}" for m in proposal.moves]
        sleep = [str(cluster.nodes[n].id) for n in proposal.sleep]
        wake = [str(cluster.nodes[n].id) for n in proposal.wake]
        return moves, sleep, wake

    return make


@pytest.fixture
def stays():
    """Why each node stays as it is, by name."""

    def make(view, proposal):
        return {str(view.fleet.cluster.nodes[n].id): reason for n, reason in proposal.stays.items()}

    return make


@pytest.fixture
def carry_out():
    """The view after a proposal: moves done, woken nodes on, emptied ones asleep, some minutes later."""

    def make(view, proposal, *, minutes=5.0, usage=None):
        placement, state = view.placement.copy(), view.state.copy()
        for move in proposal.moves:
            placement[move.container] = move.target
        state[list(proposal.wake)] = NodeState.ON
        for node in proposal.sleep:
            assert not (placement == node).any()
            state[node] = NodeState.ASLEEP
        past = view.usage[0][None] if not len(view.cpu_history) else np.vstack([view.cpu_history, view.usage[0]])
        return replace(
            view,
            placement=placement,
            state=state,
            target=np.full_like(view.target, -1),
            usage=view.usage if usage is None else usage,
            cpu_history=past[-30:],
            time_s=view.time_s + 60.0 * minutes,
        )

    return make


@pytest.fixture
def make_world():
    """A world of a cluster with the given CPU levels (a constant, or one a container)."""

    def make(cluster, *, level=0.5, hours=2.0, placement=None, seed=1, params=None):
        fleet = fleet_arrays(cluster)
        samples = round(hours * 12) + 1
        levels = np.broadcast_to(np.asarray(level, np.float32), (samples, fleet.containers)).copy()
        surge = np.ones(((samples - 1) * 10, fleet.sites), np.float32)
        demand = Workload(levels, 300.0, 0.0, surge)
        return World(fleet, params or WorldParams(), [(demand, FaultSchedule.none())], seed=seed, placement=placement)

    return make


@pytest.fixture
def orders_of():
    """A proposal as orders to a batch of one world."""
    from fogfold.policy.orders import orders_of as for_nodes

    def make(world, proposal):
        return for_nodes(proposal, world.frame.fleet.nodes)

    return make
