"""`fogfold bench decide`: how long policies take for one decision, from the cluster's view to the chosen moves."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fogfold.cli.bench_rows import show, words
from fogfold.cli.output import progress
from fogfold.encoding.arrays import fleet_arrays
from fogfold.errors import ModelError
from fogfold.policy.learned.options import MOST_TARGETS
from fogfold.policy.orders import orders_of
from fogfold.policy.registry import policy as policy_named
from fogfold.world.scenario.build import BuiltScenario, build
from fogfold.world.scenario.load import load_scenario
from fogfold.world.world import World

__all__ = ["DecisionRow", "decide_bench"]

_SCENARIOS = ((1000, "region-1000"), (200, "city-200"), (50, "city-50"), (0, "city-20"))
_WARM_UP = 3
"""Decisions that are not timed: loops are compiled, and what a policy keeps of a fleet is made."""


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """How long a policy takes."""

    nodes: int
    containers: int
    policy: str
    candidates: int
    """Targets on the short list of a container, where the policy makes one; else all nodes."""
    moves: float
    """Mean moves of a decision."""
    p50_ms: float
    p99_ms: float
    cpu_p50_ms: float
    """CPU time of all threads: what is left of the clock where other work shares the cores."""
    cpu_p99_ms: float

    def as_json(self) -> dict[str, Any]:
        """The row as plain values."""
        return asdict(self)


def decide_bench(
    *,
    nodes: tuple[int, ...] = (20, 200, 1000),
    policies: str = "drain-relief,learned",
    decisions: int = 60,
    seed: int = 0,
    json: bool = False,
) -> int:
    """How long decisions take, one core, over the first hours of a day that goes on as they say.

    Parameters
    ----------
    nodes
        Sizes of the cluster, eight containers a node.
    policies
        Their names, with commas between.
    decisions
        Decisions that are timed.
    seed
        Root of all randomness.
    json
        Print one JSON object.
    """
    if decisions < 1:
        raise ModelError(f"--decisions is {decisions}; time at least one")
    names, rows = words(policies), []
    with progress("decide", len(nodes) * len(names), "rows") as track:
        for count in nodes:
            built = _built(count, decisions, seed)
            for name in names:
                rows.append(_measure(built, name, decisions))
                track.by()
    show("decide", [row.as_json() for row in rows], json)
    return 0


def _built(nodes: int, decisions: int, seed: int) -> BuiltScenario:
    name = next(name for least, name in _SCENARIOS if nodes >= least)
    overrides = {} if str(nodes) == name.rpartition("-")[2] else {"nodes.0.count": nodes}
    hours = max(1.0, float(np.ceil((decisions + _WARM_UP) / 12.0)))
    return build(load_scenario(name, overrides), seed, hours=hours)


def _measure(built: BuiltScenario, name: str, decisions: int) -> DecisionRow:
    fleet = fleet_arrays(built.cluster)
    world = World(fleet, built.params, [(built.workload, built.faults)], seed=built.seed)
    policy = policy_named(name)
    policy.reset(built.seed)
    taken_ms, cpu_ms, moves = [], [], []
    for _ in range(decisions + _WARM_UP):
        view = world.view()
        started, cpu_started = time.perf_counter(), time.process_time()
        proposal = policy.propose(view)
        taken_ms.append(1e3 * (time.perf_counter() - started))
        cpu_ms.append(1e3 * (time.process_time() - cpu_started))
        moves.append(len(proposal.moves))
        world.step(orders_of(proposal, fleet.nodes))
    timed, cpu = np.array(taken_ms[_WARM_UP:]), np.array(cpu_ms[_WARM_UP:])
    return DecisionRow(
        nodes=fleet.nodes,
        containers=fleet.containers,
        policy=name,
        candidates=MOST_TARGETS if name.partition(":")[0] == "learned" else fleet.nodes,
        moves=float(np.mean(moves[_WARM_UP:])),
        p50_ms=float(np.quantile(timed, 0.5)),
        p99_ms=float(np.quantile(timed, 0.99)),
        cpu_p50_ms=float(np.quantile(cpu, 0.5)),
        cpu_p99_ms=float(np.quantile(cpu, 0.99)),
    )
