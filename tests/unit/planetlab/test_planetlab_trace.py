"""Reading a day: both forms give the same, and nothing malformed passes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fogfold.compiled import Array
from fogfold.errors import TraceError, TraceNotFoundError, UnknownNameError
from fogfold.evaluate.planetlab import DayTrace, known_days, read_day

NAMES = ["alpha_one", "Beta_two", "gamma_three"]


@pytest.fixture
def percent():
    return np.random.default_rng(1).integers(0, 100, (3, 288)).astype(np.uint8)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "planetlab").mkdir()
    return tmp_path


def save(folder: Path, percent: Array, names: list[str] = NAMES, day: str = "20110303") -> None:
    np.savez_compressed(folder / "planetlab" / f"{day}.npz", cpu=percent, names=np.array(names), ascii_order=[1, 0, 2])


def write_text(folder: Path, percent: Array, day: str = "20110303") -> Path:
    path = folder / "planetlab" / day
    path.mkdir()
    for name, row in zip(NAMES, percent):
        (path / name).write_text("".join(f"{value}\n" for value in row))
    return path


def test_an_archive_reads_as_it_was_saved(folder, percent):
    save(folder, percent)
    trace = read_day("20110303", folder)
    assert trace.names == tuple(NAMES)
    assert np.array_equal(trace.cpu_percent, percent)


def test_a_folder_of_text_reads_in_case_insensitive_order(folder, percent):
    # Byte order would put "Beta_two" first.
    write_text(folder, percent)
    trace = read_day("20110303", folder)
    assert trace.names == tuple(NAMES)
    assert np.array_equal(trace.cpu_percent, percent)


def test_the_folder_may_hold_the_days_itself(folder, percent):
    save(folder, percent)
    assert known_days(folder / "planetlab") == ("20110303",)


def test_the_environment_names_the_folder(folder, percent, monkeypatch):
    save(folder, percent)
    monkeypatch.setenv("FOGFOLD_TRACES", str(folder))
    assert known_days() == ("20110303",)


def test_an_unknown_day_is_refused_with_the_nearest(folder, percent):
    save(folder, percent)
    with pytest.raises(UnknownNameError, match=r'"20110330".*did you mean "20110303"'):
        read_day("20110330", folder)


def test_a_missing_folder_is_said_with_its_remedy(tmp_path):
    with pytest.raises(TraceNotFoundError, match="FOGFOLD_TRACES"):
        read_day("20110303", tmp_path)


@pytest.mark.parametrize("line", ["101", "-1", "3.5", "", "x"])
def test_a_line_that_is_no_percent_is_refused_with_its_number(folder, percent, line):
    path = write_text(folder, percent)
    lines = (path / "Beta_two").read_text().splitlines()
    lines[6] = line
    (path / "Beta_two").write_text("\n".join(lines))
    with pytest.raises(TraceError, match=f'Beta_two, line 7 is "{line}"'):
        read_day("20110303", folder)


def test_a_short_file_is_refused(folder, percent):
    path = write_text(folder, percent)
    (path / "alpha_one").write_text("1\n" * 287)
    with pytest.raises(TraceError, match="alpha_one has 287 lines; a day has 288"):
        read_day("20110303", folder)


def test_a_value_above_100_is_refused_with_its_place(folder, percent):
    percent[1, 5] = 130
    save(folder, percent)
    with pytest.raises(TraceError, match=r"20110303.npz: machine Beta_two, sample 5 is 130"):
        read_day("20110303", folder)


def test_rows_out_of_order_are_refused(folder, percent):
    save(folder, percent, names=["alpha_one", "gamma_three", "Beta_two"])
    with pytest.raises(TraceError, match="row 2: Beta_two comes after gamma_three"):
        read_day("20110303", folder)


def test_a_broken_archive_is_refused(folder, percent):
    save(folder, percent)
    path = folder / "planetlab" / "20110303.npz"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(TraceError, match=r"20110303.npz"):
        read_day("20110303", folder)


def test_every_percent_survives_the_reader(folder):
    percent = np.tile(np.arange(101), 3)[: 3 * 96].astype(np.uint8)
    save(folder, np.tile(percent, (3, 1)))
    assert np.array_equal(read_day("20110303", folder).cpu_percent[0], percent)


def test_a_table_that_cannot_be_is_refused():
    with pytest.raises(TraceError, match="0 VMs"):
        DayTrace("20110303", (), np.zeros((0, 288), np.uint8))
    with pytest.raises(TraceError, match="1 names for 2 VMs"):
        DayTrace("20110303", ("a",), np.zeros((2, 288), np.uint8))
    with pytest.raises(TraceError, match=r"row 1 \(b\), sample 2 is 101"):
        DayTrace("20110303", ("a", "b"), np.array([[1, 2, 3], [4, 5, 101]]))
