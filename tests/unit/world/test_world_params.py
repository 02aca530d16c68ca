"""Constants of a world: defaults that work, and bounds that say what they are."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from fogfold.errors import ModelError
from fogfold.world.params import WorldParams


def params(**figures: Any) -> WorldParams:
    return WorldParams(**figures)


NUMBERS = [field.name for field in dataclasses.fields(WorldParams) if field.name != "keep_images"]


def test_defaults_stand_within_their_own_bounds():
    # Made again from its own figures, so that every check runs on each.
    assert params(**dataclasses.asdict(WorldParams())) == WorldParams()


@pytest.mark.parametrize("name", NUMBERS)
def test_no_constant_is_negative(name):
    with pytest.raises(ModelError, match=f"^{name} is -1; it must be at least 0"):
        params(**{name: -1})


@pytest.mark.parametrize("name", sorted(set(NUMBERS) - {"ticks_per_step", "migration_attempts"}))
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_no_constant_is_missing_or_infinite(name, value):
    with pytest.raises(ModelError, match=f"^{name} is {value}; give a finite number"):
        params(**{name: value})


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("ceiling", 0.0, "above 0 and at most 1"),
        ("ceiling", 1.01, "above 0 and at most 1"),
        ("migration_link_share", 0.0, "above 0 and at most 1"),
        ("migration_link_share", 1.5, "above 0 and at most 1"),
        ("migration_link_floor", 0.0, "above 0 and at most 1"),
        ("migration_link_floor", 1.5, "above 0 and at most 1"),
        ("idle_memory_share", 0.0, "above 0 and at most 1"),
        ("idle_memory_share", 1.5, "above 0 and at most 1"),
        ("load_bound", 0.0, "above 0 and at most 0.999"),
        ("load_bound", 1.0, "above 0 and at most 0.999"),
        ("path_stretch", 0.9, "at least 1"),
        ("fibre_km_per_ms", 0.0, "above 0"),
        ("migration_cap_bit_s", 0.0, "above 0"),
    ],
)
def test_bound_is_named_with_the_value(name, value, rule):
    with pytest.raises(ModelError, match=f"^{name} is {value:g}; it must be {rule}$"):
        params(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [("ceiling", 1.0), ("migration_link_share", 1.0), ("load_bound", 0.999), ("path_stretch", 1.0), ("hop_ms", 0.0)],
)
def test_bound_itself_is_allowed(name, value):
    assert getattr(params(**{name: value}), name) == value


@pytest.mark.parametrize("name", ["ticks_per_step", "migration_attempts"])
def test_step_has_a_tick_and_a_move_an_attempt(name):
    with pytest.raises(ModelError, match=f"{name} is 0.*; both must be at least 1"):
        params(**{name: 0})


def test_moves_may_always_fail_and_never():
    assert WorldParams(migration_failure_base=1.0).migration_failure_base == 1.0
    assert WorldParams(migration_failure_base=0.0).migration_failure_base == 0.0
