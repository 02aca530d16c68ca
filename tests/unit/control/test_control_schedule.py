"""Rhythms: what is due when, on a clock that jumps; a day takes milliseconds."""

from __future__ import annotations

from itertools import pairwise

import pytest

from fogfold.control.schedule import (
    Event,
    EventKind,
    Recurrence,
    Rhythm,
    Schedule,
    ScheduleSettings,
    macro_interval_s,
)
from fogfold.errors import ModelError
from fogfold.testing.clock import FakeClock
from fogfold.units import DAY_S

LOST = Event(EventKind.NODE_LOST, "n0")


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def schedule(clock):
    """A schedule whose first runs are over."""
    made = Schedule(clock)
    made.finished(_due(made))
    return made


def _due(schedule):
    """What is due; something must be."""
    run = schedule.due()
    assert run is not None
    return run


def _run(schedule, clock, rhythm):
    """Let time pass until a run of that rhythm is due, and begin it."""
    while True:
        clock.advance(schedule.next_s() - clock.monotonic_s())
        run = schedule.due()
        if run.rhythm is rhythm:
            return run
        schedule.finished(run)


def test_whole_decision_is_due_at_the_start(clock):
    assert _due(Schedule(clock)).rhythm is Rhythm.MACRO


def test_nothing_is_due_while_a_run_goes_on(clock):
    schedule = Schedule(clock)
    run = _due(schedule)
    schedule.notice(LOST)
    clock.advance(DAY_S)
    assert schedule.due() is None
    assert schedule.next_s() is None
    schedule.finished(run)
    assert _due(schedule).rhythm is Rhythm.EVENT


def test_a_day_without_news_has_288_whole_decisions_and_light_ones_between(clock, schedule):
    times = {Rhythm.MACRO: [0.0], Rhythm.MICRO: []}
    while schedule.next_s() < DAY_S:
        clock.advance(schedule.next_s() - clock.monotonic_s())
        run = schedule.due()
        times[run.rhythm].append(clock.monotonic_s())
        schedule.finished(run)
    # Unknown volatility: one in 5 min. A light one each minute, but none in the minute of a whole one.
    assert times[Rhythm.MACRO] == [300.0 * k for k in range(288)]
    assert len(times[Rhythm.MICRO]) == 288 * 4 + 3 - 4 + 1
    assert all(later - earlier >= 60.0 for earlier, later in pairwise(times[Rhythm.MICRO]))


def test_events_that_wait_become_one_run_each_event_once(clock, schedule):
    other = Event(EventKind.REQUEST_SURGE, "c0")
    for event in (LOST, other, LOST):
        schedule.notice(event)
    assert schedule.due().events == (LOST, other)


def test_events_keep_a_gap_and_are_not_lost(clock, schedule):
    schedule.notice(LOST)
    run = schedule.due()
    schedule.notice(Event(EventKind.NODE_LOST, "n1"))
    schedule.finished(run)
    assert schedule.due() is None
    clock.advance(9.9)
    assert schedule.due() is None
    clock.advance(0.1)
    assert [event.subject for event in schedule.due().events] == ["n1"]


def test_flood_of_events_does_not_starve_whole_decisions(clock, schedule):
    macros = []
    while clock.monotonic_s() < 3600.0:
        schedule.notice(LOST)
        run = schedule.due()
        if run is not None:
            if run.rhythm is Rhythm.MACRO:
                macros.append(clock.monotonic_s())
            schedule.finished(run)
        clock.advance(1.0)
    assert len(macros) >= 11


def test_run_that_takes_long_is_not_followed_at_once(clock, schedule):
    run = _run(schedule, clock, Rhythm.MACRO)
    clock.advance(3600.0)
    schedule.finished(run)
    later = _run(schedule, clock, Rhythm.MACRO)
    assert clock.monotonic_s() == 300.0 + 3600.0 + 300.0
    assert later.missed == 0


def test_times_that_were_missed_are_counted_and_not_made_up_for(clock, schedule):
    clock.advance(1000.0)
    run = schedule.due()
    assert (run.rhythm, run.missed) == (Rhythm.MACRO, 2)
    schedule.finished(run)
    assert schedule.due() is None


def test_wall_clock_that_is_set_changes_nothing(clock, schedule):
    before = schedule.next_s()
    clock.set_wall(0.0)
    assert schedule.next_s() == before
    assert schedule.due() is None


def test_operator_may_ask_for_a_decision_but_not_within_the_gap(clock, schedule):
    schedule.ask_for(Rhythm.MACRO)
    assert schedule.due() is None
    clock.advance(60.0)
    assert schedule.due().rhythm is Rhythm.MACRO
    with pytest.raises(ModelError, match="without an event"):
        schedule.ask_for(Rhythm.EVENT)


def test_run_that_was_not_begun_cannot_be_finished(clock, schedule):
    run = _run(schedule, clock, Rhythm.MICRO)
    schedule.finished(run)
    with pytest.raises(ModelError, match="was not going on"):
        schedule.finished(run)


# The interval adapts.


def test_interval_runs_from_30_minutes_in_calm_to_2_in_storm():
    settings = ScheduleSettings()
    assert macro_interval_s(None, settings) == 300.0
    assert macro_interval_s(0.0, settings) == 1800.0
    assert macro_interval_s(1.0, settings) == pytest.approx(120.0)
    # Half way it is the geometric mean: sqrt(1800 x 120).
    assert macro_interval_s(0.5, settings) == pytest.approx(464.758, abs=1e-3)


def test_quiet_makes_decisions_rare_and_storm_makes_them_frequent(clock, schedule):
    def last_gap(volatility):
        times = []
        for _ in range(3):
            run = _run(schedule, clock, Rhythm.MACRO)
            times.append(clock.monotonic_s())
            schedule.see_volatility(volatility)
            schedule.finished(run)
        return times[-1] - times[-2]

    assert last_gap(0.0) == pytest.approx(1800.0)
    assert last_gap(1.0) == pytest.approx(120.0)


def test_settings_out_of_order_are_refused():
    with pytest.raises(ModelError, match="in rising order"):
        ScheduleSettings(macro_shortest_s=600.0)


# k of n.


def test_one_spike_does_nothing():
    seen = Recurrence(3, 5)
    assert not any(seen.see("n0", is_bad=k == 4) for k in range(20))


def test_three_of_five_fire_once():
    seen = Recurrence(3, 5)
    fired = [seen.see("n0", is_bad=bad) for bad in (True, False, True, False, True, True, True)]
    assert fired == [False, False, False, False, True, False, False]


def test_it_fires_again_only_after_it_was_well():
    seen = Recurrence(3, 5)
    bad = [True] * 3 + [False] * 2 + [True] * 3 + [False] * 3 + [True] * 3
    fired = [k for k, sample in enumerate(bad) if seen.see("n0", is_bad=sample)]
    assert fired == [2, 13]


def test_missing_sample_is_neither_bad_nor_well():
    seen = Recurrence(2, 3)
    assert [seen.see("n0", is_bad=s) for s in (True, None, None, True)] == [False, False, False, True]


def test_subjects_are_apart_and_forgotten_when_gone():
    seen = Recurrence(2, 3)
    assert not seen.see("n0", is_bad=True)
    assert not seen.see("n1", is_bad=True)
    seen.keep({"n1"})
    assert not seen.see("n0", is_bad=True)
    assert seen.see("n1", is_bad=True)


@pytest.mark.parametrize(("k", "n"), [(1, 3), (4, 3), (2, 4)])
def test_samples_that_cannot_tell_are_refused(k, n):
    with pytest.raises(ModelError, match="cannot tell"):
        Recurrence(k, n)
