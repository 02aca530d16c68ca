"""The ledger says the same as the model's own statement of the hard rules, also after moves were made on it."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.control.room import Ledger
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.placement import refusal
from fogfold.model.reason import Reason
from fogfold.seeding import stream
from fogfold.testing.builders import a_cluster, a_container, a_node, a_snapshot, random_snapshot


def _same(ledger, snapshot, ceiling):
    for container in snapshot.cluster.containers:
        for node in snapshot.cluster.nodes:
            expected = refusal(snapshot, container.id, node.id, ceiling=ceiling)
            assert ledger.refusal(container.id, node.id) is expected, (container.id, node.id)


@given(seed=st.integers(0, 10_000), ceiling=st.sampled_from([1.0, 0.8]))
@settings(max_examples=60, deadline=None)
def test_ledger_refuses_as_the_model_does(seed, ceiling):
    snapshot = random_snapshot(stream(seed, "room"))
    _same(Ledger(snapshot, ceiling=ceiling), snapshot, ceiling)


@given(seed=st.integers(0, 10_000), steps=st.integers(1, 8))
@settings(max_examples=40, deadline=None)
def test_ledger_agrees_while_moves_go_on(seed, steps):
    rng = stream(seed, "moves")
    snapshot = random_snapshot(rng)
    ledger = Ledger(snapshot)
    nodes = [node.id for node in snapshot.cluster.nodes]
    for _ in range(steps):
        under_way = sorted(snapshot.targets)
        still = sorted(set(snapshot.placement) - set(snapshot.targets))
        if under_way and (not still or rng.random() < 0.5):
            name = under_way[int(rng.integers(len(under_way)))]
            ledger.finish(name)
            targets = {c: n for c, n in snapshot.targets.items() if c != name}
            snapshot = replace(
                snapshot, targets=targets, placement={**snapshot.placement, name: snapshot.targets[name]}
            )
        elif still:
            name = still[int(rng.integers(len(still)))]
            target = nodes[int(rng.integers(len(nodes)))]
            if target != snapshot.placement[name]:
                ledger.begin(name, target)
                snapshot = replace(snapshot, targets={**snapshot.targets, name: target})
        _same(ledger, snapshot, 1.0)


def test_move_under_way_holds_room_at_both_ends():
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("a", cores=6.0), a_container("b", cores=6.0)])
    ledger = Ledger(a_snapshot(cluster, {"a": "n0", "b": "n1"}))
    assert ledger.refusal(ContainerId("b"), NodeId("n0")) is Reason.NO_ROOM
    ledger.leave(ContainerId("a"))
    assert ledger.refusal(ContainerId("b"), NodeId("n0")) is Reason.NONE
    ledger.begin(ContainerId("b"), NodeId("n0"))
    assert ledger.requested(NodeId("n1"))[0] == 6.0
    assert ledger.requested(NodeId("n0"))[0] == 6.0
    ledger.finish(ContainerId("b"))
    assert ledger.requested(NodeId("n1"))[0] == 0.0
    assert ledger.occupants(NodeId("n0")) == {"b"}
