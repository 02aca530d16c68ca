"""Bitbrains: archive and raw files agree, gaps are reported, and nothing malformed passes."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from fogfold.errors import ModelError, TraceError, TraceNotFoundError
from fogfold.world.workload.bitbrains import bitbrains_month, read_bitbrains
from fogfold.world.workload.bitbrains_raw import COLUMNS

T0 = 1_375_308_000
"""Wednesday 2013-07-31 22:00 UTC."""


def archive(path: Path, missing: tuple[tuple[int, int], ...] = (), **changes) -> Path:
    """Three machines over 16 samples; machine 22 has no memory provisioned."""
    samples = 16
    ramp = np.arange(samples, dtype=np.uint32)
    observed = np.ones((3, samples), np.uint8)
    for machine, sample in missing:
        observed[machine, sample] = 0
    arrays = {
        "t0": np.array(T0),
        "vm_id": np.array([11, 22, 33], np.int32),
        "cpu_cores": np.array([1, 1, 2], np.int16),
        "cpu_capacity_mhz": np.array([2600, 2600, 5200], np.float32),
        "mem_capacity_mb": np.array([1000, 0, 4000], np.uint32),
        "cpu_pct_x100": np.stack([100 * ramp, 5 * ramp, 200 * ramp]).astype(np.uint16),
        "mem_used_mb": np.stack([10 * ramp, ramp, 100 * ramp]),
        "net_rx_kbs": np.stack([7 * ramp, ramp, ramp]),
        "net_tx_kbs": np.stack([100 * ramp, ramp, ramp % 2]),
        "disk_read_kbs": np.stack([20 * ramp, ramp, ramp]),
        "disk_write_kbs": np.stack([30 * ramp, ramp, ramp]),
        "observed": np.packbits(observed, axis=1),
    } | changes
    np.savez_compressed(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


def raw_row(time: float, percent: float = 10.0, sent: float = 40.0, memory_kb: float = 1000.0) -> list[str]:
    values = [time, 2, 5200.0, 520.0, percent, memory_kb, 250.0, 3.0, 5.0, 1.0, sent]
    return [str(value) for value in values]


def raw(path: Path, rows: list[list[str]], header: tuple[str, ...] = COLUMNS) -> Path:
    text = "\n".join(";\t".join(row) for row in [list(header), *rows]) + "\n"
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def steady(path: Path, count: int = 8, first: int = T0) -> Path:
    return raw(path, [raw_row(first + 300 * i, percent=10.0 * i) for i in range(count)])


def test_all_four_levels_are_filled(tmp_path) -> None:
    reading = read_bitbrains(archive(tmp_path / "a.npz"), sites=2)
    workload = reading.workload
    assert reading.names == ("11", "33")
    assert reading.left_out == ("22",), "no memory provisioned is not zero demand"
    assert workload.level.shape == (17, 2)
    assert workload.level[3].tolist() == pytest.approx([0.03, 0.06])
    assert workload.memory_level is not None
    assert workload.memory_level[3].tolist() == pytest.approx([0.03, 0.075])
    # 99th percentile of 0, 100 .. 1500 is 1485; the other sends at most 1 KB/s, so its reference is the floor of 10.
    assert workload.network_level is not None
    assert workload.network_level[3].tolist() == pytest.approx([300 / 1485, 0.1])
    # Read and written together: 50 a sample, so 742.5; the other 2 a sample, so 29.7.
    assert workload.disk_level is not None
    assert workload.disk_level[3].tolist() == pytest.approx([150 / 742.5, 6 / 29.7])
    assert workload.start_s == 2 * 86400 + 22 * 3600


def test_reference_may_be_the_peak(tmp_path) -> None:
    workload = read_bitbrains(archive(tmp_path / "a.npz"), reference_quantile=1.0).workload
    assert workload.network_level is not None
    assert workload.network_level[:, 0].max() == 1.0
    with pytest.raises(ModelError, match="reference_quantile is 0"):
        read_bitbrains(archive(tmp_path / "a.npz"), reference_quantile=0.0)


def test_archive_carries_over_gaps_and_counts_them(tmp_path) -> None:
    path = archive(tmp_path / "a.npz", missing=((0, 5), (0, 6), (2, 9)))
    reading = read_bitbrains(path)
    assert reading.filled_samples == 3
    assert reading.longest_gap_samples == 2
    assert reading.workload.level[4:8, 0].tolist() == pytest.approx([0.04, 0.04, 0.04, 0.07])
    with pytest.raises(TraceError, match="machine 11, Unix time 1375309500 s is missing"):
        read_bitbrains(path, gaps="refuse")
    with pytest.raises(TraceError, match="limit 1; raise the limit"):
        read_bitbrains(path, carry_limit=1)


def test_window_and_machines_can_be_chosen(tmp_path) -> None:
    path = archive(tmp_path / "a.npz", missing=((0, 1),))
    reading = read_bitbrains(path, machines=1, offset_s=1200.0, duration_s=900.0, gaps="refuse")
    assert reading.workload.level[:, 0].tolist() == pytest.approx([0.04, 0.05, 0.06, 0.07])
    assert reading.workload.start_s == 2 * 86400 + 22 * 3600 + 1200
    names = {read_bitbrains(path, machines=1, seed=seed).names for seed in range(20)}
    assert names == {("11",), ("33",)}
    with pytest.raises(TraceError, match="holds 2 machines, 3 are asked for"):
        read_bitbrains(path, machines=3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"gpu": np.zeros(3)}, 'holds an array "gpu", which is unknown'),
        ({"net_tx_kb": np.zeros(3)}, 'did you mean "net_tx_kbs"'),
        ({"observed": None}, "lacks observed"),
        ({"t0": np.array(1.5)}, 'array "t0" is float64'),
        ({"mem_used_mb": np.zeros((3, 15), np.uint32)}, 'array "mem_used_mb"'),
        ({"net_tx_kbs": np.full((3, 16), np.nan)}, 'array "net_tx_kbs" is float64'),
        ({"disk_read_kbs": np.full((3, 16), -1)}, 'array "disk_read_kbs" is int64'),
        ({"cpu_capacity_mhz": np.array([np.nan, 1, 1])}, "cpu_capacity_mhz of machine 11 is nan"),
        ({"cpu_cores": np.array([1, -2, 1])}, "cpu_cores of machine 22 is -2"),
        ({"observed": np.zeros((3, 1), np.uint8)}, 'array "observed"'),
        ({"cpu_pct_x100": np.zeros((3, 0), np.uint16)}, "the trace is empty"),
    ],
)
def test_malformed_archive_is_refused(tmp_path, changes, message) -> None:
    with pytest.raises(TraceError, match=message):
        read_bitbrains(archive(tmp_path / "a.npz", **changes))


def test_raw_file_is_read_on_the_grid(tmp_path) -> None:
    for name in ("1.csv", "1.csv.gz"):
        reading = read_bitbrains(steady(tmp_path / name))
        workload = reading.workload
        assert reading.names == ("1",)
        assert workload.start_s == 2 * 86400 + 22 * 3600, "the column named [ms] holds seconds"
        assert workload.level[:, 0].tolist() == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.7])
        assert workload.memory_level is not None
        assert workload.memory_level[0, 0] == 0.25
        assert workload.network_level is not None
        assert workload.network_level[0, 0] == 1.0


def test_samples_between_the_grid_are_followed_on_straight_lines(tmp_path) -> None:
    """From 22:01 on: at 22:05 the level stands 4/5 of the way from the first sample to the second."""
    reading = read_bitbrains(steady(tmp_path / "1.csv", first=T0 + 60))
    assert reading.workload.start_s == 2 * 86400 + 22 * 3600 + 300
    assert reading.workload.level[:2, 0].tolist() == pytest.approx([0.08, 0.18])
    assert reading.filled_samples == 0


def test_clock_that_drifts_makes_no_gap(tmp_path) -> None:
    rows = [raw_row(T0 + 7 + 301 * i) for i in range(400)]
    assert read_bitbrains(raw(tmp_path / "1.csv", rows)).filled_samples == 0


def test_gap_in_a_raw_file_is_refused_or_carried(tmp_path) -> None:
    rows = [raw_row(T0 + 300 * i, percent=10.0 * i) for i in (0, 1, 2, 5, 6)]
    path = raw(tmp_path / "1.csv", rows)
    with pytest.raises(TraceError, match=f"machine 1, Unix time {T0 + 900} s is missing"):
        read_bitbrains(path)
    reading = read_bitbrains(path, gaps="carry")
    assert reading.filled_samples == 2
    assert reading.workload.level[:, 0].tolist() == pytest.approx([0.0, 0.1, 0.2, 0.2, 0.2, 0.5, 0.6, 0.6])


def test_sample_without_provisioned_memory_is_a_gap_not_a_zero(tmp_path) -> None:
    rows = [raw_row(T0 + 300 * i, memory_kb=0.0 if i == 3 else 1000.0) for i in range(6)]
    with pytest.raises(TraceError, match=f"Unix time {T0 + 900} s is missing"):
        read_bitbrains(raw(tmp_path / "1.csv", rows))


def test_folder_of_raw_files_is_read_in_the_order_of_numbers(tmp_path) -> None:
    for number in (10, 9, 2):
        steady(tmp_path / f"2013-8_{number}.csv", first=T0 - 300 * number, count=20)
    reading = read_bitbrains(tmp_path)
    assert reading.names == ("2013-8_2", "2013-8_9", "2013-8_10")
    # The span that all cover: from 22:00 less 2 x 5 min to the last sample of the tenth, 20 samples after its first.
    assert reading.workload.start_s == 2 * 86400 + 22 * 3600 - 600
    assert reading.workload.level.shape == (13, 3)
    assert read_bitbrains(tmp_path, machines=1).names == ("2013-8_2",)


def test_machine_without_provision_is_passed_over_and_named(tmp_path) -> None:
    raw(tmp_path / "1.csv", [raw_row(T0 + 300 * i, memory_kb=0.0) for i in range(8)])
    steady(tmp_path / "2.csv")
    reading = read_bitbrains(tmp_path, machines=1)
    assert reading.names == ("2",)
    assert reading.left_out == ("1",)
    with pytest.raises(TraceError, match="holds 1 machines with CPU and memory provisioned, 2 are needed"):
        read_bitbrains(tmp_path, machines=2)


def test_files_of_different_days_are_refused(tmp_path) -> None:
    steady(tmp_path / "1.csv")
    steady(tmp_path / "2.csv", first=T0 + 86400)
    with pytest.raises(TraceError, match="the files share no span"):
        read_bitbrains(tmp_path)


@pytest.mark.parametrize(
    ("column", "text", "message"),
    [
        (4, "nan", r'line 4: "CPU usage \[%\]" is nan; it must be finite'),
        (4, "inf", r'line 4: "CPU usage \[%\]" is inf'),
        (6, "-1", r'line 4: "Memory usage \[KB\]" is -1'),
        (9, "idle", "line 4: could not convert string to float: 'idle'"),
        (10, "", "line 4: could not convert string to float"),
        (0, str(T0 + 300), f"line 4: time {T0 + 300} stands twice"),
        (0, str(T0 + 299), f"line 4: time {T0 + 299} runs back from {T0 + 300}"),
        (0, str(T0 * 1000), "line 4: time 1375308000000 would be milliseconds"),
    ],
)
def test_malformed_value_is_refused_with_file_line_and_value(tmp_path, column, text, message) -> None:
    rows = [raw_row(T0 + 300 * i) for i in range(5)]
    rows[2][column] = text
    with pytest.raises(TraceError, match=rf"1\.csv, {message}"):
        read_bitbrains(raw(tmp_path / "1.csv", rows))


def test_wrong_number_of_columns_is_refused(tmp_path) -> None:
    rows = [raw_row(T0), raw_row(T0 + 300)[:-1], raw_row(T0 + 600)]
    with pytest.raises(TraceError, match="line 3 has 10 columns; the header has 11"):
        read_bitbrains(raw(tmp_path / "1.csv", rows))


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (COLUMNS[:-1], "column 11 is nothing, expected"),
        ((*COLUMNS, "GPU"), 'column 12 is "GPU", expected "nothing more"|column 12 is "GPU", expected nothing more'),
        (("Time", *COLUMNS[1:]), r'line 1: column 1 is "Time", expected "Timestamp \[ms\]"'),
    ],
)
def test_unknown_header_is_refused(tmp_path, header, message) -> None:
    with pytest.raises(TraceError, match=message):
        read_bitbrains(raw(tmp_path / "1.csv", [raw_row(T0), raw_row(T0 + 300)], header))


@pytest.mark.parametrize("samples", [0, 1])
def test_short_file_is_refused(tmp_path, samples) -> None:
    with pytest.raises(TraceError, match=f"has {samples} samples below its header"):
        read_bitbrains(raw(tmp_path / "1.csv", [raw_row(T0)] * samples))


def test_unreadable_sources_are_refused(tmp_path) -> None:
    (tmp_path / "0.csv").write_text("")
    with pytest.raises(TraceError, match='column 1 is "", expected'):
        read_bitbrains(tmp_path / "0.csv")
    (tmp_path / "0.csv").write_bytes(b"\xff\xff")
    with pytest.raises(TraceError, match="cannot be read as text"):
        read_bitbrains(tmp_path / "0.csv")
    (tmp_path / "0.csv").unlink()
    (tmp_path / "1.csv.gz").write_bytes(b"not gzip")
    with pytest.raises(TraceError, match="cannot be read as text"):
        read_bitbrains(tmp_path / "1.csv.gz")
    (tmp_path / "1.csv.gz").unlink()
    with pytest.raises(TraceError, match="holds no file"):
        read_bitbrains(tmp_path)
    (tmp_path / "README.txt").touch()
    with pytest.raises(TraceError, match=r"README\.txt is no \.csv or \.csv\.gz file"):
        read_bitbrains(tmp_path)
    with pytest.raises(TraceNotFoundError, match="neither a file nor a folder"):
        read_bitbrains(tmp_path / "nowhere")


@pytest.fixture
def month() -> Path:
    try:
        return bitbrains_month()
    except TraceNotFoundError as absent:
        pytest.skip(str(absent))


@pytest.mark.traces
def test_real_month_is_read_with_its_gaps(month) -> None:
    reading = read_bitbrains(month, duration_s=7 * 86400.0)
    assert reading.workload.level.shape == (2017, 249)
    assert reading.left_out == ("265",), "the one machine with no core, no clock and no memory"
    assert reading.longest_gap_samples <= 12
    assert 0 < reading.filled_share < 0.01
    assert reading.workload.start_s == 2 * 86400 + 22 * 3600


@pytest.mark.traces
def test_real_raw_file_agrees_with_the_archive(month) -> None:
    source = month.parent / "raw_sample" / "2013-8_1.csv.gz"
    if not source.is_file():
        pytest.skip(f"{source} is not on this machine")
    from_file = read_bitbrains(source, gaps="carry").workload
    from_month = read_bitbrains(month, machines=1).workload
    assert from_file.level.mean() == pytest.approx(from_month.level.mean(), rel=0.01)
    assert from_file.network_level is not None
    assert from_file.network_level.shape == from_file.level.shape
    with pytest.raises(TraceError, match="line 118: time 1375342679 stands twice"):
        read_bitbrains(month.parent / "raw_sample" / "2013-8_20.csv.gz", gaps="carry")
