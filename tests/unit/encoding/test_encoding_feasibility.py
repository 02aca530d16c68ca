"""Where one container may go, by hand: itself, the node's state, what never changes, room and usage."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from fogfold.encoding.arrays import view_of
from fogfold.encoding.feasibility import mask, reason_row
from fogfold.encoding.geography import distance_km
from fogfold.model.container import Movability
from fogfold.model.geography import great_circle_km
from fogfold.model.identity import ContainerId, NodeId, SiteId
from fogfold.model.node import Accelerator, Architecture, NodeState
from fogfold.model.placement import occupants
from fogfold.model.reason import Reason
from fogfold.model.resources import Resources
from fogfold.testing.builders import a_cluster, a_container, a_node, a_site, a_snapshot
from fogfold.units import GIB, MBIT


def two_nodes(container, *others, target=None, **more):
    """`c0` on `n0`, and whether it may go to `n1`; the others run on `n1`."""
    cluster = a_cluster([a_node("n0"), target or a_node("n1")], [container, *others])
    return a_snapshot(cluster, {"c0": "n0", **{str(o.id): "n1" for o in others}}, **more)


def test_nothing_stands_against_an_empty_node(verdict):
    assert verdict(two_nodes(a_container()), "c0", "n1") is Reason.NONE


def test_container_does_not_move_to_where_it_runs(verdict):
    assert verdict(two_nodes(a_container()), "c0", "n0") is Reason.SAME_NODE


def test_container_on_the_move_takes_no_second_order(verdict):
    snapshot = two_nodes(a_container(), targets={"c0": "n1"})
    assert [verdict(snapshot, "c0", node) for node in ("n0", "n1")] == [Reason.IN_FLIGHT] * 2


def test_container_that_never_moves_stays_but_may_be_started(verdict):
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container(movability=Movability.NEVER)])
    assert verdict(a_snapshot(cluster, {"c0": "n0"}), "c0", "n1") is Reason.NEVER_MOVES
    assert verdict(a_snapshot(cluster, {}), "c0", "n1") is Reason.NONE


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (NodeState.ON, Reason.NONE),
        (NodeState.WAKING, Reason.NONE),
        (NodeState.DRAINING, Reason.NODE_NOT_READY),
        (NodeState.GOING_TO_SLEEP, Reason.NODE_NOT_READY),
        (NodeState.ASLEEP, Reason.NODE_NOT_READY),
        (NodeState.FAILED, Reason.NODE_NOT_READY),
    ],
)
def test_only_nodes_that_are_on_or_waking_may_receive(verdict, state, expected):
    assert verdict(two_nodes(a_container(), states={"n1": state}), "c0", "n1") is expected


@pytest.mark.parametrize("state", list(NodeState))
def test_state_of_the_source_does_not_matter(verdict, state):
    assert verdict(two_nodes(a_container(), states={"n0": state}), "c0", "n1") is Reason.NONE


@pytest.mark.parametrize("node_has", list(Architecture))
@pytest.mark.parametrize(
    "images_for", [{Architecture.AMD64}, {Architecture.ARM64, Architecture.RISCV64}, set(Architecture)]
)
def test_container_needs_an_image_for_the_instruction_set(verdict, node_has, images_for):
    snapshot = two_nodes(a_container(architectures=frozenset(images_for)), target=a_node("n1", architecture=node_has))
    expected = Reason.NONE if node_has in images_for else Reason.ARCHITECTURE
    assert verdict(snapshot, "c0", "n1") is expected


@pytest.mark.parametrize(
    ("has", "taken", "needs", "expected"),
    [
        (None, 0, 1, Reason.ACCELERATOR),
        (("npu", 4), 0, 1, Reason.ACCELERATOR),
        (("gpu", 2), 0, 2, Reason.NONE),
        (("gpu", 2), 0, 3, Reason.ACCELERATOR),
        (("gpu", 4), 2, 2, Reason.NONE),
        (("gpu", 4), 3, 2, Reason.ACCELERATOR),
    ],
)
def test_accelerators_are_of_the_kind_and_not_yet_taken(verdict, has, taken, needs, expected):
    others = [a_container("other", accelerator=Accelerator("gpu", taken))] if taken else []
    target = a_node("n1", accelerator=Accelerator(*has) if has else None)
    snapshot = two_nodes(a_container(accelerator=Accelerator("gpu", needs)), *others, target=target)
    assert verdict(snapshot, "c0", "n1") is expected


def test_accelerators_of_a_container_on_its_way_are_taken(verdict):
    gpu = Accelerator("gpu", 1)
    cluster = a_cluster(
        [a_node("n0", accelerator=gpu), a_node("n1", accelerator=gpu), a_node("n2")],
        [a_container("c0", accelerator=gpu), a_container("other", accelerator=gpu)],
    )
    snapshot = a_snapshot(cluster, {"c0": "n2", "other": "n0"}, targets={"other": "n1"})
    # Both ends count: what `other` leaves is not free before it has left.
    assert [verdict(snapshot, "c0", node) for node in ("n0", "n1")] == [Reason.ACCELERATOR] * 2


def test_container_without_need_may_use_a_node_with_accelerators(verdict):
    snapshot = two_nodes(a_container(), target=a_node("n1", accelerator=Accelerator("gpu", 1)))
    assert verdict(snapshot, "c0", "n1") is Reason.NONE


def test_pinned_container_goes_to_its_node_and_to_no_other(verdict):
    cluster = a_cluster([a_node(f"n{i}") for i in range(3)], [a_container(pinned_to=NodeId("n1"))])
    snapshot = a_snapshot(cluster, {"c0": "n0"})
    assert verdict(snapshot, "c0", "n1") is Reason.NONE
    assert verdict(snapshot, "c0", "n2") is Reason.PINNED


# One degree of a meridian: 111.195 km.
SITES = [a_site("s0", latitude_deg=0.0, longitude_deg=0.0), a_site("s1", latitude_deg=1.0, longitude_deg=0.0)]


def with_data(km, *, sites=SITES):
    cluster = a_cluster(
        [a_node("n0"), a_node("n1", site="s1"), a_node("n2")],
        [a_container(data_site=SiteId("s0"), data_distance_km=km)],
        sites=sites,
    )
    return a_snapshot(cluster, {"c0": "n0"})


@pytest.mark.parametrize(
    ("km", "expected"), [(111.0, Reason.DATA_DISTANCE), (111.3, Reason.NONE), (math.inf, Reason.NONE)]
)
def test_container_stays_near_its_data(verdict, km, expected):
    assert verdict(with_data(km), "c0", "n1") is expected


def test_distance_of_nothing_binds_to_the_site_of_the_data(verdict):
    assert verdict(with_data(0.0), "c0", "n1") is Reason.DATA_DISTANCE
    assert verdict(with_data(0.0), "c0", "n2") is Reason.NONE


@pytest.mark.parametrize("step", range(40))
def test_just_as_far_as_allowed_is_allowed_by_either_distance(verdict, step):
    """The two libraries' sines differ in the last digit: that must not decide."""
    there = a_site("s1", latitude_deg=-37.3 + 0.41 * step, longitude_deg=144.0 - 3.7 * step)
    here = a_site("s0", latitude_deg=-37.81 + 0.7 * step, longitude_deg=144.96 - 2.9 * step)
    plain_km = great_circle_km(here.latitude_deg, here.longitude_deg, there.latitude_deg, there.longitude_deg)
    array_km = distance_km(
        np.array([here.latitude_deg, there.latitude_deg]), np.array([here.longitude_deg, there.longitude_deg])
    )[0, 1]
    for km in (plain_km, float(array_km)):
        assert verdict(with_data(km, sites=[here, there]), "c0", "n1") is Reason.NONE
        assert verdict(with_data(km * (1 - 1e-6), sites=[here, there]), "c0", "n1") is Reason.DATA_DISTANCE


FIGURES = [("cores", 10.0), ("memory_gib", 10.0), ("network_mbit_s", 1000.0), ("disk_iops", 10_000.0)]
on_each_dimension = pytest.mark.parametrize(("figure", "capacity"), FIGURES)


@on_each_dimension
def test_requests_fill_a_node_to_the_brim_and_no_further(verdict, figure, capacity):
    other = a_container("other", **{figure: 0.75 * capacity})
    full = two_nodes(a_container(**{figure: 0.25 * capacity}), other)
    over = two_nodes(a_container(**{figure: 0.2501 * capacity}), other)
    assert verdict(full, "c0", "n1") is Reason.NONE
    assert verdict(over, "c0", "n1") is Reason.NO_ROOM


@on_each_dimension
def test_room_is_held_at_both_ends_of_a_move(verdict, figure, capacity):
    cluster = a_cluster(
        [a_node("n0"), a_node("n1"), a_node("n2")],
        [a_container("c0", **{figure: 0.5 * capacity}), a_container("other", **{figure: 0.6 * capacity})],
    )
    snapshot = a_snapshot(cluster, {"c0": "n2", "other": "n0"}, targets={"other": "n1"})
    assert [verdict(snapshot, "c0", node) for node in ("n0", "n1")] == [Reason.NO_ROOM] * 2


def test_sum_in_another_order_does_not_decide(verdict):
    # 0.1 three times is 0.30000000000000004, more than 0.3: the slack of 1e-9 lets it in.
    cluster = a_cluster([a_node("n0"), a_node("n1", cores=0.3)], [a_container(f"c{i}", cores=0.1) for i in range(3)])
    assert verdict(a_snapshot(cluster, {"c0": "n0", "c1": "n1", "c2": "n1"}), "c0", "n1") is Reason.NONE


def measured(cluster, usage):
    """`c0` on `n0` and `other` on `n1`, with these readings and no others."""
    placed = a_snapshot(cluster, {"c0": "n0", "other": "n1"})
    return dataclasses.replace(placed, usage={ContainerId(name): amount for name, amount in usage.items()})


def reading(cores=0.1, memory_gib=0.1, network_mbit_s=0.1, disk_iops=1.0):
    return Resources(cores, memory_gib * GIB, network_mbit_s * MBIT, disk_iops)


@on_each_dimension
@pytest.mark.parametrize(("share", "expected"), [(0.399, Reason.NONE), (0.401, Reason.NODE_HOT)])
def test_usage_on_the_target_stays_under_the_ceiling(verdict, figure, capacity, share, expected):
    # 40 % used by the other; the ceiling is 80 %. Requests leave room on every dimension.
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("c0"), a_container("other")])
    usage = {"c0": reading(**{figure: share * capacity}), "other": reading(**{figure: 0.4 * capacity})}
    snapshot = measured(cluster, usage)
    assert verdict(snapshot, "c0", "n1", ceiling=0.8) is expected
    assert verdict(snapshot, "c0", "n1", ceiling=1.0) is Reason.NONE


def test_container_without_a_reading_is_taken_at_its_request(verdict):
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("c0", cores=4.0), a_container("other", cores=5.0)])
    snapshot = measured(cluster, {})
    assert verdict(snapshot, "c0", "n1", ceiling=0.91) is Reason.NONE
    assert verdict(snapshot, "c0", "n1", ceiling=0.89) is Reason.NODE_HOT


def test_usage_of_a_container_on_its_way_is_foreseen(verdict):
    cluster = a_cluster([a_node("n0"), a_node("n1"), a_node("n2")], [a_container("c0"), a_container("other")])
    snapshot = a_snapshot(
        cluster, {"c0": "n2", "other": "n0"}, targets={"other": "n1"}, usage_cores={"c0": 3.0, "other": 6.0}
    )
    assert verdict(snapshot, "c0", "n1", ceiling=0.9) is Reason.NONE
    assert verdict(snapshot, "c0", "n1", ceiling=0.89) is Reason.NODE_HOT


def test_first_rule_that_is_broken_is_named():
    """Everything stands against this one; each remedy uncovers the next reason, in the order of the rules."""
    wrong = {
        "architecture": Architecture.ARM64,
        "cores": 1.0,
        "site": "s1",
    }
    need = {
        "accelerator": Accelerator("gpu", 1),
        "pinned_to": NodeId("n0"),
        "data_site": SiteId("s0"),
        "data_distance_km": 1.0,
        "cores": 2.0,
    }

    def reason(node, container, state=NodeState.ON):
        cluster = a_cluster([a_node("n0"), a_node("n1", **node)], [a_container(**container)], sites=SITES)
        snapshot = a_snapshot(cluster, {"c0": "n0"}, states={"n1": state})
        return Reason(int(reason_row(view_of(snapshot), 0)[1]))

    found = [reason(wrong, need, NodeState.ASLEEP), reason(wrong, need)]
    wrong |= {"architecture": Architecture.AMD64}
    found.append(reason(wrong, need))
    wrong |= {"accelerator": Accelerator("gpu", 1)}
    found.append(reason(wrong, need))
    need |= {"pinned_to": None}
    found.append(reason(wrong, need))
    need |= {"data_distance_km": math.inf}
    found.append(reason(wrong, need))
    need |= {"cores": 1.0}
    found.append(reason(wrong, need))
    assert found == [
        Reason.NODE_NOT_READY,
        Reason.ARCHITECTURE,
        Reason.ACCELERATOR,
        Reason.PINNED,
        Reason.DATA_DISTANCE,
        Reason.NO_ROOM,
        Reason.NONE,
    ]


def test_occupants_are_those_here_and_those_on_their_way():
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container(f"c{i}") for i in range(4)])
    snapshot = a_snapshot(cluster, {"c0": "n0", "c1": "n0", "c2": "n1"}, targets={"c1": "n1", "c3": "n0"})
    assert [c.id for c in occupants(snapshot, NodeId("n0"))] == ["c0", "c1", "c3"]
    assert [c.id for c in occupants(snapshot, NodeId("n1"))] == ["c1", "c2"]


def test_mask_has_a_row_for_each_candidate_in_the_order_given():
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("c0"), a_container("c1")])
    view = view_of(a_snapshot(cluster, {"c0": "n0", "c1": "n1"}))
    assert mask(view, np.array([1, 0])).tolist() == [[True, False], [False, True]]
    assert mask(view, np.array([], np.int32)).shape == (0, 2)
