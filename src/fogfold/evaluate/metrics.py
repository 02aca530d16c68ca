"""From what happened in a world to the figures that policies are judged by; each formula stands here once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fogfold.compiled import Array
from fogfold.cost.sla import violation_rate
from fogfold.cost.total import ExchangeRates
from fogfold.evaluate.result import RunResult, RunSeries, Terms
from fogfold.units import GIB, HOUR_S, J_PER_KWH, TICK_S
from fogfold.world.rows import Total
from fogfold.world.twin import terms_wh

__all__ = ["StepRecord", "result_of", "series_of"]


@dataclass(frozen=True)
class StepRecord:
    """What one step left behind."""

    happened: Float[Array, " totals"]
    """Sums of the step, rows of `world.rows.Total`."""
    ticks: int
    nodes_asleep: int
    nodes_failed: int
    decision_s: float


def result_of(
    records: Sequence[StepRecord],
    *,
    scenario: str,
    policy: str,
    seed: int,
    nodes: int,
    containers: int,
    rates: ExchangeRates,
    cpu_s: float | None,
) -> RunResult:
    """The figures of a run.

    Args:
        records: its steps, at least one.
        scenario: name of the scenario.
        policy: name of the policy.
        seed: seed of the run.
        nodes: number of nodes.
        containers: number of containers, each of which was first placed once.
        rates: exchange rates of the total cost.
        cpu_s: CPU time of the run; None leaves all times out.
    """
    total = np.sum([record.happened for record in records], axis=0)
    ticks = sum(record.ticks for record in records)
    terms = terms_wh(total, rates)
    served = total[Total.REQUESTS] - total[Total.UNSERVED]
    decision_ms = np.array([record.decision_s for record in records]) * 1000.0
    timed = cpu_s is not None
    return RunResult(
        scenario=scenario,
        policy=policy,
        seed=seed,
        hours=ticks * TICK_S / HOUR_S,
        energy_kwh=float(total[Total.ENERGY_J]) / J_PER_KWH,
        nodes_asleep_share=float(total[Total.ASLEEP_NODE_S]) / (nodes * ticks * TICK_S),
        sla_violation_rate=float(
            violation_rate(float(total[Total.LATE] + total[Total.UNSERVED]), float(total[Total.REQUESTS]))
        ),
        migration_cost=float(total[Total.MOVE_MEMORY_BYTE_S]) / GIB / len(records),
        mean_latency_ms=float(total[Total.LATENCY_MS] / served) if served > 0 else None,
        moves=round(total[Total.MOVES_DONE]),
        failed_moves=round(total[Total.ATTEMPTS_FAILED]),
        refused=round(total[Total.REFUSED]),
        total_cost=terms.total,
        terms=Terms(terms.energy, terms.migration, terms.sla, terms.latency),
        work_core_h=float(total[Total.WORK_CORE_S]) / HOUR_S,
        waiting_container_h=float(total[Total.WAITING_S]) / HOUR_S,
        first_placements=containers,
        decision_ms_p50=float(np.percentile(decision_ms, 50)) if timed else None,
        decision_ms_p99=float(np.percentile(decision_ms, 99)) if timed else None,
        cpu_s=cpu_s,
    )


def series_of(records: Sequence[StepRecord], *, cores: float) -> RunSeries:
    """The series of a run, one entry a step.

    Args:
        records: its steps.
        cores: CPU capacity of all nodes, in reference cores.
    """
    happened = np.array([record.happened for record in records])
    seconds = np.array([record.ticks for record in records]) * TICK_S
    requests = happened[:, Total.REQUESTS]
    served = requests - happened[:, Total.UNSERVED]
    bad = happened[:, Total.LATE] + happened[:, Total.UNSERVED]

    def share(amount: Float[Array, " steps"], of: Float[Array, " steps"], none: float) -> Float[Array, " steps"]:
        return np.divide(amount, of, out=np.full_like(amount, none), where=of > 0)

    return RunSeries(
        hour=np.cumsum(seconds) / HOUR_S,
        power_w=happened[:, Total.ENERGY_J] / seconds,
        load_share=happened[:, Total.DEMAND_CORE_S] / seconds / cores,
        nodes_asleep=np.array([record.nodes_asleep for record in records]),
        nodes_failed=np.array([record.nodes_failed for record in records]),
        moves_started=happened[:, Total.MOVES_STARTED].astype(np.int64),
        moves_failed=happened[:, Total.ATTEMPTS_FAILED].astype(np.int64),
        sla_violation_rate=share(bad, requests, 0.0),
        latency_ms=share(happened[:, Total.LATENCY_MS], served, np.nan),
    )
