"""One question, asked of both statements of the hard rules."""

from __future__ import annotations

import pytest

from fogfold.encoding.arrays import view_of
from fogfold.encoding.feasibility import reason_row
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.placement import refusal
from fogfold.model.reason import Reason


@pytest.fixture
def verdict():
    """What keeps a container from a node: what the plain rules and the compiled ones say, which must be the same."""

    def ask(snapshot, container, node, *, ceiling=1.0):
        cluster = snapshot.cluster
        plain = refusal(snapshot, ContainerId(container), NodeId(node), ceiling=ceiling)
        row = reason_row(view_of(snapshot), cluster.container_index[container], ceiling=ceiling)
        assert Reason(int(row[cluster.node_index[node]])) is plain
        return plain

    return ask
