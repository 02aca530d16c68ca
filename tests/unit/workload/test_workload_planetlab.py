"""PlanetLab days: both forms give the same workload, and nothing malformed passes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fogfold.errors import TraceError, TraceNotFoundError
from fogfold.world.workload.planetlab import planetlab_day, read_planetlab

NAMES = ("alpha", "Beta", "gamma")


def percents() -> np.ndarray:
    cpu = np.arange(3 * 288).reshape(3, 288) % 101
    return cpu.astype(np.uint8)


def archive(path: Path, **changes) -> Path:
    arrays = {"cpu": percents(), "names": np.array(NAMES), "ascii_order": np.array([1, 0, 2], np.int32)} | changes
    np.savez_compressed(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


def folder(path: Path) -> Path:
    path.mkdir()
    for name, row in zip(NAMES, percents()):
        (path / name).write_text("\n".join(str(value) for value in row) + "\n")
    return path


def test_archive_gives_shares_of_a_whole_day(tmp_path) -> None:
    reading = read_planetlab(archive(tmp_path / "20110303.npz"), sites=4)
    workload = reading.workload
    assert workload.level.shape == (289, 3)
    assert workload.ticks == 2880
    assert np.allclose(workload.level[:288].T * 100, percents(), atol=1e-4)
    assert np.array_equal(workload.level[288], workload.level[287]), "the last sample is held, as in CloudSim"
    assert workload.memory_level is None
    assert (workload.surge == 1).all()
    assert workload.surge.shape == (2880, 4)
    assert reading.names == NAMES
    assert reading.filled_samples == 0


def test_day_stands_on_its_weekday(tmp_path) -> None:
    """3 March 2011 was a Thursday."""
    workload = read_planetlab(archive(tmp_path / "20110303.npz"), offset_s=3600.0).workload
    assert workload.start_s == 3 * 86400.0 + 3600.0


def test_text_files_give_the_same_in_case_insensitive_order(tmp_path) -> None:
    from_text = read_planetlab(folder(tmp_path / "20110303"))
    from_archive = read_planetlab(archive(tmp_path / "20110303.npz"))
    assert from_text.names == NAMES
    assert np.array_equal(from_text.workload.level, from_archive.workload.level)
    assert from_text.workload.start_s == from_archive.workload.start_s


def test_window_and_machines_can_be_chosen(tmp_path) -> None:
    reading = read_planetlab(archive(tmp_path / "20110303.npz"), machines=2, offset_s=600.0, duration_s=900.0)
    assert np.allclose(reading.workload.level.T * 100, percents()[:2, 2:6], atol=1e-4)
    drawn = read_planetlab(archive(tmp_path / "20110303.npz"), machines=2, seed=1)
    again = read_planetlab(archive(tmp_path / "20110303.npz"), machines=2, seed=1)
    assert drawn.names == again.names


def test_days_stand_side_by_side(tmp_path) -> None:
    days = [archive(tmp_path / "20110303.npz"), archive(tmp_path / "20110306.npz")]
    reading = read_planetlab(days)
    assert reading.workload.level.shape == (289, 6)
    assert reading.names[3] == "20110306/alpha"
    assert reading.workload.start_s == 3 * 86400.0


def test_name_without_a_date_needs_a_start(tmp_path) -> None:
    path = archive(tmp_path / "some.npz")
    with pytest.raises(TraceError, match=r"not named by a date such as 20110303 .*give start_s"):
        read_planetlab(path)
    assert read_planetlab(path, start_s=7.0).workload.start_s == 7.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"memory": np.zeros(3)}, 'holds an array "memory", which is unknown; known: ascii_order, cpu, names'),
        ({"Cpu": percents()}, 'array "Cpu", which is unknown; did you mean "cpu"'),
        ({"names": None}, "lacks names; it holds cpu, ascii_order"),
        (
            {"cpu": percents()[:, :287]},
            r'array "cpu" is uint8 of shape \(3, 287\); expected unsigned of shape \(any, 288',
        ),
        ({"cpu": percents().astype(np.float64)}, 'array "cpu" is float64'),
        ({"cpu": percents().astype(np.int8)}, 'array "cpu" is int8'),
        ({"names": np.array(["a"])}, 'array "names"'),
        ({"names": np.array([1, 2, 3])}, 'array "names" is int64'),
        ({"ascii_order": np.array([0, 0, 2])}, "no permutation of the 3 machines"),
        ({"cpu": np.full((3, 288), 101, np.uint8)}, "machine alpha, sample 0 is 101; CPU use is a whole percentage"),
        (
            {"cpu": np.zeros((0, 288), np.uint8), "names": np.zeros(0, "U1"), "ascii_order": np.zeros(0, np.int32)},
            "the trace is empty",
        ),
        ({"names": np.array([{}, 1, 2], object)}, "cannot be read as a numpy archive"),
    ],
)
def test_malformed_archive_is_refused(tmp_path, changes, message) -> None:
    with pytest.raises(TraceError, match=message):
        read_planetlab(archive(tmp_path / "20110303.npz", **changes))


def test_file_that_is_no_archive_is_refused(tmp_path) -> None:
    path = tmp_path / "20110303.npz"
    path.write_text("nothing")
    with pytest.raises(TraceError, match=r"is no numpy archive \(\.npz\)"):
        read_planetlab(path)
    whole = archive(tmp_path / "whole.npz").read_bytes()
    path.write_bytes(whole[:100] + bytes(40) + whole[140:])
    with pytest.raises(TraceError, match="cannot be read as a numpy archive"):
        read_planetlab(path)


@pytest.mark.parametrize(
    ("line", "text"),
    [(5, "nan"), (1, "-3"), (288, "12.5"), (7, "101"), (9, ""), (2, "busy"), (3, "1 2"), (4, "1e1")],
)
def test_malformed_line_is_refused_with_file_line_and_value(tmp_path, line, text) -> None:
    path = folder(tmp_path / "20110303")
    lines = (path / "Beta").read_text().splitlines()
    lines[line - 1] = text
    (path / "Beta").write_text("\n".join(lines) + "\n")
    with pytest.raises(TraceError, match=f'Beta, line {line} is "{text}"; CPU use is a whole percentage'):
        read_planetlab(path)


@pytest.mark.parametrize("lines", [0, 287, 289])
def test_short_or_long_file_is_refused(tmp_path, lines) -> None:
    path = folder(tmp_path / "20110303")
    (path / "gamma").write_text("1\n" * lines)
    with pytest.raises(TraceError, match=f"gamma has {lines} lines; a day has 288"):
        read_planetlab(path)


def test_what_is_not_a_machine_is_refused(tmp_path) -> None:
    path = folder(tmp_path / "20110303")
    (path / "more").mkdir()
    with pytest.raises(TraceError, match="more is not a file"):
        read_planetlab(path)
    (path / "more").rmdir()
    (path / "more").write_bytes(b"\xff\xfe")
    with pytest.raises(TraceError, match="more is not plain text"):
        read_planetlab(path)


def test_empty_or_absent_sources_are_refused(tmp_path) -> None:
    with pytest.raises(TraceNotFoundError, match=r"neither an \.npz archive nor a folder"):
        read_planetlab(tmp_path / "20110303")
    with pytest.raises(TraceNotFoundError, match="is not a file; check the path"):
        read_planetlab(tmp_path / "20110303.npz")
    (tmp_path / "20110303").mkdir()
    with pytest.raises(TraceError, match="holds no file"):
        read_planetlab(tmp_path / "20110303")
    with pytest.raises(TraceError, match="no PlanetLab day is given"):
        read_planetlab([])


@pytest.mark.traces
@pytest.mark.parametrize(
    ("day", "machines", "mean"),
    [("20110303", 1052, 0.1231), ("20110306", 898, 0.1144), ("20110322", 1516, 0.0926), ("20110420", 1033, 0.1043)],
)
def test_real_day_has_the_known_machines_and_mean(day, machines, mean) -> None:
    try:
        source = planetlab_day(day)
    except TraceNotFoundError as absent:
        pytest.skip(str(absent))
    reading = read_planetlab(source)
    assert reading.workload.containers == machines
    assert reading.workload.level[:288].mean() == pytest.approx(mean, abs=5e-5)
    assert list(reading.names) == sorted(reading.names, key=str.upper)
