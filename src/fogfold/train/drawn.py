"""Lessons on single snapshots: what `guided` does where moves are scarce and time plays no part.

In worlds the budget hardly ever binds, so a pupil never learns what a move is worth, nor where least power is added.
The snapshots are those of the suite (`fogfold bench snapshot`), drawn from seeds that it never reaches, with sizes and
budgets of their own; the pupil's limits and the teacher's figures are the suite's.
"""

from __future__ import annotations

from dataclasses import fields

from fogfold.encoding.arrays import ClusterView, fleet_arrays, view_of
from fogfold.errors import PlacementError
from fogfold.evaluate.snapshots.cluster import drawn_snapshot
from fogfold.evaluate.snapshots.suite import containers_for, policy_for_snapshot, settings_for
from fogfold.evaluate.snapshots.variant import VARIANTS
from fogfold.policy.base import Policy
from fogfold.policy.learned.deciding import DeciderParams
from fogfold.policy.learned.policy import LearnedParams, limits_of
from fogfold.seeding import stream
from fogfold.train.settings import TrainSettings

__all__ = ["TEACHER", "drawn_case"]

TEACHER = "guided"
"""It finds over 99 % of what the bound allows."""
_FIRST_SEED = 1_000_000
"""Of the snapshots: the suite counts from 0."""
_BUDGET = (0.03, 0.15)
"""Span of the budgets, as shares of the containers."""
_KINDS = ("base", "base", "base", "util25", "util55", "fog")
"""Variants that are drawn from, evenly."""
_TRIES = 20


def drawn_case(settings: TrainSettings, number: int) -> tuple[ClusterView, DeciderParams, Policy]:
    """A snapshot, the limits that a pupil decides within there, and its teacher.

    Args:
        settings: of the run; its `snapshot_nodes` are the sizes.
        number: which snapshot.

    Raises:
        PlacementError: if what is drawn fits into no cluster again and again.
    """
    rng = stream(settings.seed, "train", "snapshot", number)
    for attempt in range(_TRIES):
        nodes = int(rng.choice(settings.snapshot_nodes))
        kind = VARIANTS[str(rng.choice(_KINDS))]
        containers = round(containers_for(nodes) * float(rng.uniform(0.8, 1.2)))
        limit = max(2, round(float(rng.uniform(*_BUDGET)) * containers))
        try:
            snapshot = drawn_snapshot(nodes, containers, _FIRST_SEED + _TRIES * number + attempt, kind)
        except PlacementError:
            continue  # too much was drawn for the nodes that were
        fleet = fleet_arrays(snapshot.cluster)
        told = settings_for(limit, fleet)
        pupil = LearnedParams(**{f.name: told[f.name] for f in fields(LearnedParams) if f.name in told})
        return view_of(snapshot, fleet), limits_of(pupil), policy_for_snapshot(TEACHER, limit, fleet, {})
    raise PlacementError(f"snapshot lesson {number}: nothing that was drawn fits; give other snapshot_nodes")
