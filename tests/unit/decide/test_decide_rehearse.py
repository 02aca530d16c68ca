"""A rehearsal plays every proposal over the same futures, whatever the chunks, threads and neighbours."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from fogfold.decide.futures import Experience, FuturesParams, futures_of
from fogfold.decide.rehearse import RehearsalParams, rehearse, script_of
from fogfold.encoding.arrays import fleet_arrays, view_of
from fogfold.errors import ModelError
from fogfold.policy.base import Move, Proposal
from fogfold.policy.orders import orders_of
from fogfold.policy.registry import policy
from fogfold.testing.builders import a_cluster, a_container, a_node, a_snapshot
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario
from fogfold.world.world import World

HOLD = Proposal("hold")
PARAMS = FuturesParams(steps=12, count=4)


def foreseen(view, params=PARAMS):
    experience = Experience(view.fleet, params, view.time_s)
    experience.see(view)
    return futures_of(experience, view, seed=1, occasion=0)


@pytest.fixture(scope="module")
def city():
    built = build(load_scenario("city-20"), 4, hours=2.0)
    fleet = fleet_arrays(built.cluster)
    world = World(fleet, built.params, [(built.workload, built.faults)], seed=4)
    rule = policy("drain-relief")
    for _ in range(6):
        world.step(orders_of(rule.propose(world.view()), fleet.nodes))
    view = world.view()
    return view, rule, [HOLD, policy("best-fit", calm_decisions=0).propose(view), rule.propose(view)]


def played(view, proposals, *, follow=None, params=None, **more):
    futures = foreseen(view)
    params = params or RehearsalParams()
    script = script_of(view, proposals, futures, params=params, follow=follow)
    return rehearse(view, script, futures, params=params, **more)


def test_an_empty_node_that_sleeps_saves_its_idle_power_less_its_sleep():
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("c0")])
    view = view_of(a_snapshot(cluster, {"c0": "n0"}))
    found = played(view, [HOLD, Proposal("sleep", sleep=(1,))])
    # 50 W on for an hour; or 30 s of shutting down at 50 W, then 5 W.
    saved = found.terms_wh[0] - found.terms_wh[1]
    np.testing.assert_allclose(saved[:, 0], 45.0 * (3600 - 30) / 3600)
    np.testing.assert_allclose(saved[:, 1:], 0.0, atol=1e-12)
    # The tail is the last three steps, a quarter of an hour.
    np.testing.assert_allclose((found.tail_wh[0] - found.tail_wh[1])[:, 0], 45.0 / 4)
    assert found.tail_s == 900.0


def test_a_move_costs_its_bytes_and_its_downtime():
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("c0")])
    view = view_of(a_snapshot(cluster, {"c0": "n0"}))
    found = played(view, [HOLD, Proposal("move", moves=(Move(0, 1),))])
    assert (found.terms_wh[0, :, 1] == 0.0).all()
    assert (found.terms_wh[1, :, 1] > 0.0).all()


def test_the_same_proposal_twice_costs_the_same_to_the_last_bit(city):
    view, rule, proposals = city
    found = played(view, [proposals[1], HOLD, proposals[1]], follow=rule)
    assert found.terms_wh[0].tobytes() == found.terms_wh[2].tobytes()
    assert found.terms_wh[0].tobytes() != found.terms_wh[1].tobytes()


def test_neighbours_chunks_and_threads_change_nothing(city):
    view, rule, proposals = city
    found = played(view, proposals, follow=rule)
    alone = played(view, [proposals[1]], follow=rule)
    np.testing.assert_array_equal(alone.terms_wh[0], found.terms_wh[1])
    futures = foreseen(view)
    script = script_of(view, proposals, futures, follow=rule)
    with ThreadPoolExecutor(2) as pool:
        other = rehearse(view, script, futures, params=RehearsalParams(chunk=3), threads=pool)
    assert other.terms_wh.tobytes() == found.terms_wh.tobytes()
    assert other.tail_wh.tobytes() == found.tail_wh.tobytes()


def test_a_rehearsal_that_is_cut_off_has_played_whole_chunks_for_all(city):
    view, _, proposals = city
    whole = played(view, proposals, params=RehearsalParams(chunk=2))
    asked = []

    def cut_off():
        asked.append(True)
        return True

    found = played(view, proposals, params=RehearsalParams(chunk=2), cut_off=cut_off)
    assert len(asked) == 1
    assert found.futures == 2
    assert not found.whole
    np.testing.assert_array_equal(found.terms_wh, whole.terms_wh[:, :2])
    assert whole.futures == 4
    assert whole.whole


def test_the_rule_that_goes_on_is_asked_every_so_often_and_never_changed(city):
    view, rule, proposals = city
    before = rule._evidence.calm, rule._evidence._woken_s.copy()
    futures = foreseen(view)
    asked = []

    class Asked:
        name = "asked"

        def reset(self, seed):
            del seed

        def propose(self, seen):
            asked.append(seen.time_s - view.time_s)
            return HOLD

        def __deepcopy__(self, memo):
            return self

    script = script_of(view, proposals[:1], futures, params=RehearsalParams(follow_every=4), follow=Asked())
    assert asked == [4 * 300.0, 8 * 300.0]
    assert len(script) == 12
    script_of(view, proposals, futures, params=RehearsalParams(follow_every=1), follow=rule)
    assert rule._evidence.calm == before[0]
    np.testing.assert_array_equal(rule._evidence._woken_s, before[1])


def test_a_rule_goes_on_to_relieve_what_is_left_hot():
    nodes = [a_node("n0"), a_node("n1")]
    cluster = a_cluster(nodes, [a_container(f"c{i}", cores=1.0) for i in range(9)])
    snapshot = a_snapshot(cluster, {f"c{i}": "n0" for i in range(9)}, usage_cores={f"c{i}": 0.8 for i in range(9)})
    view = view_of(snapshot)
    futures = foreseen(view)
    script = script_of(view, [HOLD], futures, params=RehearsalParams(follow_every=3), follow=policy("drain-relief"))
    assert next(k for k, orders in enumerate(script) if (orders.moves >= 0).any()) == 3


def test_nothing_to_rehearse_is_refused(city):
    view, _, _ = city
    with pytest.raises(ModelError, match="no proposal"):
        script_of(view, [], foreseen(view))
