"""Decisions, plans and workbenches of small clusters for the tests of the planners."""

from __future__ import annotations

import numpy as np
import pytest

from fogfold.encoding.arrays import view_of
from fogfold.evaluate.snapshots.suite import CEILING
from fogfold.policy.folding import folding_of
from fogfold.policy.params import RuleParams
from fogfold.policy.plan import Plan
from fogfold.policy.sleeping import Evidence
from fogfold.policy.targets import Ceiling, Fit, trip_to_users_ms

pytest.importorskip("highspy", reason="the extra `exact` is not installed")

PROMPT = {
    "calm_decisions": 0,
    "high_mark": CEILING,
    "fill_mark": CEILING,
    "low_mark": 1.0,
    "sleep_load": 0.99,
    "wake_load": 1.0,
    "sleep_requested": 1.0,
    "minimum_saving": 1.0,
    "late_limit": 1.0,
}
"""Figures of a rule that acts on the first sight and fills nodes as far as the world allows."""


@pytest.fixture
def decision():
    """The decision that a snapshot asks for."""

    def make(snapshot, **more):
        return folding_of(view_of(snapshot), ceiling=Ceiling(CEILING, CEILING), **more)

    return make


@pytest.fixture
def plan_of():
    """A plan without any move yet, of a rule that acts on the first sight."""

    def make(snapshot, **more):
        view = view_of(snapshot)
        evidence = Evidence()
        evidence.see(view)
        params = RuleParams(**{**PROMPT, **more})
        return Plan(view, params, evidence, trip_to_users_ms(view.fleet), fit=Fit.FULLEST)

    return make


@pytest.fixture
def moves_of():
    """The moves of a plan in names: "container>node", in order."""

    def make(plan):
        cluster = plan.view.fleet.cluster
        moves = plan.draft.sheet.moved[: plan.draft.moves].tolist()
        return [f"{cluster.containers[c].id}>{cluster.nodes[n].id}" for c, n in moves]

    return make


@pytest.fixture
def columns():
    """Columns of nodes by name, as a mask."""

    def make(view, *names):
        return np.array([str(node.id) in names for node in view.fleet.cluster.nodes])

    return make
