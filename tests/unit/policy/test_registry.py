"""Policies by name: every name leads to a policy, and a wrong one to a helpful refusal."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import pytest

from fogfold.errors import ModelError, UnknownNameError
from fogfold.policy.base import Policy
from fogfold.policy.registry import POLICIES, RULES, policy, recipe
from fogfold.seeding import stream


def test_classic_rules_are_those_of_the_command_line():
    assert set(RULES) == {
        "hold",
        "first-fit",
        "best-fit",
        "drain",
        "drain-relief",
        "thr-mmt",
        "iqr-mmt",
        "mad-mmt",
        "lr-mmt",
        "lrr-mmt",
        "high-node-utilization",
        "balanced",
    }
    assert set(RULES) <= set(POLICIES)


@pytest.mark.parametrize("name", RULES)
def test_name_leads_to_a_policy_of_that_name(name):
    made = policy(name)
    assert isinstance(made, Policy)
    assert made.name == name
    assert recipe(name).name == name
    assert recipe(name).summary.endswith(".")


@pytest.mark.parametrize("name", RULES)
def test_every_value_of_a_search_space_makes_a_policy(name):
    found = recipe(name)
    assert is_dataclass(found.params)
    known = {field.name for field in fields(found.params)}
    assert set(found.space.values) <= known
    rng = stream(1, "space")
    for _ in range(30):
        policy(name, **found.space.draw(rng))
    for parameter, values in found.space.values.items():
        assert len(values) == len(set(values)), parameter


def test_unknown_policy_is_refused_with_the_nearest_name():
    with pytest.raises(UnknownNameError, match='"best-fitt" is unknown; did you mean "best-fit"'):
        policy("best-fitt")


def test_unknown_parameter_is_refused_with_the_nearest_name():
    with pytest.raises(UnknownNameError, match='no parameter "low_marks"; did you mean "low_mark"'):
        policy("best-fit", low_marks=0.4)
    with pytest.raises(UnknownNameError, match="policy hold has no parameter"):
        policy("hold", low_mark=0.4)


@pytest.mark.parametrize(
    ("overrides", "sentence"),
    [
        ({"high_mark": 0.95}, "beyond which the world refuses moves"),
        ({"high_mark": 0.5, "fill_mark": 0.6}, "fill_mark must not exceed high_mark"),
        ({"sleep_load": 0.7, "wake_load": 0.6}, "sleep_load must be below wake_load"),
        ({"low_mark": -0.1}, "low_mark is -0.1"),
        ({"cooldown_s": float("nan")}, "cooldown_s is nan"),
    ],
)
def test_figures_out_of_range_are_refused(overrides, sentence):
    with pytest.raises(ModelError, match=sentence):
        policy("best-fit", **overrides)


def test_grid_holds_every_combination_once():
    space = recipe("drain").space
    points = [tuple(sorted(point.items())) for point in space.grid()]
    assert len(points) == len(set(points)) == space.size
