"""Waves of moves: what may go on at once, what has to wait for whose room, and what can never begin.

Here moves are put into waves on a ledger, one wave after the other. What becomes of drains and refusals is the plan's
affair.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fogfold.control.codes import Code, code_of
from fogfold.control.orders import Hold, MoveOrder
from fogfold.control.room import Ledger
from fogfold.errors import ModelError
from fogfold.model.identity import ContainerId, GroupId, NodeId, SiteId
from fogfold.model.node import NodeState
from fogfold.model.reason import Reason
from fogfold.model.resources import check_number
from fogfold.model.snapshot import Snapshot

__all__ = ["Draft", "PlanSettings", "Step", "draft_waves", "ledger_of", "replayed"]

_CURED_BY_LEAVING = (Reason.NO_ROOM, Reason.NODE_HOT, Reason.ACCELERATOR, Reason.ANTI_AFFINITY, Reason.SPREAD)
"""Reasons that may be gone once others have left the target."""


@dataclass(frozen=True, slots=True)
class PlanSettings:
    """How much may go on at once, and how large a plan may be."""

    node_at_once: int = 2
    """Moves under way that touch one node: they share its link, and a node that sends many serves badly."""
    site_at_once: int = 8
    """Moves under way that touch one site: they share its uplink."""
    cluster_at_once: int = 30
    """Moves under way in all (OpenNebula's OneDRS caps a cluster at 30)."""
    most_moves: int = 500
    """Moves of one plan; what comes after them waits for the next decision."""
    ceiling: float = 1.0
    """Share of each capacity that usage on a target may reach."""

    def __post_init__(self) -> None:
        for name in ("node_at_once", "site_at_once", "cluster_at_once", "most_moves"):
            if getattr(self, name) < 1:
                raise ModelError(f"{name} is {getattr(self, name)}; give at least 1, or do not plan at all")
        check_number("ceiling", self.ceiling, high=1.0, above=True)


@dataclass(frozen=True, slots=True)
class Step:
    """One move of a plan."""

    number: int
    """Position in the plan, from 0."""
    wave: int
    """It may begin when all steps of earlier waves are over."""
    move: MoveOrder
    after: tuple[int, ...] = ()
    """Steps that must have arrived first, or this one is off: they free the room it goes into, or their group cannot
    miss both."""
    detour: bool = False
    """Whether it only makes room for a while: the same container goes on in a later step."""


@dataclass
class Draft:
    """A plan in the making."""

    steps: list[Step] = field(default_factory=list)
    left: list[MoveOrder] = field(default_factory=list)
    """Moves that could not begin in any wave."""
    why: dict[ContainerId, Hold] = field(default_factory=dict)
    """What stood against each of them at the end."""
    leaving: dict[NodeId, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Steps by source."""
    moving: dict[ContainerId, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Steps by container: two where it makes a detour."""
    of_group: dict[GroupId, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Steps by group."""
    is_full: bool = False
    """Whether it holds as many moves as it may."""
    was_stopped: bool = False
    """Whether the caller cut it off."""


def draft_waves(
    moves: list[MoveOrder],
    sleep: list[NodeId],
    wake: Iterable[NodeId],
    snapshot: Snapshot,
    settings: PlanSettings,
    spares: tuple[NodeId, ...],
    cut_off: Callable[[], bool],
) -> Draft:
    """Moves in waves, each begun as early as its room, its group and the caps allow.

    Args:
        moves: in the order in which they are preferred.
        sleep: nodes that take nothing more.
        wake: nodes that are woken first.
        snapshot: the cluster as it is.
        settings: caps and bounds.
        spares: nodes that may take a container for a while to break a ring.
        cut_off: asked before each wave; once it says yes no further one is begun.
    """
    draft = Draft()
    if not moves:
        return draft
    ledger = ledger_of(sleep, wake, snapshot, settings)
    waiting = list(moves)
    wave = 0
    detoured: set[ContainerId] = set()
    while waiting:
        draft.was_stopped, draft.is_full = cut_off(), len(draft.steps) >= settings.most_moves
        if draft.was_stopped or draft.is_full:
            break
        begun = _wave(waiting, wave, ledger, snapshot, settings, draft)
        if not begun:
            detour = _detour(waiting, ledger, spares, detoured)
            if detour is None:
                break
            move, after = detour
            detoured.add(move.container)
            ledger.begin(move.container, move.target)
            _add(draft, move, wave, snapshot, detour=True)
            waiting = [after if other.container == move.container else other for other in waiting]
            begun = [move.container]
        else:
            gone = set(begun)
            waiting = [move for move in waiting if move.container not in gone]
        for container in begun:
            ledger.finish(container)
        wave += 1
    draft.left = waiting
    rings = _in_rings(waiting)
    stuck = {move.source for move in waiting}
    for move in waiting:
        reason = ledger.refusal(move.container, move.target)
        draft.why[move.container] = _why(move, reason, draft, snapshot, in_ring=move.container in rings, stuck=stuck)
    return draft


def ledger_of(sleep: Iterable[NodeId], wake: Iterable[NodeId], snapshot: Snapshot, settings: PlanSettings) -> Ledger:
    """The room as it is once nodes are ordered to wake and nothing more goes onto those that are to sleep."""
    states = dict.fromkeys(sleep, NodeState.DRAINING)
    states |= {node: NodeState.ON if snapshot.states[node] is NodeState.DRAINING else NodeState.WAKING for node in wake}
    return Ledger(snapshot, ceiling=settings.ceiling, states=states)


def replayed(steps: Iterable[Step], ledger: Ledger) -> dict[ContainerId, Reason]:
    """Containers whose steps may not be, when the steps are played wave by wave, and the rule against each."""
    out: dict[ContainerId, Reason] = {}
    wave, under_way = -1, list[ContainerId]()
    for step in steps:
        if step.wave != wave:
            for container in under_way:
                ledger.finish(container)
            wave, under_way = step.wave, []
        move = step.move
        reason = ledger.refusal(move.container, move.target) if move.container not in out else Reason.NONE
        if reason is not Reason.NONE:
            out[move.container] = reason
        elif move.container not in out:
            ledger.begin(move.container, move.target)
            under_way.append(move.container)
    return out


def _wave(
    waiting: list[MoveOrder], wave: int, ledger: Ledger, snapshot: Snapshot, settings: PlanSettings, draft: Draft
) -> list[ContainerId]:
    """Begin what may begin now, in order, within the caps."""
    nodes, sites = Counter[NodeId](), Counter[SiteId]()
    total = 0
    for container, target in snapshot.targets.items():
        _count(snapshot, snapshot.placement.get(container), target, nodes, sites)
        total += 1
    begun: list[ContainerId] = []
    for move in waiting:
        if total >= settings.cluster_at_once or len(draft.steps) >= settings.most_moves:
            break
        touched = {_site(snapshot, move.source), _site(snapshot, move.target)}
        if (
            max(nodes[move.source], nodes[move.target]) >= settings.node_at_once
            or max(sites[site] for site in touched) >= settings.site_at_once
            or ledger.refusal(move.container, move.target) is not Reason.NONE
        ):
            continue
        ledger.begin(move.container, move.target)
        _count(snapshot, move.source, move.target, nodes, sites)
        total += 1
        _add(draft, move, wave, snapshot)
        begun.append(move.container)
    return begun


def _add(draft: Draft, move: MoveOrder, wave: int, snapshot: Snapshot, *, detour: bool = False) -> None:
    cluster = snapshot.cluster
    group = cluster.containers[cluster.container_index[move.container]].group
    number = len(draft.steps)
    earlier = {*draft.leaving[move.target], *draft.moving[move.container]}
    if group is not None:
        earlier.update(draft.of_group[group])
        draft.of_group[group].append(number)
    draft.leaving[move.source].append(number)
    draft.moving[move.container].append(number)
    after = tuple(sorted(k for k in earlier if draft.steps[k].wave < wave))
    draft.steps.append(Step(number, wave, move, after, detour))


def _detour(
    waiting: list[MoveOrder], ledger: Ledger, spares: tuple[NodeId, ...], detoured: set[ContainerId]
) -> tuple[MoveOrder, MoveOrder] | None:
    """A move of one container of a ring to a spare node, and the move that takes it on from there; None without one."""
    if not spares:
        return None
    ring = _in_rings(waiting)
    for move in waiting:
        if move.container not in ring or move.container in detoured:
            continue
        for node in spares:
            if node != move.target and ledger.refusal(move.container, node) is Reason.NONE:
                return MoveOrder(move.container, move.source, node), MoveOrder(move.container, node, move.target)
    return None


def _why(
    move: MoveOrder, reason: Reason, draft: Draft, snapshot: Snapshot, *, in_ring: bool, stuck: set[NodeId]
) -> Hold:
    """What to say of a move that never began; `stuck` are the sources of all of these."""
    if draft.was_stopped or draft.is_full:
        return Hold(Code.PLAN_LIMIT, f"the plan ended after {len(draft.steps)} moves")
    if reason is Reason.NONE:
        return Hold(Code.IN_FLIGHT, f"{len(snapshot.targets)} moves under way leave no place beside them")
    text = f"{move.container} may not go from {move.source} to {move.target}: {reason.name}"
    if reason in _CURED_BY_LEAVING:
        if in_ring:
            return Hold(Code.CYCLE, f"{text}, and those there wait for this one")
        if move.target in stuck:
            return Hold(Code.ROOM_NOT_FREED, f"{text}, and those there cannot leave")
    return Hold(code_of(reason), text)


def _in_rings(moves: Iterable[MoveOrder]) -> frozenset[ContainerId]:
    """Containers whose move goes from a node to another from which, along other moves, one comes back to the first."""
    moves = list(moves)
    onward: dict[NodeId, set[NodeId]] = {}
    for move in moves:
        onward.setdefault(move.source, set()).add(move.target)
    reach: dict[NodeId, set[NodeId]] = {}
    for start in onward:
        seen: set[NodeId] = set()
        ahead = [start]
        while ahead:
            for node in onward.get(ahead.pop(), ()):
                if node not in seen:
                    seen.add(node)
                    ahead.append(node)
        reach[start] = seen
    return frozenset(move.container for move in moves if move.source in reach.get(move.target, ()))


def _count(
    snapshot: Snapshot, source: NodeId | None, target: NodeId, nodes: Counter[NodeId], sites: Counter[SiteId]
) -> None:
    ends = {target} if source is None else {source, target}
    nodes.update(ends)
    sites.update({_site(snapshot, node) for node in ends})


def _site(snapshot: Snapshot, node: NodeId) -> SiteId:
    cluster = snapshot.cluster
    return cluster.nodes[cluster.node_index[node]].site
