"""Rows of the snapshot suite, summed up over seeds: means with intervals, and the longest decision."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from fogfold.evaluate.snapshots.suite import SnapshotRow
from fogfold.evaluate.statistics import Interval, mean_interval

__all__ = ["SnapshotSummary", "summarise_snapshots"]


@dataclass(frozen=True, slots=True)
class SnapshotSummary:
    """One policy under one budget over snapshots of one size."""

    nodes: int
    containers: int
    budget: float | None
    policy: str
    seeds: int
    saving_share: Interval
    gap: Interval
    worst_cpu_s: float
    """CPU time of the longest decision, in s."""


def summarise_snapshots(rows: Iterable[SnapshotRow]) -> list[SnapshotSummary]:
    """One line for each size, budget and policy, in the order in which they first come."""
    together: dict[tuple[int, int, float | None, str], list[SnapshotRow]] = {}
    for row in rows:
        together.setdefault((row.nodes, row.containers, row.budget, row.policy), []).append(row)
    return [
        SnapshotSummary(
            *key,
            seeds=len(same),
            saving_share=mean_interval(np.array([row.saving_share for row in same])),
            gap=mean_interval(np.array([row.gap for row in same])),
            worst_cpu_s=max(row.cpu_s for row in same),
        )
        for key, same in together.items()
    ]
