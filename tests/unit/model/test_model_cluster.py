"""Clusters, sites and groups: every reference leads somewhere, every id stands once, every refusal says what to do."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.errors import ModelError
from fogfold.model.cluster import Cluster
from fogfold.model.container import Image
from fogfold.model.identity import GroupId, ImageId, NodeId, SiteId
from fogfold.seeding import stream
from fogfold.testing.builders import a_cluster, a_container, a_group, a_node, a_site, random_snapshot

APP = Image(ImageId("app"), 1.0)


@pytest.mark.parametrize(
    ("figures", "sentence"),
    [
        ({"latitude_deg": 90.5}, "latitude_deg is 90.5; it must be at least -90 and at most 90"),
        ({"latitude_deg": math.nan}, "latitude_deg is nan; give a finite number"),
        ({"longitude_deg": -180.5}, "longitude_deg is -180.5; it must be at least -180 and at most 180"),
        ({"uplink_bit_s": 0.0}, "uplink_bit_s is 0; it must be above 0"),
        ({"uplink_bit_s": math.inf}, "uplink_bit_s is inf; give a finite number"),
        ({"access_ms": -1.0}, "access_ms is -1; it must be at least 0"),
        ({"jitter_ms": -0.5}, "jitter_ms is -0.5; it must be at least 0"),
        ({"loss": 1.01}, "loss is 1.01; it must be at least 0 and at most 1"),
        ({"loss": -0.01}, "loss is -0.01; it must be at least 0 and at most 1"),
    ],
)
def test_figure_of_a_site_that_cannot_be_is_refused(figures, sentence):
    with pytest.raises(ModelError, match=f"^site 'north': {sentence}"):
        a_site("north", **figures)


@pytest.mark.parametrize(
    ("figures", "sentence"),
    [
        ({"max_skew": 0}, "max_skew is 0; it must be at least 1"),
        ({"may_be_missing": -1}, "may_be_missing is -1; it must be at least 0"),
    ],
)
def test_rule_of_a_group_that_cannot_be_is_refused(figures, sentence):
    with pytest.raises(ModelError, match=f"^group 'web': {sentence}"):
        a_group("web", **figures)


def test_malformed_ids_of_sites_and_groups_are_refused():
    with pytest.raises(ModelError, match="site id '' is not allowed"):
        a_site("")
    with pytest.raises(ModelError, match="group id 'a b' is not allowed"):
        a_group("a b")


def test_cluster_without_a_site_or_a_node_is_refused():
    with pytest.raises(ModelError, match="a cluster has no site; give at least one"):
        Cluster((), (a_node(),))
    with pytest.raises(ModelError, match="a cluster has no node; give at least one"):
        Cluster((a_site(),), ())


def test_cluster_without_containers_is_a_cluster():
    assert Cluster((a_site(),), (a_node(),)).containers == ()


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        ("site", {"sites": (a_site("x"), a_site("x"))}),
        ("node", {"nodes": (a_node("x"), a_node("x"))}),
        ("image", {"images": (Image(ImageId("x"), 1.0), Image(ImageId("x"), 2.0))}),
        ("group", {"groups": (a_group("x"), a_group("x"))}),
        ("container", {"images": (APP,), "containers": (a_container("x"), a_container("x"))}),
    ],
)
def test_id_that_stands_twice_is_refused(kind, parts):
    with pytest.raises(ModelError, match=rf"^{kind} id 'x' is given twice; ids are unique within a cluster"):
        Cluster(**{"sites": (a_site(),), "nodes": (a_node(),), **parts})


def test_same_id_may_stand_in_two_kinds():
    same = Cluster((a_site("x"),), (a_node("x", site="x"),), (Image(ImageId("x"), 1.0),), (a_group("x"),))
    assert same.node_index == same.site_index == same.image_index == same.group_index == {"x": 0}


@pytest.mark.parametrize(
    ("nodes", "containers", "sentence"),
    [
        ([a_node(site="s00")], [], "node 'n0' names site 's00', which is not in the cluster; did you mean \"s0\"?"),
        ([a_node()], [a_container(image="apq")], "container 'c0' names image 'apq'.*; did you mean \"app\"?"),
        ([a_node()], [a_container(users="s00")], "container 'c0' names site 's00'.*; did you mean \"s0\"?"),
        ([a_node()], [a_container(data_site=SiteId("moon"))], "container 'c0' names site 'moon'.*; known: s0"),
        ([a_node()], [a_container(group="g00")], "container 'c0' names group 'g00'.*; did you mean \"g0\"?"),
        ([a_node()], [a_container(pinned_to=NodeId("n1"))], "container 'c0' names node 'n1'.*; known: n0"),
    ],
)
def test_reference_that_leads_nowhere_is_refused_with_the_nearest_name(nodes, containers, sentence):
    pattern = sentence.replace("?", r"\?")
    with pytest.raises(ModelError, match=rf"^{pattern}"):
        a_cluster(nodes, containers, images=[APP], groups=[a_group("g0")])


def test_reference_into_an_empty_list_says_that_nothing_is_known():
    with pytest.raises(ModelError, match="names group 'g1', which is not in the cluster; none is known"):
        a_cluster([a_node()], [a_container(group="g1")])


def test_second_user_region_is_checked_as_the_first():
    with pytest.raises(ModelError, match="names site 's9'"):
        a_cluster([a_node()], [a_container(users=[("s0", 0.5), ("s9", 0.5)])])


seeds = st.integers(0, 10_000)


def any_cluster(seed: int) -> Cluster:
    return random_snapshot(stream(seed, "cluster")).cluster


@settings(max_examples=8, deadline=None)
@given(seeds)
def test_index_is_the_place_of_each_id(seed):
    cluster = any_cluster(seed)
    for parts, index in (
        (cluster.sites, cluster.site_index),
        (cluster.nodes, cluster.node_index),
        (cluster.images, cluster.image_index),
        (cluster.groups, cluster.group_index),
        (cluster.containers, cluster.container_index),
    ):
        assert [index[part.id] for part in parts] == list(range(len(parts)))
        assert len(index) == len(parts)


@settings(max_examples=8, deadline=None)
@given(seeds)
def test_nodes_fall_to_their_sites_and_members_to_their_groups(seed):
    cluster = any_cluster(seed)
    assert sorted(n.id for s in cluster.sites for n in cluster.at_site(s.id)) == sorted(n.id for n in cluster.nodes)
    loose = [c for c in cluster.containers if c.group is None]
    assert sum(len(cluster.members(g.id)) for g in cluster.groups) + len(loose) == len(cluster.containers)


def test_members_and_nodes_of_a_site_stand_in_the_order_of_the_cluster():
    cluster = a_cluster(
        [a_node("n1"), a_node("n0"), a_node("n2", site="s1")],
        [a_container("b", group="g0"), a_container("a", group="g0"), a_container("c")],
        groups=[a_group("g0"), a_group("g1")],
        sites=[a_site("s0"), a_site("s1")],
    )
    assert [c.id for c in cluster.members(GroupId("g0"))] == ["b", "a"]
    assert cluster.members(GroupId("g1")) == ()
    assert [n.id for n in cluster.at_site(SiteId("s0"))] == ["n1", "n0"]


@settings(max_examples=8, deadline=None)
@given(seeds, st.data())
def test_cluster_that_loses_a_site_that_others_name_is_refused(seed, data):
    cluster = any_cluster(seed)
    named = {node.site for node in cluster.nodes} | {r for c in cluster.containers for r, _ in c.users}
    gone = data.draw(st.sampled_from(sorted(named)))
    with pytest.raises(ModelError, match=f"names site '{gone}', which is not in the cluster"):
        Cluster(
            tuple(site for site in cluster.sites if site.id != gone) or (a_site("elsewhere"),),
            cluster.nodes,
            cluster.images,
            cluster.groups,
            cluster.containers,
        )
