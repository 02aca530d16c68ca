"""The snapshot suite: every policy on the same drawn snapshots, measured against a bound that no plan can beat.

One row says what share of the saving that is possible at all a policy found in one decision, how far its plan is from
the bound, and how long it thought. Policies are asked through the registry and judged by a referee of their own.

A snapshot has no before and after, so what policies do for the sake of time is switched off for all of them alike
(`SETTINGS`): waiting for evidence, keeping room against a rise of the load, looking only at nodes that are nearly
empty, weighing a move above its price. And since places differ in power alone here, so is what they prefer beside it:
short ways, short queues. Nobody may be sent where the way alone is too long. What is left is which nodes to empty, and
where to put what runs on them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from fogfold.encoding.arrays import FleetArrays, fleet_arrays, view_of
from fogfold.errors import ModelError, PlacementError
from fogfold.evaluate.snapshots.asking import AskedAgain
from fogfold.evaluate.snapshots.cluster import drawn_snapshot
from fogfold.evaluate.snapshots.referee import faults_of
from fogfold.evaluate.snapshots.variant import Variant
from fogfold.evaluate.snapshots.variant import variant as variant_named
from fogfold.model.node import NodeState
from fogfold.model.snapshot import Snapshot
from fogfold.policy.assignment import pair_count
from fogfold.policy.base import Policy, Proposal
from fogfold.policy.compact import Bound, compact_bound
from fogfold.policy.folding import Folding, folding_of
from fogfold.policy.registry import policy as policy_named
from fogfold.policy.registry import recipe
from fogfold.policy.targets import Ceiling
from fogfold.policy.tighter import tightened_bound
from fogfold.units import HOUR_S

__all__ = [
    "CEILING",
    "SETTINGS",
    "SnapshotRow",
    "containers_for",
    "moves_within",
    "policy_for_snapshot",
    "run_snapshots",
    "settings_for",
]

CEILING = 0.9
"""Share of a capacity that usage on a target may reach: the world's own limit. Containers use half of their requests,
so requests are what is scarce."""

SETTINGS: Mapping[str, Any] = {
    "calm_decisions": 0,
    "cooldown_s": 0.0,
    "sleep_load": 0.99,
    "wake_load": 1.0,
    "sleep_space": 0.99,
    "wake_space": 1.0,
    "sleep_requested": 1.0,
    "minimum_saving": 1.0,
    "sleep_s": HOUR_S,
    "trip_per_ms": 0.0,
    "image_per_gib": 0.0,
    "late_limit": 1.0,
    "least_moves": 0,
    "low_mark": 1.0,
    "high_mark": CEILING,
    "fill_mark": CEILING,
    "space_high_mark": CEILING,
    "space_fill_mark": CEILING,
    "most_nodes": 10_000,
    "most_containers": 10_000,
}
"""Figures that every policy that has them is given; all others keep their defaults."""

_WARM_UP_NODES = 6
_TIGHTENED_PAIRS = 12_000
"""Most pairs of a container and a node up to which the bound is tightened: seconds for each bound."""


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """One policy on one snapshot under one budget."""

    nodes: int
    containers: int
    budget: float | None
    """Most containers that may be moved, as a share of all; None for no limit."""
    policy: str
    seed: int
    saving_share: float
    """Saving found over the saving that the bound allows, both against the power before the decision."""
    gap: float
    """How far the power after the decision (moves included) is above the bound, relative to the bound."""
    cpu_s: float
    """CPU time of the decision, in s; differs from run to run."""

    def as_json(self) -> dict[str, Any]:
        """The row as plain values, keys in the order above."""
        return asdict(self)


def containers_for(nodes: int) -> int:
    """How many containers the suite draws for so many nodes: eight for each, and 150 for twenty."""
    return round(7.5 * nodes) if nodes <= 20 else 8 * nodes


def moves_within(budgets: Sequence[float | None], containers: int, variant: Variant) -> list[int | None]:
    """How many moves each budget allows, pairs that move together counted once; None for no limit.

    Args:
        budgets: shares of containers; None for no limit.
        containers: how many containers are drawn.
        variant: how they are drawn.

    Raises:
        ModelError: if a budget is no share in ]0, 1], or allows no move at all.
    """
    units = containers - int(containers * variant.paired) // 2
    limits: list[int | None] = []
    for budget in budgets:
        if budget is None:
            limits.append(None)
            continue
        if not 0.0 < budget <= 1.0:
            raise ModelError(f"budget is {budget:g}; give a share of containers above 0 and at most 1, or none at all")
        limit = int(budget * units)
        if limit < 1:
            raise ModelError(
                f"budget {budget:g} allows no move of {units} containers; give at least {1.0 / units:.2g}, or draw "
                "more nodes"
            )
        limits.append(limit)
    return limits


def run_snapshots(
    nodes: int,
    budgets: Sequence[float | None],
    policies: Sequence[str],
    seeds: Sequence[int],
    variant: str = "base",
    *,
    containers: int | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    on_row: Callable[[SnapshotRow], None] | None = None,
) -> list[SnapshotRow]:
    """Rows for every seed, budget and policy, seeds outermost.

    Args:
        nodes: how many nodes each snapshot has.
        budgets: most containers that may be moved, as shares of all in ]0, 1]; None for no limit.
        policies: names of policies.
        seeds: which snapshots, from 0.
        variant: how hard they are, by name.
        containers: how many containers are drawn; as `containers_for` says where not given.
        settings: by policy, figures beside `SETTINGS`.
        on_row: called with each row as it comes in.

    Raises:
        UnknownNameError: if a policy, one of its figures or the variant is unknown.
        ModelError: if a budget is out of range, or a policy refuses a cluster of that size.
        MissingExtraError: if HiGHS, which proves the bound, is not installed.
        PlacementError: if a policy proposes what is not legal, or the draw does not fit.
    """
    kind = variant_named(variant)
    count = containers_for(nodes) if containers is None else containers
    limits = moves_within(budgets, count, kind)
    more = settings or {}
    _warm_up(kind, policies, more)
    rows: list[SnapshotRow] = []
    for seed in seeds:
        case = _Case(drawn_snapshot(nodes, count, seed, kind))
        for budget, limit in zip(budgets, limits, strict=True):
            bound = case.bound(limit)
            for name in policies:
                value_w, cpu_s = case.judge(policy_for_snapshot(name, limit, case.fleet, more.get(name, {})), limit)
                found_w = bound.anyway_w - value_w
                share = found_w / bound.saving_w if bound.saving_w > 0.0 else float(found_w >= 0.0)
                gap = (value_w - bound.value_w) / bound.value_w
                rows.append(SnapshotRow(nodes, count, budget, name, seed, share, gap, cpu_s))
                if on_row is not None:
                    on_row(rows[-1])
    return rows


def settings_for(limit: int | None, fleet: FleetArrays) -> dict[str, Any]:
    """The suite's settings with the budget: a share that gives the limit back whatever way it is rounded up."""
    return {**SETTINGS, "move_share": 1.0 if limit is None else (limit - 0.5) / max(fleet.containers, 1)}


def policy_for_snapshot(name: str, limit: int | None, fleet: FleetArrays, more: Mapping[str, Any]) -> Policy:
    """A policy with the suite's settings, as far as it has such figures; without one for the budget it is asked again.

    Args:
        name: its name, with what it takes after a colon.
        limit: how many containers it may move; None for no limit.
        fleet: the fleet that it is asked about.
        more: figures beside the suite's, which must be the policy's own.
    """
    wanted = settings_for(limit, fleet)
    known = {field.name for field in fields(recipe(name.partition(":")[0]).params)}
    made = policy_named(name, **{**{key: value for key, value in wanted.items() if key in known}, **more})
    return made if "move_share" in known else AskedAgain(made, limit)


def _warm_up(variant: Variant, policies: Sequence[str], settings: Mapping[str, Mapping[str, Any]]) -> None:
    """Let every policy decide once about a few nodes, so that no row pays for compiling."""
    case = _Case(drawn_snapshot(_WARM_UP_NODES, 8 * _WARM_UP_NODES, 0, variant))
    for name in policies:
        case.judge(policy_for_snapshot(name, None, case.fleet, settings.get(name, {})), None)


class _Case:
    """One snapshot, and what is needed to ask and to judge."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.fleet = fleet_arrays(snapshot.cluster)
        self.view = view_of(snapshot, self.fleet)
        self.folding: Folding = folding_of(self.view, ceiling=Ceiling(CEILING, CEILING))

    def bound(self, limit: int | None) -> Bound:
        """What no plan of at most so many moves can beat."""
        if pair_count(self.folding) > _TIGHTENED_PAIRS:
            return compact_bound(self.folding, limit)
        return tightened_bound(self.folding, limit)

    def judge(self, policy: Policy, limit: int | None) -> tuple[float, float]:
        """Mean power that a policy's proposal leads to, in W, and the CPU time of the decision, in s."""
        policy.reset(0)
        started = time.process_time()
        proposal = policy.propose(self.view)
        cpu_s = time.process_time() - started
        return self._value_w(policy.name, proposal, limit), cpu_s

    def _value_w(self, name: str, proposal: Proposal, limit: int | None) -> float:
        """Moves beyond the limit are dropped, and nodes that are not empty then stay awake."""
        where = self.view.placement.astype(np.int64)
        for move in proposal.moves if limit is None else proposal.moves[:limit]:
            where[move.container] = move.target
        awake = (self.view.state != NodeState.ASLEEP).copy()
        awake[list(proposal.wake)] = True
        awake[list(proposal.sleep)] = False
        awake[where] = True
        cluster = self.snapshot.cluster
        faults = faults_of(
            self.snapshot,
            {c.id: cluster.nodes[n].id for c, n in zip(cluster.containers, where.tolist(), strict=True)},
            frozenset(cluster.nodes[n].id for n in np.flatnonzero(~awake)),
            ceiling=CEILING,
            budget=limit,
        )
        if faults:
            raise PlacementError(
                f"policy {name} proposes what is not legal ({len(faults)} faults): {faults[0]}; "
                "a policy's moves must pass encoding.feasibility one after the other"
            )
        return self.folding.mean_power_w(where, awake)
