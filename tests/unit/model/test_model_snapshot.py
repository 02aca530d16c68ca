"""Snapshots: complete in their states, silent about what is unknown, and strict about every name."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.errors import ModelError
from fogfold.model.container import Image
from fogfold.model.identity import ImageId, NodeId
from fogfold.model.node import NodeState
from fogfold.model.resources import Resources
from fogfold.model.snapshot import Snapshot
from fogfold.seeding import stream
from fogfold.testing.builders import a_cluster, a_container, a_node, a_snapshot, random_snapshot

CLUSTER = a_cluster([a_node("n0"), a_node("n1")], [a_container("web"), a_container("job")])
ON = {NodeId("n0"): NodeState.ON, NodeId("n1"): NodeState.ON}
SOME = Resources(1.0, 1.0, 1.0, 1.0)


def snapshot(**parts: Any) -> Snapshot:
    whole: dict[str, Any] = {"cluster": CLUSTER, "placement": {}, "states": ON, **parts}
    return Snapshot(**whole)


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"placement": {"wbe": "n0"}}, "placement names container 'wbe', which is not in the cluster; did you mean"),
        ({"placement": {"web": "n7"}}, "placement puts 'web' on node 'n7', which is not in the cluster; known: n0, n1"),
        ({"targets": {"db": "n0"}}, "targets names container 'db', which is not in the cluster; known: job, web"),
        ({"targets": {"web": "n7"}}, "targets puts 'web' on node 'n7', which is not in the cluster"),
        (
            {"placement": {"web": "n0"}, "targets": {"web": "n0"}},
            "targets sends 'web' to 'n0', where it already runs; leave out moves that are done",
        ),
        ({"states": {"n0": NodeState.ON}}, "snapshot has no state for node 'n1'; give the state of every node"),
        ({"states": {}}, "snapshot has no state for node 'n0'; give the state of every node"),
        (
            {"states": {**ON, NodeId("n2"): NodeState.ON}},
            "states names node 'n2', which is not in the cluster; known: n0, n1",
        ),
        ({"usage": {"db": SOME}}, "usage names container 'db', which is not in the cluster; known: job, web"),
        ({"images": {"n7": frozenset()}}, "images names node 'n7', which is not in the cluster; known: n0, n1"),
        ({"images": {"n0": frozenset({"ap"})}}, "images puts 'ap' on node 'n0', which is no image of the cluster; did"),
        ({"age_s": -1.0}, "snapshot age_s is -1; it must be at least 0"),
        ({"age_s": math.nan}, "snapshot age_s is nan; give a finite number"),
        ({"time_s": math.nan}, "snapshot time_s is nan; give a finite number"),
    ],
)
def test_what_does_not_belong_is_refused(parts, sentence):
    with pytest.raises(ModelError, match=rf"^{sentence}"):
        snapshot(**parts)


def test_what_is_missing_stays_missing():
    bare = snapshot()
    assert (bare.placement, bare.usage, bare.targets, bare.images) == ({}, {}, {}, {})


def test_container_that_runs_nowhere_may_be_on_its_way_to_a_node():
    assert snapshot(targets={"web": "n1"}).targets == {"web": "n1"}


def test_images_of_a_node_are_images_of_the_cluster():
    cluster = a_cluster([a_node()], images=[Image(ImageId("a"), 1.0), Image(ImageId("b"), 1.0)])
    both = frozenset({ImageId("a"), ImageId("b")})
    assert a_snapshot(cluster, {}, images={NodeId("n0"): both}).images == {"n0": both}


seeds = st.integers(0, 10_000)


@settings(max_examples=8, deadline=None)
@given(seeds, st.data())
def test_snapshot_without_the_state_of_any_one_node_is_refused(seed, data):
    drawn = random_snapshot(stream(seed, "snapshot"))
    gone = data.draw(st.sampled_from([node.id for node in drawn.cluster.nodes]))
    states = {node: state for node, state in drawn.states.items() if node != gone}
    with pytest.raises(ModelError, match=f"no state for node '{gone}'; give the state of every node"):
        dataclasses.replace(drawn, states=states)


@settings(max_examples=8, deadline=None)
@given(seeds)
def test_every_name_in_a_snapshot_is_in_its_cluster(seed):
    drawn = random_snapshot(stream(seed, "snapshot"))
    cluster = drawn.cluster
    assert set(drawn.states) == set(cluster.node_index)
    assert set(drawn.placement) | set(drawn.targets) | set(drawn.usage) <= set(cluster.container_index)
    assert set(drawn.placement.values()) | set(drawn.targets.values()) <= set(cluster.node_index)
    assert all(drawn.placement.get(c) != n for c, n in drawn.targets.items())
