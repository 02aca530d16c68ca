"""The planners by name, through the suite and the command line: what they save, what they refuse, what they print."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from fogfold.cli.app import main
from fogfold.cli.options import policies_of
from fogfold.errors import MissingExtraError, ModelError
from fogfold.evaluate.snapshots.suite import moves_within, run_snapshots
from fogfold.evaluate.snapshots.summary import summarise_snapshots
from fogfold.evaluate.snapshots.variant import variant
from fogfold.policy.registry import RULES, policy

KEYS = ["nodes", "containers", "budget", "policy", "seed", "saving_share", "gap", "cpu_s"]


def test_all_names_what_runs_on_any_cluster_and_rules_the_classic_ones():
    assert policies_of("rules") == list(RULES)
    assert "guided" in policies_of("all")
    assert not {"guided", "exact"} & set(RULES)
    assert "exact" not in policies_of("all")
    assert policies_of("exact") == ["exact"]


@pytest.mark.parametrize("name", ["guided", "exact"])
def test_planner_without_a_solver_says_what_to_install(monkeypatch, name):
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'fogfold\[exact\]'"):
        policy(name)
    assert name not in policies_of("all")


def test_exact_refuses_what_would_take_hours():
    with pytest.raises(ModelError, match="use the policy guided"):
        run_snapshots(20, [None], ["exact"], [0], settings={"exact": {"most_pairs": 100}})


@pytest.mark.parametrize("budget", [0.1, None])
def test_guided_finds_what_exact_finds_on_a_few_nodes(budget):
    found = {row.policy: row for row in run_snapshots(20, [budget], ["guided", "exact", "drain-relief"], [0])}
    assert found["exact"].saving_share > 0.99
    assert found["guided"].saving_share > 0.99
    assert found["drain-relief"].saving_share < found["guided"].saving_share


@pytest.mark.parametrize("kind", ["base", "tight", "fog"])
def test_guided_finds_nearly_all_within_a_budget_of_moves(kind):
    rows = run_snapshots(50, [0.05, 0.1], ["guided"], range(3), kind)
    assert np.mean([row.saving_share for row in rows]) > 0.985


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [200, 1000])
def test_guided_finds_99_per_cent_in_under_a_second(nodes):
    lines = summarise_snapshots(run_snapshots(nodes, [0.025, 0.05, 0.1], ["guided"], range(3)))
    assert len(lines) == 3
    for line in lines:
        assert line.saving_share.mean >= 0.99
        assert line.worst_cpu_s < 1.0


def test_summary_is_the_mean_over_seeds_and_the_longest_decision():
    rows = run_snapshots(20, [0.1, None], ["hold", "guided"], range(2))
    lines = summarise_snapshots(rows)
    assert [(line.budget, line.policy, line.seeds) for line in lines] == [
        (0.1, "hold", 2),
        (0.1, "guided", 2),
        (None, "hold", 2),
        (None, "guided", 2),
    ]
    mine = [row for row in rows if row.policy == "guided" and row.budget is None]
    assert lines[3].saving_share.mean == pytest.approx(np.mean([row.saving_share for row in mine]))
    assert lines[3].worst_cpu_s == max(row.cpu_s for row in mine)


def test_budget_of_three_moves_runs_and_is_kept():
    # The suite's referee refuses a policy that moves more, and drops nothing of what is within it.
    rows = run_snapshots(20, [0.025], ["drain-relief", "guided", "exact"], [0])
    found = {row.policy: row.saving_share for row in rows}
    assert 0.99 < found["guided"] <= 1.0 + 1e-9
    assert found["exact"] > 0.99


def test_budgets_are_shares_that_allow_at_least_one_move():
    # 150 containers with four pairs are 146 units; a tenth of them is 14 moves.
    assert moves_within([0.1, None], 150, variant("base")) == [14, None]
    for budget in (2.0, 0.0, float("nan")):
        with pytest.raises(ModelError, match="budget is"):
            moves_within([budget], 150, variant("base"))
    assert moves_within([0.025, 0.007], 150, variant("base")) == [3, 1]
    with pytest.raises(ModelError, match=r"budget 0.006 allows no move of 146 containers; give at least 0.0068"):
        moves_within([0.006], 150, variant("base"))


def test_command_prints_one_object_and_nothing_else(capfd):
    arguments = ["bench", "snapshot", "--nodes", "20,50", "--budget", "0.1", "--policies", "hold,guided"]
    assert main([*arguments, "--seeds", "2", "--first-seed", "3", "--json"]) == 0
    out = capfd.readouterr().out
    assert out.count("\n") == 1
    found = json.loads(out)
    assert list(found) == ["bench", "machine", "rows"]
    assert found["bench"] == "snapshot"
    assert [list(row) for row in found["rows"]] == [KEYS] * 8
    assert [row["containers"] for row in found["rows"]] == [150] * 4 + [400] * 4
    assert [row["seed"] for row in found["rows"][:4]] == [3, 3, 4, 4]
    assert [row["saving_share"] for row in found["rows"] if row["policy"] == "hold"] == [0.0] * 4


def test_command_prints_a_table_with_intervals(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["bench", "snapshot", "--nodes", "20", "--policies", "guided", "--seeds", "2"]) == 0
    out = capsys.readouterr().out
    assert "share of possible saving" in out
    assert " to " in out


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (["--nodes", "20,x"], 3, "--nodes has 'x'"),
        (["--nodes", "0"], 3, "whole numbers from 1"),
        (["--nodes", ","], 3, "names no size"),
        (["--budget", "much"], 3, "--budget has 'much'"),
        (["--budget", "2"], 3, "budget is 2"),
        (["--policies", "gided"], 2, 'did you mean "guided"'),
        (["--policies", ","], 2, "names none"),
        (["--variant", "tigt"], 2, 'did you mean "tight"'),
        (["--seeds", "0"], 3, "at least one"),
    ],
)
def test_bad_input_is_one_clear_sentence_and_an_exit_code(capsys, arguments, code, part):
    assert main(["bench", "snapshot", *arguments]) == code
    caught = capsys.readouterr()
    assert part in caught.err
    assert caught.out == ""
