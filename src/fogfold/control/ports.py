"""What the control plane needs of the world outside: five ports, each a few lines, each with its promises.

Adapters implement them; nothing here knows which. What all ports promise: an act may be asked for twice and is done
once (it carries a key), a call that cannot be answered in time raises `PortTimeoutError`, and what is not known is None
or absent, never zero. Times are seconds since the epoch, UTC.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from fogfold.control.orders import MoveOrder
from fogfold.control.readings import Readings
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.migration import MigrationState

__all__ = [
    "Capabilities",
    "Clock",
    "Collector",
    "InputsRow",
    "Lease",
    "MigrationRow",
    "MoveSight",
    "MoveStatus",
    "Orchestrator",
    "Power",
    "PowerReading",
    "PowerSight",
    "Store",
]


@runtime_checkable
class Clock(Protocol):
    """Time. Real ones ask the machine; in tests it is held in the hand."""

    def now_s(self) -> float:
        """Seconds since the epoch, UTC. May jump either way when the machine's clock is set."""
        ...

    def monotonic_s(self) -> float:
        """Seconds since some start; never goes back. All gaps and deadlines are measured on it."""
        ...

    async def sleep(self, duration_s: float) -> None:
        """Return once that much monotonic time has passed."""
        ...


@runtime_checkable
class Collector(Protocol):
    """Reads the cluster."""

    async def read(self) -> Readings:
        """What is there and what was measured; what could not be read is absent.

        Raises:
            PortTimeoutError: if not even the listing of nodes and containers can be had.
        """
        ...


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an orchestrator can do for a move."""

    live: bool = False
    """Copies a running container: it is frozen only for the last part."""
    restart: bool = False
    """Stops it here and starts it there, on the node that was asked for."""
    evict: bool = False
    """Can only ask a container to leave; who starts it where is for others to choose."""
    replacement_first: bool = False
    """Starts the new one before the old one stops."""
    exact_target: bool = False
    """The target is kept to. Where not it is a hint, and the next snapshot says where the container went."""

    @property
    def evict_only(self) -> bool:
        """Whether a move is no more than an eviction."""
        return self.evict and not (self.live or self.restart)


class MoveStatus(StrEnum):
    """How a move stands, as the orchestrator sees it."""

    UNKNOWN = "unknown"
    """No move of that key is known: it was never taken, or is long forgotten."""
    RESERVED = "reserved"
    MOVING = "moving"
    ARRIVED = "arrived"
    """It runs and answers, somewhere: see `MoveSight.runs_on`."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class MoveSight:
    """One look at a move."""

    status: MoveStatus
    runs_on: NodeId | None = None
    """Where the container is observed to run; None where it runs nowhere, or nobody can say."""
    progress: float | None = None
    """Share of the bytes sent, in [0, 1]; None where it is not measured. A move that progresses is not timed out."""
    detail: str = ""


@runtime_checkable
class Orchestrator(Protocol):
    """Moves containers, and marks nodes so that nothing new is put on them."""

    @property
    def capabilities(self) -> Capabilities:
        """What it can do."""
        ...

    async def start(self, key: str, move: MoveOrder, *, live: bool, rate_limit_bit_s: float | None) -> None:
        """Begin a move; asked again under the same key, nothing more happens.

        Room on the target is held from here on. Returns when the order is taken, not when it is done.

        Raises:
            PortError: if it can never be done as asked (unknown container, not supported).
            PortTimeoutError: if nobody answered; it may have been begun.
        """
        ...

    async def watch(self, key: str, container: ContainerId) -> MoveSight:
        """How the move stands now. Never waits for it."""
        ...

    async def undo(self, key: str, move: MoveOrder) -> None:
        """Give the move up: the container runs on (or is started again) at its source, room elsewhere is freed.

        Harmless where nothing was begun or it is undone already. Where it has arrived meanwhile it stays there: the
        next `watch` says so.
        """
        ...

    async def cordon(self, node: NodeId, mark: str) -> None:
        """Put our own mark on a node: nothing new goes there. The mark names the plan and its fencing number."""
        ...

    async def uncordon(self, node: NodeId) -> None:
        """Remove our own marks, and no others."""
        ...

    async def marks(self) -> Mapping[NodeId, str]:
        """Every node that bears a mark of ours, with its text: what recovery releases."""
        ...


class PowerReading(StrEnum):
    """What can be said of a node's power."""

    ON = "on"
    OFF = "off"
    UNKNOWN = "unknown"
    """Nobody could read it: not the same as off."""


@dataclass(frozen=True, slots=True)
class PowerSight:
    """One look at a node's power from outside."""

    reading: PowerReading
    presumed: bool = False
    """Whether it was concluded (no answer, draw fell) instead of read from a management interface."""
    power_w: float | None = None
    """Draw, where there is a meter."""


@runtime_checkable
class Power(Protocol):
    """Switches nodes off and on. Orders are taken and carried out later: only `read` says what is so."""

    def is_proven(self, node: NodeId) -> bool:
        """Whether this node was once seen to go off and to come back through this driver."""
        ...

    async def off(self, node: NodeId, key: str) -> None:
        """Order a clean shutdown. Harmless on a node that is off.

        Raises:
            PortError: if this node has no driver.
            PortTimeoutError: if the driver did not answer; the order may have been taken.
        """
        ...

    async def on(self, node: NodeId, key: str) -> None:
        """Order it on. Harmless on a node that is on. Raises as `off`."""
        ...

    async def read(self, node: NodeId) -> PowerSight:
        """What its power is now; `UNKNOWN` where that cannot be read."""
        ...


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to act, held by one instance at a time."""

    holder: str
    fence: int
    """Grows with every change of holder; writes and marks that carry an older one are refused."""
    until_s: float


@dataclass(frozen=True)
class MigrationRow:
    """A migration as it is stored."""

    key: str
    """Unique; also the key under which the orchestrator knows it."""
    plan: str
    move: MoveOrder
    state: MigrationState
    attempt: int = 1
    changed_s: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What is known beside: bytes sent, where it went, why it failed. Plain JSON values."""


@dataclass(frozen=True)
class InputsRow:
    """What one decision was made from, as it is stored."""

    life: str
    """Names the life of a policy in one process: it was fresh before the first decision of it."""
    number: int
    """Of the decision in that life, from 1, without gaps."""
    journal: int | None
    """Number of its entry in the journal; None for one that was not written down there."""
    at_s: float
    is_alone: bool
    """Whether the decision can be made again from this alone; else all before it in its life are needed too."""
    value: bytes
    parts: tuple[str, ...] = ()
    """Digests of what it shares with other decisions (the cluster, the limits), stored once."""


@runtime_checkable
class Store(Protocol):
    """What must survive. Each call is one transaction; a write that bears a fence is refused once it is outdated."""

    async def acquire(self, holder: str, *, for_s: float, now_s: float) -> Lease | None:
        """The lease, new or renewed; None while another holds it."""
        ...

    async def release(self, lease: Lease) -> None:
        """Give the lease back, so that the next need not wait for it to run out."""
        ...

    async def add_migrations(self, rows: Sequence[MigrationRow], *, fence: int) -> None:
        """Write migrations down as planned, all or none.

        Raises:
            LeaseLostError: if the fence is outdated.
        """
        ...

    async def transition(
        self,
        key: str,
        before: MigrationState,
        after: MigrationState,
        *,
        at_s: float,
        facts: Mapping[str, Any],
        fence: int,
    ) -> MigrationRow:
        """Take a migration from one state to another, if it is in the former: written before the act it stands for.

        Raises:
            IllegalTransitionError: if that may not be, or it is in another state by now.
            LeaseLostError: if the fence is outdated.
        """
        ...

    async def open_migrations(self) -> Sequence[MigrationRow]:
        """All that are in no final state, oldest first: where recovery begins."""
        ...

    async def keep(self, kind: str, name: str, value: Mapping[str, Any], *, fence: int) -> None:
        """Keep a record that replaces the one of that name: a node's power, a back-off, the stop button."""
        ...

    async def kept(self, kind: str) -> Mapping[str, Mapping[str, Any]]:
        """All records of a kind, by name."""
        ...

    async def append(self, kind: str, value: Mapping[str, Any], *, at_s: float) -> int:
        """Add an entry to the journal, which nobody changes afterwards; gives its number."""
        ...

    async def remember_inputs(self, rows: Sequence[InputsRow], parts: Mapping[str, bytes]) -> None:
        """Store what decisions were made from, all or none. What is stored already stays as it is.

        Args:
            rows: the decisions.
            parts: by digest, those of their parts that may not be stored yet.
        """
        ...

    async def inputs_of(self, journal: int) -> InputsRow | None:
        """What the decision with that number in the journal was made from; None where that is not stored (any more)."""
        ...

    def inputs_until(self, life: str, number: int) -> AsyncIterator[InputsRow]:
        """What all decisions of a life were made from, up to that one, in their order."""
        ...

    async def inputs_part(self, digest: str) -> bytes | None:
        """A part by its digest; None where it is not stored (any more)."""
        ...

    async def prune_inputs(self, before_s: float, most_bytes: int) -> int:
        """Forget what decisions before that time were made from, and the oldest until the rest is no larger than that.

        Parts go with the last decision that needs them. Gives how many decisions were forgotten.
        """
        ...
