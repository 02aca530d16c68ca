"""The verdict: which orders pass, why the others do not, and why each node that stays on does so.

Moves are judged in units. All moves of a node that is to sleep, and its sleep order, are one: if one of them falls the
others fall with it, since a node half emptied saves nothing and is not put to sleep. Every other move is a unit of its
own. Then moves that counted on room which a fallen move would have freed fall too, until nothing changes; and nodes
whose sleep would leave a spread group no place for one more member.

The guard asks whether something may be done. Whether it can be done, in which order, is asked by the plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from fogfold.control.codes import Code, code_of
from fogfold.control.guard.budgets import Budgets
from fogfold.control.guard.ghosts import no_place_for_one_more
from fogfold.control.guard.protect import halt, move_hold, node_hold, sleep_hold
from fogfold.control.guard.settings import GuardSettings
from fogfold.control.guard.situation import Situation
from fogfold.control.guard.worth import scores
from fogfold.control.orders import Act, Hold, MoveOrder, Orders, Refusal, count_codes
from fogfold.control.room import Ledger
from fogfold.model.identity import NodeId
from fogfold.model.node import NodeState
from fogfold.model.reason import Reason

__all__ = ["Verdict", "judge"]

_ROOM = (Reason.NO_ROOM, Reason.NODE_HOT, Reason.ACCELERATOR)


@dataclass(frozen=True)
class Verdict:
    """What passes and what does not."""

    orders: Orders
    """What is left of the orders, in their order."""
    refused: tuple[Refusal, ...] = ()
    stays: Mapping[NodeId, Hold] = field(default_factory=dict)
    """Why each node that is up is not to sleep: every such node is here or in `orders.sleep`."""

    @property
    def counts(self) -> Mapping[Code, int]:
        """How many orders each code has taken out."""
        return count_codes(self.refused)


@dataclass(frozen=True)
class _Unit:
    """Orders that stand or fall together."""

    moves: tuple[MoveOrder, ...]
    sleeps: NodeId | None = None


def judge(orders: Orders, situation: Situation, settings: GuardSettings | None = None) -> Verdict:
    """What of the orders may be done.

    Wake orders pass even where the rest is halted, since they only add room; the stop button alone stops them too.

    Args:
        orders: what was proposed.
        situation: what it is judged by.
        settings: the limits; defaults where None.
    """
    settings = settings or GuardSettings()
    refused: list[Refusal] = []
    halted = halt(situation, settings)
    wake = _wakes(orders, situation, refused)
    units: list[_Unit] = []
    score = scores(situation) if orders.sleep else {}
    budgets = Budgets(situation, settings)
    for unit in _units(orders):
        fallen = _alone(unit, situation, settings, halted, score)
        if not fallen:
            too_many = budgets.grant(unit.moves)
            fallen = {too_many[0]: too_many[1]} if too_many else {}
        if fallen:
            refused += _fall(unit, fallen)
        else:
            units.append(unit)
    units = _room_is_there(units, situation, refused)
    sleep = {unit.sleeps for unit in units}
    moves = {move for unit in units for move in unit.moves}
    kept = replace(
        orders,
        moves=tuple(move for move in orders.moves if move in moves),
        sleep=tuple(node for node in orders.sleep if node in sleep),
        wake=wake,
    )
    return Verdict(kept, tuple(refused), _stays(orders, kept, refused, situation, settings, halted))


def _units(orders: Orders) -> list[_Unit]:
    """Drains and single moves, in the order in which each is first spoken of."""
    sleep = set(orders.sleep)
    units: dict[str, _Unit] = {}
    for move in orders.moves:
        if move.source in sleep:
            name = f"node {move.source}"
            before = units.get(name, _Unit((), move.source))
            units[name] = _Unit((*before.moves, move), move.source)
        else:
            units[f"container {move.container}"] = _Unit((move,))
    for node in orders.sleep:
        units.setdefault(f"node {node}", _Unit((), node))
    return list(units.values())


def _alone(
    unit: _Unit,
    situation: Situation,
    settings: GuardSettings,
    halted: Hold | None,
    score: Mapping[NodeId, float],
) -> dict[MoveOrder | NodeId, Hold]:
    """What stands against a unit, whatever else is done: by move, or by node for its sleep order."""
    if halted is not None:
        return dict.fromkeys([*unit.moves, *([unit.sleeps] if unit.sleeps is not None else [])], halted)
    fallen: dict[MoveOrder | NodeId, Hold] = {}
    for move in unit.moves:
        hold = move_hold(move, situation, settings)
        if hold is not None:
            fallen[move] = hold
    if unit.sleeps is not None:
        hold = sleep_hold(unit.sleeps, situation, settings) or _left_behind(unit, situation)
        if hold is None and score[unit.sleeps] < settings.least_score:
            detail = f"score {score[unit.sleeps]:.2f}, least {settings.least_score:.2f}"
            hold = Hold(Code.SCORE_LOW, detail)
        if hold is not None and not fallen:
            fallen[unit.sleeps] = hold
    return fallen


def _left_behind(unit: _Unit, situation: Situation) -> Hold | None:
    """Whether somebody stays on a node that is to sleep, or is on the way to it."""
    snapshot, node = situation.snapshot, unit.sleeps
    leaving = {move.container for move in unit.moves} | set(snapshot.targets)
    for container, where in snapshot.placement.items():
        if where == node and container not in leaving:
            return Hold(Code.DRAIN_BROKEN, f"nothing moves {container} off {node}")
    for container, where in snapshot.targets.items():
        if where == node:
            return Hold(Code.IN_FLIGHT, f"{container} is on its way to {node}")
    return None


def _fall(unit: _Unit, fallen: Mapping[MoveOrder | NodeId, Hold]) -> list[Refusal]:
    """Refusals of all of a unit: what fell by itself with its own code, the rest with it."""
    first, hold = next(iter(fallen.items()))
    name = first.container if isinstance(first, MoveOrder) else first
    with_it = (
        hold if hold.code is Code.HALTED else Hold(Code.DRAIN_BROKEN, f"{name} falls for {hold.code}: {hold.detail}")
    )
    out = [Refusal(Act.MOVE, move.container, fallen.get(move, with_it), move) for move in unit.moves]
    if unit.sleeps is not None:
        out.append(Refusal(Act.SLEEP, unit.sleeps, fallen.get(unit.sleeps, with_it)))
    return out


def _wakes(orders: Orders, situation: Situation, refused: list[Refusal]) -> tuple[NodeId, ...]:
    kept = []
    for node in orders.wake:
        if situation.stopped:
            refused.append(Refusal(Act.WAKE, node, Hold(Code.HALTED, f"stopped: {situation.stopped}")))
        elif node not in situation.snapshot.cluster.node_index:
            refused.append(Refusal(Act.WAKE, node, Hold(Code.NODE_NOT_READY, f"{node} is not in the cluster")))
        else:
            kept.append(node)
    return tuple(kept)


def _room_is_there(units: list[_Unit], situation: Situation, refused: list[Refusal]) -> list[_Unit]:
    """Units whose moves still have room once all that is kept has been done; the others fall."""
    while True:
        fallen = _without_room(units, situation, {r.move.source for r in refused if r.move is not None})
        if not fallen:
            stuck = no_place_for_one_more([u.sleeps for u in units if u.sleeps], _moves(units), situation)
            if stuck is None:
                return units
            fallen = {stuck[0]: stuck[1]}
        kept = []
        for unit in units:
            hit = {key: fallen[key] for key in (*unit.moves, unit.sleeps) if key in fallen}
            if hit:
                refused += _fall(unit, hit)
            else:
                kept.append(unit)
        units = kept


def _moves(units: Iterable[_Unit]) -> list[MoveOrder]:
    return [move for unit in units for move in unit.moves]


def _without_room(
    units: Iterable[_Unit], situation: Situation, not_left: set[NodeId]
) -> dict[MoveOrder | NodeId, Hold]:
    """Moves without room even once all others are done; `not_left` are the sources of moves that have fallen."""
    moves = _moves(units)
    if not moves:
        return {}
    ledger = Ledger(situation.snapshot)
    for move in moves:
        ledger.leave(move.container)
    out: dict[MoveOrder | NodeId, Hold] = {}
    for move in moves:
        reason = ledger.refusal(move.container, move.target)
        if reason in _ROOM:
            code = Code.ROOM_NOT_FREED if move.target in not_left else code_of(reason)
            out[move] = Hold(code, f"{move.target} has no room for {move.container} ({reason.name})")
            ledger.begin(move.container, move.source)
            not_left = not_left | {move.source}
        else:
            ledger.begin(move.container, move.target)
    return out


def _stays(
    orders: Orders,
    kept: Orders,
    refused: Iterable[Refusal],
    situation: Situation,
    settings: GuardSettings,
    halted: Hold | None,
) -> dict[NodeId, Hold]:
    """Why each node that is up stays so, from the most to the least telling."""
    said = {refusal.subject: refusal.why for refusal in refused if refusal.act is Act.SLEEP}
    out: dict[NodeId, Hold] = {}
    for node in situation.snapshot.cluster.nodes:
        name = node.id
        if name in kept.sleep or situation.snapshot.states[name] not in (NodeState.ON, NodeState.DRAINING):
            continue
        proposer = f"by {orders.policy or 'the proposer'}"
        out[name] = (
            said.get(name)
            or halted
            or node_hold(name, situation, settings)
            or (Hold(Code.CONTROL_PLANE, f"{name} must stay on") if node.never_sleep else None)
            or (Hold(orders.stays[name], proposer) if name in orders.stays else None)
            or situation.sleep_holds.get(name)
            or Hold(Code.NOT_PROPOSED, proposer)
        )
    return out
