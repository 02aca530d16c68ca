"""An ordered plan out of guarded moves: waves that fit at every moment, each move taking the room it uses.

A wave is a set of moves that may go on at once: while a move is under way it holds room at both ends, and only when it
has arrived is its source free of it. A later wave begins when the one before is over, so a swap through a third node
comes out in the right order by itself. What can never begin is refused: in a ring, since its room was never freed, or
for the rule that stands against it. Moves of a node that cannot be emptied to the end are refused with the first.

Same orders, same plan. Nothing here looks at a clock; a caller that must end in time passes `cut_off`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from fogfold.control.codes import Code, code_of
from fogfold.control.orders import Act, Hold, MoveOrder, Orders, Refusal
from fogfold.control.room import Ledger
from fogfold.control.waves import Draft, PlanSettings, Step, draft_waves, ledger_of, replayed
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.node import NodeState
from fogfold.model.reason import Reason
from fogfold.model.snapshot import Snapshot

__all__ = ["Plan", "PlanSettings", "Sleep", "Step", "make_plan", "recheck"]

_SLEEPS_FROM = (NodeState.ON, NodeState.DRAINING)
_WAKES_FROM = (NodeState.ASLEEP, NodeState.DRAINING, NodeState.WAKING)


@dataclass(frozen=True, slots=True)
class Sleep:
    """A node that may sleep once it is empty."""

    node: NodeId
    after: tuple[int, ...] = ()
    """Steps that must have arrived first: all moves off it."""


@dataclass(frozen=True)
class Plan:
    """What is to be done, in order: wake, let nothing more onto the nodes to be emptied, move in waves, let sleep."""

    wake: tuple[NodeId, ...] = ()
    steps: tuple[Step, ...] = ()
    sleep: tuple[Sleep, ...] = ()
    refused: tuple[Refusal, ...] = ()
    """What of the orders is not in the plan, and why."""

    @property
    def waves(self) -> tuple[tuple[Step, ...], ...]:
        """The steps, wave by wave."""
        last = max((step.wave for step in self.steps), default=-1)
        return tuple(tuple(step for step in self.steps if step.wave == wave) for wave in range(last + 1))


def make_plan(
    orders: Orders,
    snapshot: Snapshot,
    settings: PlanSettings | None = None,
    *,
    spare: Iterable[NodeId] = (),
    cut_off: Callable[[], bool] = lambda: False,
) -> Plan:
    """The plan of those orders on that cluster.

    Args:
        orders: what has passed the guard.
        snapshot: the cluster as it is; moves that are on their way hold their room throughout.
        settings: caps and bounds; defaults where None.
        spare: nodes that may take a container for a while to break a ring of moves; by default rings are refused.
        cut_off: asked before each wave; once it says yes the waves so far are the plan.
    """
    settings = settings or PlanSettings()
    refused: list[Refusal] = []
    wake = _ready(Act.WAKE, orders.wake, snapshot, refused)
    sleep = _ready(Act.SLEEP, orders.sleep, snapshot, refused)
    moves = _sane(orders.moves, snapshot, refused)
    # What empties a node that cannot sleep is for nothing.
    awake = set(orders.sleep) - set(sleep)
    for move in moves:
        if move.source in awake:
            hold = Hold(Code.DRAIN_BROKEN, f"{move.source} is not in a state to be put to sleep")
            refused.append(Refusal(Act.MOVE, move.container, hold, move))
    moves = [move for move in moves if move.source not in awake]
    spares = tuple(spare)
    while True:
        # Whatever makes a drain impossible takes all of that drain with it, and the rest is planned anew without it.
        broken = _broken_drains(sleep, moves, snapshot, refused)
        sleep = [node for node in sleep if node not in broken]
        moves = [move for move in moves if move.source not in broken]
        draft = draft_waves(moves, sleep, wake, snapshot, settings, spares, cut_off)
        waiting = {move.container for move in draft.left}
        if spares and waiting & {step.move.container for step in draft.steps}:
            # Somebody went to a spare node and cannot go on from there.
            spares = ()
            if not draft.was_stopped:
                continue
        refused += [Refusal(Act.MOVE, m.container, draft.why[m.container], m) for m in moves if m.container in waiting]
        moves = [move for move in moves if move.container not in waiting]
        if draft.was_stopped:
            sleep = _drop_halves(draft, sleep, moves, wake, snapshot, settings, refused)
            break
        if not any(move.source in sleep for move in draft.left):
            break
    steps = tuple(draft.steps)
    return Plan(
        wake=tuple(wake),
        steps=steps,
        sleep=tuple(Sleep(node, tuple(s.number for s in steps if s.move.source == node)) for node in sleep),
        refused=tuple(refused),
    )


def recheck(
    step: Step,
    snapshot: Snapshot,
    settings: PlanSettings | None = None,
    *,
    holds: Mapping[ContainerId, Hold] | None = None,
) -> Hold | None:
    """What stands against a step by now, just before it begins; None where nothing does.

    Args:
        step: the step that is next.
        snapshot: the cluster as it is now.
        settings: the plan's.
        holds: containers that the orchestrator protects by now.
    """
    move = step.move
    if holds and move.container in holds:
        return holds[move.container]
    found: list[Refusal] = []
    if not _sane((move,), snapshot, found):
        return found[0].why
    reason = Ledger(snapshot, ceiling=(settings or PlanSettings()).ceiling).refusal(move.container, move.target)
    return None if reason is Reason.NONE else Hold(code_of(reason), f"{move.container} may not go to {move.target} now")


def _ready(act: Act, nodes: Iterable[NodeId], snapshot: Snapshot, refused: list[Refusal]) -> list[NodeId]:
    """Nodes of which the order makes sense in the state that they are in."""
    sensible = _SLEEPS_FROM if act is Act.SLEEP else _WAKES_FROM
    out = []
    for node in nodes:
        state = snapshot.states.get(node)
        if state in sensible:
            out.append(node)
        else:
            what = f"is {state.name}" if state is not None else "is not in the cluster"
            refused.append(Refusal(act, node, Hold(Code.NODE_NOT_READY, f"{node} {what}")))
    return out


def _sane(moves: Iterable[MoveOrder], snapshot: Snapshot, refused: list[Refusal]) -> list[MoveOrder]:
    """Moves of containers that run where the order says, to nodes that exist."""
    out = []
    for move in moves:
        detail = ""
        if snapshot.placement.get(move.container) != move.source:
            detail = f"{move.container} does not run on {move.source}"
        elif move.target not in snapshot.cluster.node_index:
            detail = f"there is no node {move.target}"
        if detail:
            refused.append(Refusal(Act.MOVE, move.container, Hold(Code.NOT_RUNNING, detail), move))
        else:
            out.append(move)
    return out


def _broken_drains(
    sleep: list[NodeId], moves: list[MoveOrder], snapshot: Snapshot, refused: list[Refusal]
) -> frozenset[NodeId]:
    """Nodes to sleep on which somebody would be left; their orders are added to what is refused."""
    leaving = {move.container for move in moves} | set(snapshot.targets)
    codes = {refusal.subject: refusal.code for refusal in refused if refusal.act is Act.MOVE}
    wanted = set(sleep)
    stuck: dict[NodeId, ContainerId] = {}
    for container, node in snapshot.placement.items():
        if node in wanted and node not in stuck and container not in leaving:
            stuck[node] = container
    stuck |= {node: container for container, node in snapshot.targets.items() if node in wanted}
    for node in sleep:
        if node not in stuck:
            continue
        who = stuck[node]
        because = f", refused for {codes[who]}" if who in codes else ""
        hold = Hold(Code.DRAIN_BROKEN, f"{who} would stay on {node}{because}")
        refused.append(Refusal(Act.SLEEP, node, hold))
        refused += [Refusal(Act.MOVE, m.container, hold, m) for m in moves if m.source == node]
    return frozenset(stuck)


def _drop_halves(
    draft: Draft,
    sleep: list[NodeId],
    moves: list[MoveOrder],
    wake: list[NodeId],
    snapshot: Snapshot,
    settings: PlanSettings,
    refused: list[Refusal],
) -> list[NodeId]:
    """After a plan was cut off: take out nodes half emptied, detours half made, and all that built on them.

    Gives the nodes that are emptied all the same; the steps that remain are numbered anew.
    """
    ended = {step.move.container for step in draft.steps if not step.detour}
    moves = [move for move in moves if move.container in ended]
    while True:
        broken = _broken_drains(sleep, moves, snapshot, refused)
        sleep = [node for node in sleep if node not in broken]
        moves = [move for move in moves if move.source not in broken]
        kept = {move.container for move in moves}
        steps = [step for step in draft.steps if step.move.container in kept]
        illegal = replayed(steps, ledger_of(sleep, wake, snapshot, settings))
        for move in moves:
            if move.container in illegal:
                text = f"{move.container} counted on moves that are not in the plan: {illegal[move.container].name}"
                refused.append(Refusal(Act.MOVE, move.container, Hold(Code.ROOM_NOT_FREED, text), move))
        moves = [move for move in moves if move.container not in illegal]
        if not illegal:
            break
    numbers = {step.number: k for k, step in enumerate(steps)}
    waves = {wave: k for k, wave in enumerate(sorted({step.wave for step in steps}))}
    draft.steps = [
        replace(
            step,
            number=numbers[step.number],
            wave=waves[step.wave],
            after=tuple(numbers[k] for k in step.after if k in numbers),
        )
        for step in steps
    ]
    return sleep
