"""From readings to a plan in one go: what a policy proposes, what the guard leaves of it, and the order it is done in.

Nothing here acts or waits. What a decision was made from is part of it, so that it can be shown and made again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from fogfold.compiled import Array
from fogfold.control.collect import Collected
from fogfold.control.guard.judge import Verdict, judge
from fogfold.control.guard.memory import Memory
from fogfold.control.guard.settings import GuardSettings, Rate
from fogfold.control.guard.situation import Situation
from fogfold.control.load_evidence import LoadEvidence
from fogfold.control.orders import Act, Hold, Orders, Refusal, orders_of
from fogfold.control.plan import Plan, make_plan
from fogfold.control.ports import Capabilities
from fogfold.control.power import PowerRecord
from fogfold.control.power_rules import PowerRules, PowerView, sleep_holds, wakes
from fogfold.control.readings import Readings
from fogfold.control.schedule import Rhythm, Run
from fogfold.control.waves import PlanSettings
from fogfold.encoding.arrays import ClusterView, FleetArrays, fleet_arrays, view_of
from fogfold.model.cluster import Cluster
from fogfold.model.identity import ContainerId, NodeId, SiteId
from fogfold.model.node import NodeState
from fogfold.policy.base import Policy

__all__ = ["Decider", "Decision", "Known", "Limits"]

_SAMPLES = 30
"""Whole decisions whose usage a policy is shown: as many as it was trained on."""


@dataclass(frozen=True)
class Limits:
    """What decisions are held to."""

    guard: GuardSettings = field(default_factory=GuardSettings)
    plan: PlanSettings = field(default_factory=PlanSettings)
    power: PowerRules | None = field(default_factory=PowerRules)
    """None leaves it to the policy and the guard which nodes may sleep, and which are woken."""
    week_began_s: float = 345_600.0
    """A Monday 00:00 from which policies count their time, in seconds since the epoch; by default the first of all."""

    @staticmethod
    def none(**changes: Any) -> Limits:
        """No rates, rests, caps and rules of power: what is left is what keeps things safe. For comparisons."""
        everything = Rate(1_000_000, 1.0)
        guard = GuardSettings(
            cluster_rate=everything,
            site_rate=everything,
            node_rate=everything,
            group_rate=everything,
            cooldown_s=0.0,
            window_s=1.0,
            least_score=0.0,
        )
        plan = PlanSettings(node_at_once=1_000, site_at_once=1_000, cluster_at_once=1_000)
        return replace(Limits(guard, plan, None), **changes)


@dataclass(frozen=True)
class Known:
    """What a decision is made from."""

    readings: Readings
    collected: Collected
    now_s: float
    memory: Memory
    records: Mapping[NodeId, PowerRecord]
    evidence: Mapping[SiteId, LoadEvidence]
    capabilities: Capabilities
    unproven: Collection[NodeId] = ()
    stopped: str = ""


@dataclass(frozen=True)
class Decision:
    """What is to be done, and everything that was looked at on the way."""

    run: Run
    known: Known
    proposed: Orders
    verdict: Verdict
    plan: Plan
    alerts: tuple[str, ...] = ()

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """All that was taken out, by the guard and by the plan."""
        return (*self.verdict.refused, *self.plan.refused)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.plan.wake or self.plan.steps or self.plan.sleep)

    @property
    def saving_w(self) -> float:
        """Idle power less sleep power of the nodes that go to sleep, less that of those that are woken."""
        cluster = self.known.collected.snapshot.cluster

        def of(node: NodeId) -> float:
            found = cluster.nodes[cluster.node_index[node]]
            return found.power_curve.idle_w - found.sleep_w

        return sum(of(sleep.node) for sleep in self.plan.sleep) - sum(of(node) for node in self.plan.wake)

    def to_json(self) -> dict[str, Any]:
        """The decision as plain values, for the journal and for whoever asks; without what it was made from."""
        stays = {**self.verdict.stays}
        for refusal in self.plan.refused:
            if refusal.act is Act.SLEEP:
                stays[NodeId(refusal.subject)] = refusal.why
        return {
            "at_s": self.known.now_s,
            "rhythm": self.run.rhythm.name.lower(),
            "events": [[event.kind.value, event.subject] for event in self.run.events],
            "policy": self.proposed.policy,
            "age_s": self.known.collected.snapshot.age_s,
            "proposed": {
                "moves": len(self.proposed.moves),
                "sleep": len(self.proposed.sleep),
                "wake": len(self.proposed.wake),
            },
            "wake": list(self.plan.wake),
            "moves": [
                {
                    "number": step.number,
                    "wave": step.wave,
                    "container": step.move.container,
                    "source": step.move.source,
                    "target": step.move.target,
                }
                for step in self.plan.steps
            ],
            "sleep": [sleep.node for sleep in self.plan.sleep],
            "saving_w": round(self.saving_w, 3),
            "refused": [
                {
                    "act": refusal.act.value,
                    "subject": refusal.subject,
                    "code": refusal.code.value,
                    "detail": refusal.why.detail,
                }
                for refusal in self.refused
            ],
            "stays": {node: [hold.code.value, hold.detail] for node, hold in stays.items()},
            "blind": {node: spot.detail for node, spot in self.known.collected.blind.items()},
            "pressure": {node: round(p.score, 4) for node, p in self.known.collected.pressure.items()},
            "alerts": list(self.alerts),
        }


@dataclass(frozen=True)
class _Columns:
    """One sample of usage by the columns of a cluster."""

    usage: Mapping[ContainerId, float]
    columns: Int[Array, " known"]
    cores: Float[Array, " known"]


class Decider:
    """Makes decisions with a policy, and remembers the usage that it shows to it.

    Args:
        policy: who proposes; it is used by nobody else.
        limits: what its proposals are held to; defaults where None.
        seed: from which the policy was made fresh.
    """

    def __init__(self, policy: Policy, limits: Limits | None = None, *, seed: int = 0) -> None:
        self.policy = policy
        self.limits = limits or Limits()
        self.seed = seed
        self._fleet: FleetArrays | None = None
        self._usage: deque[Mapping[ContainerId, float]] = deque(maxlen=_SAMPLES)
        self._columns_of: Cluster | None = None
        self._columns: list[_Columns] = []

    @property
    def usage(self) -> tuple[Mapping[ContainerId, float], ...]:
        """Cores in use at the whole decisions so far, the latest last, as far as they are remembered."""
        return tuple(self._usage)

    def recall(self, usage: Iterable[Mapping[ContainerId, float]]) -> None:
        """Remember that usage, and no other."""
        self._usage = deque(usage, maxlen=_SAMPLES)

    def decide(self, known: Known, run: Run) -> Decision:
        """One decision. A light one, or one that answers an event, empties no node."""
        usage = known.collected.snapshot.usage
        if run.rhythm is Rhythm.MACRO and usage:
            self._usage.append({container: amount.cpu_cores for container, amount in usage.items()})
        view = self._view(known)
        proposed = orders_of(self.policy.propose(view), known.collected.snapshot)
        if run.rhythm is not Rhythm.MACRO:
            proposed = _light(proposed)
        orders, holds, alerts = self._with_power(proposed, known)
        collected = known.collected
        situation = Situation(
            collected.snapshot,
            known.now_s,
            blind={node: spot.detail for node, spot in collected.blind.items()},
            unreachable=collected.unreachable,
            cut_off=collected.cut_off,
            container_holds=known.readings.container_holds,
            node_holds=known.readings.node_holds,
            sleep_holds={**holds, **known.readings.sleep_holds},
            capabilities=known.capabilities,
            stopped=known.stopped,
            memory=known.memory,
        )
        verdict = judge(orders, situation, self.limits.guard)
        plan = make_plan(verdict.orders, collected.snapshot, self.limits.plan)
        return Decision(run, known, orders, verdict, plan, alerts)

    def _view(self, known: Known) -> ClusterView:
        collected = known.collected
        cluster = collected.snapshot.cluster
        # A cluster that is described anew and has not changed is the same one: policies remember by its arrays.
        if self._fleet is None or (self._fleet.cluster is not cluster and self._fleet.cluster != cluster):
            self._fleet = fleet_arrays(cluster)
        time_s = known.now_s - self.limits.week_began_s
        snapshot = replace(collected.snapshot, cluster=self._fleet.cluster, time_s=time_s)
        view = view_of(snapshot, self._fleet)
        state = view.state.copy()
        for node in collected.blind:
            # To a policy, a node of which nothing is known is like one that is gone: neither source nor target.
            state[snapshot.cluster.node_index[node]] = NodeState.FAILED
        return replace(view, state=state, cpu_history=self._history(snapshot.cluster, view.usage[0]))

    def _history(self, cluster: Cluster, now: Float[Array, " containers"]) -> Float[Array, "samples containers"]:
        """Usage at the whole decisions so far, newest last; what was not read then is taken at what it is now."""
        if self._columns_of is not cluster:
            self._columns_of, self._columns = cluster, []
        # A sample never changes: its columns are looked up once, and shown again in every decision after it.
        known = self._columns
        self._columns = []
        out = np.repeat(now[None, :], len(self._usage), axis=0)
        for row, usage in zip(out, self._usage, strict=True):
            found = next((one for one in known if one.usage is usage), None) or _columns(usage, cluster)
            self._columns.append(found)
            row[found.columns] = found.cores
        return out

    def _with_power(self, proposed: Orders, known: Known) -> tuple[Orders, Mapping[NodeId, Hold], tuple[str, ...]]:
        """The orders with the wake-ups that the rules of power ask for, why nodes may not sleep, and alerts."""
        rules = self.limits.power
        if rules is None:
            return proposed, {}, ()
        view = PowerView(
            known.collected.snapshot,
            known.now_s,
            known.records,
            known.evidence,
            blind=tuple(known.collected.blind),
            unproven=known.unproven,
            must_stay=known.readings.sleep_holds,
            cut_off=known.collected.cut_off,
        )
        wanted, alerts = wakes(view, rules)
        holds = sleep_holds(proposed.sleep, view, rules)
        wake = tuple(dict.fromkeys((*proposed.wake, *(one.node for one in wanted))))
        sleep = tuple(node for node in proposed.sleep if node not in wake)
        return replace(proposed, wake=wake, sleep=sleep), holds, alerts


def _columns(usage: Mapping[ContainerId, float], cluster: Cluster) -> _Columns:
    index = cluster.container_index
    columns = [(index[container], cores) for container, cores in usage.items() if container in index]
    return _Columns(usage, np.array([k for k, _ in columns], np.int64), np.array([cores for _, cores in columns]))


def _light(orders: Orders) -> Orders:
    """The orders without those that empty a node."""
    emptied = set(orders.sleep)
    return replace(orders, moves=tuple(move for move in orders.moves if move.source not in emptied), sleep=())
