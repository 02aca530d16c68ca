"""Histories by container: gaps stay gaps, moves and restarts change nothing, late and repeated readings are counted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold.errors import ModelError, UnknownNameError
from fogfold.forecast.history import History, Receipt
from fogfold.model.identity import ContainerId

NAN = float("nan")


class Story(History):
    """A history whose containers are named by plain words."""

    def observe(self, time_s, readings):
        return super().observe(time_s, {ContainerId(name): value for name, value in readings.items()})


def named(*names):
    return [ContainerId(name) for name in names]


def rows(history, *names):
    """The window as lists, None for gaps."""
    return [
        [None if np.isnan(value) else float(value) for value in row]
        for row in history.window(named(*names) or None).tolist()
    ]


def test_readings_fall_into_the_step_of_their_time():
    history = Story(3, 300.0)
    history.observe(600.0, {"a": 1.0})
    history.observe(929.0, {"a": 2.0})
    history.observe(1200.0, {"a": 3.0})
    assert rows(history, "a") == [[1.0], [2.0], [3.0]]
    assert history.last_time_s == 1200.0


def test_gap_stays_a_gap_and_is_never_zero():
    history = Story(4, 60.0)
    history.observe(0.0, {"a": 1.0, "b": 5.0})
    history.observe(60.0, {"b": 6.0})
    history.observe(180.0, {"a": 4.0})
    assert rows(history, "a", "b") == [[1.0, 5.0], [None, 6.0], [None, None], [4.0, None]]


def test_late_reading_fills_its_gap():
    history = Story(3, 60.0)
    history.observe(0.0, {"a": 1.0})
    history.observe(120.0, {"a": 3.0})
    assert history.observe(60.0, {"a": 2.0}) == Receipt(taken=1, late=1, repeated=0, too_old=0)
    assert rows(history, "a") == [[1.0], [2.0], [3.0]]


def test_second_reading_of_a_step_is_refused_and_the_first_stands():
    history = Story(2, 60.0)
    history.observe(60.0, {"a": 1.0})
    assert history.observe(70.0, {"a": 9.0, "b": 2.0}) == Receipt(taken=1, late=0, repeated=1, too_old=0)
    assert rows(history, "a", "b")[-1] == [1.0, 2.0]


def test_reading_older_than_the_ring_is_refused():
    history = Story(2, 60.0)
    history.observe(600.0, {"a": 1.0})
    assert history.observe(480.0, {"a": 7.0, "new": 7.0}) == Receipt(0, 0, 0, too_old=2)
    assert history.ids == ("a",)
    assert rows(history, "a") == [[None], [1.0]]


def test_container_goes_when_the_ring_knows_nothing_of_it_any_more():
    history = Story(3, 60.0)
    history.observe(0.0, {"gone": 1.0, "here": 1.0})
    history.observe(120.0, {"here": 2.0})
    assert list(history.ids) == ["gone", "here"]
    history.observe(180.0, {"here": 3.0})
    assert list(history.ids) == ["here"]
    assert rows(history) == [[None], [2.0], [3.0]]


def test_time_without_any_reading_leaves_gaps():
    history = Story(3, 60.0)
    history.observe(0.0, {"a": 1.0})
    history.advance(60.0)
    history.advance(0.0)
    assert rows(history, "a") == [[None], [1.0], [None]]


def test_forgotten_container_starts_anew():
    history = Story(2, 60.0)
    history.observe(0.0, {"a": 1.0, "b": 2.0})
    history.forget(named("a", "never-seen"))
    history.observe(60.0, {"a": 3.0, "b": 4.0})
    assert rows(history, "a", "b") == [[None, 2.0], [3.0, 4.0]]


def test_history_goes_on_after_a_restart():
    history = Story(4, 60.0)
    history.observe(300.0, {"a": 1.0, "b": 2.0})
    history.observe(420.0, {"b": 3.0})
    again = History.restore(history.keep())
    for one in (history, again):
        one.observe(480.0, {ContainerId("a"): 4.0})
    assert rows(again) == rows(history)
    assert again.last_time_s == history.last_time_s
    assert Story.restore(Story(3, 60.0).keep()).ids == ()


def test_what_is_not_kept_is_refused():
    history = Story(2, 60.0)
    history.observe(0.0, {"shop-1": 1.0})
    with pytest.raises(UnknownNameError, match='did you mean "shop-1"'):
        history.window(named("shop-2"))
    with pytest.raises(ModelError, match="3 samples are asked for; the history keeps 2"):
        history.window(samples=3)


@pytest.mark.parametrize("reading", [NAN, float("inf"), -1.0])
def test_bad_reading_is_refused_and_nothing_is_taken(reading):
    history = Story(2, 60.0)
    with pytest.raises(ModelError, match="reading of b"):
        history.observe(0.0, {"a": 1.0, "b": reading})
    assert history.ids == ()
    assert history.last_time_s is None


@given(st.lists(st.tuples(st.integers(0, 40), st.sampled_from("abc"), st.integers(0, 99)), min_size=1, max_size=60))
def test_history_is_that_of_a_plain_table(calls):
    """The slow twin: a dictionary of every first reading, and the newest step."""
    history = Story(5, 10.0)
    table: dict[tuple[str, int], float] = {}
    newest = -1
    for step, name, value in calls:
        history.observe(step * 10.0 + 3.0, {name: float(value)})
        newest = max(newest, step)
        if step > newest - 5:
            table.setdefault((name, step), float(value))
        for key in [key for key in table if key[1] <= newest - 5]:
            del table[key]
    steps = range(newest - 4, newest + 1)
    assert set(history.ids) == {name for name, _ in table}
    for name in history.ids:
        assert [row[0] for row in rows(history, name)] == [table.get((name, step)) for step in steps]
