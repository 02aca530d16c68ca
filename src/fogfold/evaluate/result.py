"""What one run of one policy gives: the figures that are compared, and the series that are drawn."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array

__all__ = ["FIGURES", "Figure", "RunResult", "RunSeries", "SiteMap", "Terms"]


@dataclass(frozen=True, slots=True)
class Figure:
    """How a figure of a run is called, shown and judged."""

    key: str
    label: str
    unit: str
    digits: int
    better: str
    """`lower`, `higher`, or empty where neither is better by itself."""
    meaning: str


FIGURES: tuple[Figure, ...] = (
    Figure(
        "energy_kwh", "energy", "kWh", 3, "lower", "electric energy of all nodes, sleep, boot and shutdown included"
    ),
    Figure("nodes_asleep_share", "asleep", "%", 1, "higher", "mean share of nodes asleep"),
    Figure("sla_violation_rate", "SLA violations", "%", 3, "lower", "share of requests late, failed or unserved"),
    Figure(
        "migration_cost", "migration cost", "GiB·s", 1, "lower", "mean over cycles of memory x duration of the moves"
    ),
    Figure("mean_latency_ms", "latency", "ms", 2, "lower", "mean latency of served requests, queue and round trip"),
    Figure("moves", "moves", "", 0, "lower", "moves that were completed"),
    Figure("failed_moves", "failed", "", 0, "lower", "attempts that failed"),
    Figure("refused", "refused", "", 0, "lower", "moves and power orders that the world refused"),
    Figure("total_cost", "total cost J", "Wh-eq", 1, "lower", "energy, migration, SLA and latency in one unit"),
    Figure(
        "work_core_h", "work done", "core-h", 2, "higher", "CPU work served: saving energy by not serving shows here"
    ),
    Figure(
        "waiting_container_h",
        "waiting",
        "container-h",
        2,
        "lower",
        "time containers spent placed nowhere or restarting",
    ),
    Figure("decision_ms_p50", "decision p50", "ms", 2, "lower", "median time of a decision"),
    Figure("decision_ms_p99", "decision p99", "ms", 2, "lower", "99th percentile of the time of a decision"),
)
"""The figures of a run, in the order in which tables show them; shares are in [0, 1] and shown in %."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The four parts of the total cost, in Wh-equivalents."""

    energy: float
    migration: float
    sla: float
    latency: float


@dataclass(frozen=True, slots=True)
class RunResult:
    """The figures of one run. Same scenario, policy and seed: the same figures, but for the clock times at the end."""

    scenario: str
    policy: str
    seed: int
    hours: float
    energy_kwh: float
    nodes_asleep_share: float
    sla_violation_rate: float
    migration_cost: float
    mean_latency_ms: float | None
    """Null where nothing was served."""
    moves: int
    failed_moves: int
    refused: int
    total_cost: float
    terms: Terms
    work_core_h: float
    waiting_container_h: float
    first_placements: int
    decision_ms_p50: float | None
    """Null where not measured: a run repeats its figures byte for byte, but never its clock times."""
    decision_ms_p99: float | None
    cpu_s: float | None

    def as_json(self) -> dict[str, Any]:
        """The result as plain values, keys in the documented order."""
        return asdict(self)


@dataclass(frozen=True)
class RunSeries:
    """What happened step by step in one run; every array has one entry a step."""

    hour: Float[Array, " steps"]
    """World time at the end of the step, in hours since the start."""
    power_w: Float[Array, " steps"]
    """Mean power of all nodes."""
    load_share: Float[Array, " steps"]
    """CPU demand over the CPU capacity of all nodes."""
    nodes_asleep: Int[Array, " steps"]
    nodes_failed: Int[Array, " steps"]
    moves_started: Int[Array, " steps"]
    moves_failed: Int[Array, " steps"]
    sla_violation_rate: Float[Array, " steps"]
    latency_ms: Float[Array, " steps"]
    """NaN where nothing was served."""


@dataclass(frozen=True)
class SiteMap:
    """Where the sites are, how many nodes each has, and how much of the time they slept."""

    name: tuple[str, ...]
    latitude_deg: Float[Array, " sites"]
    longitude_deg: Float[Array, " sites"]
    nodes: Int[Array, " sites"]
    asleep_share: Float[Array, " sites"]

    def __post_init__(self) -> None:
        if not np.isfinite(self.latitude_deg).all() or not np.isfinite(self.longitude_deg).all():
            raise ValueError("site positions must be finite")
