"""Accelerators near data are promised so that every container can have one, in whatever order they are placed."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fogfold.model.node import Accelerator
from fogfold.testing.builders import a_node, a_site
from fogfold.world.scenario.claims import Claims
from fogfold.world.scenario.fleet import Fleet
from fogfold.world.scenario.ground import Ground


def claims(*accelerators: int) -> Claims:
    """Claims on one node for each number of accelerators, all at one site."""
    nodes = tuple(a_node(f"n{i}", accelerator=Accelerator("gpu", n)) for i, n in enumerate(accelerators))
    ground = Ground((a_site(),), {"city": np.arange(1)}, np.ones(1, bool), np.ones(1), np.zeros((1, 1)))
    capacity = np.array([node.capacity.as_tuple() for node in nodes]).T
    return Claims(ground, Fleet(nodes, np.zeros(len(nodes), np.int64), np.zeros(len(nodes), bool), capacity))


def on(*nodes: int, of: int) -> np.ndarray:
    could = np.zeros(of, bool)
    could[list(nodes)] = True
    return could


def test_lone_accelerator_is_promised_once():
    two = claims(1, 1)
    assert two.leaves_choice(on(0, of=2), 1)
    two.ask(on(0, of=2), 1)
    assert not two.leaves_choice(on(0, of=2), 1)
    assert two.leaves_choice(on(1, of=2), 1)


def test_one_with_a_choice_may_not_take_the_last_of_another():
    two = claims(1, 1)
    two.ask(on(0, of=2), 1)
    # It could go to the second node, but placed first it might go to the first.
    assert not two.leaves_choice(on(0, 1, of=2), 1)
    three = claims(1, 1, 1)
    three.ask(on(0, 1, of=3), 1)
    assert three.leaves_choice(on(0, 2, of=3), 1)


def test_several_on_one_node_count_each():
    one = claims(3)
    one.ask(on(0, of=1), 2)
    assert one.leaves_choice(on(0, of=1), 1)
    assert not one.leaves_choice(on(0, of=1), 2)


@given(st.data())
def test_accepted_demands_are_met_in_any_order(data: st.DataObject):
    nodes = data.draw(st.integers(1, 6))
    promised = claims(*[1] * nodes)
    accepted = []
    for could in data.draw(st.lists(st.lists(st.booleans(), min_size=nodes, max_size=nodes), max_size=8)):
        reach = np.array(could)
        if promised.leaves_choice(reach, 1):
            promised.ask(reach, 1)
            accepted.append(reach)
    free = np.ones(nodes, bool)
    for reach in data.draw(st.permutations(accepted)):
        places = np.flatnonzero(reach & free)
        assert len(places) > 0
        free[data.draw(st.sampled_from(places.tolist()))] = False
