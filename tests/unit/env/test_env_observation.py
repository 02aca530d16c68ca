"""Questions as arrays: bounds that hold, and what is left out where there are too many options."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold.env.observation import LIMIT, MOST_OPTIONS, action_mask, observation_of, observation_space, offered
from fogfold.errors import ModelError
from fogfold.policy.learned.deciding import Context, Question
from fogfold.policy.learned.rows import GlobalRow, Stage, TokenRow
from fogfold.policy.learned.weights import STAGE_ROWS


def a_question(options, stage=Stage.NODE, lead=(0,), nodes=3, scale=1.0):
    rng = np.random.default_rng(0)
    rows = (scale * rng.normal(size=(options, STAGE_ROWS[stage]))).astype(np.float32)
    marks = np.zeros(options, np.float32)
    marks[list(lead)] = 1.0
    context = Context(
        (scale * rng.normal(size=(nodes, len(TokenRow)))).astype(np.float32),
        (scale * rng.normal(size=len(GlobalRow))).astype(np.float32),
    )
    return Question(context, stage, rows, marks)


@given(st.integers(2, 80), st.sampled_from(list(Stage)), st.integers(1, 6), st.floats(0.1, 1e6))
def test_any_question_is_in_the_space(options, stage, nodes, scale):
    question = a_question(options, stage, nodes=nodes, scale=scale)
    observation = observation_of(question, 6)
    assert observation_space(6).contains(observation)
    assert observation["action_mask"].sum() == min(options, MOST_OPTIONS)
    assert action_mask(question)[0]


def test_figures_are_shown_as_they_are_and_cut_off_at_the_limit():
    question = a_question(5)
    observation = observation_of(question, 4)
    assert (observation["options"][:5, : STAGE_ROWS[Stage.NODE]] == question.rows).all()
    assert (observation["options"][:, STAGE_ROWS[Stage.NODE] :] == 0.0).all()
    assert (observation["tokens"][:3] == question.context.tokens).all()
    question.rows[1, 2], question.rows[2, 3] = 1e9, -1e9
    observation = observation_of(question, 4)
    assert observation["options"][1, 2] == LIMIT
    assert observation["options"][2, 3] == -LIMIT


def test_of_too_many_options_the_first_and_those_of_the_rule_stay():
    question = a_question(50, lead=(5, 48))
    shown = offered(question)
    assert shown.tolist() == [*range(39), 48]
    assert observation_of(question, 3)["lead"].nonzero()[0].tolist() == [5, 39]


def test_where_the_rule_alone_would_take_too_many_the_first_option_stays():
    shown = offered(a_question(60, lead=range(10, 60)))
    assert shown.tolist() == [0, *range(10, 49)]


def test_more_nodes_than_places_are_refused():
    with pytest.raises(ModelError, match="7 nodes and the observation room for 6"):
        observation_of(a_question(3, nodes=7), 6)
