"""`fogfold bench train`: a row for each size, method and number of cores, and what more cores give."""

import json

import pytest

pytest.importorskip("torch", reason="training needs torch")

KEYS = [
    "nodes",
    "containers",
    "method",
    "cores",
    "steps_per_s",
    "choices_per_s",
    "update_s",
    "cpu_s",
    "path_cpu_s",
    "speedup",
]


def test_rows_name_size_method_and_cores(fogfold):
    code, out, _ = fogfold(
        "bench", "train", "--nodes", 8, "--cores", 1, "--rounds", 1, "--seats", 2, "--steps", 4, "--json"
    )
    assert code == 0
    found = json.loads(out)
    assert found["bench"] == "train"
    assert [list(row) for row in found["rows"]] == [KEYS, KEYS]
    assert [(row["nodes"], row["containers"], row["method"]) for row in found["rows"]] == [
        (8, 64, "ppo"),
        (8, 64, "ahead"),
    ]
    for row in found["rows"]:
        assert row["steps_per_s"] > 0.0
        assert row["choices_per_s"] > 0.0
        assert row["speedup"] == 1.0
        assert row["path_cpu_s"] == row["cpu_s"]  # one process goes the whole way


@pytest.mark.slow
def test_two_cores_share_the_play(fogfold):
    words = ("--nodes", 8, "--method", "ppo", "--rounds", 1, "--seats", 4, "--steps", 24, "--json")
    code, out, _ = fogfold("bench", "train", *words)
    assert code == 0
    one, two = json.loads(out)["rows"]
    assert (one["cores"], two["cores"]) == (1, 2)
    assert two["path_cpu_s"] < 0.8 * one["path_cpu_s"]  # by CPU time: other work on the machine does not count


@pytest.mark.parametrize("words", [("--method", "dqn"), ("--cores", 0), ("--rounds", 0)])
def test_bad_input_is_refused(fogfold, words):
    code, _, err = fogfold("bench", "train", "--nodes", 8, "--seats", 1, "--steps", 1, *words)
    assert code in (2, 3)
    assert str(words[1]) in err
