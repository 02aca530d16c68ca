"""Sees what really happens on a day of chaos: in the world behind the ports, and in what the store accepts.

It stands next to the store, behind all that fails and dies, and looks at the world without asking anybody. A write
whose caller was cut off may be accepted all the same: it is looked up before the next one. What must never be, it
writes down in a sentence the moment it is; what may be for a while is for the end of the day to judge.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jaxtyping import Int

from fogfold.adapters.simulated.cluster import SimulatedCluster
from fogfold.compiled import Array
from fogfold.control.migration_states import FINAL, HOLDS_TARGET_ROOM
from fogfold.control.node_power import PowerState
from fogfold.control.ports import Lease, MigrationRow, Store
from fogfold.control.switching import POWER_KIND, record_of_kept
from fogfold.errors import InvariantError
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.migration import MigrationState
from fogfold.model.node import NodeState
from fogfold.world.invariants import check_state
from fogfold.world.rows import CI, NI, K
from fogfold.world.world import World

__all__ = ["Eye", "Seen", "Witness"]

_AT_REST = frozenset({PowerState.ON, PowerState.OFF})
_GIVEN_UP = frozenset({PowerState.WAKE_FAILED, PowerState.LOST})
"""States to be in as long as the node does not answer."""
_UP = (NodeState.ON, NodeState.DRAINING)


class Seen:
    """What was seen so far."""

    def __init__(self) -> None:
        self.begun: set[str] = set()
        """Migrations of which an attempt was made, by key."""
        self.failed: set[str] = set()
        """Those of them of which an attempt failed."""
        self.undone: set[str] = set()
        self.safe: set[str] = set()
        """Those that ended with the container where the store says, and no room held for it elsewhere."""
        self.doubled: set[ContainerId] = set()
        """Containers that ran, or were being moved, twice at once."""
        self.broken: list[str] = []
        """What must never be and was, a sentence each."""


class Witness:
    """The store as one instance reaches it, watched.

    Args:
        store: the store.
        seen: what all witnesses of the day have seen together.
        eye: who looks at the world.
    """

    def __init__(self, store: Any, eye: Eye) -> None:
        self._store, self._eye = store, eye

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def acquire(self, holder: str, *, for_s: float, now_s: float) -> Lease | None:
        """The lease; see `control.ports.Store`."""
        lease: Lease | None = await self._store.acquire(holder, for_s=for_s, now_s=now_s)
        if lease is not None:
            self._eye.see_lease(lease)
        return lease

    async def add_migrations(self, rows: Sequence[MigrationRow], *, fence: int) -> None:
        """Write migrations down; see `control.ports.Store`."""
        await self._store.add_migrations(rows, fence=fence)
        self._eye.see_write("add_migrations", fence)

    async def keep(self, kind: str, name: str, value: Mapping[str, Any], *, fence: int) -> None:
        """Keep a record; see `control.ports.Store`."""
        await self._store.keep(kind, name, value, fence=fence)
        self._eye.see_write("keep", fence)

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
        """Take a migration from one state to another; see `control.ports.Store`."""
        await self._eye.settle(self._store)
        try:
            row: MigrationRow = await self._store.transition(key, before, after, at_s=at_s, facts=facts, fence=fence)
        except BaseException:
            # A caller that is cut off never hears whether the database committed: that shows when it is read.
            self._eye.see_cut(key)
            raise
        self._eye.see_write("transition", fence)
        self._eye.see_step(row)
        return row


class Eye:
    """Looks at the world, and remembers what the store has accepted.

    Args:
        cluster: the world.
    """

    def __init__(self, cluster: SimulatedCluster) -> None:
        self.seen = Seen()
        self._cluster = cluster
        built = cluster.built
        self._frame = World(cluster.fleet, built.params, [(built.workload, built.faults)], seed=built.seed).frame
        self._lease: Lease | None = None
        self._moving: dict[ContainerId, set[str]] = {}
        self._cut: dict[str, Int[Array, "rows containers"]] = {}
        """Migrations of which a step may have been accepted unseen, with how the world stood then."""

    def look(self) -> None:
        """One look at the world: what must hold at every moment."""
        state = self._cluster.state()
        try:
            check_state(self._frame, state)
        except InvariantError as error:
            self._break(f"at {self._cluster.tick} ticks: {error}")
        nowhere = int((state.container_int[0, CI.PLACEMENT] < 0).sum())
        running = int(state.node_int[0, NI.RUNNING].sum())
        if running + nowhere != self._cluster.fleet.containers:
            self._break(f"{running} containers run and {nowhere} do not, of {self._cluster.fleet.containers}")

    def see_lease(self, lease: Lease) -> None:
        """A lease was given out."""
        last = self._lease
        if last is not None and lease.fence < last.fence:
            self._break(f"fence {lease.fence} was given to {lease.holder} after {last.fence}")
        if last is not None and lease.fence == last.fence and lease.holder != last.holder:
            self._break(f"{lease.holder} and {last.holder} were given the same fence {lease.fence}")
        self._lease = lease

    def see_write(self, call: str, fence: int) -> None:
        """A write was accepted."""
        if self._lease is None or fence != self._lease.fence:
            held = "none" if self._lease is None else self._lease.fence
            self._break(f"{call} under fence {fence} was accepted, where {held} was the last given out")

    def see_cut(self, key: str) -> None:
        """A step of a migration was asked for, and nobody heard whether it was accepted."""
        self._cut[key] = self._cluster.state().container_int[0].copy()

    async def settle(self, store: Any) -> None:
        """See the steps that were accepted unseen. The final ones are judged by how the world stood when they came."""
        for key in tuple(self._cut):
            rows = [row for row in await store.migrations(plan=key.rpartition("/")[0]) if row.key == key]
            for row in rows:
                # Meanwhile another may have seen it.
                if key in self._cut:
                    self._see(row, self._cut[key])
                    if row.state in FINAL:
                        del self._cut[key]

    def see_step(self, row: MigrationRow) -> None:
        """A step of a migration was accepted."""
        self._cut.pop(row.key, None)
        self._see(row, self._cluster.state().container_int[0])

    def _see(self, row: MigrationRow, world: Int[Array, "rows containers"]) -> None:
        seen, container = self.seen, row.move.container
        moving = self._moving.setdefault(container, set())
        if row.state in HOLDS_TARGET_ROOM | {MigrationState.FAILED}:
            seen.begun.add(row.key)
            moving.add(row.key)
            if len(moving) > 1:
                seen.doubled.add(container)
        else:
            moving.discard(row.key)
        if row.state is MigrationState.FAILED:
            seen.failed.add(row.key)
        if row.state is MigrationState.UNDONE and row.key in seen.begun:
            seen.undone.add(row.key)
        if row.state in {MigrationState.UNDONE, MigrationState.VERIFIED} and row.key in seen.begun:
            self._judge(row, world)

    def _judge(self, row: MigrationRow, world: Int[Array, "rows containers"]) -> None:
        """Whether a migration that is over ended as the store says."""
        figures = world[:, self._cluster.container(row.move.container)]
        runs_on, target = int(figures[CI.PLACEMENT]), int(figures[CI.TARGET])
        where = self._cluster.cluster.nodes[runs_on].id if runs_on >= 0 else None
        if target < 0 and where is not None and row.facts.get("runs_on") == where:
            self.seen.safe.add(row.key)

    def nowhere(self) -> tuple[ContainerId, ...]:
        """Containers that run nowhere now."""
        placement = self._cluster.state().container_int[0, CI.PLACEMENT].tolist()
        return tuple(c.id for c, n in zip(self._cluster.cluster.containers, placement, strict=True) if n < 0)

    async def locked(self, store: Store) -> tuple[str, ...]:
        """What is still held, marked or on its way, though nobody acts any more: one sentence each."""
        cluster, state = self._cluster, self._cluster.state()
        out = [f"{row.key} ({row.move.container}) is still {row.state.name}" for row in await store.open_migrations()]
        kept = await store.kept(POWER_KIND)
        going = state.container_int[0, CI.TARGET].tolist()
        out += [
            f"{container.id} is still on its way to {cluster.cluster.nodes[n].id}"
            for container, n in zip(cluster.cluster.containers, going, strict=True)
            if n >= 0
        ]
        for n, node in enumerate(cluster.cluster.nodes):
            looks = NodeState(int(state.node_int[0, NI.STATE, n]))
            record = record_of_kept(node.id, kept[node.id]) if node.id in kept else None
            out += self._left(node.id, looks, record.state if record is not None else None)
        return tuple(out)

    def _left(self, node: NodeId, looks: NodeState, kept: PowerState | None) -> list[str]:
        out = []
        is_up = looks in _UP
        if looks not in (NodeState.ON, NodeState.ASLEEP, NodeState.FAILED, NodeState.WAKING):
            out.append(f"{node} is left {looks.name}")
        if kept is not None and kept not in _AT_REST and (is_up or kept not in _GIVEN_UP):
            out.append(f"{node} is kept as {kept.name} and looks {looks.name}")
        if kept is PowerState.ON and looks is NodeState.ASLEEP:
            out.append(f"{node} is kept as ON and is asleep")
        if kept is PowerState.OFF and is_up:
            out.append(f"{node} is kept as OFF and is up")
        if node in self._cluster.marks and is_up:
            out.append(f"{node} is up and still bears the mark {self._cluster.marks[node]!r}")
        return out

    @property
    def in_flight(self) -> tuple[tuple[int, int], ...]:
        """Source and target of every move that is on its way."""
        ints, clock = self._cluster.state().container_int[0], self._cluster.state().clock[0]
        active = ints[CI.ACTIVE, : clock[K.ACTIVE]]
        return tuple((int(ints[CI.PLACEMENT, c]), int(ints[CI.TARGET, c])) for c in active)

    def _break(self, sentence: str) -> None:
        if sentence not in self.seen.broken:
            self.seen.broken.append(sentence)
