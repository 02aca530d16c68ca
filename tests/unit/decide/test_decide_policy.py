"""The policy that rehearses: repeatable, replayable, never worse than its rule by the model, and refused by nobody."""

import json

import numpy as np
import pytest

from fogfold.cli.bench_rehearse import rehearse_bench
from fogfold.decide.policy import Record, Rehearsed, RehearsedParams, replay
from fogfold.decide.proposers import TUNED, distinct, lineup
from fogfold.encoding.arrays import fleet_arrays, view_of
from fogfold.errors import ModelError, UnknownNameError
from fogfold.policy.base import Move, Policy, Proposal
from fogfold.policy.orders import orders_of
from fogfold.policy.registry import POLICIES, RULES, policy
from fogfold.testing.builders import a_cluster, a_container, a_node, a_snapshot
from fogfold.world.rows import Total
from fogfold.world.scenario.build import build
from fogfold.world.scenario.load import load_scenario
from fogfold.world.world import World


def day(chosen, *, seed=2, hours=2.0, on_record=None):
    """Proposals of a stretch of city-20, and what happened in it."""
    built = build(load_scenario("city-20"), seed, hours=hours)
    fleet = fleet_arrays(built.cluster)
    world = World(fleet, built.params, [(built.workload, built.faults)], seed=seed)
    chosen.reset(seed)
    proposals, total = [], np.zeros(len(Total))
    for _ in range(built.ticks // built.params.ticks_per_step):
        proposals.append(chosen.propose(world.view()))
        if on_record is not None and chosen.last is not None:
            on_record(chosen.last)
        total += world.step(orders_of(proposals[-1], fleet.nodes))[0]
    return proposals, total


@pytest.fixture(scope="module")
def stretch():
    records: list[Record] = []
    proposals, total = day(policy("rehearsed", futures=4), on_record=records.append)
    return proposals, total, records


def test_it_is_a_policy_by_name_alone():
    assert isinstance(policy("rehearsed"), Policy)
    assert POLICIES["rehearsed"].by_name_only
    assert "rehearsed" not in RULES
    named = policy("rehearsed:drain-relief")
    assert isinstance(named, Rehearsed)
    assert named.params.rule == "drain-relief"
    assert named.name == "rehearsed:drain-relief"


def test_the_same_seed_gives_the_same_proposals_after_a_reset(stretch):
    proposals, _, _ = stretch
    chosen = policy("rehearsed", futures=4)
    day(chosen, seed=3, hours=0.5)
    again, _ = day(chosen)
    assert again == proposals
    assert any(proposal.moves for proposal in proposals)
    assert {proposal.policy for proposal in proposals} == {"rehearsed"}


def test_a_record_replays_to_the_same_choice(stretch):
    records = stretch[2]
    assert len(records) > 10
    for record in records[::5]:
        assert replay(record) == record.choice


def test_no_choice_is_worse_than_the_base_rule_or_holding_by_the_model(stretch):
    for record in stretch[2]:
        mean = record.cost_wh.mean(axis=1)
        assert mean[record.choice.index] <= mean[record.base]
        if record.base == record.hold:
            assert mean[record.choice.index] <= mean[record.hold]
        assert record.choice.why


def test_the_world_refuses_nothing_of_what_is_proposed(stretch):
    assert stretch[1][Total.REFUSED] == 0


def test_a_record_names_holding_first_and_each_proposal_once(stretch):
    for record in stretch[2]:
        assert record.hold == 0
        assert record.names[0] == "hold"
        assert len(set(record.names)) == len(record.names) == len(record.scores) == len(record.proposals)


def test_a_rehearsal_that_is_cut_off_still_decides_and_replays():
    chosen = Rehearsed("rehearsed", RehearsedParams(futures=8), cut_off=lambda: True)
    records: list[Record] = []
    day(chosen, hours=0.5, on_record=records.append)
    assert records
    assert not any(record.rehearsal.whole for record in records)
    assert all(record.rehearsal.futures == 4 for record in records)
    assert replay(records[-1]) == records[-1].choice


@pytest.mark.parametrize("containers", [[], [a_container("c0")]])
def test_where_nobody_proposes_anything_nothing_is_rehearsed(containers):
    cluster = a_cluster([a_node("n0", never_sleep=True)], containers)
    view = view_of(a_snapshot(cluster, {str(c.id): "n0" for c in containers}))
    chosen = Rehearsed("rehearsed", RehearsedParams())
    proposal = chosen.propose(view)
    assert chosen.last is None
    assert not proposal.moves
    assert not proposal.sleep
    assert 0 in proposal.stays


def test_the_base_rule_stands_second_and_is_not_named_twice():
    for rule in ("tuned", "drain-relief", "guided"):
        names = [proposer.name for proposer in lineup(rule)]
        assert names[:2] == ["hold", rule]
        assert len(set(names)) == len(names)
    assert lineup("tuned")[1].figures == TUNED


def test_proposals_that_order_the_same_are_one_under_the_first_name():
    move = (Move(0, 1),)
    names, kept, where = distinct(
        ["hold", "a", "b", "c"], [Proposal("x"), Proposal("y", moves=move), Proposal("z", moves=move), Proposal("w")]
    )
    assert names == ["hold", "a"]
    assert len(kept) == 2
    assert where == {"hold": 0, "a": 1, "b": 1, "c": 0}


def test_a_rule_that_is_none_is_refused():
    with pytest.raises(UnknownNameError, match="drain-relieff"):
        policy("rehearsed:drain-relieff")
    with pytest.raises(ModelError, match="base rule"):
        policy("rehearsed:rehearsed")


def test_a_policy_is_at_home_in_another_cluster_at_once():
    chosen = policy("rehearsed", futures=2)
    for seed in (1, 2):
        built = build(load_scenario("city-20"), seed, hours=0.5)
        fleet = fleet_arrays(built.cluster)
        world = World(fleet, built.params, [(built.workload, built.faults)], seed=seed)
        chosen.propose(world.view())


def test_the_benchmark_prints_a_row_for_each_size(capsys):
    assert rehearse_bench(nodes=(20,), candidates=3, futures=2, minutes=15.0, repeats=2, threads=1, json=True) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["bench"] == "rehearse"
    (row,) = found["rows"]
    assert list(row) == ["nodes", "containers", "candidates", "futures", "minutes", "p50_ms", "p99_ms"]
    assert (row["nodes"], row["candidates"], row["futures"], row["minutes"]) == (20, 3, 2, 15.0)
    assert 0.0 < row["p50_ms"] <= row["p99_ms"]


@pytest.mark.parametrize("figures", [{"minutes": 7.0}, {"candidates": 0}, {"repeats": 0}, {"threads": 0}])
def test_the_benchmark_refuses_figures_that_make_no_sense(figures):
    with pytest.raises(ModelError):
        rehearse_bench(nodes=(20,), **figures)
