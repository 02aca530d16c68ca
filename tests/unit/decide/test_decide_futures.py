"""Futures are made of the forecast and of how forecasts have erred."""

import numpy as np
import pytest

from fogfold.decide.futures import Experience, FuturesParams, _samples, futures_of
from fogfold.encoding.arrays import ClusterView, view_of
from fogfold.errors import ModelError
from fogfold.testing.builders import a_cluster, a_container, a_node, a_snapshot
from fogfold.world.faults import FaultParams

CLUSTER = a_cluster([a_node("n0")], [a_container(f"c{i}", cores=2.0) for i in range(3)])
START = view_of(a_snapshot(CLUSTER, {f"c{i}": "n0" for i in range(3)}))
PARAMS = FuturesParams(steps=4, count=5, least_paths=3)


def view_at(step, cores):
    usage = START.usage.copy()
    usage[0] = cores
    return ClusterView(
        START.fleet, START.state, START.placement, START.target, usage, START.image_present, time_s=300.0 * step
    )


def seen(series, params=PARAMS):
    experience = Experience(START.fleet, params, 0.0)
    view = START
    for step, cores in enumerate(series):
        view = view_at(step, cores)
        experience.see(view)
    return experience, view


def test_the_same_seed_and_occasion_give_the_same_futures_and_others_give_others():
    experience, view = seen([[1.0, 0.5, 0.2]])
    one = futures_of(experience, view, seed=1, occasion=7)
    same = futures_of(experience, view, seed=1, occasion=7)
    assert one.level.tobytes() == same.level.tobytes()
    assert one.keys == same.keys
    assert futures_of(experience, view, seed=1, occasion=8).level.tobytes() != one.level.tobytes()
    assert futures_of(experience, view, seed=2, occasion=7).level.tobytes() != one.level.tobytes()


def test_without_a_record_futures_spread_about_the_last_reading():
    params = FuturesParams(steps=4, count=400, least_paths=3, spread=0.1)
    experience, view = seen([[1.0, 0.5, 0.2]], params)
    futures = futures_of(experience, view, seed=1, occasion=0)
    # Two cores were asked for, one is used: a level of a half. An hour has 12 steps, so the last of 4 spreads less.
    assert futures.level[:, -1, 0].mean() == pytest.approx(0.5, rel=0.01)
    assert futures.level[:, -1, 0].std() == pytest.approx(0.5 * 0.1 * np.sqrt(4 / 12), rel=0.15)
    np.testing.assert_allclose(futures.mean[:, 1], 0.25)


def test_a_steady_past_has_no_errors_and_one_future():
    experience, view = seen([[1.0, 0.5, 0.2]] * 20)
    futures = futures_of(experience, view, seed=1, occasion=0)
    np.testing.assert_allclose(futures.level, np.broadcast_to([0.5, 0.25, 0.1], futures.level.shape), rtol=1e-6)


def test_containers_that_rose_together_rise_together_in_every_future():
    rng = np.random.default_rng(5)
    levels = np.exp(rng.normal(0.0, 0.3, 40))
    experience, view = seen([[x, x, 1.0] for x in levels])
    futures = futures_of(experience, view, seed=1, occasion=0)
    np.testing.assert_array_equal(futures.level[:, :, 0], futures.level[:, :, 1])
    assert np.ptp(futures.level[:, -1, 0]) > 0.0
    assert (futures.level >= 0.0).all()


def test_samples_stand_in_the_middle_of_steps_and_half_way_between():
    levels = np.array([[[2.0], [4.0], [8.0]]])
    found = _samples(np.array([1.0]), levels)
    assert found[0, :, 0].tolist() == [1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 8.0]


def test_what_was_never_read_is_taken_at_what_was_promised():
    experience = Experience(START.fleet, PARAMS, 0.0)
    assert (experience.last == 1.0).all()
    assert (experience.forecast() == 1.0).all()


def test_errors_are_what_came_less_what_was_said():
    # Persistence speaks while no candidate has a record: from 0.5 it says 0.5, and 1 comes.
    experience, _ = seen([[1.0, 1.0, 1.0]] + [[2.0, 1.0, 1.0]] * 4)
    assert experience.paths == 1
    found = experience._paths[0]
    np.testing.assert_allclose(found[:, 0], 0.5)
    np.testing.assert_allclose(found[:, 1], 0.0)


def test_a_gap_shows_no_error_and_a_view_of_the_same_step_changes_nothing():
    experience, _ = seen([[1.0, 1.0, 1.0]] * 3)
    experience.see(view_at(2, [9.0, 9.0, 9.0]))
    np.testing.assert_allclose(experience.last, 0.5)
    experience.see(view_at(12, [1.0, 1.0, 1.0]))
    assert experience.paths > 0
    assert not np.isnan(experience._paths).any()


def test_views_out_of_order_or_of_another_fleet_are_refused():
    experience, _ = seen([[1.0, 1.0, 1.0]] * 3)
    with pytest.raises(ModelError, match="show views in order"):
        experience.see(view_at(0, [1.0, 1.0, 1.0]))
    other = view_of(a_snapshot(CLUSTER, {"c0": "n0"}))
    with pytest.raises(ModelError, match="another fleet"):
        experience.see(other)


def test_faults_come_only_where_they_are_asked_for():
    experience, view = seen([[1.0, 0.5, 0.2]])
    assert not any(len(faults) for faults in futures_of(experience, view, seed=1, occasion=0).faults)
    often = FaultParams(restart_loops_per_container_day=500.0)
    experience, view = seen([[1.0, 0.5, 0.2]], FuturesParams(steps=4, count=5, faults=often))
    assert any(len(faults) for faults in futures_of(experience, view, seed=1, occasion=0).faults)


@pytest.mark.parametrize(
    ("figures", "said"), [({"steps": 0}, "steps"), ({"step_s": 90.0}, "two ticks"), ({"spread": -1.0}, "spread")]
)
def test_figures_out_of_range_are_refused(figures, said):
    with pytest.raises(ModelError, match=said):
        FuturesParams(**figures)
