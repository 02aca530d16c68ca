"""How many moves a plan may hold: a share of all containers, at least a least number, less those on the move."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fogfold.encoding.arrays import view_of
from fogfold.errors import ModelError
from fogfold.policy.params import RuleParams
from fogfold.policy.plan import Plan
from fogfold.policy.sleeping import Evidence
from fogfold.policy.targets import Fit, trip_to_users_ms
from fogfold.testing.builders import a_cluster, a_container, a_node, a_snapshot


def limit_of(**figures):
    """Most moves of a plan about thirty containers, of which two are on the move."""
    containers = [a_container(f"c{i}", cores=0.1, memory_gib=0.1) for i in range(30)]
    cluster = a_cluster([a_node("n0"), a_node("n1")], containers)
    view = view_of(a_snapshot(cluster, {f"c{i}": "n0" for i in range(30)}))
    target = view.target.copy()
    target[:2] = 1
    view = replace(view, target=target)
    evidence = Evidence()
    evidence.see(view)
    plan = Plan(view, RuleParams(**figures), evidence, trip_to_users_ms(view.fleet), fit=Fit.FULLEST)
    return plan.draft.move_limit


def test_limit_is_the_larger_of_share_and_least_number_less_those_on_the_move():
    assert limit_of() == 8 - 2
    # A tenth of thirty is three.
    assert limit_of(least_moves=0) == 3 - 2
    assert limit_of(least_moves=5) == 5 - 2
    assert limit_of(move_share=0.5) == 15 - 2
    # Nothing is left where as many as may be are on the move.
    assert limit_of(least_moves=1, move_share=0.02) == 0


def test_negative_least_number_is_refused():
    with pytest.raises(ModelError, match="least_moves"):
        RuleParams(least_moves=-1)
