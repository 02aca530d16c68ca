"""Interrupting rolling days keeps what was judged: printed, counted, with the exit code of an interruption."""

from __future__ import annotations

import json

import pytest

from fogfold.cli.app import main
from fogfold.evaluate.rolling.bench import RollingRow

COMMAND = ["bench", "rolling", "--worlds", "2", "--policies", "hold,greedy", "--tuning-worlds", "0", "--jobs", "1"]


def a_row(policy, seed, cost):
    return RollingRow(8, 32, 5.0, policy, seed, cost, cost, 0.0, 0.0, 0, 0.1, 0.1)


@pytest.fixture
def interrupted_after(monkeypatch):
    """Judging ends after the given rows, as by Ctrl-C."""

    def make(*rows):
        def run_days(*_, on_row, **__):
            for row in rows:
                on_row(row)
            raise KeyboardInterrupt

        monkeypatch.setattr("fogfold.cli.bench_rolling.run_days", run_days)

    return make


def test_days_judged_before_an_interruption_are_printed(interrupted_after, capsys):
    interrupted_after(a_row("hold", 0, 100.0), a_row("hold", 1, 200.0), a_row("greedy", 0, 50.0))
    assert main([*COMMAND, "--json"]) == 130
    caught = capsys.readouterr()
    found = json.loads(caught.out)
    assert [(row["policy"], row["seed"]) for row in found["rows"]] == [("hold", 0), ("hold", 1), ("greedy", 0)]
    # Greedy has not played what hold has, so it is not compared.
    assert [(line["policy"], line["total_cost"]["mean"]) for line in found["summary"]] == [("hold", 150.0)]
    assert found["room"] is None
    assert "interrupted after 3 of 4 judged days, which are kept" in caught.err


def test_table_of_an_interrupted_run_has_what_is_whole(interrupted_after, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    interrupted_after(a_row("hold", 0, 100.0), a_row("hold", 1, 200.0))
    assert main(COMMAND) == 130
    out = capsys.readouterr().out
    assert "hold" in out
    assert "150" in out


def test_interruption_before_any_day_prints_an_empty_object(interrupted_after, capsys):
    interrupted_after()
    assert main([*COMMAND, "--json"]) == 130
    caught = capsys.readouterr()
    assert json.loads(caught.out)["rows"] == []
    assert "0 of 4" in caught.err


def test_interruption_while_tuning_says_that_nothing_is_judged(capsys, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("fogfold.cli.bench_rolling.tune_figures", interrupt)
    assert main([*COMMAND, "--json"]) == 130
    caught = capsys.readouterr()
    assert json.loads(caught.out)["figures"] is None
    assert "while tuning" in caught.err
