"""Scores and choices, on rehearsals written by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold.decide.rehearse import Rehearsal
from fogfold.decide.score import ScoreParams, choose, cost_wh, scores_of
from fogfold.errors import ModelError

NEAR = ScoreParams(beyond_s=0.0, margin=0.0)


def a_rehearsal(energy, *, migration=0.0, sla=0.0, tail=None):
    """Proposals by futures."""
    energy = np.asarray(energy, float)
    terms = np.zeros((*energy.shape, 4))
    terms[:, :, 0] = energy
    terms[:, :, 1] = np.asarray(migration, float)
    terms[:, :, 2] = np.asarray(sla, float)
    tails = np.zeros_like(terms)
    tails[:, :, :] = terms / 4 if tail is None else np.asarray(tail, float)[:, :, None] * [1, 1, 0, 0]
    return Rehearsal(terms, tails, 900.0, True)


def test_what_comes_after_costs_as_the_last_steps_do_but_for_moves():
    rehearsal = a_rehearsal([[100.0]], migration=[[8.0]], sla=[[4.0]])
    # A quarter of each term in 900 s: two hours more cost eight times that, without the moves.
    assert cost_wh(rehearsal, ScoreParams(beyond_s=7200.0)).tolist() == [[112.0 + 8 * (25.0 + 1.0)]]


def test_a_score_has_mean_worst_tenth_saving_and_its_error():
    rehearsal = a_rehearsal([[10.0, 20.0], [7.0, 15.0]], migration=[[0.0, 0.0], [1.0, 1.0]])
    hold, move = scores_of(rehearsal, 0, NEAR)
    assert (hold.mean, hold.worst_tenth, hold.saving, hold.standard_error) == (15.0, 20.0, 0.0, 0.0)
    assert (move.mean, move.worst_tenth, move.saving) == (12.0, 16.0, 3.0)
    # Savings of 2 and 4: deviation sqrt(2), over sqrt(2) futures.
    assert move.standard_error == pytest.approx(1.0)
    assert move.terms == (11.0, 1.0, 0.0, 0.0)
    assert hold.balance is None
    assert move.balance == pytest.approx(1.0)


def test_shares_of_saving_are_held_against_shares_of_disruption():
    rehearsal = a_rehearsal([[10.0], [5.0], [3.0]], migration=[[0.0], [1.0], [3.0]])
    _, cheap, dear = scores_of(rehearsal, 0, NEAR)
    # Both save 4, the second with three times the disruption: half over a quarter, half over three quarters.
    assert cheap.balance == pytest.approx(2.0)
    assert dear.balance == pytest.approx(2.0 / 3.0)


def test_the_cheapest_proposal_is_chosen_and_says_by_how_much():
    rehearsal = a_rehearsal([[10.0, 10.0], [8.0, 8.0], [7.0, 7.0]])
    choice = choose(rehearsal, ["hold", "a", "b"], NEAR, hold=0)
    assert choice.index == 2
    assert choice.why == "saves 3 Wh-eq against holding, 0 needed"


def test_less_than_the_margin_or_the_noise_is_no_reason_to_act():
    close = a_rehearsal([[100.0, 100.0], [99.95, 99.95]])
    assert choose(close, ["hold", "a"], ScoreParams(beyond_s=0.0, margin=0.001), hold=0).index == 0
    assert choose(close, ["hold", "a"], NEAR, hold=0).index == 1
    # Saves 1 in the mean; 5 or minus 3, an error of 4.
    noisy = a_rehearsal([[100.0, 100.0], [95.0, 103.0]])
    assert choose(noisy, ["hold", "a"], NEAR, hold=0).index == 0
    assert choose(noisy, ["hold", "a"], ScoreParams(beyond_s=0.0, margin=0.0, noise=0.2), hold=0).index == 1


def test_a_steadier_proposal_stands_in_for_one_that_only_noise_puts_first():
    rehearsal = a_rehearsal([[100.0, 100.0], [80.0, 110.0], [97.0, 97.0]])
    assert choose(rehearsal, ["hold", "wild", "steady"], NEAR, hold=0).index == 2


def test_the_base_rule_is_taken_where_the_best_does_not_clearly_beat_it():
    rehearsal = a_rehearsal([[100.0, 100.0], [90.0, 90.0], [92.0, 87.0]])
    assert choose(rehearsal, ["hold", "rule", "a"], NEAR, hold=0, base=1).index == 1
    clear = a_rehearsal([[100.0, 100.0], [90.0, 90.0], [87.0, 87.0]])
    assert choose(clear, ["hold", "rule", "a"], NEAR, hold=0, base=1).index == 2


def test_the_worst_tenth_counts_by_the_weight_of_risk():
    steady, risky = [9.0] * 10, [8.0] * 9 + [9.5]
    rehearsal = a_rehearsal([[10.0] * 10, steady, risky])
    assert choose(rehearsal, ["hold", "steady", "risky"], NEAR, hold=0).index == 2
    averse = ScoreParams(beyond_s=0.0, margin=0.0, risk=1.0)
    assert choose(rehearsal, ["hold", "steady", "risky"], averse, hold=0).index == 1


@given(st.lists(st.lists(st.floats(1.0, 1e4), min_size=3, max_size=3), min_size=2, max_size=6))
def test_a_choice_never_costs_more_than_the_base_rule_by_the_model(rows):
    rehearsal = a_rehearsal(rows)
    names = [str(i) for i in range(len(rows))]
    choice = choose(rehearsal, names, NEAR, hold=0, base=1)
    merit = cost_wh(rehearsal, NEAR).mean(axis=1)
    assert merit[choice.index] <= merit[1]


def test_names_and_proposals_must_agree():
    with pytest.raises(ModelError, match="give one a proposal"):
        choose(a_rehearsal([[1.0]]), [], NEAR, hold=0)
