"""Small ways of saying things that many tests of the control plane say."""

from __future__ import annotations

import pytest

from fogfold.control.guard.situation import Situation
from fogfold.control.orders import MoveOrder, Orders
from fogfold.model.identity import ContainerId, NodeId


def _nodes(text: str) -> tuple[NodeId, ...]:
    return tuple(NodeId(name) for name in text.split())


@pytest.fixture
def orders():
    """`orders("c0: n0 > n1", sleep="n0")`: moves as text, nodes as words."""

    def make(*moves: str, sleep: str = "", wake: str = "", **more) -> Orders:
        parsed = []
        for text in moves:
            container, _, ends = text.partition(": ")
            source, _, target = ends.partition(" > ")
            parsed.append(MoveOrder(ContainerId(container), NodeId(source), NodeId(target)))
        return Orders(tuple(parsed), _nodes(sleep), _nodes(wake), **more)

    return make


@pytest.fixture
def situation():
    """A situation at a quiet moment, unless told otherwise."""

    def make(snapshot, **more) -> Situation:
        now_s = more.pop("now_s", snapshot.time_s)
        return Situation(snapshot, now_s, **more)

    return make
