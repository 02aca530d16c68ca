"""Pieces are weighed by the world's formulae and proposed whole or not at all."""

import numpy as np
import pytest

from fogfold.decide.futures import Experience, FuturesParams, futures_of
from fogfold.decide.shaping import Shaping, ShapingParams
from fogfold.decide.weighing import Scales
from fogfold.encoding.arrays import view_of
from fogfold.model.node import NodeState
from fogfold.testing.builders import a_cluster, a_container, a_node, a_snapshot, random_snapshot

STEADY = FuturesParams(steps=4, count=2, spread=0.0)


def weighed(view):
    experience = Experience(view.fleet, STEADY, view.time_s)
    experience.see(view)
    return Scales(view, futures_of(experience, view, seed=1, occasion=0))


def a_view(placement, *, cores=0.5, states=None, nodes=None, **more):
    nodes = nodes or [a_node("n0"), a_node("n1")]
    cluster = a_cluster(nodes, [a_container(name, **more) for name in placement])
    return view_of(a_snapshot(cluster, placement, states=states, usage_cores=dict.fromkeys(placement, cores)))


def named(view, params=None):
    found = Shaping(view, weighed(view), params or ShapingParams()).proposals()
    return {proposal.policy: proposal for proposal in found}


def test_one_container_more_costs_its_power_its_late_requests_and_its_distance():
    view = a_view({"c0": "n0", "c1": "n1"}, latency_objective_ms=300.0)
    scales = weighed(view)
    added = scales.added_w(0, np.array([False, True]))
    # Half a core of ten is 5 % of 50 W; at that load nobody is late. 50 requests a second at the access time.
    trip_w = 50.0 * view.fleet.site[3, 0] * 2e-7 * 3600
    assert added[0] == np.inf
    assert added[1] == pytest.approx(2.5 + trip_w, rel=1e-3)
    assert scales.removed_w(np.array([0]))[0] == pytest.approx(2.5 + trip_w, rel=1e-3)


def test_late_requests_weigh_far_more_than_power():
    placement = {f"c{i}": "n0" for i in range(9)} | {"c9": "n1"}
    view = a_view(placement, cores=1.0, latency_objective_ms=50.0)
    scales = weighed(view)
    # At 90 % of the node a tenth of exp(-(50 - trip) / 10) and more is late: far above the 5 W of a core.
    assert scales.removed_w(np.array([0]))[0] > 100.0
    assert scales.removed_w(np.array([9]))[0] < 20.0


def test_a_container_that_moves_and_moves_back_leaves_no_trace():
    view = view_of(random_snapshot(np.random.default_rng(7)))
    scales = weighed(view)
    everyone = np.arange(view.fleet.containers)
    before, load = scales.removed_w(everyone), scales.load.copy()
    c = int(np.flatnonzero(scales.where >= 0)[0])
    home = int(scales.where[c])
    scales.move(c, (home + 1) % view.fleet.nodes)
    assert not np.allclose(scales.load, load)
    scales.move(c, home)
    np.testing.assert_allclose(scales.load, load, atol=1e-12)
    np.testing.assert_allclose(scales.removed_w(everyone), before, rtol=1e-9, atol=1e-9)


def test_a_node_that_is_worth_it_is_folded_whole():
    view = a_view({"c0": "n0", "c1": "n1", "c2": "n1"})
    found = named(view)
    fold = found["fold-1"]
    assert fold.sleep in ((0,), (1,))
    leaving = {move.container for move in fold.moves}
    assert leaving == {c for c in range(3) if view.placement[c] == fold.sleep[0]}


def test_a_node_with_somebody_who_finds_no_place_is_not_folded():
    # Nine cores are promised on each of two nodes of ten: nobody fits elsewhere.
    view = a_view({f"c{i}": f"n{i // 9}" for i in range(18)})
    assert not any(proposal.sleep for proposal in named(view).values())


def test_a_node_that_must_stay_on_is_not_folded():
    nodes = [a_node("n0", never_sleep=True), a_node("n1", never_sleep=True)]
    assert not any(p.sleep for p in named(a_view({"c0": "n0", "c1": "n1"}, nodes=nodes)).values())


def test_a_hot_node_is_eased_towards_a_cool_one():
    placement = {f"c{i}": "n0" for i in range(9)} | {"c9": "n1"}
    view = a_view(placement, cores=1.0, latency_objective_ms=50.0)
    ease = named(view)["ease"]
    assert ease.moves
    assert all(move.target == 1 for move in ease.moves)
    assert not ease.sleep


def test_a_hot_node_with_no_other_wakes_one():
    placement = {f"c{i}": "n0" for i in range(9)}
    view = a_view(placement, cores=1.0, latency_objective_ms=50.0, states={"n1": NodeState.ASLEEP})
    unfold = named(view)["unfold-1"]
    assert unfold.wake == (1,)
    assert unfold.moves
    assert all(move.target == 1 for move in unfold.moves)


def test_pieces_are_made_on_a_draft_of_their_own():
    view = a_view({"c0": "n0", "c1": "n1", "c2": "n1"})
    shaping = Shaping(view, weighed(view), ShapingParams())
    assert shaping.proposals() == shaping.proposals()


def test_no_room_for_moves_folds_nobody():
    view = a_view({f"c{i}": f"n{i % 2}" for i in range(8)})
    on_the_way = view_of(
        a_snapshot(
            view.fleet.cluster,
            {f"c{i}": f"n{i % 2}" for i in range(8)},
            targets={f"c{i}": f"n{1 - i % 2}" for i in range(8)},
        )
    )
    assert not any(proposal.moves for proposal in named(on_the_way).values())
