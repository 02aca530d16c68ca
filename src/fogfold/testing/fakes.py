"""An orchestrator, power and eyes that a test holds in its hand: they keep their promises until told to break.

Time passes on the test's clock. What a real one may do wrong is scripted: an order that nobody answers (before or after
it was taken), a move that fails, stands still or lands elsewhere, a node that will not go off or come up.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from fogfold.control.failure import PortError, PortTimeoutError
from fogfold.control.orders import Hold, MoveOrder
from fogfold.control.ports import Capabilities, Clock, MoveSight, MoveStatus, PowerReading, PowerSight
from fogfold.control.power import NodeSight
from fogfold.model.cluster import Cluster
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.node import NodeState
from fogfold.model.snapshot import Snapshot
from fogfold.testing.builders import a_snapshot

__all__ = ["LIVE", "FakeEyes", "FakeOrchestrator", "FakePower", "Fate", "Lost", "Turn"]


LIVE = Capabilities(live=True, restart=True, exact_target=True)
"""Copies what runs, to the very node that was asked for."""


class Fate(StrEnum):
    """What becomes of an attempt."""

    ARRIVES = "arrives"
    FAILS = "fails"
    STALLS = "stalls"
    """It stands still half way."""
    REFUSED = "refused"


class Lost(StrEnum):
    """When a call loses its answer."""

    BEFORE = "before"
    """Nothing was done."""
    AFTER = "after"
    """It was done all the same."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One attempt at a move."""

    fate: Fate = Fate.ARRIVES
    takes_s: float = 20.0
    """How long until it has arrived, or failed."""
    lands_on: NodeId | None = None
    """Where it arrives; None for the node that was asked for."""
    shows_progress: bool = True


@dataclass
class _Attempt:
    order: MoveOrder
    turn: Turn
    live: bool
    began_s: float
    status: MoveStatus = MoveStatus.MOVING


class _Answers:
    """Calls that are noted down, and may lose their answers."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        """Every call that was made: its name, and the container or node that it was about."""
        self._lost: dict[str, deque[Lost]] = defaultdict(deque)

    def lose(self, call: str, when: Lost = Lost.BEFORE, times: int = 1) -> None:
        """Let the next calls of that name time out."""
        self._lost[call].extend([when] * times)

    def count(self, call: str) -> int:
        """How often a call was made."""
        return sum(name == call for name, _ in self.calls)

    def _note(self, call: str, subject: str) -> Lost | None:
        self.calls.append((call, subject))
        lost = self._lost[call].popleft() if self._lost[call] else None
        if lost is Lost.BEFORE:
            raise PortTimeoutError(f"{call} {subject}: nobody answered")
        return lost

    @staticmethod
    def _answer(lost: Lost | None, call: str) -> None:
        if lost is Lost.AFTER:
            raise PortTimeoutError(f"{call}: the answer was lost")


class FakeOrchestrator(_Answers):
    """`control.ports.Orchestrator` over a few dictionaries.

    Args:
        clock: time.
        placement: where each container runs at first.
        capabilities: what it can do; moves are live where it can and are asked to be, else by restart.
    """

    def __init__(
        self,
        clock: Clock,
        placement: Mapping[str, str],
        capabilities: Capabilities = LIVE,
    ) -> None:
        super().__init__()
        self.capabilities = capabilities
        self.runs: dict[ContainerId, set[NodeId]] = {
            ContainerId(container): {NodeId(node)} for container, node in placement.items()
        }
        """Where each container runs: nowhere while it is restarted; never on two nodes."""
        self.nodes_marked: dict[NodeId, str] = {}
        self.limits_bit_s: list[float | None] = []
        """The cap of each move that was begun."""
        self.most_under_way = 0
        """Most moves that were under way at once."""
        self.begun: Counter[str] = Counter()
        """Attempts of each container that were really begun."""
        self._clock = clock
        self._attempts: dict[str, _Attempt] = {}
        self._held: dict[str, NodeId] = {}
        self._turns: dict[ContainerId, deque[Turn]] = defaultdict(deque)

    def script(self, container: str, *turns: Turn) -> None:
        """What becomes of the next attempts at a container; those after them arrive."""
        self._turns[ContainerId(container)].extend(turns)

    @property
    def held(self) -> dict[str, NodeId]:
        """Room that is held for moves, by key."""
        self._pass()
        return dict(self._held)

    def placement(self) -> dict[ContainerId, NodeId]:
        """Where each container runs that runs."""
        self._pass()
        return {container: next(iter(nodes)) for container, nodes in self.runs.items() if nodes}

    def under_way(self) -> dict[ContainerId, NodeId]:
        """Where those on the move are going."""
        self._pass()
        moving = (a for a in self._attempts.values() if a.status is MoveStatus.MOVING)
        return {attempt.order.container: attempt.order.target for attempt in moving}

    def there(self, node: NodeId) -> frozenset[ContainerId]:
        """Who runs on a node, or is on the way there."""
        found = {container for container, where in self.placement().items() if where == node}
        return frozenset(found | {container for container, where in self.under_way().items() if where == node})

    async def start(self, key: str, move: MoveOrder, *, live: bool, rate_limit_bit_s: float | None) -> None:
        """Begin a move; asked again under the same key, nothing more happens."""
        lost = self._note("start", move.container)
        self._pass()
        if key not in self._attempts:
            turn = self._turns[move.container].popleft() if self._turns[move.container] else Turn()
            if turn.fate is Fate.REFUSED or move.container not in self.runs:
                raise PortError(f"{move.container} cannot be moved")
            self._attempts[key] = _Attempt(move, turn, live, self._clock.monotonic_s())
            self._held[key] = move.target
            self.limits_bit_s.append(rate_limit_bit_s)
            self.begun[move.container] += 1
            if not live:
                self.runs[move.container] = set()
            self.most_under_way = max(self.most_under_way, len(self.under_way()))
        self._answer(lost, "start")

    async def watch(self, key: str, container: ContainerId) -> MoveSight:
        """How the move stands now."""
        self._note("watch", container)
        self._pass()
        where = next(iter(self.runs.get(container, set())), None)
        attempt = self._attempts.get(key)
        if attempt is None:
            return MoveSight(MoveStatus.UNKNOWN, where)
        done = self._share(attempt) if attempt.turn.shows_progress else None
        detail = "it crashed on the target" if attempt.status is MoveStatus.FAILED else ""
        return MoveSight(attempt.status, where, done, detail)

    async def undo(self, key: str, move: MoveOrder) -> None:
        """Give a move up; harmless where it was never begun, is undone already or has arrived."""
        lost = self._note("undo", move.container)
        self._pass()
        attempt = self._attempts.get(key)
        if attempt is not None and attempt.status is not MoveStatus.ARRIVED and move.container in self.runs:
            attempt.status = MoveStatus.FAILED
            if not self.runs.get(move.container):
                self.runs[move.container] = {move.source}
        if attempt is None:
            # An order that comes late must not begin what was given up.
            self._attempts[key] = _Attempt(move, Turn(), True, self._clock.monotonic_s(), MoveStatus.FAILED)
        self._held.pop(key, None)
        self._answer(lost, "undo")

    async def cordon(self, node: NodeId, mark: str) -> None:
        """Put a mark on a node."""
        lost = self._note("cordon", node)
        self.nodes_marked[node] = mark
        self._answer(lost, "cordon")

    async def uncordon(self, node: NodeId) -> None:
        """Remove it."""
        lost = self._note("uncordon", node)
        self.nodes_marked.pop(node, None)
        self._answer(lost, "uncordon")

    async def marks(self) -> Mapping[NodeId, str]:
        """Every node that bears a mark."""
        self._note("marks", "")
        return dict(self.nodes_marked)

    def _share(self, attempt: _Attempt) -> float:
        share = min(1.0, (self._clock.monotonic_s() - attempt.began_s) / attempt.turn.takes_s)
        return min(0.5, share) if attempt.turn.fate is Fate.STALLS else share

    def _pass(self) -> None:
        """Let happen what time has brought."""
        for key, attempt in self._attempts.items():
            if attempt.status is not MoveStatus.MOVING or self._share(attempt) < 1.0:
                continue
            if attempt.turn.fate is Fate.FAILS:
                # Copied, it still runs at its source; restarted, it runs nowhere until it is undone.
                attempt.status = MoveStatus.FAILED
            else:
                attempt.status = MoveStatus.ARRIVED
                self.runs[attempt.order.container] = {attempt.turn.lands_on or attempt.order.target}
                self._held.pop(key, None)


class FakePower(_Answers):
    """`control.ports.Power` over a few sets.

    Args:
        clock: time.
        orchestrator: who runs where; whoever is on a node that is ordered off is noted in `cut`.
        asleep: nodes that are off at first.
        off_s: how long a node takes to go off.
        boot_s: how long it takes to answer after it was ordered on.
    """

    def __init__(
        self,
        clock: Clock,
        orchestrator: FakeOrchestrator,
        *,
        asleep: tuple[str, ...] = (),
        off_s: float = 30.0,
        boot_s: float = 60.0,
    ) -> None:
        super().__init__()
        self.cut: dict[NodeId, frozenset[ContainerId]] = {}
        """Who ran on each node when it was ordered off: nobody, one hopes."""
        self.most_in_transit = 0
        """Most nodes that were being switched at once."""
        self.deaf: set[str] = set()
        """Nodes that do not go off when they are told to."""
        self.dead: set[str] = set()
        """Nodes that do not come up."""
        self.unread: set[str] = set()
        """Nodes of which the power cannot be read."""
        self.undriven: set[str] = set()
        """Nodes without a driver."""
        self._clock = clock
        self._orchestrator = orchestrator
        self._off_s, self._boot_s = off_s, boot_s
        self._asleep: set[NodeId] = {NodeId(node) for node in asleep}
        self._going: dict[NodeId, float] = {}
        self._coming: dict[NodeId, float] = {}

    def is_proven(self, node: NodeId) -> bool:
        """Always."""
        return node not in self.undriven

    def is_off(self, node: NodeId) -> bool:
        """Whether it draws nothing."""
        self._pass()
        return node in self._asleep

    def answers(self, node: NodeId) -> bool:
        """Whether it is up."""
        return not self.is_off(node) and node not in self._coming

    async def off(self, node: NodeId, key: str) -> None:  # noqa: ARG002
        """Order a clean shutdown."""
        lost = self._note("off", node)
        self._driven(node)
        if node not in self.deaf and not self.is_off(node) and node not in self._going:
            self.cut[node] = self._orchestrator.there(node)
            self._going[node] = self._clock.monotonic_s() + self._off_s
        self.most_in_transit = max(self.most_in_transit, len(self._going) + len(self._coming))
        self._answer(lost, "off")

    async def on(self, node: NodeId, key: str) -> None:  # noqa: ARG002
        """Order it on."""
        lost = self._note("on", node)
        self._driven(node)
        if self.is_off(node) and node not in self.dead:
            self._asleep.discard(node)
            self._coming[node] = self._clock.monotonic_s() + self._boot_s
        self.most_in_transit = max(self.most_in_transit, len(self._going) + len(self._coming))
        self._answer(lost, "on")

    async def read(self, node: NodeId) -> PowerSight:
        """What its power is now."""
        self._note("read", node)
        if node in self.unread:
            return PowerSight(PowerReading.UNKNOWN)
        return PowerSight(PowerReading.OFF if self.is_off(node) else PowerReading.ON)

    def _driven(self, node: NodeId) -> None:
        if node in self.undriven:
            raise PortError(f"{node} has no power driver")

    def _pass(self) -> None:
        now_s = self._clock.monotonic_s()
        for node in [node for node, at_s in self._going.items() if at_s <= now_s]:
            del self._going[node]
            self._asleep.add(node)
        for node in [node for node, at_s in self._coming.items() if at_s <= now_s]:
            del self._coming[node]


@dataclass
class FakeEyes:
    """`control.eyes.Eyes` that see what the fakes know, at once."""

    cluster: Cluster
    orchestrator: FakeOrchestrator
    power: FakePower
    clock: Clock
    protected: dict[ContainerId, Hold] = field(default_factory=dict)
    """Containers that must not be touched."""
    kept_on: dict[NodeId, Hold] = field(default_factory=dict)
    """Nodes that must stay on."""
    volumes: dict[NodeId, int] = field(default_factory=dict)
    """Volumes attached to each node; none where absent."""
    age_s: float = 0.0
    """How old what they see is."""
    blind: int = 0
    """How many of the next snapshots cannot be had."""

    async def snapshot(self) -> Snapshot:
        """The cluster as it is."""
        if self.blind > 0:
            self.blind -= 1
            raise PortTimeoutError("the cluster cannot be read")
        nodes = [node.id for node in self.cluster.nodes]
        known = self.cluster.container_index
        placement = {c: n for c, n in self.orchestrator.placement().items() if c in known}
        targets = {c: n for c, n in self.orchestrator.under_way().items() if c in known and placement.get(c) != n}
        return a_snapshot(
            self.cluster,
            {str(c): str(n) for c, n in placement.items()},
            states={str(node): self._state(node) for node in nodes},
            targets={str(c): str(n) for c, n in targets.items()},
            time_s=self.clock.now_s(),
            age_s=self.age_s,
        )

    def holds(self) -> Mapping[ContainerId, Hold]:
        """Containers that must not be touched."""
        return self.protected

    def keeps_on(self, node: NodeId) -> Hold | None:
        """Why a node may not go off."""
        return self.kept_on.get(node)

    async def look(self, node: NodeId) -> NodeSight:
        """One node."""
        up = self.power.answers(node)
        return NodeSight(up, not self.orchestrator.there(node), self.volumes.get(node, 0), up)

    def _state(self, node: NodeId) -> NodeState:
        if self.power.is_off(node):
            return NodeState.ASLEEP
        if not self.power.answers(node):
            return NodeState.WAKING
        return NodeState.DRAINING if node in self.orchestrator.nodes_marked else NodeState.ON
