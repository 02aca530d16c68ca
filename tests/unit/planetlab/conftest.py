"""Small days for the benchmark, and policies that do as they are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from fogfold.evaluate.planetlab import DayTrace, Observation


@dataclass
class Script:
    """A policy that plays given moves at given steps and keeps what it saw."""

    plan: Mapping[int, Sequence[tuple[int, int]]]
    name: str = "script"
    seen: list[Observation] = field(default_factory=list)

    def moves(self, seen: Observation) -> Sequence[tuple[int, int]]:
        self.seen.append(seen)
        return self.plan.get(seen.step, [])


@pytest.fixture
def script():
    return Script


@pytest.fixture
def day():
    def build(*rows: Sequence[int]) -> DayTrace:
        return DayTrace("19700101", tuple(f"vm{i}" for i in range(len(rows))), np.array(rows, np.uint8))

    return build


@pytest.fixture
def busy_day():
    """40 VMs whose load walks about and is sometimes zero, 24 samples."""
    rng = np.random.default_rng(7)
    level = rng.integers(5, 70, 40)[:, None] + rng.normal(0, 12, (40, 24)).cumsum(axis=1)
    percent = np.clip(np.where(rng.random((40, 24)) < 0.1, 0, level), 0, 99).astype(np.uint8)
    return DayTrace("19700102", tuple(f"vm{i:02}" for i in range(40)), percent)
