"""What a demonstration came to: the figures of its policy from the world's own ledger, and what the loop did for them.

The figures are those of `fogfold run`, by the same formulas (`evaluate.metrics`), over the whole steps played.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fogfold.bootstrap.demo import Demo
from fogfold.cost.total import ExchangeRates
from fogfold.evaluate.episodes import Episode
from fogfold.evaluate.metrics import StepRecord, result_of, series_of
from fogfold.model.node import NodeState

__all__ = ["DemoSums", "LoopSums", "loop_sums", "sums_of"]


@dataclass(frozen=True)
class LoopSums:
    """What the loop did."""

    decisions: int
    """All, those between with nothing to do included; these are not written down."""
    interventions: int
    """Decisions of which guard or plan took something out."""
    refused: dict[str, int]
    """What they took out, by code."""
    plans: dict[str, int]
    """Decisions that were written down, by what became of their plan."""
    verdicts: dict[str, int]
    """Plans that were carried out, by verdict."""
    moves: dict[str, int]
    """Moves of these, by how they ended."""
    journal_entries: int

    def as_json(self) -> dict[str, Any]:
        """The sums as plain values."""
        return {
            "decisions": self.decisions,
            "interventions": self.interventions,
            "refused": self.refused,
            "plans": self.plans,
            "verdicts": self.verdicts,
            "moves": self.moves,
            "journal_entries": self.journal_entries,
        }


@dataclass(frozen=True)
class DemoSums:
    """What a demonstration came to."""

    hold: Episode
    """The same time with everything left where it is, played directly."""
    played: Episode
    loop: LoopSums


async def sums_of(demo: Demo) -> DemoSums | None:
    """What has come of it so far; None before the first step is over."""
    cluster, built = demo.cluster, demo.built
    cluster.total()  # takes the world to its time
    sums, states = cluster.steps()
    if len(sums) == 0:
        return None
    ticks = built.params.ticks_per_step
    asleep, failed = states == NodeState.ASLEEP, states == NodeState.FAILED
    records = [
        StepRecord(happened, ticks, int(slept), int(lost), 0.0)
        for happened, slept, lost in zip(sums, asleep.sum(axis=1), failed.sum(axis=1), strict=True)
    ]
    hold = demo.hold(len(records))
    result = result_of(
        records,
        scenario=built.scenario.name,
        policy=demo.service.loop.decider.policy.name,
        seed=built.seed,
        nodes=cluster.fleet.nodes,
        containers=cluster.fleet.containers,
        rates=ExchangeRates(),
        cpu_s=None,
    )
    site_of = [built.cluster.site_index[node.site] for node in built.cluster.nodes]
    slept = np.bincount(site_of, asleep.mean(axis=0), minlength=len(hold.sites.nodes))
    sites = replace(hold.sites, asleep_share=slept / np.maximum(hold.sites.nodes, 1))
    played = Episode(result, series_of(records, cores=float(cluster.fleet.capacity[0].sum())), sites)
    return DemoSums(hold, played, await loop_sums(demo))


async def loop_sums(demo: Demo) -> LoopSums:
    """What the loop did, from its journal."""
    refused, plans, verdicts, moves = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    entries = interventions = 0
    async for entry in demo.service.store.entries(after=demo.first_entry):
        entries += 1
        if entry.kind == "decision":
            plans[entry.value["plan"]] += 1
            refused.update(refusal["code"] for refusal in entry.value["refused"])
            interventions += bool(entry.value["refused"])
        elif entry.kind == "execution":
            verdicts[entry.value["verdict"]] += 1
            moves.update(step["end"] for step in entry.value["steps"])
    return LoopSums(
        demo.service.loop.status().decisions,
        interventions,
        _by_count(refused),
        _by_count(plans),
        _by_count(verdicts),
        _by_count(moves),
        entries,
    )


def _by_count(counts: Counter[str]) -> dict[str, int]:
    """The most first; equals by name."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
