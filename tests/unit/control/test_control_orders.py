"""Orders by name, and how they come from a proposal's columns."""

from __future__ import annotations

import pytest

from fogfold.control.codes import Code
from fogfold.control.orders import MoveOrder, Orders, orders_of, workload_of
from fogfold.errors import ModelError
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.reason import Reason
from fogfold.policy.base import Move, Proposal
from fogfold.testing.builders import a_cluster, a_container, a_group, a_node, a_snapshot

CLUSTER = a_cluster(
    [a_node("n0"), a_node("n1"), a_node("n2")],
    [a_container("c0", group="g0"), a_container("c1")],
    groups=[a_group("g0")],
)
SNAPSHOT = a_snapshot(CLUSTER, {"c0": "n0"})


def test_columns_become_names():
    proposal = Proposal("drain", moves=(Move(0, 1),), sleep=(0,), wake=(2,), stays={1: Reason.SCORE_LOW})
    assert orders_of(proposal, SNAPSHOT) == Orders(
        (MoveOrder(ContainerId("c0"), NodeId("n0"), NodeId("n1")),),
        (NodeId("n0"),),
        (NodeId("n2"),),
        {NodeId("n1"): Code.SCORE_LOW},
        "drain",
    )


def test_container_that_runs_nowhere_cannot_be_moved():
    with pytest.raises(ModelError, match="'c1', which runs nowhere"):
        orders_of(Proposal("x", moves=(Move(1, 1),)), SNAPSHOT)


@pytest.mark.parametrize("proposal", [Proposal("x", sleep=(3,)), Proposal("x", wake=(-1,))])
def test_column_that_the_cluster_does_not_have_is_refused(proposal):
    with pytest.raises(ModelError, match="the cluster has 3"):
        orders_of(proposal, SNAPSHOT)


def test_orders_that_contradict_themselves_are_refused():
    move = MoveOrder(ContainerId("c0"), NodeId("n0"), NodeId("n1"))
    with pytest.raises(ModelError, match="moves container 'c0' twice"):
        Orders((move, move))
    with pytest.raises(ModelError, match="both to sleep and to wake"):
        Orders(sleep=(NodeId("n0"),), wake=(NodeId("n0"),))


def test_history_goes_by_group_where_there_is_one():
    assert workload_of(CLUSTER, ContainerId("c0")) == "group g0"
    assert workload_of(CLUSTER, ContainerId("c1")) == "container c1"
