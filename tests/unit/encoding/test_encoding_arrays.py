"""A cluster as arrays: every figure in its row and unit, every reference as a position, nothing left as zero."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fogfold.encoding.arrays import fleet_arrays
from fogfold.encoding.rows import ContainerInt, ContainerRow, GroupRow, NodeInt, NodeRow, SiteRow
from fogfold.model.cluster import Scope
from fogfold.model.container import Image, Movability, ServiceClass
from fogfold.model.identity import ImageId, NodeId, SiteId
from fogfold.model.node import Accelerator, Architecture
from fogfold.model.resources import Resource
from fogfold.testing.builders import a_cluster, a_container, a_group, a_node, a_site
from fogfold.units import GIB, MIB


@pytest.fixture
def fleet():
    return fleet_arrays(
        a_cluster(
            [
                a_node("n0"),
                a_node(
                    "n1",
                    site="s1",
                    cores=4.0,
                    memory_gib=8.0,
                    network_mbit_s=100.0,
                    disk_iops=500.0,
                    network_down_bit_s=250e6,
                    sleep_w=2.0,
                    shutdown_s=20.0,
                    wake_s=40.0,
                    shutdown_energy_j=900.0,
                    wake_energy_j=3000.0,
                    wake_failure_probability=0.01,
                    core_speed=0.5,
                    mttr_s=1800.0,
                    architecture=Architecture.ARM64,
                    accelerator=Accelerator("npu", 2),
                    never_sleep=True,
                ),
            ],
            [
                a_container("c0", image="db"),
                a_container(
                    "c1",
                    cores=0.5,
                    memory_gib=0.25,
                    network_mbit_s=2.0,
                    disk_iops=5.0,
                    users=[("s0", 0.2), ("s1", 0.5), ("s2", 0.3)],
                    service_time_ms=4.0,
                    latency_objective_ms=50.0,
                    data_site=SiteId("s2"),
                    data_distance_km=300.0,
                    dirty_rate_bit_s=80e6,
                    start_s=7.0,
                    architectures=frozenset({Architecture.AMD64, Architecture.RISCV64}),
                    accelerator=Accelerator("gpu", 3),
                    group="g1",
                    movability=Movability.RESTART,
                    pinned_to=NodeId("n1"),
                    service_class=ServiceClass.CRITICAL,
                ),
                a_container("c2", group="g0", latency_objective_ms=math.inf),
                a_container("c3", group="g1"),
            ],
            groups=[
                a_group("g0"),
                a_group(
                    "g1",
                    anti_affinity=Scope.SITE,
                    spread=Scope.NODE,
                    max_skew=2,
                    ghosts_count=False,
                    may_be_missing=3,
                ),
                a_group("g2"),
            ],
            sites=[
                a_site("s0"),
                a_site("s1", latitude_deg=10.0, longitude_deg=20.0, access_ms=3.0, jitter_ms=0.7, loss=0.02),
                a_site("s2", uplink_bit_s=5e8),
            ],
            images=[Image(ImageId("db"), 40 * MIB), Image(ImageId("app"), 10 * MIB)],
        )
    )


def test_figures_of_a_node_stand_in_their_rows(fleet):
    expected = {
        NodeRow.CPU_CORES: 4.0,
        NodeRow.MEMORY_BYTES: 8 * GIB,
        NodeRow.NETWORK_BIT_S: 100e6,
        NodeRow.DISK_IOPS: 500.0,
        NodeRow.NETWORK_DOWN_BIT_S: 250e6,
        NodeRow.SLEEP_W: 2.0,
        NodeRow.SHUTDOWN_S: 20.0,
        NodeRow.WAKE_S: 40.0,
        NodeRow.SHUTDOWN_W: 45.0,  # 900 J in 20 s
        NodeRow.WAKE_W: 75.0,  # 3000 J in 40 s
        NodeRow.WAKE_FAILURE: 0.01,
        NodeRow.CORE_SPEED: 0.5,
        NodeRow.MTTR_S: 1800.0,
    }
    assert {row: fleet.node[row, 1] for row in NodeRow} == expected


def test_whole_numbers_of_a_node_stand_in_their_rows(fleet):
    # Kinds of accelerators are counted in alphabetical order over nodes and containers: gpu 0, npu 1.
    assert {row: int(fleet.node_int[row, 1]) for row in NodeInt} == {
        NodeInt.SITE: 1,
        NodeInt.ARCHITECTURE: Architecture.ARM64,
        NodeInt.ACCELERATOR_KIND: 1,
        NodeInt.ACCELERATOR_COUNT: 2,
        NodeInt.NEVER_SLEEP: 1,
    }
    assert fleet.node_int[:, 0].tolist() == [0, 0, -1, 0, 0]


def test_figures_of_a_container_stand_in_their_rows(fleet):
    expected = {
        ContainerRow.CPU_CORES: 0.5,
        ContainerRow.MEMORY_BYTES: 0.25 * GIB,
        ContainerRow.NETWORK_BIT_S: 2e6,
        ContainerRow.DISK_IOPS: 5.0,
        ContainerRow.SERVICE_MS: 4.0,
        ContainerRow.OBJECTIVE_MS: 50.0,
        ContainerRow.DATA_KM: 300.0,
        ContainerRow.DIRTY_BYTE_S: 10e6,
        ContainerRow.START_S: 7.0,
        ContainerRow.IMAGE_BYTES: 10 * MIB,
        ContainerRow.REQUEST_RATE: 125.0,  # half a core at 4 ms a request
    }
    assert {row: fleet.container[row, 1] for row in ContainerRow} == expected


def test_whole_numbers_of_a_container_stand_in_their_rows(fleet):
    assert {row: int(fleet.container_int[row, 1]) for row in ContainerInt} == {
        ContainerInt.IMAGE: 1,
        ContainerInt.ARCHITECTURES: 0b101,
        ContainerInt.ACCELERATOR_KIND: 0,
        ContainerInt.ACCELERATOR_COUNT: 3,
        ContainerInt.DATA_SITE: 2,
        ContainerInt.GROUP: 1,
        ContainerInt.MOVABILITY: Movability.RESTART,
        ContainerInt.PINNED: 1,
        ContainerInt.REGION: 1,
        ContainerInt.SERVICE_CLASS: ServiceClass.CRITICAL,
    }


def test_what_does_not_apply_is_not_zero(fleet):
    nothing = fleet.container_int[:, 0]
    absent = [ContainerInt.ACCELERATOR_KIND, ContainerInt.DATA_SITE, ContainerInt.GROUP, ContainerInt.PINNED]
    assert nothing[absent].tolist() == [-1, -1, -1, -1]
    assert fleet.container[ContainerRow.DATA_KM, 0] == math.inf
    assert fleet.container[ContainerRow.OBJECTIVE_MS, 2] == math.inf


def test_groups_hold_their_rules_and_a_stretch_of_the_list_of_members(fleet):
    assert {row: int(fleet.group[row, 1]) for row in GroupRow} == {
        GroupRow.ANTI_AFFINITY: Scope.SITE,
        GroupRow.SPREAD: Scope.NODE,
        GroupRow.MAX_SKEW: 2,
        GroupRow.GHOSTS_COUNT: 0,
        GroupRow.MAY_BE_MISSING: 3,
        GroupRow.FIRST: 1,
        GroupRow.END: 3,
    }
    members = [fleet.members[fleet.group[GroupRow.FIRST, g] : fleet.group[GroupRow.END, g]].tolist() for g in range(3)]
    assert members == [[2], [1, 3], []]


def test_figures_of_a_site_stand_in_their_rows(fleet):
    assert {row: fleet.site[row, 1] for row in SiteRow} == {
        SiteRow.LATITUDE_DEG: 10.0,
        SiteRow.LONGITUDE_DEG: 20.0,
        SiteRow.UPLINK_BIT_S: 1e9,
        SiteRow.ACCESS_MS: 3.0,
        SiteRow.JITTER_MS: 0.7,
        SiteRow.LOSS: 0.02,
    }
    assert fleet.site_km.shape == (3, 3)
    assert fleet.site_km[0, 2] == 0.0


def test_users_are_padded_with_the_first_region_and_no_share(fleet):
    assert fleet.user_site.tolist() == [[0, 0, 0], [0, 1, 2], [0, 0, 0], [0, 0, 0]]
    assert fleet.user_share.tolist() == [[1.0, 0.0, 0.0], [0.2, 0.5, 0.3], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]


def test_padding_names_the_first_region_wherever_that_is():
    cluster = a_cluster(
        [a_node()],
        [a_container("c0", users="s1"), a_container("c1", users=[("s1", 0.5), ("s0", 0.5)])],
        sites=[a_site("s0"), a_site("s1")],
    )
    fleet = fleet_arrays(cluster)
    assert fleet.user_site.tolist() == [[1, 1], [1, 0]]
    # Of two regions with the same share the first is the main one.
    assert fleet.container_int[ContainerInt.REGION].tolist() == [1, 1]


def test_counts_and_slices_are_those_of_the_cluster(fleet):
    assert (fleet.nodes, fleet.containers, fleet.sites, fleet.images) == (2, 4, 3, 2)
    assert fleet.capacity[Resource.CPU].tolist() == [10.0, 4.0]
    assert fleet.request[Resource.MEMORY].tolist() == [GIB, 0.25 * GIB, GIB, GIB]
    assert fleet.site_of.tolist() == [0, 1]
    assert fleet.idle_w.tolist() == [50.0, 50.0]
    assert fleet.power_curve.shape == (2, 11)


def test_first_rows_of_nodes_and_containers_are_the_resources():
    names = [resource.name for resource in Resource]
    for rows in (NodeRow, ContainerRow):
        assert [row.name.split("_")[0] for row in rows][: len(names)] == names


@pytest.mark.parametrize("rows", [NodeRow, NodeInt, ContainerRow, ContainerInt, GroupRow, SiteRow])
def test_rows_are_counted_from_nothing_without_a_gap(rows):
    assert [int(row) for row in rows] == list(range(len(rows)))


def test_arrays_have_a_row_for_each_figure(fleet):
    assert fleet.node.shape == (len(NodeRow), 2)
    assert fleet.node_int.shape == (len(NodeInt), 2)
    assert fleet.container.shape == (len(ContainerRow), 4)
    assert fleet.container_int.shape == (len(ContainerInt), 4)
    assert fleet.group.shape == (len(GroupRow), 3)
    assert fleet.site.shape == (len(SiteRow), 3)
    assert all(a.flags.c_contiguous for a in (fleet.node, fleet.node_int, fleet.container, fleet.container_int))


def test_cluster_without_containers_and_groups_keeps_its_rows():
    fleet = fleet_arrays(a_cluster([a_node()]))
    assert fleet.container.shape == (len(ContainerRow), 0)
    assert fleet.container_int.shape == (len(ContainerInt), 0)
    assert fleet.group.shape == (len(GroupRow), 0)
    assert fleet.members.shape == (0,)
    assert fleet.user_site.shape == (0, 1)
    assert np.array_equal(fleet.power_curve[0], [50.0 + 5 * k for k in range(11)])
