"""Nodes that sleep are still empty domains of a spread: whether each group could still be given one more member.

A scaler adds a member, or a failed one is started anew: with every other domain at the skew's limit it could only go to
the node that sleeps, and would wait for ever. Kubernetes' autoscaler ran into this in both directions (autoscaler#8164,
#9287, #9288).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from fogfold.control.codes import Code
from fogfold.control.guard.situation import Situation
from fogfold.control.orders import Hold, MoveOrder
from fogfold.model.cluster import Group, Scope
from fogfold.model.identity import NodeId
from fogfold.model.node import NodeState

__all__ = ["no_place_for_one_more"]


def no_place_for_one_more(
    sleep: Sequence[NodeId], moves: Iterable[MoveOrder], situation: Situation
) -> tuple[NodeId, Hold] | None:
    """The last node to sleep without which a group has no place left for one more member, and why; None if none.

    Groups that had no such place before are passed over, as are those for which nodes that are off do not count.
    """
    if not sleep:
        return None
    cluster, snapshot = situation.snapshot.cluster, situation.snapshot
    where = {**snapshot.placement, **snapshot.targets}
    after = {**where, **{move.container: move.target for move in moves}}
    awake = {node for node, state in snapshot.states.items() if state in (NodeState.ON, NodeState.WAKING)}
    for group in cluster.groups:
        if group.spread is Scope.NONE or not group.ghosts_count:
            continue
        members = [member.id for member in situation.members[group.id]]
        before = Counter(_domain(situation, where[name], group) for name in members if name in where)
        then = Counter(_domain(situation, after[name], group) for name in members if name in after)
        if not _has_place(situation, group, before, awake) or _has_place(situation, group, then, awake - set(sleep)):
            continue
        for node in reversed(sleep):
            if node in awake and _has_place(situation, group, then, {node}):
                return node, Hold(
                    Code.SPREAD, f"once {node} sleeps, one more member of group {group.id} would have no place"
                )
        return sleep[-1], Hold(Code.SPREAD, f"one more member of group {group.id} would have no place")
    return None


def _domain(situation: Situation, node: NodeId, group: Group) -> str:
    return node if group.spread is Scope.NODE else situation.node(node).site


def _has_place(situation: Situation, group: Group, counts: Counter[str], nodes: set[NodeId]) -> bool:
    lowest = min(counts[_domain(situation, node.id, group)] for node in situation.snapshot.cluster.nodes)
    return any(counts[_domain(situation, node, group)] + 1 - lowest <= group.max_skew for node in nodes)
