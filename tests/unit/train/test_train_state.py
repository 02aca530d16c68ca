"""The state audit: every figure has a name, a column, a live metric and a life of its own."""

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from fogfold.control import readings
from fogfold.encoding.arrays import fleet_arrays
from fogfold.policy.learned.choosers import Follower
from fogfold.policy.learned.deciding import Decider
from fogfold.policy.learned.rows import GlobalRow, TokenRow
from fogfold.train import state_audit, state_page
from fogfold.train.rollout import training_world
from fogfold.train.settings import TrainSettings
from fogfold.train.state_audit import audit_state
from fogfold.train.state_sources import GROUPS, METRICS, SOURCES
from fogfold.world.world import World

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "state.md"


@pytest.fixture(scope="module")
def found():
    # Half a day: a node is away at a decision only while it has failed, since it sleeps and wakes within five minutes.
    return audit_state(["city-20"], hours=12.0)


def test_no_figure_of_the_shipped_encoding_is_refused(found):
    assert [(d.group, d.name, d.refused) for d in found.refused] == []
    assert found.decisions == 2 * 144


def test_names_stand_for_the_columns_that_a_policy_is_given():
    built = training_world(TrainSettings(nodes=(8,), hours=1.0), 0)
    world = World(fleet_arrays(built.cluster), built.params, [(built.workload, built.faults)], seed=built.seed)
    decision = Decider().decide(world.view(), Follower())
    columns = {"token": decision.context.tokens.shape[1], "whole": len(decision.context.whole)}
    columns |= {("intensity", "node", "target")[c.stage]: c.rows.shape[1] for c in decision.choices}
    assert columns.keys() >= {"token", "whole", "intensity"}
    for group, width in columns.items():
        assert [row.value for row in GROUPS[group]] == list(range(width)), group


def test_every_figure_has_its_source_and_no_source_is_of_another():
    for group, rows in GROUPS.items():
        assert list(SOURCES[group]) == list(rows), group
        assert {type(row) for row in SOURCES[group]} == {rows}
        for row, source in SOURCES[group].items():
            assert source.metrics, row
            assert set(source.metrics) <= METRICS.keys(), row
            assert source.unit, row


def test_every_metric_is_in_what_a_collector_brings():
    used = {word for sources in SOURCES.values() for source in sources.values() for word in source.metrics}
    assert used == METRICS.keys()
    for word, metric in METRICS.items():
        if word == "plan":
            continue  # made here, not read
        owner, _, name = metric.reading.partition(".")
        assert name in {field.name for field in fields(getattr(readings, owner))}, word
        assert metric.unit, word


def test_every_figure_says_what_it_is():
    for group, rows in GROUPS.items():
        known = state_page.meanings(rows)
        for row in rows:
            assert SOURCES[group][row].what or known.get(row.name), (group, row)


def test_page_is_what_the_code_says():
    assert PAGE.read_text(encoding="utf-8") == state_page.page()


def test_range_and_mean_are_those_of_what_was_shown():
    tally = state_audit._Tally(2)
    tally.add(np.array([[1.0, 5.0], [3.0, 7.0]], np.float32), np.array([[True, False], [True, True]]))
    tally.add(np.array([[2.0, 9.0]], np.float32), np.array([[True, False]]))
    assert tally.count.tolist() == [3.0, 1.0]
    made = state_audit._dimension("token", TokenRow(0), SOURCES["token"][TokenRow(0)], tally)
    assert (made.mean, made.low, made.high, made.missing) == (2.0, 1.0, 3.0, 0.0)
    assert made.variance == pytest.approx(2.0 / 3.0)
    other = state_audit._dimension("token", TokenRow(1), SOURCES["token"][TokenRow(1)], tally)
    assert (other.mean, other.refused) == (7.0, "it is constant")
    assert other.missing == pytest.approx(2.0 / 3.0)


def test_figure_that_says_nothing_yet_is_missing_and_not_zero(found):
    trends = {d.name: d.missing for d in found.dimensions if d.group == "token" and "trend" in d.name}
    assert trends == {"trend": pytest.approx(6 / 144)}
    [long] = [d for d in found.dimensions if (d.group, d.name) == ("whole", "trend_long")]
    assert long.missing == pytest.approx(1 / 144)


def test_figure_without_a_source_is_refused(monkeypatch):
    poor = {row: source for row, source in SOURCES["whole"].items() if row != GlobalRow.LOAD}
    poor[GlobalRow.CALM] = replace(poor[GlobalRow.CALM], metrics=())
    monkeypatch.setattr(state_audit, "SOURCES", {**SOURCES, "whole": poor})
    found = audit_state(["tiny-4"], days=["monday"], hours=1.0)
    refused = {f"{d.group}.{d.name}": d.refused for d in found.refused}
    assert refused["whole.load"] == refused["whole.calm"] == "no live metric feeds it"


def test_figure_that_is_not_finite_is_refused():
    tally = state_audit._Tally(len(GlobalRow))
    rows = np.zeros((2, len(GlobalRow)), np.float32)
    rows[1] = 1.0
    rows[1, GlobalRow.LOAD] = np.nan
    tally.add(rows, np.ones(rows.shape, bool))
    made = state_audit._dimension("whole", GlobalRow.LOAD, SOURCES["whole"][GlobalRow.LOAD], tally)
    assert made.refused == "it is not finite at times"


def test_command_ends_with_1_where_a_figure_is_constant_and_names_it(fogfold):
    code, out, _ = fogfold("audit", "state", "--scenario", "tiny-4", "--days", "monday", "--hours", 1, "--json")
    assert code == 1
    told = json.loads(out)
    assert "whole.weekend" in told["refused"]  # one Monday
    assert "token.never_sleeps" in told["refused"]  # all of its nodes may sleep
    assert len(told["dimensions"]) == sum(len(rows) for rows in GROUPS.values())
    assert told["metrics"]["cpu"]["unit"] == "cores"
    code, out, _ = fogfold("audit", "state", "--scenario", "tiny-4", "--days", "monday", "--hours", 1)
    assert code == 1
    assert "refused: whole.weekend: it is constant" in out


def test_audit_of_nothing_is_refused(fogfold):
    code, _, err = fogfold("audit", "state", "--scenario", ",")
    assert code == 3
    assert "at least one scenario" in err
