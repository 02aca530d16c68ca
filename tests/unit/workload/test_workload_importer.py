"""Any CSV measurement: read as it says, refused where it does not fit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fogfold.errors import TraceError, TraceNotFoundError
from fogfold.world.workload.importer import import_csv

GOOD = """time_s,container,cpu
0,web,0.1
0,queue,0.5
300,web,0.2
300,queue,0.6
600,queue,0.7
600,web,0.3
"""


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_rows_become_a_workload(tmp_path) -> None:
    reading = import_csv(written(tmp_path / "a.csv", GOOD), sites=2)
    assert reading.names == ("web", "queue")
    assert np.allclose(reading.workload.level, [[0.1, 0.5], [0.2, 0.6], [0.3, 0.7]])
    assert reading.workload.sample_s == 300.0
    assert reading.workload.ticks == 20, "the last time closes the workload"
    assert reading.workload.start_s == 0.0
    assert reading.workload.memory_level is None
    assert reading.workload.surge.shape == (20, 2)


def test_other_resources_and_any_order_of_columns_are_read(tmp_path) -> None:
    text = "cpu,disk,container,memory,time_s\n0.1,4,a,0.5,1200\n0.2,5,a,0.6,1260\n"
    workload = import_csv(written(tmp_path / "a.csv", text)).workload
    assert workload.sample_s == 60.0
    assert workload.start_s == 1200.0
    assert workload.memory_level is not None
    assert workload.disk_level is not None
    assert workload.memory_level[:, 0].tolist() == pytest.approx([0.5, 0.6])
    assert workload.disk_level[:, 0].tolist() == [4.0, 5.0]
    assert workload.network_level is None


def test_unix_times_become_times_of_the_week(tmp_path) -> None:
    """2013-07-31 22:00 UTC was a Wednesday."""
    text = "time_s,container,cpu\n1375308000,a,0.1\n1375308300,a,0.2\n"
    workload = import_csv(written(tmp_path / "a.csv", text), time_origin="unix").workload
    assert workload.start_s == 2 * 86400 + 22 * 3600


def test_gap_is_refused_or_carried_and_counted(tmp_path) -> None:
    path = written(tmp_path / "a.csv", GOOD.replace("300,web,0.2\n", ""))
    with pytest.raises(TraceError, match="container web, time_s 300 is missing"):
        import_csv(path)
    reading = import_csv(path, gaps="carry")
    assert reading.workload.level[:, 0].tolist() == pytest.approx([0.1, 0.1, 0.3])
    assert reading.filled_samples == 1
    with pytest.raises(TraceError, match="limit 0"):
        import_csv(path, gaps="carry", carry_limit=0)


def test_container_that_starts_late_is_refused(tmp_path) -> None:
    path = written(tmp_path / "a.csv", GOOD.replace("0,queue,0.5\n", "", 1))
    with pytest.raises(TraceError, match="container queue, time_s 0 is missing and no sample stands before it"):
        import_csv(path, gaps="carry")


def test_whole_sample_missing_for_all_is_a_gap(tmp_path) -> None:
    path = written(tmp_path / "a.csv", "time_s,container,cpu\n0,a,1\n30,a,2\n90,a,3\n")
    with pytest.raises(TraceError, match="container a, time_s 60 is missing"):
        import_csv(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("300,web,0.2", "300,web,nan", "line 4: cpu is nan; it must be finite"),
        ("300,web,0.2", "300,web,inf", "line 4: cpu is inf"),
        ("300,web,0.2", "300,web,-0.2", "line 4: cpu is -0.2"),
        ("300,web,0.2", "300,web,much", 'line 4: cpu is "much"; give a number'),
        ("300,web,0.2", "300,web,", 'line 4: cpu is ""; give a number'),
        ("300,web,0.2", "soon,web,0.2", 'line 4: time_s is "soon"'),
        ("300,web,0.2", "-300,web,0.2", "line 4: time_s is -300"),
        ("300,web,0.2", "300,,0.2", "line 4: container is empty"),
        ("300,web,0.2", "300,web", "line 4 has 2 columns; the header has 3"),
        ("300,web,0.2", "300,web,0.2,9", "line 4 has 4 columns"),
        ("300,web,0.2", "", "line 4 has 0 columns"),
        ("600,queue", "300,queue", "line 6: time_s 300 of container queue stands twice"),
        ("600,web", "150,web", "line 7: time_s 150 of container web runs back from 300"),
        ("600,web,0.3", "640,web,0.3", "multiple of a tick of 30 s"),
        ("time_s,container,cpu", "time_s,container", 'line 1 lacks column "cpu"'),
        ("time_s,container,cpu", "time_s,container,cpus", 'column "cpus" is unknown; did you mean "cpu"'),
        ("time_s,container,cpu", "time_s,container,cpu,cpu", 'column "cpu" stands twice'),
        ("web,0.1", 'web,"0.1', "cannot be read as CSV text"),
    ],
)
def test_malformed_file_is_refused_with_its_line(tmp_path, old, new, message) -> None:
    assert old in GOOD
    with pytest.raises(TraceError, match=message):
        import_csv(written(tmp_path / "a.csv", GOOD.replace(old, new, 1)))


def test_time_between_two_samples_is_refused(tmp_path) -> None:
    text = "time_s,container,cpu\n0,a,1\n300,a,1\n600,a,1\n750,b,1\n"
    with pytest.raises(TraceError, match="line 5: time_s 750 lies between two samples of 300 s from 0 s"):
        import_csv(written(tmp_path / "a.csv", text), sample_s=300.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'lacks column "time_s"'),
        ("time_s,container,cpu\n", "the trace is empty"),
        ("time_s,container,cpu\n0,a,1\n0,b,1\n", "has 1 distinct time"),
        ("time_s,container,cpu\n0,a,1\n10,a,1\n", "has a step of 10 s"),
    ],
)
def test_file_too_short_or_too_fine_is_refused(tmp_path, text, message) -> None:
    with pytest.raises(TraceError, match=message):
        import_csv(written(tmp_path / "a.csv", text))


def test_absent_or_binary_file_is_refused(tmp_path) -> None:
    with pytest.raises(TraceNotFoundError, match="is not a file"):
        import_csv(tmp_path / "a.csv")
    (tmp_path / "a.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TraceError, match="cannot be read as CSV text"):
        import_csv(tmp_path / "a.csv")
