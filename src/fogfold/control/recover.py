"""After a crash: what was begun is looked at, ended or undone, and nothing is left locked, within one cycle.

Nobody knows how far the one before came: a state is written before its act, so the act may have been done or not. So
nothing is concluded from what is stored alone: containers are looked for, power is read, marks are listed. It may be
run as often as one likes; what is still on its way when the cycle ends is left to the next.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, replace

from fogfold.control.codes import Code
from fogfold.control.failure import LeaseLostError, PortTimeoutError
from fogfold.control.means import ExecuteSettings, Means
from fogfold.control.migration_states import AFTER_A_CRASH, AfterCrash
from fogfold.control.moving import Mover, Tried, outcome_of
from fogfold.control.node_power import PowerState
from fogfold.control.orders import Hold
from fogfold.control.outcome import Fault, StepOutcome
from fogfold.control.ports import Lease, MigrationRow
from fogfold.control.power import Wanted
from fogfold.control.switching import CAN_BE_CALLED_OFF, Switcher
from fogfold.model.identity import NodeId
from fogfold.model.node import NodeState
from fogfold.model.snapshot import Snapshot

__all__ = ["RecoveryReport", "recover"]

_GOES_OFF = frozenset({PowerState.OFF_REQUESTED, PowerState.OFF_CONFIRMED, PowerState.OFF_UNCONFIRMED})
_DOWN = frozenset({PowerState.OFF, PowerState.WAKE_FAILED, PowerState.LOST})
"""States in which nothing is under way; but a node may have come up by itself, or later than it was waited for."""
_COMES_UP = frozenset({PowerState.WAKE_REQUESTED, PowerState.BOOTING, PowerState.READY, PowerState.SETTLING})


@dataclass(frozen=True)
class RecoveryReport:
    """What was found and what became of it."""

    steps: tuple[StepOutcome, ...] = ()
    """Every migration that was open; those left open are looked at again in the next cycle."""
    released: tuple[NodeId, ...] = ()
    """Nodes from which a mark of a plan that is over was removed."""
    power: tuple[tuple[NodeId, PowerState], ...] = ()
    """Nodes that were being switched, and how they stand now."""
    unread: tuple[str, ...] = ()
    """What could not be looked at, so that it is left to the next cycle."""
    alerts: tuple[str, ...] = ()
    lease_lost: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to the next cycle."""
        settled = all(state not in CAN_BE_CALLED_OFF | _GOES_OFF | _COMES_UP for _, state in self.power)
        return settled and not (self.unread or self.lease_lost or any(s.ended_s is None for s in self.steps))


async def recover(
    means: Means, lease: Lease, settings: ExecuteSettings | None = None, *, live: Collection[str] = ()
) -> RecoveryReport:
    """End what an instance before left open.

    Args:
        means: what it acts with and through.
        lease: the right to act.
        settings: waits and tries; defaults where None.
        live: names of plans that this instance itself is carrying out; theirs is left alone, and so are all nodes that
            are being switched.
    """
    settings = settings or ExecuteSettings()
    settings = replace(settings, switching=replace(settings.switching, switch_s=settings.cycle_s))
    recovery = _Recovery(means, lease, settings, frozenset(live))
    is_lost = False
    try:
        async with asyncio.TaskGroup() as group:
            alive = group.create_task(recovery.mandate.keep_alive())
            await recovery.run()
            alive.cancel()
    except* LeaseLostError:
        is_lost = True
    return recovery.report(is_lost=is_lost)


class _Recovery:
    """One cycle of it."""

    def __init__(self, means: Means, lease: Lease, settings: ExecuteSettings, live: frozenset[str]) -> None:
        self.mandate = means.mandate(lease, settings)
        self._means = means
        self._settings = settings
        self._live = live
        self._mover: Mover = means.mover(self.mandate, settings)
        self._until_s = means.clock.monotonic_s() + settings.cycle_s
        self._snapshot: Snapshot | None = None
        self._switcher: Switcher | None = None
        self._steps: list[StepOutcome] = []
        self._released: list[NodeId] = []
        self._mended: list[NodeId] = []
        self._unread: list[str] = []

    async def run(self) -> None:
        """Migrations and nodes at once, then marks."""
        try:
            self._snapshot = await self._means.eyes.snapshot()
        except PortTimeoutError as error:
            self._unread.append(f"the cluster: {error}")
        rows = [row for row in await self._means.store.open_migrations() if row.plan not in self._live]
        async with asyncio.TaskGroup() as at_once:
            for row in rows:
                at_once.create_task(self._end(row))
            if self._snapshot is not None:
                at_once.create_task(self._nodes(self._snapshot))

    def report(self, *, is_lost: bool) -> RecoveryReport:
        """What became of it."""
        records = self._switcher.records if self._switcher is not None else {}
        return RecoveryReport(
            tuple(sorted(self._steps, key=lambda step: step.key)),
            tuple(sorted(self._released)),
            tuple((node, records[node].state) for node in sorted(self._mended)),
            tuple(self._unread),
            tuple(self._switcher.alerts) if self._switcher is not None else (),
            is_lost,
        )

    async def _end(self, row: MigrationRow) -> None:
        """One migration."""
        what = AFTER_A_CRASH[row.state]
        tried: Tried | None = None
        if what is AfterCrash.RELEASE:
            hold = Hold(Code.HALTED, "the instance that planned it is gone")
            self._steps.append(outcome_of(await self._mover.call_off(row, hold), hold=hold))
            return
        if what is AfterCrash.OBSERVE:
            size_bytes = self._size_bytes(row)
            tried = await self._mover.follow(row, size_bytes=size_bytes, is_taken=False, until_s=self._until_s)
        else:
            fault = Fault(row.facts.get("code", Fault.BROKE))
            tried = await self._mover.make_good(row, fault, str(row.facts.get("why", "")))
        row = tried.row
        if tried.at_source or (tried.fault is not None and tried.is_freed and self._is_gone(row)):
            row = await self._mover.call_off(row, tried=tried)
        self._steps.append(outcome_of(row, tried))

    def _is_gone(self, row: MigrationRow) -> bool:
        """Whether the container is known to be no more: its owner removed it."""
        return self._snapshot is not None and row.move.container not in self._snapshot.cluster.container_index

    def _size_bytes(self, row: MigrationRow) -> float:
        if self._snapshot is None or self._is_gone(row):
            return 0.0
        cluster = self._snapshot.cluster
        return cluster.containers[cluster.container_index[row.move.container]].request.memory_bytes

    async def _nodes(self, snapshot: Snapshot) -> None:
        """Nodes that were being switched, then marks of plans that are over."""
        self._switcher = switcher = self._means.switcher(
            snapshot.cluster, self.mandate, self._settings, plan="recovery"
        )
        await switcher.load()
        try:
            marks = await self._means.orchestrator.marks()
        except PortTimeoutError as error:
            self._unread.append(f"marks: {error}")
            marks = {}
        kept = {node for node, mark in marks.items() if mark.rpartition(" ")[0] in self._live}
        unsettled = CAN_BE_CALLED_OFF | _GOES_OFF | _COMES_UP
        if not self._live:
            # A node that a plan of ours is switching is that plan's affair, and it bears no sign of it.
            for node, record in sorted(switcher.records.items()):
                if record.state in _DOWN:
                    await switcher.turn(node, Wanted.STAY)
            self._mended = [node for node, record in switcher.records.items() if record.state in unsettled]
        async with asyncio.TaskGroup() as at_once:
            for node in self._mended:
                at_once.create_task(self._mend(switcher, node))
        for node in sorted(marks.keys() - kept):
            known = switcher.records.get(node)
            looks_up = snapshot.states.get(node) in {NodeState.ON, NodeState.DRAINING}
            is_up = looks_up if known is None else known.state is PowerState.ON
            # A node that is off, or on its way, keeps its mark until it is up and fit to receive.
            if is_up and node in snapshot.cluster.node_index:
                await switcher.uncordon(node)
                if node in switcher.marked:
                    self._unread.append(f"the mark on {node}: nobody took the order to remove it")
                else:
                    self._released.append(node)

    async def _mend(self, switcher: Switcher, node: NodeId) -> None:
        state = switcher.records[node].state
        if state in CAN_BE_CALLED_OFF:
            await switcher.call_off(node)
            return
        if state in {PowerState.OFF_REQUESTED, PowerState.WAKE_REQUESTED}:
            await switcher.order_again(node)
        if state in _GOES_OFF:
            await switcher.put_off(node, lambda: False)
        else:
            await switcher.wake(node, lambda: True)
