"""`fogfold bench decide`: rows with what was asked for, on the cluster that was asked for."""

import json

import pytest


def test_rows_name_policies_and_sizes(fogfold):
    code, out, _ = fogfold(
        "bench", "decide", "--nodes", 8, "--policies", "drain-relief,hold", "--decisions", 6, "--json"
    )
    assert code == 0
    found = json.loads(out)
    assert found["bench"] == "decide"
    assert [(row["policy"], row["nodes"]) for row in found["rows"]] == [("drain-relief", 8), ("hold", 8)]
    for row in found["rows"]:
        assert 0.0 < row["p50_ms"] <= row["p99_ms"]
    assert found["rows"][1]["moves"] == 0.0


@pytest.mark.parametrize("words", [("--decisions", 0), ("--policies", "drain-relieve")])
def test_bad_input_is_refused(fogfold, words):
    code, _, err = fogfold("bench", "decide", "--nodes", 8, *words)
    assert code in (2, 3)
    assert str(words[1]) in err
