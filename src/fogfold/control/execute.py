"""A plan carried out: nodes woken, marked, emptied wave by wave, switched off; each act written down before it is done.

Before each step the newest that is known is asked again, and what stands against it by now keeps it from being begun.
What fails is undone and tried again within bounds, or reported as what it is. A stop begins nothing new and sees what
runs to its end; a lost lease ends everything at once. After a crash nothing here is of use: see `recover`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import replace

from fogfold.control.codes import Code
from fogfold.control.failure import LeaseLostError, PortTimeoutError
from fogfold.control.gate import Gate
from fogfold.control.means import ExecuteSettings, Means
from fogfold.control.moving import Tried, outcome_of
from fogfold.control.orders import Hold, MoveOrder
from fogfold.control.outcome import ExecutionReport, StepEnd, StepOutcome, Verdict
from fogfold.control.plan import Plan, recheck
from fogfold.control.ports import Lease, MigrationRow
from fogfold.control.since import Since, taken_s
from fogfold.control.waves import Step
from fogfold.model.container import Movability
from fogfold.model.identity import ContainerId, NodeId
from fogfold.model.migration import MigrationState
from fogfold.model.snapshot import Snapshot

__all__ = ["Executor"]

_STOPPED = Hold(Code.HALTED, "the stop button was pressed")


class Executor:
    """Carries plans out, one after the other.

    Args:
        means: what it acts with and through.
        settings: waits, tries and caps; defaults where None.
        stop: whether the stop button is pressed, asked before anything is begun.
        another: a node to wake instead of one that does not come up, given that one and those tried; None where there
            is none.
    """

    def __init__(
        self,
        means: Means,
        settings: ExecuteSettings | None = None,
        *,
        stop: Callable[[], bool] = lambda: False,
        another: Callable[[NodeId, Collection[NodeId]], NodeId | None] = lambda node, tried: None,  # noqa: ARG005
    ) -> None:
        self._means = means
        self._settings = settings or ExecuteSettings()
        self._stop = stop
        self._another = another

    async def execute(self, plan: Plan, name: str, lease: Lease) -> ExecutionReport:
        """Carry a plan out, and say what became of it.

        Args:
            plan: what is to be done.
            name: the plan's name; no two plans have one name.
            lease: the right to act. It is renewed meanwhile.

        Raises:
            ExceptionGroup: of what the store raised, where something could not be written down: what is open then is
                for `recover`.
        """
        clock = self._means.clock
        began_s = clock.now_s()
        if self._stop():
            return _never_begun(plan, name, began_s, Verdict.STOPPED, _STOPPED)
        try:
            snapshot = await self._means.eyes.snapshot()
        except PortTimeoutError as error:
            return _never_begun(plan, name, began_s, Verdict.FAILED, Hold(Code.DATA_STALE, str(error)))
        run = _Run(plan, name, lease, snapshot, self._means, self._settings, self._stop, self._another)
        is_lost = False
        try:
            async with asyncio.TaskGroup() as group:
                alive = group.create_task(run.mandate.keep_alive())
                await run.carry_out(group)
                alive.cancel()
        except* LeaseLostError:
            is_lost = True
        report = run.report(began_s, is_lost=is_lost)
        if not is_lost:
            try:
                await self._means.store.append("execution", report.to_json(), at_s=clock.now_s())
            except PortTimeoutError as error:
                # All is done and written down; only the summary is missing, and whoever gets the report has that.
                report = replace(report, alerts=(*report.alerts, f"the report is not in the journal: {error}"))
        return report


class _Run:
    """One plan on its way."""

    def __init__(
        self,
        plan: Plan,
        name: str,
        lease: Lease,
        snapshot: Snapshot,
        means: Means,
        settings: ExecuteSettings,
        stop: Callable[[], bool],
        another: Callable[[NodeId, Collection[NodeId]], NodeId | None],
    ) -> None:
        self.mandate = means.mandate(lease, settings)
        self._plan = plan
        self._name = name
        self._snapshot = snapshot
        self._means = means
        self._settings = settings
        self._stop = stop
        self._another = another
        self._mover = means.mover(self.mandate, settings)
        self._switcher = means.switcher(snapshot.cluster, self.mandate, settings, plan=name)
        self._asking = means.asking(self.mandate, settings)
        self._gate = Gate(snapshot.cluster, settings.caps)
        self._since = Since()
        self._switched = {*plan.wake, *(sleep.node for sleep in plan.sleep)}
        self._open: frozenset[ContainerId] = frozenset()
        self._rows: dict[int, MigrationRow] = {}
        self._outcomes: dict[int, StepOutcome] = {}
        self._broken: dict[NodeId, Hold] = {}
        self._wakes: dict[NodeId, asyncio.Task[bool]] = {}
        self._offs: dict[NodeId, asyncio.Task[None]] = {}
        self._woken: list[NodeId] = []
        self._not_woken: dict[NodeId, str] = {}

    async def carry_out(self, group: asyncio.TaskGroup) -> None:
        """All of it, in order."""
        sleepers = [sleep.node for sleep in self._plan.sleep]
        await self._switcher.load()
        self._switcher.know(frozenset(self._switched), self._snapshot)
        self._open = frozenset(row.move.container for row in await self._means.store.open_migrations())
        now_s = self._means.clock.now_s()
        for step in self._plan.steps:
            key = f"{self._name}/{step.number}"
            self._rows[step.number] = MigrationRow(key, self._name, step.move, MigrationState.PLANNED, changed_s=now_s)
        if self._rows:
            await self._means.store.add_migrations(tuple(self._rows.values()), fence=self.mandate.fence)
        for node in self._plan.wake:
            self._wakes[node] = group.create_task(self._wake(node))
        await self._mark(sleepers)
        self._let_sleep(group)
        for wave in self._plan.waves:
            async with asyncio.TaskGroup() as at_once:
                for step in wave:
                    at_once.create_task(self._step(step))
            self._let_sleep(group)
        for node in sleepers:
            if node not in self._offs:
                hold = _STOPPED if self._stop() else Hold(Code.DRAIN_BROKEN, f"not all have left {node}")
                await self._break(node, hold)
        await asyncio.gather(*self._offs.values(), *self._wakes.values())

    def report(self, began_s: float, *, is_lost: bool) -> ExecutionReport:
        """What became of it."""
        steps = tuple(self._outcome(step) for step in self._plan.steps)
        records = self._switcher.records
        asleep = [
            sleep.node for sleep in self._plan.sleep if sleep.node in self._offs and sleep.node not in self._broken
        ]
        asleep = [node for node in asleep if self._offs[node].done() and not self._offs[node].cancelled()]
        good = [step.end is StepEnd.ARRIVED for step in steps]
        good += [sleep.node in asleep for sleep in self._plan.sleep]
        good += [node in self._woken for node in self._plan.wake]
        some = any(good) or any(step.has_left for step in steps) or bool(self._woken)
        if is_lost:
            verdict = Verdict.LEASE_LOST
        elif all(good):
            verdict = Verdict.DONE
        elif self._stop():
            verdict = Verdict.STOPPED
        else:
            verdict = Verdict.PARTIAL if some else Verdict.FAILED
        return ExecutionReport(
            self._name,
            verdict,
            steps,
            asleep=tuple(asleep),
            presumed=tuple(node for node in asleep if records[node].is_presumed),
            not_asleep=dict(self._broken),
            woken=tuple(self._woken),
            not_woken=dict(self._not_woken),
            marked=tuple(sorted(self._switcher.marked)),
            alerts=tuple(self._switcher.alerts),
            began_s=began_s,
            ended_s=self._means.clock.now_s(),
        )

    def _outcome(self, step: Step) -> StepOutcome:
        found = self._outcomes.get(step.number)
        if found is not None:
            return found
        key = f"{self._name}/{step.number}"
        row = self._mover.rows.get(key, self._rows.get(step.number))
        if row is None:
            return StepOutcome(key, step.move, StepEnd.NOT_BEGUN, None, code=Code.HALTED, detail="never begun")
        return outcome_of(row)

    # Nodes

    async def _wake(self, node: NodeId) -> bool:
        """Whether that very node is up; where it is not, others are woken for what comes after this plan."""
        met = await self._try_to_wake(node)
        if not met:
            return True
        tried = {node, *self._plan.wake}
        for _ in range(self._settings.substitutes):
            other = None if self._stop() else self._another(node, frozenset(tried))
            if other is None:
                break
            tried.add(other)
            self._switched.add(other)
            self._switcher.know(frozenset({other}), self._snapshot)
            if not await self._try_to_wake(other):
                break
        return False

    async def _try_to_wake(self, node: NodeId) -> str:
        """Empty once it is up, else why it is not."""
        if node not in self._snapshot.states:
            met = f"there is no node {node} any more"
        else:
            met = await self._switcher.wake(node, lambda: not self._stop())
        if met:
            self._not_woken[node] = met
        else:
            self._woken.append(node)
        return met

    async def _mark(self, sleepers: list[NodeId]) -> None:
        """Put our mark on all nodes to be emptied, let it settle, and see who came while nobody looked."""
        if not sleepers:
            return
        async with asyncio.TaskGroup() as at_once:
            for node in sleepers:
                at_once.create_task(self._mark_one(node))
        marked_s = self._means.clock.now_s()
        await self._means.clock.sleep(self._settings.settle_s)
        snapshot = await self._newer_than(marked_s)
        holds = self._means.eyes.holds()
        for node in sleepers:
            if node in self._broken:
                continue
            if snapshot is None:
                await self._break(node, Hold(Code.DATA_STALE, f"nothing newer than the mark on {node} was read"))
                continue
            leaving = {step.move.container for step in self._plan.steps if step.move.source == node}
            there = {c for c, where in (*snapshot.placement.items(), *snapshot.targets.items()) if where == node}
            kept = sorted(there & holds.keys())
            if kept:
                await self._break(node, Hold(holds[kept[0]].code, f"{kept[0]} on {node}: {holds[kept[0]].detail}"))
            elif there - leaving:
                who = min(there - leaving)
                await self._break(node, Hold(Code.DRAIN_BROKEN, f"{who} came to {node} and is not in the plan"))

    async def _mark_one(self, node: NodeId) -> None:
        if self._stop():
            await self._break(node, _STOPPED)
            return
        is_known = node in self._snapshot.states
        met = await self._switcher.begin_drain(node) if is_known else f"there is no node {node} any more"
        if met:
            await self._break(node, Hold(Code.NODE_NOT_READY, met))

    async def _newer_than(self, at_s: float) -> Snapshot | None:
        end_s = self._means.clock.monotonic_s() + self._settings.fresh_s
        while True:
            try:
                snapshot = await self._means.eyes.snapshot()
            except PortTimeoutError:
                snapshot = None
            if snapshot is not None and taken_s(snapshot) >= at_s:
                return snapshot
            if self._means.clock.monotonic_s() >= end_s:
                return None
            await self._means.clock.sleep(self._settings.moves.look_s)

    async def _break(self, node: NodeId, hold: Hold) -> None:
        """A node that was to sleep stays on."""
        if node not in self._broken:
            self._broken[node] = hold
            if node in self._switcher.records:
                await self._switcher.call_off(node)

    def _let_sleep(self, group: asyncio.TaskGroup) -> None:
        """Begin to switch off what is emptied by now."""
        for sleep in self._plan.sleep:
            if sleep.node in self._broken or sleep.node in self._offs:
                continue
            if all(number in self._outcomes and self._outcomes[number].has_left for number in sleep.after):
                self._offs[sleep.node] = group.create_task(self._put_off(sleep.node))

    async def _put_off(self, node: NodeId) -> None:
        hold = await self._switcher.put_off(node, lambda: not self._stop())
        if hold is not None:
            self._broken[node] = hold

    # Moves

    async def _step(self, step: Step) -> None:
        row, move, settings = self._rows[step.number], step.move, self._settings.moves
        hold: Hold | None = None
        tried: Tried | None = None
        if move.target in self._wakes and not await self._wakes[move.target]:
            hold = Hold(Code.NODE_NOT_READY, f"{move.target} did not come up")
        while hold is None:
            async with self._gate.pass_through(move):
                hold = await self._why_not(step)
                if hold is not None:
                    break
                tried = await self._mover.attempt(row, live=self._is_live(move), size_bytes=self._size_bytes(move))
            row = self._rows[step.number] = tried.row
            if row.state is MigrationState.VERIFIED or tried.at_source:
                self._since.land(move.container, tried.runs_on or move.source, self._means.clock.now_s())
            tries = row.facts["attempts"]
            if not tried.may_help_to_repeat or tries >= settings.tries or self._stop():
                break
            await self._means.clock.sleep(self._asking.wait_s(tries))
        if row.state is MigrationState.PLANNED or (tried is not None and tried.at_source):
            row = self._rows[step.number] = await self._mover.call_off(row, hold, tried=tried)
        outcome = self._outcomes[step.number] = outcome_of(row, tried, hold if tried is None else None)
        if not outcome.has_left and any(sleep.node == move.source for sleep in self._plan.sleep):
            why = outcome.code.value if outcome.code is not None else outcome.end.value
            await self._break(move.source, Hold(Code.DRAIN_BROKEN, f"{move.container} stays on {move.source}: {why}"))

    async def _why_not(self, step: Step) -> Hold | None:
        """What stands against a step now; where nothing does it counts as under way from here on."""
        hold = self._why_not_by_plan(step)
        if hold is not None:
            return hold
        try:
            snapshot = await self._means.eyes.snapshot()
        except PortTimeoutError as error:
            return Hold(Code.DATA_STALE, str(error))
        age_s = self._means.clock.now_s() - taken_s(snapshot)
        if age_s > self._settings.stale_s:
            return Hold(Code.DATA_STALE, f"the newest snapshot is {age_s:.0f} s old")
        # From here to the note that it is under way nothing is awaited: no two steps are judged to fit into one room.
        hold = self._why_not_by_plan(step)
        if hold is None:
            records = {node: record for node, record in self._switcher.records.items() if node in self._switched}
            seen = self._since.over(snapshot, records)
            hold = recheck(step, seen, self._settings.caps, holds=self._means.eyes.holds())
        if hold is None:
            self._snapshot = snapshot
            self._since.under_way[step.move.container] = step.move
        return hold

    def _why_not_by_plan(self, step: Step) -> Hold | None:
        if self._stop():
            return _STOPPED
        if step.move.container in self._open:
            return Hold(Code.IN_FLIGHT, f"an earlier move of {step.move.container} is still open")
        for number in step.after:
            if number not in self._outcomes or not self._outcomes[number].has_left:
                return Hold(Code.ROOM_NOT_FREED, f"step {number} had to arrive first, and has not")
        broken = self._broken.get(step.move.source)
        return None if broken is None else Hold(Code.DRAIN_BROKEN, broken.detail)

    def _is_live(self, move: MoveOrder) -> bool:
        cluster = self._snapshot.cluster
        container = cluster.containers[cluster.container_index[move.container]]
        return self._means.orchestrator.capabilities.live and container.movability is Movability.LIVE

    def _size_bytes(self, move: MoveOrder) -> float:
        cluster = self._snapshot.cluster
        container = cluster.containers[cluster.container_index[move.container]]
        is_there = container.image in self._snapshot.images.get(move.target, frozenset())
        image_bytes = 0.0 if is_there else cluster.images[cluster.image_index[container.image]].size_bytes
        return container.request.memory_bytes + image_bytes


def _never_begun(plan: Plan, name: str, at_s: float, verdict: Verdict, hold: Hold) -> ExecutionReport:
    steps = tuple(
        StepOutcome(f"{name}/{step.number}", step.move, StepEnd.NOT_BEGUN, None, code=hold.code, detail=hold.detail)
        for step in plan.steps
    )
    return ExecutionReport(
        name,
        verdict,
        steps,
        not_asleep={sleep.node: hold for sleep in plan.sleep},
        not_woken=dict.fromkeys(plan.wake, hold.detail),
        began_s=at_s,
        ended_s=at_s,
    )
