"""From single runs to rows: node-steps per CPU second, with their spread, and how many times slower than fogfold.

A node-step is one node for one five-minute step. A run's speed is node-steps over the CPU seconds of the stepping
alone, in the fastest play of its process; the CPU time of the whole process (imports, building, all plays) stands
beside. Ratios are of medians; their ends are those of the slowest run of one side against the fastest of the other,
wider than any interval of means.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

AIMS = {"leaf": 10.0, "eclypse": 400.0}
"""How many times the node-steps per CPU second of each simulator fogfold aims at."""


@dataclass(frozen=True)
class Run:
    """One run of one simulator in a process of its own."""

    simulator: str
    version: str
    variant: str
    """What differs between the rows of one simulator."""
    nodes: int
    containers: int
    steps: int
    worlds: int
    """Days played at once; 1 but for fogfold's batch."""
    moves: int
    """Moves ordered, of one world."""
    cpu_s: float
    """CPU time of the stepping, all threads of the process."""
    process_cpu_s: float
    """CPU time of the whole process: imports, loading compiled code, building, all plays."""
    effects: tuple[str, ...]
    lacks: tuple[str, ...]
    outcome: dict[str, Any]
    """What was checked: energy, moves done, ..."""

    @property
    def node_steps_per_cpu_s(self) -> float:
        """Speed of the run."""
        return self.nodes * self.steps * self.worlds / self.cpu_s


def rows_of(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """A row for each simulator and variant, in the order they first appear.

    `ratio_to_fogfold` is fogfold's speed over the row's, by fogfold's row of one world; `ratio_to_fogfold_batch` by its
    row of many, where there is one.
    """
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.simulator, run.variant), []).append(run)
    single = _speeds([run for run in runs if run.simulator == "fogfold" and run.worlds == 1])
    batch = _speeds([run for run in runs if run.simulator == "fogfold" and run.worlds > 1])
    rows = []
    for (simulator, variant), group in groups.items():
        first, speeds = group[0], _speeds(group)
        rows.append(
            {
                "simulator": simulator,
                "version": first.version,
                "variant": variant,
                "nodes": first.nodes,
                "containers": first.containers,
                "steps": first.steps,
                "worlds": first.worlds,
                "moves": first.moves,
                "runs": len(group),
                "cpu_s": statistics.median(run.cpu_s for run in group),
                "process_cpu_s": statistics.median(run.process_cpu_s for run in group),
                "node_steps_per_cpu_s": _spread(speeds),
                "ratio_to_fogfold": ratio(single, speeds),
                "ratio_to_fogfold_batch": ratio(batch, speeds),
                "aim": AIMS.get(simulator),
                "effects": list(first.effects),
                "lacks": list(first.lacks),
                "outcome": first.outcome,
            }
        )
    return rows


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> dict[str, float] | None:
    """How many times faster ours is: median over median, and the two extremes; None where one side has no runs."""
    if not ours or not theirs:
        return None
    return {
        "median": statistics.median(ours) / statistics.median(theirs),
        "least": min(ours) / max(theirs),
        "most": max(ours) / min(theirs),
    }


def _speeds(runs: Sequence[Run]) -> list[float]:
    return [run.node_steps_per_cpu_s for run in runs]


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "least": min(values), "most": max(values)}
