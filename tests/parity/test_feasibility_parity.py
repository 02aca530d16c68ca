"""The compiled constraints say what the plain ones say, reason by reason, on clusters with every kind of rule."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from fogfold.encoding.arrays import snapshot_of, view_of
from fogfold.encoding.feasibility import mask, reason_row
from fogfold.model.placement import refusal
from fogfold.model.reason import Reason
from fogfold.seeding import stream
from fogfold.testing.builders import random_snapshot


@pytest.mark.parametrize("ceiling", [1.0, 0.6])
def test_compiled_reasons_equal_the_plain_ones(ceiling):
    seen: Counter[Reason] = Counter()
    for seed in range(60):
        snapshot = random_snapshot(stream(seed, "parity"))
        view = view_of(snapshot)
        for i, container in enumerate(snapshot.cluster.containers):
            fast = reason_row(view, i, ceiling=ceiling)
            for j, node in enumerate(snapshot.cluster.nodes):
                slow = refusal(snapshot, container.id, node.id, ceiling=ceiling)
                assert Reason(int(fast[j])) is slow, (seed, container.id, node.id)
                seen[slow] += 1
    # The clusters must exercise every rule, or agreement says little.
    expected = set(range(Reason.ANTI_AFFINITY)) - {Reason.UNPLACED} | {
        Reason.ANTI_AFFINITY,
        Reason.SPREAD,
        Reason.GROUP_BUDGET,
    }
    assert expected <= {int(reason) for reason in seen}


def test_mask_is_true_exactly_where_no_rule_refuses():
    snapshot = random_snapshot(stream(3, "parity"))
    view = view_of(snapshot)
    candidates = np.arange(view.fleet.containers, dtype=np.int32)
    rows = mask(view, candidates)
    for i in candidates:
        assert np.array_equal(rows[i], reason_row(view, int(i)) == 0)


def test_snapshot_survives_the_way_to_arrays_and_back():
    for seed in range(20):
        snapshot = random_snapshot(stream(seed, "round-trip"))
        back = snapshot_of(view_of(snapshot))
        assert back.placement == snapshot.placement
        assert back.states == snapshot.states
        assert back.targets == snapshot.targets
        assert back.usage == snapshot.usage
