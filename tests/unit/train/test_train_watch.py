"""The warning that a rising reward is paid for elsewhere, with numbers worked by hand."""

from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="training needs torch")

from fogfold.train.judge import Judgement, Verdict
from fogfold.train.watch import Watch

CALM = Verdict(
    total_cost_wh=1000.0,
    against_rule=0.0,
    energy_wh=800.0,
    sla_wh=150.0,
    migration_wh=20.0,
    latency_wh=30.0,
    nodes_asleep_share=0.3,
    sla_violation_rate=0.01,
    moves=100.0,
    refused=0.0,
)


def judgement(**changes):
    """The rule and the likeliest stay calm; what plays in training is as given."""
    return Judgement(CALM, replace(CALM, **changes), CALM)


def watched(first, second, judged):
    watch = Watch()
    assert watch.judge(judgement()) is None  # of weights that no reward led to
    for reward in first:
        watch.see(reward)
    assert watch.judge(judgement()) is None
    for reward in second:
        watch.see(reward)
    return watch.judge(judged)


def test_reward_that_rises_while_requests_come_late_raises_the_hand():
    found = watched([0.1, 0.2], [0.2, 0.3], judgement(sla_violation_rate=0.012))
    assert found == ("reward rose from 0.1500 to 0.2500 while SLA violation rate got worse in the judge's worlds")


@pytest.mark.parametrize(
    ("figure", "value", "name"),
    [("energy_wh", 809.0, "energy"), ("moves", 126.0, "moves"), ("total_cost_wh", 1006.0, "total cost")],
)
def test_each_real_figure_is_watched(figure, value, name):
    found = watched([0.1], [0.2], judgement(**{figure: value}))
    assert found is not None
    assert f"while {name} got worse" in found


def test_what_the_judge_cannot_tell_apart_is_no_warning():
    assert watched([0.1], [0.2], judgement(sla_violation_rate=0.0109, energy_wh=807.0, moves=124.0)) is None


def test_figures_that_fall_with_the_reward_are_no_warning():
    assert watched([0.2], [0.1], judgement(energy_wh=900.0)) is None


def test_watch_that_has_seen_the_log_again_says_the_same():
    log = [
        {"lesson": 0},
        {"update": 0, "judged": judgement().as_json()},
        {"update": 0, "reward": 0.1},
        {"update": 1, "judged": judgement().as_json()},
        {"update": 1, "reward": 0.2},
    ]
    watch = Watch()
    watch.recall(log)
    found = watch.judge(judgement(energy_wh=900.0))
    assert found is not None
    assert found.startswith("reward rose from 0.1000 to 0.2000 while energy got worse")
