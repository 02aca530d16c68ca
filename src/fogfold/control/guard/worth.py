"""Whether emptying a node is worth it: its share of the saving over its share of the disruption.

Karpenter's Balanced (designs/balanced-consolidation.md): both sides are shares, so the figure means the same in
clusters of any size. Saving is idle less sleep power; disruption is 1 for the node and, for each container, a weight
by class (critical 4, standard 1, batch 0.5) that grows with its downtime, cut at 10. Moves that empty no node (relief)
are not judged here: they are made so that nobody is hurt, and rates and rests bound them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from fogfold.control.guard.situation import Situation
from fogfold.model.container import Container, Movability, ServiceClass
from fogfold.model.identity import NodeId
from fogfold.model.node import NodeState

__all__ = ["disruption", "scores"]

_WEIGHT = {ServiceClass.CRITICAL: 4.0, ServiceClass.STANDARD: 1.0, ServiceClass.BATCH: 0.5}
_DOUBLING_S = 10.0
"""Downtime that doubles the disruption of a container."""
_LIVE_DOWNTIME_S = 1.0
"""Freeze of a live move on a calm network."""
_MOST = 10.0


def disruption(container: Container, *, can_live: bool = True) -> float:
    """What moving one container disturbs, in units of one standard container that is not down at all."""
    live = can_live and container.movability is Movability.LIVE
    downtime_s = _LIVE_DOWNTIME_S if live else container.start_s
    return min(_MOST, _WEIGHT[container.service_class] * (1.0 + downtime_s / _DOUBLING_S))


def scores(situation: Situation) -> Mapping[NodeId, float]:
    """Score of emptying each node that is up: at 1 it saves the same share as it disturbs."""
    snapshot = situation.snapshot
    disturbed: dict[NodeId, float] = defaultdict(lambda: 1.0)
    for container, node in snapshot.placement.items():
        disturbed[node] += disruption(situation.container(container), can_live=situation.capabilities.live)
    up = [n for n in snapshot.cluster.nodes if snapshot.states[n.id] in (NodeState.ON, NodeState.DRAINING)]
    saving_w = {node.id: node.power_curve.idle_w - node.sleep_w for node in up}
    total_w = sum(saving_w.values())
    total = sum(disturbed[node.id] for node in up)
    if total_w <= 0.0:
        return dict.fromkeys(saving_w, 0.0)
    return {node: (saving / total_w) / (disturbed[node] / total) for node, saving in saving_w.items()}
