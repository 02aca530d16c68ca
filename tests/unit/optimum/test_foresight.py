"""Planning on what is expected: who is woken, and what is left on, for a load that is yet to come."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold.encoding.arrays import fleet_arrays, view_of
from fogfold.errors import ModelError
from fogfold.evaluate.episodes import run_episode
from fogfold.model.node import NodeState
from fogfold.model.reason import Reason
from fogfold.policy.base import Move, Policy, Proposal
from fogfold.policy.foresight import Foresighted
from fogfold.policy.mpc import Mpc, MpcParams, legal_part
from fogfold.policy.outlook import Told, Watched, room_cores
from fogfold.policy.registry import policy
from fogfold.testing.builders import a_cluster, a_container, a_node, a_snapshot
from fogfold.world.dynamics import Orders
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario
from fogfold.world.world import World

STEP_S = 300.0
FIGURES = MpcParams(sleep_s=3600.0, lead_s=900.0, calm_decisions=0, minimum_saving=0.0, late_limit=1.0)


class Given:
    """An outlook in which all containers use the same share of what they use now, step by step."""

    def __init__(self, factors):
        self._factors = factors

    def path(self, view):
        return np.concatenate([view.usage[:1], np.outer(self._factors, view.usage[0])])


def planner(*factors, params=FIGURES):
    """The policy, with a future in which load grows by those factors; it sees no further than its horizon."""
    steps = [*factors, *[factors[-1]] * params.steps][: params.steps]
    return Mpc("mpc", params, lambda: Given(steps))


def two_nodes(cores, state=NodeState.ON):
    """A container of so many cores in use on n0, none or another of one core on n1."""
    containers = [a_container("a", cores=8.0, memory_gib=1.0), a_container("b", cores=1.0, memory_gib=1.0)]
    cluster = a_cluster([a_node("n0", never_sleep=True), a_node("n1")], containers)
    asleep = state == NodeState.ASLEEP
    view = view_of(a_snapshot(cluster, {"a": "n0", "b": "n0" if asleep else "n1"}))
    usage = view.usage.copy()
    usage[0] = [cores, 0.5]
    states = view.state.copy()
    states[1] = state
    return replace(view, usage=usage, state=states)


def test_node_is_woken_for_a_load_that_comes_within_a_boot():
    # 4.5 of 10 cores now, 7.2 in ten minutes: above the mark of 0.6 for which another node is woken.
    view = two_nodes(4.0, NodeState.ASLEEP)
    assert planner(1.0, 1.6).propose(view).wake == (1,)
    assert planner(1.0, 1.0).propose(view).wake == ()
    # What comes in an hour can wait.
    assert planner(*[1.0] * 10, 1.6).propose(view).wake == ()


def test_node_is_emptied_only_where_it_is_not_needed_within_the_horizon():
    # 3.5 cores fit on one node, 5.6 are above the 4.5 that one node may bear; in 40 minutes counts, in 70 does not.
    view = two_nodes(3.0)
    assert planner(1.0).propose(view).sleep == (1,)
    assert planner(*[1.0] * 7, 1.6).propose(view).sleep == ()
    longer = replace(FIGURES, sleep_s=2 * 3600.0)
    assert planner(*[1.0] * 13, 1.6, params=longer).propose(view).sleep == ()
    assert planner(*[1.0] * 13, 1.6).propose(view).sleep == (1,)


def test_hot_node_of_the_next_minutes_is_relieved_now():
    # 5.5 cores on n0 become 6.6; n1 bears what leaves.
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container(f"c{i}", cores=1.5) for i in range(6)])
    view = view_of(a_snapshot(cluster, {f"c{i}": "n0" if i < 5 else "n1" for i in range(6)}))
    usage = view.usage.copy()
    usage[0] = 1.1
    view = replace(view, usage=usage)
    assert planner(1.0).propose(view).moves == ()
    moves = planner(1.2).propose(view).moves
    assert len(moves) == 1
    assert moves[0].target == 1


def test_those_on_a_node_who_peak_in_turn_need_no_room_for_both_peaks():
    where = np.array([0, 0])
    assert room_cores(np.array([[1.0, 3.0], [3.0, 1.0]]), where, 1).tolist() == [2.0, 2.0]
    assert room_cores(np.array([[1.0, 1.0], [3.0, 3.0]]), where, 1).tolist() == [3.0, 3.0]
    # On two nodes each peak counts.
    assert room_cores(np.array([[1.0, 3.0], [3.0, 1.0]]), np.array([0, 1]), 2).tolist() == [3.0, 3.0]
    # Nothing runs anywhere: everybody's peak.
    assert room_cores(np.array([[1.0, 3.0], [3.0, 1.0]]), np.array([-1, -1]), 2).tolist() == [3.0, 3.0]


@given(seed=st.integers(0, 1000), steps=st.integers(1, 6), containers=st.integers(1, 12))
def test_rooms_add_up_to_the_peaks_of_the_nodes(seed, steps, containers):
    rng = np.random.default_rng(seed)
    path, where = rng.exponential(1.0, (steps, containers)), rng.integers(0, 3, containers)
    room = room_cores(path, where, 3)
    on_node = np.array([np.bincount(where, row, 3) for row in path])
    assert room.sum() == pytest.approx(on_node.max(axis=0).sum())
    assert (room >= path.mean(axis=0) - 1e-9).all()
    assert (room <= path.max(axis=0) + 1e-9).all()


def test_told_future_is_what_the_world_then_measures():
    built = build(load_scenario("tiny-4"), 3, hours=2)
    fleet = fleet_arrays(built.cluster)
    world = World(fleet, built.params, [(built.workload, built.faults)], seed=3)
    told = Told(built.workload, STEP_S, 12)
    idle = Orders(np.zeros((1, 0, 2), np.int32), np.zeros((1, fleet.nodes), np.int8))
    world.step(idle)
    path = told.path(world.view())
    assert path.shape == (13, fleet.containers)
    for step in range(1, 13):
        world.step(idle)
        np.testing.assert_allclose(path[step], world.view().usage[0], rtol=1e-5)
    # Beyond its end the last tick goes on.
    for _ in range(7):
        world.step(idle)
    rest = told.path(world.view())
    assert (rest[-1] == rest[-2]).all()


def test_future_of_another_world_is_refused():
    built = build(load_scenario("tiny-4"), 0, hours=1)
    with pytest.raises(ModelError, match="tell the policy the future of the world it decides in"):
        Told(built.workload, STEP_S, 2).path(two_nodes(1.0))


def looked(watched, *cores, first_s=0.0, step_s=STEP_S):
    """The path after looks at a container `a` that used so many cores."""
    path = None
    for number, used in enumerate(cores):
        view = two_nodes(used)
        path = watched.path(replace(view, time_s=first_s + number * step_s))
    return path


def test_without_a_past_the_present_goes_on():
    assert looked(Watched("combined", STEP_S, 3), 4.0)[:, 0].tolist() == pytest.approx([4.0] * 4)
    # A second look within the step is no reading: the forecast stands on the first.
    twice = looked(Watched("persistence", STEP_S, 2), 4.0, 6.0, step_s=30.0)
    assert twice[:, 0].tolist() == pytest.approx([6.0, 4.0, 4.0])


def test_a_rise_that_lasts_is_expected_to_go_on_for_a_while():
    path = looked(Watched("combined", STEP_S, 3), *np.linspace(1.0, 5.0, 40))
    assert path[1, 0] > 5.0


def test_a_day_ago_counts_once_there_is_one():
    day = [2.0] * 144 + [6.0] * 144
    path = looked(Watched("seasonal-naive", STEP_S, 3), *day, *[2.0] * 143)
    assert path[:, 0].tolist() == pytest.approx([2.0, 2.0, 6.0, 6.0])


def test_containers_keep_their_past_wherever_their_column_is():
    watched = Watched("persistence", STEP_S, 1)
    view = two_nodes(4.0)
    watched.path(view)
    cluster = view.fleet.cluster
    turned = a_cluster(list(cluster.nodes), [a_container("new"), *reversed(cluster.containers)])
    later = view_of(a_snapshot(turned, {"b": "n1"}))
    path = watched.path(replace(later, time_s=STEP_S))
    # "a" runs nowhere now, so nothing was read of it; of "new" nothing ever was, so its present figure stands.
    assert path[1].tolist() == pytest.approx([later.usage[0, 0], later.usage[0, 1], 4.0])


def test_time_that_runs_backwards_forgets_all():
    watched = Watched("persistence", STEP_S, 1)
    watched.path(replace(two_nodes(4.0), time_s=9000.0))
    assert watched.path(replace(two_nodes(1.0), time_s=0.0))[1, 0] == pytest.approx(1.0)


def test_moves_that_the_present_forbids_are_left_out_and_their_node_stays_on():
    view = two_nodes(9.5)
    asked = Proposal("mine", moves=(Move(1, 0),), sleep=(1,))
    found = legal_part(view, asked, ceiling=0.9)
    assert found.moves == ()
    assert found.sleep == ()
    assert dict(found.stays) == {1: Reason.NODE_HOT}
    assert legal_part(two_nodes(1.0), asked, ceiling=0.9) == asked


@pytest.mark.parametrize("name", ["mpc", "clairvoyant"])
def test_day_under_it_breaks_no_rule_and_repeats(name):
    built = build(load_scenario("tiny-4"), 1, hours=6)
    first, second = (run_episode(built, policy(name), check=True) for _ in range(2))
    assert first.result == second.result
    assert first.result.policy == name
    assert first.result.refused == 0


def test_clairvoyant_alone_is_told_the_future():
    assert isinstance(policy("clairvoyant"), Foresighted)
    assert isinstance(policy("clairvoyant"), Policy)
    assert not isinstance(policy("mpc"), Foresighted)


def test_clairvoyant_without_a_future_says_where_it_belongs():
    chosen = policy("clairvoyant")
    with pytest.raises(ModelError, match="was told no future; it decides in simulated worlds alone"):
        chosen.propose(two_nodes(1.0))
    # A reset forgets what it was told.
    built = build(load_scenario("tiny-4"), 0, hours=1)
    assert isinstance(chosen, Foresighted)
    chosen.foresee(built.workload)
    chosen.reset(0)
    with pytest.raises(ModelError, match="was told no future"):
        chosen.propose(two_nodes(1.0))


def test_clairvoyant_refuses_worlds_beyond_its_size():
    with pytest.raises(ModelError, match="asked about 2 nodes, its limit is 1; use a smaller scenario"):
        policy("clairvoyant", most_nodes=1).propose(two_nodes(1.0))


@pytest.mark.parametrize("figure", ["lead_s", "step_s", "sleep_s"])
def test_times_of_nothing_are_refused(figure):
    with pytest.raises(ModelError, match=figure):
        policy("mpc", **{figure: 0.0})
