"""Rules that look at one order alone: is the cluster halted, are its nodes known, is anything about it protected?"""

from __future__ import annotations

from fogfold.control.codes import Code
from fogfold.control.guard.memory import Ending
from fogfold.control.guard.settings import GuardSettings
from fogfold.control.guard.situation import Situation
from fogfold.control.orders import Hold, MoveOrder, workload_of
from fogfold.model.container import Container, Movability
from fogfold.model.identity import NodeId
from fogfold.model.node import NodeState

__all__ = ["halt", "move_hold", "node_hold", "sleep_hold"]


def halt(situation: Situation, settings: GuardSettings) -> Hold | None:
    """Why nothing at all may move or sleep; None where it may."""
    if situation.stopped:
        return Hold(Code.HALTED, f"stopped: {situation.stopped}")
    should = situation.should_be_up
    away = situation.unreachable & should
    if len(away) >= settings.unreachable_least and len(away) > settings.unreachable_share * len(should):
        return Hold(
            Code.HALTED,
            f"{len(away)} of {len(should)} nodes are unreachable, limit {settings.unreachable_share:.0%}",
        )
    if situation.age_s > settings.oldest_s:
        return Hold(Code.DATA_STALE, f"the snapshot is {situation.age_s:.0f} s old, limit {settings.oldest_s:.0f} s")
    return None


def node_hold(node: NodeId, situation: Situation, settings: GuardSettings) -> Hold | None:
    """Why nothing may be moved from or to a node; None where it may."""
    found = situation.node(node)
    if node in settings.never_touch_nodes or found.site in settings.never_touch_sites:
        return Hold(Code.OPT_OUT, f"{node} is on the list of what must not be touched")
    if node in situation.node_holds:
        return situation.node_holds[node]
    if found.site in situation.cut_off:
        return Hold(Code.UPLINK_LOST, f"site {found.site} has lost its uplink")
    if node in situation.blind:
        return Hold(Code.DATA_STALE, situation.blind[node])
    if node in situation.unreachable:
        return Hold(Code.DATA_STALE, f"{node} does not answer")
    return None


def move_hold(move: MoveOrder, situation: Situation, settings: GuardSettings) -> Hold | None:
    """The first rule against a move, taken alone; None where there is none."""
    cluster, snapshot = situation.snapshot.cluster, situation.snapshot
    if snapshot.placement.get(move.container) != move.source:
        return Hold(Code.NOT_RUNNING, f"{move.container} does not run on {move.source}")
    if move.target not in cluster.node_index:
        return Hold(Code.NODE_NOT_READY, f"{move.target} is not in the cluster")
    if move.container in snapshot.targets:
        return Hold(Code.IN_FLIGHT, f"{move.container} is on its way to {snapshot.targets[move.container]}")
    for node in (move.source, move.target):
        hold = node_hold(node, situation, settings)
        if hold is not None:
            return hold
    container = situation.container(move.container)
    return (
        _protected(container, situation, settings)
        or _window(move, situation, settings)
        or _group_is_whole(container, situation)
        or _rested(move, situation, settings)
    )


def _protected(container: Container, situation: Situation, settings: GuardSettings) -> Hold | None:
    if container.id in settings.never_move or container.group in settings.never_move_groups:
        return Hold(Code.OPT_OUT, f"{container.id} is on the list of what must not be moved")
    if container.movability is Movability.NEVER:
        return Hold(Code.OPT_OUT, f"{container.id} never moves")
    if container.id in situation.container_holds:
        return situation.container_holds[container.id]
    alone = container.group is None or len(situation.members[container.group]) == 1
    interrupts = situation.capabilities.evict_only and not situation.capabilities.replacement_first
    if alone and interrupts and container.id not in situation.opted_in:
        return Hold(Code.SINGLETON, f"{container.id} has no second replica, and would be stopped before it is replaced")
    return None


def _window(move: MoveOrder, situation: Situation, settings: GuardSettings) -> Hold | None:
    for node in (move.source, move.target):
        site = situation.node(node).site
        if not settings.window_is_open(site, situation.now_s):
            return Hold(Code.WINDOW_CLOSED, f"no window of site {site} is open")
    return None


def _group_is_whole(container: Container, situation: Situation) -> Hold | None:
    """Whether one more member may be missing as things are. How many may set out at once is the plan's affair."""
    if container.group is None:
        return None
    snapshot = situation.snapshot
    group = snapshot.cluster.groups[snapshot.cluster.group_index[container.group]]
    missing = [
        member.id
        for member in situation.members[container.group]
        if member.id != container.id and (member.id in snapshot.targets or member.id not in snapshot.placement)
    ]
    if len(missing) >= group.may_be_missing:
        named = f", {missing[0]} is" if missing else ""
        return Hold(
            Code.PDB_ZERO, f"group {group.id} may miss {group.may_be_missing} at once; {len(missing)} missing{named}"
        )
    return None


def _rested(move: MoveOrder, situation: Situation, settings: GuardSettings) -> Hold | None:
    memory, now_s = situation.memory, situation.now_s
    workload = workload_of(situation.snapshot.cluster, move.container)
    if memory.vetoes.get(workload, now_s) > now_s:
        return Hold(Code.OTHER_CONTROLLER, f"somebody else moves {workload} back")
    back_off = memory.back_offs.get(workload)
    if back_off is not None and back_off.until_s > now_s:
        return Hold(
            Code.BACKOFF,
            f"{workload} bounced or failed {back_off.times} times; {back_off.until_s - now_s:.0f} s to wait",
        )
    last = memory.last_move(move.container)
    if last is None:
        return None
    if last.ending is Ending.UNDER_WAY:
        return Hold(Code.IN_FLIGHT, f"a move of {move.container} to {last.target} is under way")
    since_s = now_s - (last.ended_s if last.ended_s is not None else last.at_s)
    if last.ending is Ending.ARRIVED and since_s < settings.cooldown_s:
        return Hold(Code.COOLDOWN, f"{move.container} arrived {since_s:.0f} s ago, rest {settings.cooldown_s:.0f} s")
    if last.ending is Ending.ARRIVED and last.source == move.target and since_s < settings.window_s:
        return Hold(Code.BACKOFF, f"it would undo the move of {move.container} of {since_s:.0f} s ago")
    return None


def sleep_hold(node: NodeId, situation: Situation, settings: GuardSettings) -> Hold | None:
    """Why a node may not sleep, taken alone; None where it may."""
    if node not in situation.snapshot.cluster.node_index:
        return Hold(Code.NODE_NOT_READY, f"{node} is not in the cluster")
    if situation.snapshot.states[node] not in (NodeState.ON, NodeState.DRAINING):
        return Hold(Code.NODE_NOT_READY, f"{node} is {situation.snapshot.states[node].name}")
    hold = node_hold(node, situation, settings)
    if hold is not None:
        return hold
    if situation.node(node).never_sleep:
        return Hold(Code.CONTROL_PLANE, f"{node} must stay on")
    site = situation.node(node).site
    if not settings.window_is_open(site, situation.now_s):
        return Hold(Code.WINDOW_CLOSED, f"no window of site {site} is open")
    return situation.sleep_holds.get(node)
