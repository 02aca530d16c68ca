"""Fault schedules: the same for the same seed, in order, and each kind from a stream of its own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fogfold.errors import ModelError
from fogfold.units import DAY_S, TICK_S
from fogfold.world.faults import FaultKind, FaultParams, FaultSchedule, draw_faults

DAY_TICKS = round(DAY_S / TICK_S)
BUSY = FaultParams(link_degradations_per_site_day=20.0, restart_loops_per_container_day=5.0)
FIELDS = ("tick", "kind", "target", "ticks", "magnitude")


def drawn(params=BUSY, *, seed=1, nodes=5, mtbf_s=20_000.0, mttr_s=600.0, sites=3, containers=8, ticks=DAY_TICKS):
    return draw_faults(
        params,
        mtbf_s=np.full(nodes, mtbf_s),
        mttr_s=np.full(nodes, mttr_s),
        sites=sites,
        containers=containers,
        ticks=ticks,
        seed=seed,
    )


def rows(schedule, *kinds):
    """Entries of those kinds (all, where none is named), as tuples."""
    every = zip(*(getattr(schedule, name).tolist() for name in FIELDS), strict=True)
    return [row for row in every if not kinds or row[1] in kinds]


@pytest.mark.parametrize("seed", [0, 1, 2**40])
def test_same_seed_meets_the_same_faults(seed):
    assert rows(drawn(seed=seed)) == rows(drawn(seed=seed))


def test_other_seed_meets_others():
    assert rows(drawn(seed=1)) != rows(drawn(seed=2))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**9), st.integers(1, DAY_TICKS))
def test_faults_stand_in_order_within_the_horizon(seed, ticks):
    schedule = drawn(seed=seed, ticks=ticks)
    assert rows(schedule) == sorted(rows(schedule))
    assert (np.diff(schedule.tick) >= 0).all()
    assert ((schedule.tick >= 0) & (schedule.tick < ticks)).all()
    assert (schedule.ticks >= 1).all()
    assert set(schedule.kind) <= set(FaultKind)
    among = np.array([5, 3, 8])[schedule.kind]  # nodes, sites, containers
    assert ((schedule.target >= 0) & (schedule.target < among)).all()


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**9))
def test_nothing_fails_twice_at_once(seed):
    """The next fault of a node, site or container starts no earlier than the tick in which the last one ends."""
    until: dict[tuple[int, int], int] = {}
    for tick, kind, target, ticks, _ in rows(drawn(seed=seed)):
        # A length is rounded to whole ticks, so an end may lie one tick later than it was drawn.
        assert tick >= until.get((kind, target), 0) - 1
        until[kind, target] = tick + ticks


OFF: dict[FaultKind, dict[str, Any]] = {
    FaultKind.NODE_LOSS: {"node_loss": False},
    FaultKind.LINK_DEGRADATION: {"link_degradations_per_site_day": 0.0},
    FaultKind.RESTART_LOOP: {"restart_loops_per_container_day": 0.0},
}


@pytest.mark.parametrize("kind", list(FaultKind))
def test_kind_that_is_switched_off_leaves_the_others_as_they_are(kind):
    figures: dict[str, Any] = {
        "link_degradations_per_site_day": 20.0,
        "restart_loops_per_container_day": 5.0,
        **OFF[kind],
    }
    without = drawn(FaultParams(**figures))
    others = set(FaultKind) - {kind}
    assert rows(without, kind) == []
    assert rows(without) == rows(drawn(), *others)
    assert len(without) > 0


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (FaultKind.NODE_LOSS, {"sites": 9, "containers": 30}),
        (FaultKind.LINK_DEGRADATION, {"nodes": 9, "mtbf_s": 100.0, "containers": 30}),
        (FaultKind.RESTART_LOOP, {"nodes": 9, "mtbf_s": 100.0, "sites": 9}),
    ],
)
def test_more_of_other_things_changes_nothing_of_a_kind(kind, more):
    assert rows(drawn(**more), kind) == rows(drawn(), kind)


def test_kinds_with_the_same_rate_do_not_strike_at_the_same_time():
    alike = FaultParams(
        link_degradations_per_site_day=20.0,
        link_degradation_s=600.0,
        restart_loops_per_container_day=20.0,
        restart_loop_s=600.0,
    )
    schedule = drawn(alike, nodes=3, sites=3, containers=3, mtbf_s=DAY_S / 20.0, mttr_s=600.0)
    ticks = [tuple(schedule.tick[schedule.kind == kind].tolist()) for kind in FaultKind]
    assert len(set(ticks)) == 3


def test_node_added_at_the_end_leaves_the_faults_of_those_before():
    more = [row for row in rows(drawn(nodes=7), FaultKind.NODE_LOSS) if row[2] < 5]
    assert more == rows(drawn(nodes=5), FaultKind.NODE_LOSS)


def test_node_that_never_fails_is_passed_over():
    params = FaultParams(link_degradations_per_site_day=0.0, restart_loops_per_container_day=0.0)
    assert len(drawn(params, mtbf_s=math.inf)) == 0
    mixed = draw_faults(
        params,
        mtbf_s=np.array([math.inf, 5000.0, math.inf]),
        mttr_s=np.full(3, 600.0),
        sites=1,
        containers=1,
        ticks=DAY_TICKS,
        seed=1,
    )
    assert set(mixed.target.tolist()) == {1}


def within(count, expected):
    """Whether a count of independent events lies within four standard deviations of its mean."""
    return abs(count - expected) <= 4.0 * math.sqrt(expected)


def test_as_much_goes_wrong_as_the_rates_say():
    """A cycle is a gap and a fault: over 10 days, what fits into them, for each target."""
    days = 10
    schedule = drawn(BUSY, nodes=20, sites=20, containers=20, ticks=days * DAY_TICKS, seed=3)
    counts = np.bincount(schedule.kind, minlength=3)
    seconds = days * DAY_S * 20
    assert within(counts[FaultKind.NODE_LOSS], seconds / (20_000.0 + 600.0))
    assert within(counts[FaultKind.LINK_DEGRADATION], seconds / (DAY_S / 20.0 + BUSY.link_degradation_s))
    assert within(counts[FaultKind.RESTART_LOOP], seconds / (DAY_S / 5.0 + BUSY.restart_loop_s))


@pytest.mark.parametrize(
    ("kind", "mean_s"),
    [(FaultKind.NODE_LOSS, 600.0), (FaultKind.LINK_DEGRADATION, 1200.0), (FaultKind.RESTART_LOOP, 600.0)],
)
def test_faults_last_as_long_as_they_should_on_average(kind, mean_s):
    schedule = drawn(nodes=20, sites=20, containers=20, ticks=10 * DAY_TICKS, seed=4)
    lengths_s = schedule.ticks[schedule.kind == kind] * TICK_S
    # Exponential: the deviation of the mean is the mean over the root of the count. Rounding up adds under a tick.
    assert lengths_s.mean() == pytest.approx(mean_s, abs=4.0 * mean_s / math.sqrt(len(lengths_s)) + TICK_S)


def test_degraded_link_is_as_slow_as_the_factor_says():
    schedule = drawn(FaultParams(link_degradations_per_site_day=20.0, link_degradation_factor=5.0))
    assert {row[4] for row in rows(schedule, FaultKind.LINK_DEGRADATION)} == {5.0}
    assert {row[4] for row in rows(schedule, FaultKind.NODE_LOSS, FaultKind.RESTART_LOOP)} == {1.0}


def test_calm_schedule_is_empty_and_has_the_form_of_any_other():
    calm = FaultParams(node_loss=False, link_degradations_per_site_day=0.0, restart_loops_per_container_day=0.0)
    for schedule in (FaultSchedule.none(), drawn(calm)):
        assert len(schedule) == 0
        assert all(
            getattr(schedule, name).dtype == getattr(drawn(), name).dtype and getattr(schedule, name).shape == (0,)
            for name in FIELDS
        )


def test_length_of_a_schedule_is_its_number_of_faults():
    assert len(drawn()) == len(drawn().tick) > 0


def test_horizon_without_a_tick_is_refused():
    with pytest.raises(ModelError, match="horizon is 0 ticks; it must be at least 1"):
        drawn(ticks=0)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("link_degradations_per_site_day", -1.0, "is -1; it must be at least 0"),
        ("link_degradations_per_site_day", math.nan, "is nan; give a finite number"),
        ("link_degradation_s", 0.0, "is 0; it must be above 0"),
        ("link_degradation_factor", 0.5, "is 0.5; it must be at least 1"),
        ("restart_loops_per_container_day", math.inf, "is inf; give a finite number"),
        ("restart_loop_s", 0.0, "is 0; it must be above 0"),
    ],
)
def test_rate_that_cannot_be_is_refused(name, value, sentence):
    with pytest.raises(ModelError, match=f"^{name} {sentence}"):
        FaultParams(**{name: value})
