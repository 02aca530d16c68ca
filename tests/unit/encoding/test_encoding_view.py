"""A cluster at an instant as arrays: sums by node worked by hand, and the way to the model and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.encoding.arrays import fleet_arrays, snapshot_of, view_of
from fogfold.errors import ModelError
from fogfold.model.container import Image
from fogfold.model.identity import ContainerId, ImageId, NodeId
from fogfold.model.node import Accelerator, NodeState
from fogfold.model.placement import occupants
from fogfold.model.resources import Resource, Resources
from fogfold.model.snapshot import Snapshot
from fogfold.seeding import stream
from fogfold.testing.builders import a_cluster, a_container, a_node, a_snapshot, random_snapshot
from fogfold.units import GIB

seeds = st.integers(0, 10_000)


@pytest.fixture
def view():
    """c0 (1 core) stays on n0, c1 (2) goes from n0 to n1, c2 (4) is being started on n1, c3 (8) runs nowhere."""
    cluster = a_cluster(
        [
            a_node("n0", accelerator=Accelerator("gpu", 4)),
            a_node("n1", accelerator=Accelerator("gpu", 4)),
            a_node("n2"),
        ],
        [
            a_container("c0", cores=1.0, memory_gib=2.0, accelerator=Accelerator("gpu", 1)),
            a_container("c1", cores=2.0, memory_gib=3.0, accelerator=Accelerator("gpu", 2)),
            a_container("c2", cores=4.0, memory_gib=5.0),
            a_container("c3", cores=8.0, memory_gib=7.0, accelerator=Accelerator("gpu", 3)),
        ],
    )
    snapshot = a_snapshot(
        cluster,
        {"c0": "n0", "c1": "n0"},
        targets={"c1": "n1", "c2": "n1"},
        usage_cores={"c0": 0.25, "c1": 1.25, "c2": 3.0, "c3": 6.0},
        states={"n0": NodeState.DRAINING, "n2": NodeState.ASLEEP},
        time_s=1234.0,
    )
    return view_of(snapshot)


def test_positions_stand_for_names_and_minus_one_for_nowhere(view):
    assert view.placement.tolist() == [0, 0, -1, -1]
    assert view.target.tolist() == [-1, 1, 1, -1]
    assert view.state.tolist() == [NodeState.DRAINING, NodeState.ON, NodeState.ASLEEP]
    assert view.time_s == 1234.0


def test_room_is_taken_where_a_container_runs_and_where_it_goes(view):
    assert view.requested[Resource.CPU].tolist() == [3.0, 6.0, 0.0]
    assert (view.requested[Resource.MEMORY] / GIB).tolist() == [5.0, 8.0, 0.0]
    assert (view.requested[Resource.NETWORK] / 1e6).tolist() == [2.0, 2.0, 0.0]
    assert view.requested[Resource.DISK].tolist() == [20.0, 20.0, 0.0]


def test_usage_is_foreseen_where_a_container_goes_and_runs_where_it_is(view):
    assert view.used[Resource.CPU].tolist() == [1.5, 4.25, 0.0]
    assert view.running[Resource.CPU].tolist() == [1.5, 0.0, 0.0]
    assert (view.running[Resource.MEMORY] / GIB).tolist() == [2.5, 0.0, 0.0]


def test_accelerators_are_taken_at_both_ends_of_a_move(view):
    assert view.accelerators_taken.tolist() == [3, 2, 0]


def test_draining_node_still_runs_containers(view):
    assert view.on.tolist() == [True, True, False]


@pytest.mark.parametrize("state", list(NodeState))
def test_node_is_on_while_it_runs_containers(state):
    view = view_of(a_snapshot(a_cluster([a_node()]), {}, states={"n0": state}))
    assert view.on.tolist() == [state in (NodeState.ON, NodeState.DRAINING)]


def test_container_without_a_reading_is_taken_at_its_request_never_at_zero():
    cluster = a_cluster([a_node()], [a_container("c0", cores=2.0), a_container("c1", cores=3.0)])
    measured = {ContainerId("c1"): Resources(0.5, 1.0, 2.0, 3.0)}
    view = view_of(Snapshot(cluster, {}, {NodeId("n0"): NodeState.ON}, measured))
    assert view.usage[:, 0].tolist() == [2.0, GIB, 1e6, 10.0]
    assert view.usage[:, 1].tolist() == [0.5, 1.0, 2.0, 3.0]
    # The requests themselves are not written over.
    assert view.fleet.request[Resource.CPU].tolist() == [2.0, 3.0]


def test_images_are_where_the_snapshot_says():
    images = [Image(ImageId(name), 1.0) for name in ("a", "b", "c")]
    cluster = a_cluster([a_node("n0"), a_node("n1")], images=images)
    held = {NodeId("n1"): frozenset({ImageId("a"), ImageId("c")})}
    view = view_of(a_snapshot(cluster, {}, images=held))
    assert view.image_present.tolist() == [[False, False, False], [True, False, True]]
    assert snapshot_of(view).images == {"n0": frozenset(), "n1": frozenset({"a", "c"})}


def test_arrays_made_before_are_used_again():
    snapshot = random_snapshot(stream(1, "view"))
    fleet = fleet_arrays(snapshot.cluster)
    assert view_of(snapshot, fleet).fleet is fleet


def test_arrays_of_another_cluster_are_refused():
    one, other = (random_snapshot(stream(seed, "view")) for seed in (1, 2))
    with pytest.raises(ModelError, match="belong to another cluster than the snapshot; make them from the same one"):
        view_of(one, fleet_arrays(other.cluster))


def test_age_of_a_snapshot_is_what_is_said():
    snapshot = random_snapshot(stream(1, "view"))
    assert snapshot_of(view_of(snapshot)).age_s == 0.0
    assert snapshot_of(view_of(snapshot), age_s=12.0).age_s == 12.0


@settings(max_examples=8, deadline=None)
@given(seeds)
def test_snapshot_survives_the_way_to_arrays_and_back(seed):
    snapshot = random_snapshot(stream(seed, "view"))
    back = snapshot_of(view_of(snapshot))
    images: dict[NodeId, frozenset[ImageId]] = {node.id: frozenset() for node in snapshot.cluster.nodes}
    assert (back.cluster, back.placement, back.states, back.targets, back.usage, back.images, back.time_s) == (
        snapshot.cluster,
        snapshot.placement,
        snapshot.states,
        snapshot.targets,
        snapshot.usage,
        images,
        snapshot.time_s,
    )


@settings(max_examples=8, deadline=None)
@given(seeds)
def test_view_survives_the_way_to_the_model_and_back(seed):
    view = view_of(random_snapshot(stream(seed, "view")))
    back = view_of(snapshot_of(view), view.fleet)
    for name in ("state", "placement", "target", "usage", "image_present"):
        assert np.array_equal(getattr(back, name), getattr(view, name)), name


@settings(max_examples=8, deadline=None)
@given(seeds)
def test_sums_are_those_over_the_occupants_of_each_node(seed):
    snapshot = random_snapshot(stream(seed, "view"))
    view = view_of(snapshot)
    for n, node in enumerate(snapshot.cluster.nodes):
        there = occupants(snapshot, node.id)
        requested = np.sum([c.request.as_tuple() for c in there], axis=0) if there else np.zeros(4)
        used = np.sum([snapshot.usage[c.id].as_tuple() for c in there], axis=0) if there else np.zeros(4)
        assert view.requested[:, n] == pytest.approx(requested)
        assert view.used[:, n] == pytest.approx(used)
        assert view.accelerators_taken[n] == sum(c.accelerator.count for c in there if c.accelerator)


@settings(max_examples=8, deadline=None)
@given(seeds)
def test_room_taken_in_all_is_each_request_once_for_each_end(seed):
    view = view_of(random_snapshot(stream(seed, "view")))
    ends = (view.placement >= 0).astype(float) + (view.target >= 0)
    assert view.requested.sum(axis=1) == pytest.approx(view.fleet.request @ ends)
