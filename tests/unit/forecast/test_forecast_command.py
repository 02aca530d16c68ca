"""`fogfold forecast backtest` as a user meets it."""

from __future__ import annotations

import json

import numpy as np
import pytest

KEYS = ["trace", "forecaster", "default", "horizon_min", "mase", "coverage_90", "cpu_s"]


@pytest.fixture
def traces(tmp_path, monkeypatch):
    """A folder with one small PlanetLab day."""
    folder = tmp_path / "planetlab"
    folder.mkdir()
    rng = np.random.default_rng(3)
    cpu = np.clip(rng.integers(5, 40, (12, 1)) + rng.integers(-4, 5, (12, 288)), 0, 99).astype(np.uint8)
    names = np.array([f"m{i:02}" for i in range(12)])
    np.savez_compressed(folder / "20110303.npz", cpu=cpu, names=names, ascii_order=np.arange(12, dtype=np.int32))
    monkeypatch.setenv("FOGFOLD_TRACES", str(tmp_path))
    return tmp_path


def test_backtest_prints_one_object_with_the_documented_keys(fogfold, traces):
    code, out, _ = fogfold("forecast", "backtest", "--trace", "planetlab", "--machines-a-node", 4, "--json")
    assert code == 0
    found = json.loads(out)
    assert list(found) == ["bench", "machine", "rows", "turning"]
    assert found["bench"] == "forecast backtest"
    assert [(row["forecaster"], row["horizon_min"]) for row in found["rows"]] == [
        (name, minutes)
        for name in ("persistence", "seasonal-naive", "holt-winters", "combined")
        for minutes in (5.0, 30.0, 60.0)
    ]
    assert all(list(row)[: len(KEYS)] == KEYS for row in found["rows"])
    assert [row["forecaster"] for row in found["rows"] if row["default"]] == ["combined"] * 3
    assert {row["direction"] for row in found["turning"]} == {"up", "down"}


def test_figures_but_for_times_are_the_same_again(fogfold, traces):
    arguments = ("forecast", "backtest", "--trace", "planetlab", "--series", 8, "--forecasters", "combined", "--json")
    first, second = (json.loads(fogfold(*arguments)[1])["rows"] for _ in range(2))
    for row in first + second:
        del row["cpu_s"]
    assert first == second


def test_table_names_the_forecasters(fogfold, traces, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = fogfold("forecast", "backtest", "--trace", "planetlab", "--forecasters", "persistence,combined")
    assert code == 0
    assert "combined" in out
    assert "mase" in out


def test_speed_needs_no_trace(fogfold, tmp_path, monkeypatch):
    monkeypatch.setenv("FOGFOLD_TRACES", str(tmp_path))
    code, out, _ = fogfold("forecast", "backtest", "--speed", "--speed-series", 10, "--json")
    assert code == 0
    assert {row["steps"] for row in json.loads(out)["rows"]} == {12}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--forecasters", "combind"), 2, 'did you mean "combined"'),
        (("--forecasters", ","), 3, "no forecaster is named"),
        (("--horizons", "5,soon"), 3, '"soon" is no number of minutes'),
        (("--horizons", ""), 3, "no horizon is named"),
        (("--series", "0"), 3, "--series"),
        (("--trace", "planetlab", "--horizons", "7"), 3, "no whole number of steps"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(fogfold, traces, arguments, code, message):
    found, out, problems = fogfold("forecast", "backtest", *arguments)
    assert found == code
    assert message in problems
    assert out == ""


def test_trace_that_is_not_there_is_named(fogfold, tmp_path, monkeypatch):
    monkeypatch.setenv("FOGFOLD_TRACES", str(tmp_path))
    assert fogfold("forecast", "backtest", "--trace", "bitbrains")[0] == 5
