"""What all readers share: the window, the machines, the gaps, the clock, the place of the traces."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fogfold.errors import TraceError, TraceNotFoundError
from fogfold.world.workload.folder import find_trace, traces_folder
from fogfold.world.workload.reading import (
    GapRule,
    build_reading,
    candidates,
    carried_rows,
    seconds_since_monday,
    window_rows,
)


def where(row: int, machine: int) -> str:
    return f"row {row}, machine {machine}"


def carried(column: str, rows: str = "", gaps: GapRule = "carry", limit: int = 12) -> list[int]:
    """Rows taken for one machine; '1' is observed and '0' missing, `rows` marks the wanted ones with '^'."""
    observed = np.array([[mark == "1"] for mark in column])
    wanted = np.flatnonzero([mark == "^" for mark in rows]) if rows else np.arange(len(column))
    return carried_rows(observed, wanted, gaps=gaps, limit=limit, describe=where)[:, 0].tolist()


def test_observed_samples_are_taken_as_they_are() -> None:
    assert carried("1111", gaps="refuse") == [0, 1, 2, 3]


def test_gap_takes_the_last_sample_before_it() -> None:
    assert carried("110011") == [0, 1, 1, 1, 4, 5]


def test_gap_is_refused_by_default_rule() -> None:
    with pytest.raises(TraceError, match='row 2, machine 0 is missing; give gaps="carry"'):
        carried("110011", gaps="refuse")


def test_gap_up_to_the_limit_is_carried_and_beyond_refused() -> None:
    assert carried("1001", limit=2) == [0, 0, 0, 3]
    with pytest.raises(TraceError, match="row 2, machine 0 is missing with 1 samples before it, limit 1"):
        carried("1001", limit=1)


def test_gap_at_the_start_is_never_filled() -> None:
    with pytest.raises(TraceError, match="row 0, machine 0 is missing and no sample stands before it"):
        carried("0111")


def test_gap_outside_the_window_does_not_matter() -> None:
    assert carried("0111100", "  ^^^  ", gaps="refuse") == [2, 3, 4]


def test_window_may_carry_a_sample_from_before_it() -> None:
    assert carried("110111", "   ^^^") == [3, 4, 5]
    assert carried("110011", "  ^^^^") == [1, 1, 4, 5]


@given(arrays(np.bool_, (20, 3)))
def test_carried_rows_are_observed_and_never_from_the_future(observed) -> None:
    observed[0] = True
    rows = np.arange(20)
    taken = carried_rows(observed, rows, gaps="carry", limit=20, describe=where)
    assert (taken <= rows[:, None]).all()
    assert np.take_along_axis(observed, taken, axis=0).all()
    assert (np.diff(taken, axis=0) >= 0).all()


def test_window_takes_the_sample_that_closes_it() -> None:
    assert window_rows(10, 300.0, 600.0, 900.0, "trace").tolist() == [2, 3, 4, 5]


def test_window_at_the_end_repeats_the_last_sample() -> None:
    assert window_rows(4, 300.0, 0.0, None, "trace").tolist() == [0, 1, 2, 3, 3]


@pytest.mark.parametrize(
    ("offset_s", "duration_s", "message"),
    [
        (100.0, 600.0, "offset_s is 100; trace has a sample each 300 s"),
        (0.0, 450.0, "duration_s is 450"),
        (-300.0, 600.0, "600 s from -300 s"),
        (0.0, 3300.0, "trace lasts 3000 s, stay within it"),
        (3000.0, None, "0 s from 3000 s"),
        (float("nan"), 300.0, "offset_s is nan"),
    ],
)
def test_window_beyond_the_trace_is_refused(offset_s, duration_s, message) -> None:
    with pytest.raises(TraceError, match=message):
        window_rows(10, 300.0, offset_s, duration_s, "trace")


def test_machines_are_taken_in_order_or_drawn_from_a_seed() -> None:
    assert candidates(5, 3, None, "trace").tolist() == [0, 1, 2, 3, 4]
    drawn = candidates(50, 3, 7, "trace")
    assert np.array_equal(drawn, candidates(50, 10, 7, "trace")), "asking for more keeps the first ones"
    assert sorted(drawn) == list(range(50))
    assert not np.array_equal(drawn, candidates(50, 3, 8, "trace"))


@pytest.mark.parametrize("wanted", [0, 6])
def test_more_machines_than_the_trace_holds_are_refused(wanted) -> None:
    with pytest.raises(TraceError, match=f"trace holds 5 machines, {wanted} are asked for"):
        candidates(5, wanted, None, "trace")


@given(st.integers(0, 4_000_000_000))
def test_week_time_agrees_with_the_calendar(unix_s) -> None:
    instant = dt.datetime.fromtimestamp(unix_s, dt.UTC)
    expected = instant.weekday() * 86400 + instant.hour * 3600 + instant.minute * 60 + instant.second
    assert seconds_since_monday(float(unix_s)) == expected


def test_reading_needs_a_region() -> None:
    with pytest.raises(TraceError, match="0 sites are asked for"):
        build_reading(
            source="trace",
            names=["a"],
            levels={"level": np.ones((2, 1))},
            rows=np.arange(2),
            taken=None,
            sample_s=300.0,
            start_s=0.0,
            sites=0,
        )


def test_filled_samples_are_counted_and_the_closing_row_is_no_gap() -> None:
    observed = np.array([[True, True], [False, True], [False, True]])
    rows = window_rows(3, 300.0, 0.0, None, "trace")
    reading = build_reading(
        source="trace",
        names=["a", "b"],
        levels={"level": np.array([[0.1, 0.4], [9.0, 0.5], [9.0, 0.6]])},
        rows=rows,
        taken=carried_rows(observed, rows, gaps="carry", limit=2, describe=where),
        sample_s=300.0,
        start_s=0.0,
        sites=3,
    )
    assert reading.filled_samples == 2
    assert reading.longest_gap_samples == 2
    assert reading.filled_share == 0.25
    assert np.allclose(reading.workload.level, [[0.1, 0.4], [0.1, 0.5], [0.1, 0.6], [0.1, 0.6]])
    assert reading.workload.surge.shape == (30, 3)


def test_traces_folder_is_the_one_of_the_environment(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("FOGFOLD_TRACES", str(tmp_path))
    assert traces_folder() == tmp_path


def test_wrong_variable_is_an_error_even_where_a_folder_stands_beside(tmp_path, monkeypatch) -> None:
    (tmp_path / "shared" / "traces").mkdir(parents=True)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("FOGFOLD_TRACES", str(tmp_path / "nowhere"))
    with pytest.raises(TraceNotFoundError, match="nowhere, which is no folder; set it"):
        traces_folder()


def test_traces_folder_is_found_beside_the_project(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("FOGFOLD_TRACES", raising=False)
    (tmp_path / "shared" / "traces").mkdir(parents=True)
    deep = tmp_path / "project" / "src" / "deep"
    deep.mkdir(parents=True)
    (tmp_path / "project" / "pyproject.toml").touch()
    for folder in (tmp_path / "project", deep):
        monkeypatch.chdir(folder)
        assert traces_folder() == tmp_path / "shared" / "traces"


def test_missing_folder_is_reported_with_the_remedy(tmp_path, monkeypatch) -> None:
    monkeypatch.delenv("FOGFOLD_TRACES", raising=False)
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    with pytest.raises(TraceNotFoundError, match="set \\$FOGFOLD_TRACES"):
        traces_folder()


def test_missing_trace_is_reported_with_what_is_there(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("FOGFOLD_TRACES", str(tmp_path))
    (tmp_path / "planetlab").mkdir()
    (tmp_path / "planetlab" / "20110303.npz").touch()
    with pytest.raises(TraceNotFoundError, match=r"that folder holds 20110303\.npz"):
        find_trace("planetlab", "20110304.npz")
    with pytest.raises(TraceNotFoundError, match="that folder is not there either"):
        find_trace("elsewhere", "20110304.npz")
