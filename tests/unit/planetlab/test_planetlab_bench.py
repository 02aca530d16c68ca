"""The table of the benchmark on a made-up day."""

from __future__ import annotations

import json

import numpy as np
import pytest

from fogfold.errors import ModelError, UnknownNameError
from fogfold.evaluate.planetlab import run, run_day


@pytest.fixture
def traces(tmp_path):
    (tmp_path / "planetlab").mkdir()
    percent = np.random.default_rng(3).integers(0, 60, (8, 288)).astype(np.uint8)
    names = np.array([f"vm{i}" for i in range(8)])
    np.savez_compressed(tmp_path / "planetlab" / "20110303.npz", cpu=percent, names=names, ascii_order=np.arange(8))
    return tmp_path


def test_a_row_says_what_was_run(traces):
    row = run_day("20110303", "thr-mmt", ["keep"], traces=traces)
    assert list(row.as_json()) == [
        "day",
        "policy",
        "corrected",
        "energy_kwh",
        "migrations",
        "slatah",
        "pdm",
        "slav",
        "esv",
        "overall_sla",
        "host_shutdowns",
        "lower_bound_kwh",
        "cpu_s",
    ]
    assert (row.day, row.policy, row.corrected) == ("20110303", "thr", ("keep",))
    assert row.esv == row.energy_kwh * row.slav
    assert row.energy_kwh > row.lower_bound_kwh > 0.0
    assert json.loads(json.dumps(row.as_json()))["corrected"] == ["keep"]


def test_a_policy_from_outside_is_a_row_like_any(traces, script):
    rows = run(["20110303"], ["dvfs", script({})], traces=traces, workers=1)
    assert [row.policy for row in rows] == ["dvfs", "script"]


@pytest.mark.parametrize(
    ("days", "policies", "corrections", "match"),
    [
        (["20110304"], ["thr"], (), '"20110304" is unknown; did you mean "20110303"'),
        (["20110303"], ["thrr"], (), '"thrr" is unknown; did you mean "thr"'),
        (["20110303"], ["thr"], ("kep",), '"kep" is unknown; did you mean "keep"'),
    ],
)
def test_unknown_names_are_refused_before_anything_runs(traces, days, policies, corrections, match):
    done = []
    with pytest.raises(UnknownNameError, match=match):
        run(days, ["dvfs", *policies], corrections, lambda *row: done.append(row), traces=traces)
    assert done == []


def test_no_worker_is_refused(traces):
    with pytest.raises(ModelError, match="workers is 0"):
        run(["20110303"], ["thr"], traces=traces, workers=0)


def test_nothing_asked_gives_no_rows(traces):
    assert run([], [], traces=traces) == []
