"""`fogfold bench control`: a row a part of a macro cycle, with its total, and memory as it goes on."""

import json

import pytest

from fogfold.bootstrap.overhead import Cycle, _Stopwatch


def test_rows_name_parts_and_their_total(fogfold):
    code, out, err = fogfold(
        "bench", "control", "--nodes", 8, "--hours", 1, "--look-s", 150, "--policy", "hold", "--json"
    )
    assert code == 0, err
    found = json.loads(out)
    assert list(found) == ["bench", "machine", "rows", "clock", "memory"]
    parts = [row["part"] for row in found["rows"]]
    assert {"collect", "assemble", "signs", "evidence", "guard", "plan", "journal", "lease", "deciding"} <= set(parts)
    assert parts[-2:] == ["total", "a look between"]
    for row in found["rows"]:
        assert 0.0 <= row["p50_ms"] <= row["p99_ms"]
    for day in found["memory"]:
        assert 10.0 < day["resident_mib"] <= day["peak_mib"] + 1.0
    assert found["memory"][-1]["looks"] >= 20


def test_time_of_a_part_is_without_the_parts_inside_it():
    watch = _Stopwatch()
    with watch.running("outer"), watch.running("inner"):
        sum(range(200_000))
    part_s = watch.take()
    assert part_s["inner"] > 10.0 * part_s["outer"]
    assert watch.take() == {}


def test_total_leaves_out_deciding_and_the_world():
    assert Cycle(True, {"guard": 1.0, "plan": 2.0, "deciding": 4.0, "world": 8.0}).total_s == 3.0


@pytest.mark.parametrize("words", [("--hours", 0.1), ("--look-s", 400), ("--policy", "drian")])
def test_bad_input_is_refused(fogfold, words):
    code, _, err = fogfold("bench", "control", "--nodes", 8, *words)
    assert code in (2, 3)
    assert str(words[1]) in err
