"""Orders by name: what a proposal asks for once it has left the arrays, and why some of it was taken out.

A proposal speaks in columns of one decision's arrays. Everything from the guard on is kept, shown and resumed later, so
it speaks in ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from fogfold.control.codes import Code, code_of
from fogfold.errors import ModelError
from fogfold.model.cluster import Cluster
from fogfold.model.container import Container
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.snapshot import Snapshot
from fogfold.policy.base import Proposal

__all__ = ["Act", "Hold", "MoveOrder", "Orders", "Refusal", "count_codes", "orders_of", "workload_of"]

_T = TypeVar("_T")


class Act(StrEnum):
    """What an order asks for."""

    MOVE = "move"
    SLEEP = "sleep"
    WAKE = "wake"


@dataclass(frozen=True, slots=True)
class MoveOrder:
    """One container from where it runs to where it should."""

    container: ContainerId
    source: NodeId
    target: NodeId


@dataclass(frozen=True, slots=True)
class Hold:
    """Why something is left alone: the code, and the sentence that names names."""

    code: Code
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An order that was taken out."""

    act: Act
    subject: str
    """The container of a move, the node of a sleep or wake order."""
    why: Hold
    move: MoveOrder | None = None
    """The move itself, where it is one."""

    @property
    def code(self) -> Code:
        """The code of the refusal."""
        return self.why.code


@dataclass(frozen=True)
class Orders:
    """What is asked for: nodes to wake first, nodes that take nothing more, moves in their order.

    Raises:
        ModelError: if a container is moved twice, a node both sleeps and wakes, or a node is named twice.
    """

    moves: tuple[MoveOrder, ...] = ()
    sleep: tuple[NodeId, ...] = ()
    """Nodes that these moves empty (or that are empty) and that may then sleep."""
    wake: tuple[NodeId, ...] = ()
    """Nodes to wake, or whose draining is to be called off."""
    stays: Mapping[NodeId, Code] = field(default_factory=dict)
    """Why the proposer left other nodes as they are."""
    policy: str = ""

    def __post_init__(self) -> None:
        for what, names in (
            ("moves container", [str(move.container) for move in self.moves]),
            ("sends node to sleep", [str(node) for node in self.sleep]),
            ("wakes node", [str(node) for node in self.wake]),
        ):
            twice = [name for name, count in Counter(names).items() if count > 1]
            if twice:
                raise ModelError(f"one set of orders {what} {twice[0]!r} twice; give each once")
        both = set(self.sleep) & set(self.wake)
        if both:
            raise ModelError(f"node {min(both)!r} is both to sleep and to wake; give one of the two")


def orders_of(proposal: Proposal, snapshot: Snapshot) -> Orders:
    """A proposal's orders by id.

    Raises:
        ModelError: if it moves a container that runs nowhere, or names a column that the cluster does not have.
    """
    cluster = snapshot.cluster
    moves = []
    for move in proposal.moves:
        container = _at("container", cluster.containers, move.container).id
        source = snapshot.placement.get(container)
        if source is None:
            raise ModelError(
                f"policy {proposal.policy!r} moves container {container!r}, which runs nowhere; "
                "only what runs can be moved"
            )
        moves.append(MoveOrder(container, source, _at("node", cluster.nodes, move.target).id))
    return Orders(
        moves=tuple(moves),
        sleep=tuple(_at("node", cluster.nodes, n).id for n in proposal.sleep),
        wake=tuple(_at("node", cluster.nodes, n).id for n in proposal.wake),
        stays={_at("node", cluster.nodes, n).id: code_of(reason) for n, reason in proposal.stays.items() if reason},
        policy=proposal.policy,
    )


def workload_of(cluster: Cluster, container: ContainerId) -> str:
    """The name that history is kept under: its group where it has one, else its own; it survives moves."""
    found: Container = cluster.containers[cluster.container_index[container]]
    return f"group {found.group}" if found.group is not None else f"container {found.id}"


def count_codes(refusals: Iterable[Refusal]) -> dict[Code, int]:
    """How many refusals bear each code: what the metric shows."""
    return dict(sorted(Counter(refusal.code for refusal in refusals).items()))


def _at(kind: str, things: tuple[_T, ...], index: int) -> _T:
    if not 0 <= index < len(things):
        raise ModelError(
            f"the proposal names {kind} {index}, but the cluster has {len(things)}; both must be of one view"
        )
    return things[index]
