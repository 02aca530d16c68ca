"""Dataclasses as plain rows: exact both ways, and never misread in another form."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fogfold.control.collect import CollectSettings
from fogfold.control.deciding import Limits
from fogfold.control.guard.settings import GuardSettings, Window
from fogfold.control.plain_form import fingerprint, of_row, row_of
from fogfold.control.power_rules import PowerRules
from fogfold.errors import ModelError
from fogfold.model.identity import NodeId
from fogfold.testing.builders import a_cluster, a_container, a_node


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Inner:
    at_s: float
    node: NodeId | None = None


@dataclass(frozen=True)
class Outer:
    name: str
    colour: Colour = Colour.RED
    inner: Inner | None = None
    by_node: Mapping[NodeId, Inner] = field(default_factory=dict)
    several: tuple[Inner, ...] = ()
    pair: tuple[int, float] = (1, 2.0)
    names: frozenset[NodeId] = frozenset()


def there_and_back(value, **given_fields):
    plain = json.loads(json.dumps(row_of(value, leave_out=given_fields)))
    return of_row(type(value), plain, **given_fields)


numbers = st.floats(allow_nan=False)
inners = st.builds(Inner, numbers, st.none() | st.just("n0"))


@given(
    st.builds(
        Outer,
        st.text(),
        st.sampled_from(Colour),
        st.none() | inners,
        st.dictionaries(st.text(), inners, max_size=3),
        st.lists(inners, max_size=3).map(tuple),
        st.tuples(st.integers(), numbers),
        st.frozensets(st.text(), max_size=3),
    )
)
def test_row_stands_for_exactly_one_value(value):
    assert there_and_back(value) == value


def test_row_is_the_fields_in_their_order_without_names():
    value = Outer(
        "x",
        Colour.BLUE,
        Inner(0.1),
        {NodeId("n"): Inner(math.inf, NodeId("m"))},
        names=frozenset(map(NodeId, "hgfedcba")),
    )
    assert row_of(value) == ["x", "blue", [0.1, None], {"n": [math.inf, "m"]}, [], [1, 2.0], list("abcdefgh")]


def test_settings_and_clusters_come_back_as_they_were():
    window = Window(frozenset({0, 4}), 3600.0, 7200.0)
    limits = Limits(GuardSettings(windows=(window,), never_touch_nodes=frozenset({NodeId("n1")})), power=PowerRules())
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("c0")])
    for value in (limits, Limits.none(), CollectSettings(), cluster):
        assert there_and_back(value) == value


def test_field_that_is_written_elsewhere_is_given():
    value = Outer("x", inner=Inner(1.0))
    assert there_and_back(value, inner=Inner(2.0)).inner == Inner(2.0)


@pytest.mark.parametrize(
    "row", [[], ["x"], ["x", "green", None, {}, [], [1, 2.0], []], ["x", "red", 3, {}, [], [1], []]]
)
def test_row_of_another_form_is_refused(row):
    with pytest.raises(ModelError, match="of another version"):
        of_row(Outer, row)


def test_fingerprint_tells_forms_apart_however_deep_they_differ():
    @dataclass(frozen=True)
    class Before:
        inner: Inner

    first = fingerprint(Before)
    Before.__annotations__["inner"] = "Inner | None"
    assert fingerprint(Before) != first
    assert fingerprint(Outer) != fingerprint(Inner)
    assert fingerprint(Outer, Inner) == fingerprint(Inner, Outer) == fingerprint(Outer)


def test_type_without_a_plain_form_is_named():
    @dataclass(frozen=True)
    class Odd:
        either: int | str = 1

    with pytest.raises(ModelError, match="has no plain form"):
        row_of(Odd())
