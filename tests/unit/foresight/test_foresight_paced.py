"""A policy that is asked often and decides when it is time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fogfold.encoding.arrays import view_of
from fogfold.errors import ModelError
from fogfold.evaluate.foresight.paced import Every, Paced, Watchful
from fogfold.policy.base import Move, Proposal
from fogfold.testing.builders import a_cluster, a_container, a_node, a_snapshot


class Noting:
    """Proposes a move whenever it is asked, and notes what it was shown."""

    def __init__(self):
        self.name = "noting"
        self.asked, self.seen, self.histories = [], [], []

    def reset(self, seed):
        self.seed = seed

    def propose(self, view):
        self.asked.append(view.time_s)
        self.histories.append(view.cpu_history)
        return Proposal("noting", moves=(Move(0, 1),))

    def see(self, view):
        self.seen.append(view.time_s)


@pytest.fixture
def view():
    cluster = a_cluster([a_node("n0"), a_node("n1")], [a_container("c0")])
    return view_of(a_snapshot(cluster, {"c0": "n0"}))


def _day(view, policy, minutes, start_s=86_400.0):
    policy.reset(7)
    return [
        policy.propose(replace(view, time_s=start_s + 60.0 * k, usage=np.full((4, 1), float(k))))
        for k in range(minutes)
    ]


def test_it_decides_at_the_first_look_and_then_at_every_interval(view):
    inner = Noting()
    paced = Paced(inner, Every(420.0), step_s=300.0)
    proposals = _day(view, paced, 20)
    assert [k for k, proposal in enumerate(proposals) if proposal.moves] == [0, 7, 14]
    assert paced.decisions == 3
    assert inner.seed == 7


def test_between_decisions_nothing_is_done_and_whole_steps_are_shown(view):
    inner = Noting()
    proposals = _day(view, Paced(inner, Every(900.0), step_s=300.0), 16)
    assert all(proposal == Proposal("noting") for proposal in proposals[1:15])
    assert [(t - 86_400.0) / 60.0 for t in inner.seen] == [5.0, 10.0]
    assert isinstance(inner, Watchful)


def test_history_holds_the_reading_of_each_whole_step_so_far(view):
    inner = Noting()
    _day(view, Paced(inner, Every(780.0), step_s=300.0), 14)
    assert inner.histories[0].shape == (0, 1)
    # Decided in minute 13: readings of minutes 5 and 10.
    np.testing.assert_array_equal(inner.histories[1], [[5.0], [10.0]])


def test_interval_of_nothing_is_refused():
    with pytest.raises(ModelError):
        Every(0.0)
