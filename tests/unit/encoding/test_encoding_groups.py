"""What a container's group allows, by hand: anti-affinity, spread with and without ghosts, and who may be missing."""

from __future__ import annotations

import numpy as np
import pytest

from fogfold.encoding.arrays import view_of
from fogfold.encoding.feasibility import mask
from fogfold.model.cluster import Scope
from fogfold.model.node import NodeState
from fogfold.model.reason import Reason
from fogfold.testing.builders import a_cluster, a_container, a_group, a_node, a_site, a_snapshot

SITES = [a_site("s0"), a_site("s1"), a_site("s2")]


def members(count, *, nodes, placement, sites=None, states=None, targets=None, **rules):
    """A snapshot of one group: members `c0`, `c1`, ... on `nodes` nodes at the given sites (all at `s0` otherwise)."""
    where = sites or ["s0"] * nodes
    cluster = a_cluster(
        [a_node(f"n{i}", site=where[i]) for i in range(nodes)],
        [a_container(f"c{i}", group="g0") for i in range(count)],
        groups=[a_group(**{"may_be_missing": count, **rules})],
        sites=SITES,
    )
    return a_snapshot(
        cluster,
        {f"c{i}": f"n{n}" for i, n in enumerate(placement) if n is not None},
        states={f"n{n}": state for n, state in (states or {}).items()},
        targets={f"c{i}": f"n{n}" for i, n in (targets or {}).items()},
    )


def test_group_without_rules_forbids_nothing(verdict):
    assert verdict(members(2, nodes=2, placement=[0, 1]), "c0", "n1") is Reason.NONE


def test_no_two_members_share_a_node(verdict):
    snapshot = members(2, nodes=3, placement=[0, 1], anti_affinity=Scope.NODE)
    assert verdict(snapshot, "c0", "n1") is Reason.ANTI_AFFINITY
    assert verdict(snapshot, "c0", "n2") is Reason.NONE


def test_no_two_members_share_a_site(verdict):
    snapshot = members(2, nodes=4, sites=["s0", "s0", "s1", "s1"], placement=[0, 2], anti_affinity=Scope.SITE)
    # Its own site is free for it, the other's is not, on whatever node.
    assert verdict(snapshot, "c0", "n1") is Reason.NONE
    assert verdict(snapshot, "c0", "n3") is Reason.ANTI_AFFINITY


@pytest.mark.parametrize("scope", [Scope.NODE, Scope.SITE])
def test_member_on_the_move_keeps_others_from_both_of_its_ends(verdict, scope):
    snapshot = members(
        2, nodes=4, sites=["s0", "s1", "s2", "s0"], placement=[0, 1], targets={1: 2}, anti_affinity=scope
    )
    assert verdict(snapshot, "c0", "n1") is Reason.ANTI_AFFINITY  # still runs there
    assert verdict(snapshot, "c0", "n2") is Reason.ANTI_AFFINITY  # will run there
    assert verdict(snapshot, "c0", "n3") is Reason.NONE


def test_member_that_is_being_started_keeps_others_from_its_node(verdict):
    snapshot = members(2, nodes=3, placement=[0, None], targets={1: 1}, anti_affinity=Scope.NODE)
    assert verdict(snapshot, "c0", "n1") is Reason.ANTI_AFFINITY
    assert verdict(snapshot, "c0", "n2") is Reason.NONE


def test_members_of_another_group_do_not_count(verdict):
    cluster = a_cluster(
        [a_node("n0"), a_node("n1")],
        [a_container("c0", group="g0"), a_container("c1", group="g1"), a_container("c2")],
        groups=[a_group("g0", anti_affinity=Scope.NODE, spread=Scope.NODE, may_be_missing=1), a_group("g1")],
    )
    snapshot = a_snapshot(cluster, {"c0": "n0", "c1": "n1", "c2": "n1"})
    assert verdict(snapshot, "c0", "n1") is Reason.NONE


def test_spread_counts_by_node(verdict):
    # n0 has two, n1 one, n2 none. With a skew of one, n2 is the only place to go.
    snapshot = members(3, nodes=3, placement=[0, 0, 1], spread=Scope.NODE)
    assert verdict(snapshot, "c0", "n1") is Reason.SPREAD
    assert verdict(snapshot, "c0", "n2") is Reason.NONE


def test_wider_skew_allows_more(verdict):
    placed = {"nodes": 3, "placement": [0, 0, 1], "spread": Scope.NODE}
    assert verdict(members(3, **placed, max_skew=2), "c0", "n1") is Reason.NONE


def test_spread_counts_by_site(verdict):
    # s0 has c0 and c1, s1 has c2. From s0 to s1: 1 and 2, a skew of one.
    snapshot = members(3, nodes=4, sites=["s0", "s0", "s1", "s1"], placement=[0, 1, 2], spread=Scope.SITE)
    assert verdict(snapshot, "c0", "n3") is Reason.NONE
    # And from s1 to s0: three against none.
    assert verdict(snapshot, "c2", "n0") is Reason.SPREAD


def test_move_within_a_site_changes_no_spread(verdict):
    snapshot = members(3, nodes=3, sites=["s0", "s0", "s1"], placement=[0, 0, 2], spread=Scope.SITE)
    assert verdict(snapshot, "c0", "n1") is Reason.NONE


def test_site_without_nodes_is_no_domain(verdict):
    # s2 has no node; were it a domain, its zero would forbid every second member elsewhere.
    snapshot = members(2, nodes=3, sites=["s0", "s1", "s1"], placement=[0, 1], spread=Scope.SITE)
    assert verdict(snapshot, "c1", "n2") is Reason.NONE


def test_member_on_the_move_counts_where_it_goes(verdict):
    # c1 goes from n1 to n2: then n0 1, n1 0, n2 1. c0 may only go to n1.
    snapshot = members(2, nodes=3, placement=[0, 1], targets={1: 2}, spread=Scope.NODE)
    assert verdict(snapshot, "c0", "n1") is Reason.NONE
    assert verdict(snapshot, "c0", "n2") is Reason.SPREAD


def targets_of(snapshot):
    """Nodes that the first container may go to."""
    return int(mask(view_of(snapshot), np.array([0])).sum())


@pytest.mark.parametrize("ghost", [NodeState.DRAINING, NodeState.GOING_TO_SLEEP, NodeState.ASLEEP, NodeState.FAILED])
def test_ghost_that_counts_leaves_a_spread_group_no_target(verdict, ghost):
    """Three nodes with one member each: the emptied one stays a domain of zero (kubernetes/autoscaler#9287)."""
    snapshot = members(3, nodes=3, placement=[0, 1, 2], states={0: ghost}, spread=Scope.NODE)
    assert [verdict(snapshot, "c0", node) for node in ("n1", "n2")] == [Reason.SPREAD] * 2
    assert targets_of(snapshot) == 0


@pytest.mark.parametrize("ghost", [NodeState.DRAINING, NodeState.GOING_TO_SLEEP, NodeState.ASLEEP, NodeState.FAILED])
def test_ghost_that_does_not_count_can_be_drained(verdict, ghost):
    """The same with ghosts honoured as gone: either of the other two will do."""
    snapshot = members(3, nodes=3, placement=[0, 1, 2], states={0: ghost}, spread=Scope.NODE, ghosts_count=False)
    assert [verdict(snapshot, "c0", node) for node in ("n1", "n2")] == [Reason.NONE] * 2
    assert targets_of(snapshot) == 2


def test_domain_with_nothing_to_compare_with_takes_all(verdict):
    # The other two nodes are gone as far as this group goes: one domain alone is never uneven.
    states = {0: NodeState.ASLEEP, 2: NodeState.DRAINING}
    left = {"nodes": 3, "placement": [1, 1, 2], "states": states, "spread": Scope.NODE}
    assert verdict(members(3, **left, ghosts_count=False), "c2", "n1") is Reason.NONE
    assert verdict(members(3, **left, ghosts_count=True), "c2", "n1") is Reason.SPREAD


def test_waking_node_is_a_domain_even_where_ghosts_do_not_count(verdict):
    states = {0: NodeState.DRAINING, 2: NodeState.WAKING}
    snapshot = members(2, nodes=3, placement=[0, 1], states=states, spread=Scope.NODE, ghosts_count=False)
    assert verdict(snapshot, "c0", "n1") is Reason.SPREAD
    assert verdict(snapshot, "c0", "n2") is Reason.NONE


def test_node_that_is_on_counts_though_it_is_to_be_left(verdict):
    """As long as nobody has begun to drain it, the source is a domain, and would hold none after the move."""
    snapshot = members(2, nodes=2, placement=[0, 1], spread=Scope.NODE, ghosts_count=False)
    assert verdict(snapshot, "c0", "n1") is Reason.SPREAD


def test_group_that_may_miss_nobody_never_moves(verdict):
    snapshot = members(2, nodes=3, placement=[0, 1], may_be_missing=0)
    assert [verdict(snapshot, "c0", node) for node in ("n1", "n2")] == [Reason.GROUP_BUDGET] * 2


def test_single_member_that_may_not_be_missing_never_moves(verdict):
    assert verdict(members(1, nodes=2, placement=[0], may_be_missing=0), "c0", "n1") is Reason.GROUP_BUDGET


def test_member_waits_while_another_is_down(verdict):
    down = members(3, nodes=4, placement=[0, 1, None], may_be_missing=1)
    assert verdict(down, "c0", "n3") is Reason.GROUP_BUDGET
    # The one that is down may be started: that is what ends the shortage.
    assert verdict(down, "c2", "n3") is Reason.NONE


def test_member_waits_while_another_is_on_the_move(verdict):
    moving = members(3, nodes=4, placement=[0, 1, 2], targets={1: 3}, may_be_missing=1)
    assert verdict(moving, "c0", "n3") is Reason.GROUP_BUDGET
    assert verdict(members(3, nodes=4, placement=[0, 1, 2], may_be_missing=1), "c0", "n3") is Reason.NONE


def test_budget_of_two_lets_a_second_go_and_no_third(verdict):
    one = members(4, nodes=5, placement=[0, 1, 2, 3], targets={1: 4}, may_be_missing=2)
    two = members(4, nodes=5, placement=[0, 1, None, 3], targets={1: 4}, may_be_missing=2)
    assert verdict(one, "c0", "n4") is Reason.NONE
    assert verdict(two, "c0", "n4") is Reason.GROUP_BUDGET


def test_budget_is_asked_before_affinity_and_affinity_before_spread(verdict):
    placed = {"nodes": 2, "placement": [0, 1], "spread": Scope.NODE}
    assert verdict(members(2, **placed, anti_affinity=Scope.NODE, may_be_missing=0), "c0", "n1") is Reason.GROUP_BUDGET
    assert verdict(members(2, **placed, anti_affinity=Scope.NODE), "c0", "n1") is Reason.ANTI_AFFINITY
    assert verdict(members(2, **placed), "c0", "n1") is Reason.SPREAD


def test_no_room_is_named_before_the_rules_of_the_group(verdict):
    cluster = a_cluster(
        [a_node("n0"), a_node("n1", cores=1.0)],
        [a_container("c0", cores=2.0, group="g0"), a_container("c1", group="g0")],
        groups=[a_group(anti_affinity=Scope.NODE, may_be_missing=0)],
    )
    assert verdict(a_snapshot(cluster, {"c0": "n0", "c1": "n1"}), "c0", "n1") is Reason.NO_ROOM
