"""Forms of records: what is read, what is refused as a whole, and what is counted row by row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fogfold.calibrate.beliefs import described
from fogfold.calibrate.calibration import held_back
from fogfold.calibrate.files import observations_of, read_folder, read_rows, write_rows
from fogfold.calibrate.page import records_page
from fogfold.calibrate.records import Kind
from fogfold.calibrate.sift import sift
from fogfold.errors import ModelError, TraceError, TraceNotFoundError
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario


@pytest.fixture(scope="module")
def cluster():
    return described(build(load_scenario("tiny-4"), 1))


def columns_of(rows) -> Any:
    return observations_of(rows)


def sifted(observations, cluster) -> Any:
    return sift(observations, cluster)


def written(tmp_path, text, name="readings.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def refusal(tmp_path, text, kind=Kind.READINGS):
    with pytest.raises(TraceError) as caught:
        read_rows(written(tmp_path, text), kind)
    return str(caught.value)


def test_empty_cells_are_not_measured_and_never_zero(tmp_path):
    path = written(tmp_path, "time_s,node,power_w,cpu_cores\n0,edge-00,,1.5\n60,edge-00,7,\n")
    found = columns_of({Kind.READINGS: read_rows(path, Kind.READINGS)}).readings
    assert np.isnan(found.power_w).tolist() == [True, False]
    assert np.isnan(found.cpu_cores).tolist() == [False, True]


def test_rows_come_in_the_order_of_time_with_their_lines(tmp_path):
    path = written(tmp_path, "time_s,node,power_w,cpu_cores\n60,a,2,1\n0,b,1,1\n")
    found = columns_of({Kind.READINGS: read_rows(path, Kind.READINGS)}).readings
    assert found.node.tolist() == ["b", "a"]
    assert found.line.tolist() == [3, 2]


def test_unknown_column_is_refused_with_the_nearest(tmp_path):
    assert 'did you mean "power_w"?' in refusal(tmp_path, "time_s,node,powr_w,cpu_cores\n")


def test_missing_column_is_refused_with_what_is_needed(tmp_path):
    assert "'cpu_cores' is missing; readings need time_s, node, power_w, cpu_cores" in refusal(
        tmp_path, "time_s,node,power_w\n0,a,1\n"
    )


def test_empty_file_is_refused(tmp_path):
    assert "is empty" in refusal(tmp_path, "")
    assert "has no rows" in refusal(tmp_path, "time_s,node,power_w,cpu_cores\n")


def test_what_is_no_number_is_refused_by_line_and_column(tmp_path):
    text = "time_s,node,power_w,cpu_cores\n0,a,7,1\n60,a,seven,1\n"
    assert ":3: power_w is 'seven', which is no number" in refusal(tmp_path, text)


def test_ragged_row_is_refused(tmp_path):
    assert ":2: the row has 3 cells, the header 4" in refusal(tmp_path, "time_s,node,power_w,cpu_cores\n0,a,7\n")


def test_needed_cell_may_not_be_empty(tmp_path):
    assert ":2: node is empty" in refusal(tmp_path, "time_s,node,power_w,cpu_cores\n0,,7,1\n")


def test_folder_without_records_is_refused(tmp_path):
    with pytest.raises(TraceNotFoundError, match="holds no records"):
        read_folder(tmp_path)


def test_parquet_is_read_like_csv(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "boots.parquet"
    with duckdb.connect() as connection:
        connection.sql("select 'edge-00' as node, 0.0 as ordered_s, 61.5 as up_s").write_parquet(str(path))
    found = columns_of(read_folder(tmp_path)).boots
    assert found.took_s.tolist() == [61.5]
    assert found.outcome.tolist() == ["up"]


def test_what_is_written_is_read_again(tmp_path):
    rows = [{"node": "edge-00", "ordered_s": 0.1, "up_s": None, "outcome": "failed", "resolution_s": 30.0}]
    path = tmp_path / "boots.csv"
    assert write_rows(path, Kind.BOOTS, rows) == 1
    (row,) = read_rows(path, Kind.BOOTS)
    assert {key: row[key] for key in ("node", "ordered_s", "outcome", "resolution_s")} == {
        key: rows[0][key] for key in ("node", "ordered_s", "outcome", "resolution_s")
    }
    assert "up_s" not in row


def readings(**columns):
    count = len(next(iter(columns.values())))
    rows = [{"time_s": 60.0 * i, "node": "edge-00", "power_w": 8.0, "cpu_cores": 1.0} for i in range(count)]
    for name, values in columns.items():
        for row, value in zip(rows, values, strict=True):
            row[name] = value
    return columns_of({Kind.READINGS: rows})


def test_impossible_readings_are_refused_and_counted_by_reason(cluster):
    power = [8.0] * 12 + [-3.0, 0.0, None]
    cores = [1.0] * 10 + [-1.0, 900.0, 1.0, 1.0, 1.0]
    usable, refused = sifted(readings(power_w=power, cpu_cores=cores), cluster)
    assert len(usable.readings) == 10
    counted = {reason: told for (_, reason), told in refused.rows.items()}
    assert counted == {
        "power was not measured": (1, 16),
        "power is negative": (1, 14),
        "power is 0 W on a node that is on: a meter that reads nothing": (1, 15),
        "usage is negative": (1, 12),
        "usage is above the node's capacity": (1, 13),
    }


def test_nodes_that_were_not_on_are_left_out_without_complaint(cluster):
    usable, refused = sifted(readings(state=["asleep"] * 8 + ["on", ""]), cluster)
    assert len(usable.readings) == 2
    assert refused.of(Kind.READINGS) == 8


def test_mostly_negative_power_is_an_error(cluster):
    with pytest.raises(ModelError, match=r"3 of 4 rows of the readings cannot be used, most because power is negative"):
        sifted(readings(power_w=[-1.0, -1.0, -1.0, 8.0]), cluster)


def test_unknown_nodes_are_an_error_with_the_nearest_name(cluster):
    with pytest.raises(ModelError, match='edge-0: did you mean "edge-0'):
        sifted(readings(node=["edge-0"] * 3), cluster)


def test_a_row_may_name_its_machine_itself(cluster):
    usable, _ = sifted(readings(node=["till-7"] * 3, machine=["radxa-rock-5b"] * 3), cluster)
    assert len(usable.readings) == 3


def test_same_reading_twice_counts_once(cluster):
    usable, refused = sifted(readings(time_s=[0.0, 60.0, 60.0, 120.0]), cluster)
    assert len(usable.readings) == 3
    assert refused.of(Kind.READINGS) == 1


def test_impossible_moves_and_boots_are_refused(cluster):
    move: dict[str, Any] = {"container": "web-00", "source": "edge-00", "target": "edge-01", "outcome": "arrived"}
    good = [move | {"start_s": 10.0 * i, "end_s": 10.0 * i + 9.0, "memory_bytes": 1e9} for i in range(8)]
    bad = [
        move | {"start_s": 9.0, "end_s": 3.0},
        move | {"start_s": 0.0, "end_s": 3.0, "target": "edge-00"},
        move | {"start_s": 0.0, "end_s": 3.0, "target": "edge-77"},
        move | {"start_s": 0.0, "end_s": 3.0, "memory_bytes": 0.0},
        move | {"start_s": 0.0, "end_s": 3.0, "downtime_s": 4.0},
        move | {"start_s": 0.0, "end_s": 3.0, "outcome": "lost"},
        move | {},
    ]
    boots = [{"node": "edge-00", "ordered_s": 100.0 * i, "up_s": 100.0 * i + 60.0} for i in range(3)]
    boots += [{"node": "edge-00", "ordered_s": 9.0, "up_s": 3.0}, {"node": "edge-00", "ordered_s": 9.0}]
    usable, refused = sifted(columns_of({Kind.MOVES: good + bad, Kind.BOOTS: boots}), cluster)
    assert len(usable.moves) == 8
    assert refused.of(Kind.MOVES) == 7
    assert len(usable.boots) == 3
    assert refused.of(Kind.BOOTS) == 2


def test_the_latest_are_held_back_and_rows_of_one_time_stay_together():
    assert held_back(np.arange(10.0), 0.2).tolist() == [False] * 8 + [True] * 2
    # The last fifth begins among rows of time 1: all of them are held back.
    assert held_back(np.array([0.0, 0.0, 1.0, 1.0, 1.0]), 0.2).tolist() == [False, False, True, True, True]


def test_reference_page_says_what_the_forms_are():
    page = Path(__file__).parents[3] / "docs" / "reference" / "records.md"
    assert page.read_text(encoding="utf-8") == records_page()
