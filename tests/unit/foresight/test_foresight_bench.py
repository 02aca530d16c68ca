"""The ablations as commands: who is played, and what is printed."""

from __future__ import annotations

import json

import pytest

from fogfold.cli.bench_foresight import foresight
from fogfold.cli.service_pace import ServicePace
from fogfold.decide.bias import Bias
from fogfold.errors import ModelError, TraceNotFoundError
from fogfold.evaluate.foresight.day import DayTask, play_day
from fogfold.evaluate.foresight.lineup import (
    RULE,
    drawn_bias,
    forecasts,
    frontier,
    intervals,
    peaks,
    proposers,
    wrong_world,
)
from fogfold.evaluate.foresight.paced import Every
from fogfold.world.scenario.load import load_scenario


def _printed(capsys, **figures):
    assert foresight(seeds=1, hours=0.5, jobs=1, json=True, **figures) == 0
    return json.loads(capsys.readouterr().out)


def test_wrong_worlds_are_off_one_by_one_and_all_at_once():
    variants = wrong_world(0.3)
    assert [variant.name for variant in variants[:2]] == [RULE, "rehearsed"]
    assert variants[2].parameters["bias"] == Bias(power=1.3)
    assert variants[5].parameters["bias"] == Bias(bandwidth=0.7)
    drawn = {drawn_bias(seed, 0.3) for seed in range(40)}
    assert len(drawn) == 8
    assert drawn_bias(5, 0.3) == drawn_bias(5, 0.3)
    task = variants[-1].task(load_scenario("city-20"), 5)
    assert task.parameters["bias"] == drawn_bias(5, 0.3)


def test_every_part_holds_its_variants_against_the_first():
    assert peaks()[0].name == RULE
    assert [variant.name for variant in proposers("")] == [RULE, "rules + rehearsal"]
    assert [variant.name for variant in forecasts()][:2] == [RULE, "by combined"]
    assert proposers("c.safetensors")[-1].policy == "rehearsed:learned=c.safetensors"
    assert [variant.name for variant in intervals("hold", (5, 10), ServicePace)] == [
        "every 5 min",
        "every 10 min",
        "adaptive",
    ]
    assert len({variant.name for variant in frontier()}) == len(frontier()) > 20


def test_fixed_interval_of_a_step_decides_as_often_as_the_world_steps():
    # With moves there are small differences: the world takes readings at every look.
    task = DayTask(load_scenario("city-20"), 3, "x", "hold", hours=1.0)
    paced = DayTask(task.scenario, 3, "x", "hold", pace=lambda: Every(300.0), hours=1.0)
    whole, looked = play_day(task), play_day(paced)
    assert looked.decisions == whole.decisions == 12
    assert looked.result.total_cost == pytest.approx(whole.result.total_cost)


def test_service_pace_stays_between_two_and_thirty_minutes():
    task = DayTask(load_scenario("city-20"), 3, "x", RULE, pace=ServicePace, hours=4.0)
    assert 8 <= play_day(task).decisions <= 120


def test_the_command_prints_rows_and_a_line_a_variant(capsys):
    found = _printed(capsys, part="interval", policy=RULE, every="5,10")
    assert (found["bench"], found["part"]) == ("foresight", "interval")
    assert [line["variant"] for line in found["summary"]] == ["every 5 min", "every 10 min", "adaptive"]
    assert [row["decisions"] for row in found["rows"][:2]] == [6, 3]
    assert found["summary"][1]["total_cost"]["relative"]["low"] is None


@pytest.mark.traces
@pytest.mark.parametrize(("scenario", "which"), [("planetlab", {"day": "20110306"}), ("bitbrains", {})])
def test_real_days_are_played_as_drawn_ones_are(scenario, which, capsys):
    try:
        found = _printed(capsys, scenario=scenario, part="interval", policy=RULE, every="10", **which)
    except TraceNotFoundError as error:
        pytest.skip(str(error))
    fixed, adaptive = found["rows"]
    assert (fixed["scenario"], fixed["decisions"]) == (scenario, 3)
    # Nothing is known at 0 min, and at 5 min a second reading is there.
    assert 2 <= adaptive["decisions"] <= 15
    assert fixed["energy_kwh"] > 0.0


@pytest.mark.parametrize(
    "figures",
    [
        {"part": "wrong-world", "off": 1.0},
        {"part": "interval", "every": "two"},
        {"part": "interval", "every": "2.5"},
        {"part": "proposers", "without": "nobody"},
        {"part": "proposers", "checkpoint": "none.safetensors"},
    ],
)
def test_the_command_refuses_what_makes_no_sense(figures):
    with pytest.raises(ModelError):
        foresight(seeds=1, jobs=1, **figures)
