"""The service that operates a cluster: it looks, decides when it is time, asks where it must, and has it carried out.

One instance acts at a time, by the lease; another that waits for it only looks. One plan is carried out at a time; what
falls due meanwhile decides, is written down, and is not acted on. A lost lease, a silent cluster or a store that is
away end nothing but the cycle in which they come.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from fogfold.control.collect import Collected
from fogfold.control.deciding import Decider, Decision, Known
from fogfold.control.execute import Executor
from fogfold.control.failure import LeaseLostError, PortError, PortTimeoutError
from fogfold.control.gauge import Gauge, load_cores
from fogfold.control.guard.memory import Memory, seen
from fogfold.control.load_evidence import LoadEvidence, observe_load, site_loads
from fogfold.control.means import Means
from fogfold.control.outcome import ExecutionReport, remembered
from fogfold.control.ports import Lease
from fogfold.control.power import PowerRecord
from fogfold.control.readings import Readings
from fogfold.control.recorder import Recorder
from fogfold.control.recover import RecoveryReport, recover
from fogfold.control.remembrance import Remembrance
from fogfold.control.saving import Savings
from fogfold.control.schedule import Rhythm, Run, Schedule
from fogfold.control.signs import Signs
from fogfold.control.standing import LoopSettings, Mode, Pending, Status
from fogfold.control.switching import POWER_KIND, record_of_kept
from fogfold.control.watch import Watch
from fogfold.errors import ModelError
from fogfold.model.identity import NodeId, SiteId

__all__ = ["Loop", "LoopSettings", "Mode", "Pending", "Status"]

STOP_KIND, STOP_NAME = "stop", "button"
"""Under which the stop button is kept."""


class Loop:
    """The service.

    Args:
        means: ports, eyes and chance; its eyes are `watch`.
        watch: who collects.
        decider: who decides.
        settings: how it goes on.
        on_change: called with the kind and the values of everything that is written to the journal.
    """

    def __init__(
        self,
        means: Means,
        watch: Watch,
        decider: Decider,
        settings: LoopSettings,
        *,
        on_change: Callable[[str, int, Mapping[str, Any]], None] = lambda kind, number, value: None,  # noqa: ARG005
    ) -> None:
        self.means = means
        self.watch = watch
        self.decider = decider
        self.settings = settings
        self.mode = settings.mode
        self.memory = Memory()
        self.evidence: dict[SiteId, LoadEvidence] = {}
        self.records: dict[NodeId, PowerRecord] = {}
        self.last: Decision | None = None
        """The last whole or light decision; None before the first."""
        self.last_number: int | None = None
        self.pending: Pending | None = None
        self.trouble = ""
        self._schedule = Schedule(means.clock, settings.schedule)
        self._gauge = _gauge_of(settings)
        self._signs = Signs(settings.signs)
        self._on_change = on_change
        self._lease: Lease | None = None
        self._is_settled = False
        self._stopped: str | None = None
        self._acting: asyncio.Task[None] | None = None
        self._acting_number: int | None = None
        self._decisions = 0
        self._closing = asyncio.Event()
        believed = watch.settings
        self._recorder = Recorder(decider, believed, settings.inputs, settings.holder)
        self._remembrance = Remembrance(settings.evidence)
        self._savings = Savings(settings.saving)
        self._recalled: int | None = None
        """Under which fence it was recalled what an instance before kept."""
        self._unread: tuple[str, ...] = ()
        """What was kept and cannot be read, until that is told."""
        self._looked_since_s = math.inf

    # What others ask of it

    @property
    def stopped(self) -> str:
        """Why everything is stopped by hand; empty where it is not."""
        return self._stopped or ""

    def status(self) -> Status:
        """How it stands."""
        clock = self.means.clock
        due_s = self._schedule.next_s()
        return Status(
            self.mode,
            self.stopped,
            self._lease is not None,
            clock.now_s(),
            None if due_s is None else max(0.0, due_s - clock.monotonic_s()),
            self._schedule.interval_s,
            self._decisions,
            self._acting_number,
            None if self.pending is None else self.pending.number,
            self.trouble,
        )

    async def stop(self, why: str) -> None:
        """Press the stop button: it holds from now on, and after a restart.

        Raises:
            PortError: if it could not be written down; it holds in this process all the same.
        """
        self._stopped = why or "by hand"
        self.pending = None
        await self._keep_stop()

    async def resume(self) -> None:
        """Let the stop button go. Raises as `stop`."""
        before, self._stopped = self._stopped, ""
        try:
            await self._keep_stop()
        except (PortError, LeaseLostError):
            self._stopped = before
            raise

    async def approve(self, number: int, by: str = "") -> None:
        """Have the plan that waits carried out; `by` says who wants that.

        Raises:
            ModelError: if no plan of that number waits, or everything is stopped.
        """
        pending = self._waiting(number)
        if self._stopped:
            raise ModelError(f"plan {number} cannot be carried out while everything is stopped: {self._stopped}")
        if self._lease is None:
            raise ModelError(f"plan {number} cannot be carried out here: another instance holds the lease")
        if self._acting is not None:
            raise ModelError(f"plan {number} has to wait: plan {self._acting_number} is being carried out")
        self.pending = None
        await self._write("approval", {"decision": number, "approved": True, "by": by})
        self._act(pending.number, pending.decision, self._lease)

    async def deny(self, number: int, why: str = "") -> None:
        """Throw away the plan that waits. Raises as `approve`."""
        self._waiting(number)
        self.pending = None
        await self._write("approval", {"decision": number, "approved": False, "why": why})

    def decide_soon(self) -> None:
        """Ask for a whole decision as soon as may be."""
        self._schedule.ask_for(Rhythm.MACRO)

    def close(self) -> None:
        """Begin nothing more, let the moves that are under way come to their end, and give the lease back."""
        self._closing.set()

    # Its own course

    async def run(self) -> None:
        """Go on until it is closed."""
        try:
            while not self._closing.is_set():
                await self.cycle()
                await self._pause()
        finally:
            if self._acting is not None:
                await asyncio.gather(self._acting, return_exceptions=True)
            if self._lease is not None:
                try:
                    self._savings.close()
                    await self._write_outcomes()
                    await self._keep_memory(always=True)
                    await self.means.store.release(self._lease)
                except (PortError, LeaseLostError) as error:
                    self.trouble = f"the lease could not be given back: {error}"

    async def cycle(self) -> None:
        """One look, and what is due after it."""
        self.trouble = ""
        try:
            await self._hold_lease()
            readings, collected = await self.watch.collect()
            self._see(readings, collected)
            if self._lease is not None and not self._is_settled:
                await self._settle(self._lease)
            self._expire()
            run = self._schedule.due()
            if run is not None:
                try:
                    await self._decide(run, readings, collected)
                finally:
                    self._schedule.finished(run)
            await self._write_outcomes()
            await self._keep_memory()
        # Recovery does many things at once: what it meets comes as a group, and may be of several kinds.
        except* LeaseLostError as group:
            self._lease, self._is_settled = None, False
            self.trouble = _sentences(group)
        except* PortTimeoutError as group:
            self.trouble = f"nobody answers: {_sentences(group)}"
        except* PortError as group:
            self.trouble = _sentences(group)

    async def acted(self) -> None:
        """Return once nothing is being carried out any more."""
        if self._acting is not None:
            await asyncio.gather(self._acting, return_exceptions=True)

    async def _pause(self) -> None:
        """Sleep until the next look, or until something is due."""
        clock, wait_s = self.means.clock, self.settings.collect_s
        due_s = self._schedule.next_s()
        if due_s is not None:
            wait_s = min(wait_s, max(due_s - clock.monotonic_s(), 1.0))
        await clock.sleep(wait_s)

    async def _hold_lease(self) -> None:
        clock = self.means.clock
        lease = await self.means.store.acquire(self.settings.holder, for_s=self.settings.lease_s, now_s=clock.now_s())
        if lease is None or self._lease is None or lease.fence != self._lease.fence:
            self._is_settled = False
        self._lease = lease
        if self._stopped is None or lease is None:
            kept = (await self.means.store.kept(STOP_KIND)).get(STOP_NAME)
            self._stopped = str(kept["why"]) if kept is not None else ""

    def _see(self, readings: Readings, collected: Collected) -> None:
        """Take in what was read: signs, evidence of load, who was moved by others."""
        now_s = self.means.clock.now_s()
        self._looked_since_s = min(self._looked_since_s, now_s)
        for event in self._signs.see(readings, collected):
            self._schedule.notice(event)
        self._savings.look(readings, collected, self.means.clock.monotonic_s())
        self._feel(collected)
        loads = site_loads(collected.snapshot, collected.blind)
        self.evidence = {
            site: observe_load(self.evidence.get(site, LoadEvidence()), load, now_s, self.settings.evidence)
            for site, load in loads.items()
        }

    def _feel(self, collected: Collected) -> None:
        """Show a reading to the gauge, where it wants one; the schedule follows what it says."""
        gauge, monotonic_s = self._gauge, self.means.clock.monotonic_s()
        if gauge is None or not gauge.wants(monotonic_s):
            return
        load = load_cores(collected.snapshot)
        if load is None:
            gauge.miss(monotonic_s)
        else:
            gauge.see(monotonic_s, {node: pressure.score for node, pressure in collected.pressure.items()}, load)
        self._schedule.see_volatility(gauge.volatility)

    async def _settle(self, lease: Lease) -> None:
        """End what an instance before left open; until all of it is, nothing new is begun."""
        report = await recover(self.means, lease, self.settings.execute)
        await self._load_records()
        await self._recall(lease)
        collected = self.watch.collected
        if collected is not None:
            self.memory = remembered(self.memory, report.steps, collected.snapshot, self.settings.memory)
        report = replace(report, alerts=(*report.alerts, *self._unread))
        if report.steps or report.released or report.power or report.alerts:
            await self._write("recovery", _recovery_json(report))
            self._unread = ()
        if report.lease_lost:
            raise LeaseLostError("the lease was lost during recovery")
        self._is_settled = report.is_complete

    async def _recall(self, lease: Lease) -> None:
        """Take up what an instance before remembered, once for each time the lease is got."""
        if self._recalled == lease.fence:
            return
        store = self.means.store
        alerts: tuple[str, ...] = ()
        kept = await self._remembrance.recall(store)
        if self._decisions == 0:
            alerts = await self._remembrance.recall_policy(store, self.decider, self.means.clock.now_s())
        if kept.memory is not None:
            self.memory = kept.memory
        self.evidence = self._remembrance.with_kept(self.evidence, kept.evidence, looked_since_s=self._looked_since_s)
        self._unread = (*kept.alerts, *alerts)
        self._recalled = lease.fence

    async def _write_outcomes(self) -> None:
        """Write down what plans have really saved, where that is known by now."""
        for outcome in tuple(self._savings.ended):
            await self._write("outcome", outcome)
            self._savings.ended.remove(outcome)

    async def _keep_memory(self, *, always: bool = False) -> None:
        """Keep what must survive a restart, where it changed; nothing before it was known what is kept."""
        if self._lease is not None and self._recalled == self._lease.fence:
            store, fence = self.means.store, self._lease.fence
            await self._remembrance.keep(store, self.memory, self.evidence, fence=fence, always=always)

    async def _load_records(self) -> None:
        kept = await self.means.store.kept(POWER_KIND)
        self.records = {NodeId(name): record_of_kept(NodeId(name), value) for name, value in kept.items()}

    async def _decide(self, run: Run, readings: Readings, collected: Collected) -> None:
        clock = self.means.clock
        await self._load_records()
        self.memory, alerts = seen(self.memory, collected.snapshot, clock.now_s(), self.settings.memory)
        known = Known(
            readings,
            collected,
            clock.now_s(),
            self.memory,
            self.records,
            self.evidence,
            self.means.orchestrator.capabilities,
            unproven=tuple(n.id for n in readings.cluster.nodes if not self.means.power.is_proven(n.id)),
            stopped=self.stopped,
        )
        taken = self._recorder.take(known, run)
        decision = self.decider.decide(known, run)
        self._decisions += 1
        self.last = decision
        if run.rhythm is Rhythm.MACRO and self._gauge is not None:
            self._gauge.decided(is_idle=decision.is_empty)
            self._schedule.see_volatility(self._gauge.volatility)
        number = None
        try:
            if run.rhythm is not Rhythm.MICRO or not decision.is_empty or decision.refused:
                number = await self._write_down(decision, alerts)
        finally:
            self._recorder.note(taken, decision, number)
        self.trouble = self._recorder.trouble or self.trouble
        await self._recorder.write(self.means.store, clock)
        if number is not None and self._lease is not None and self._recalled == self._lease.fence:
            await self._remembrance.keep_policy(self.means.store, self.decider, clock.now_s(), fence=self._lease.fence)

    async def _write_down(self, decision: Decision, alerts: tuple[str, ...]) -> int:
        """Write a decision to the journal, and begin what comes of it; gives its number."""
        plan = "none"
        if not decision.is_empty:
            plan = self._what_becomes_of_it()
        value = {**decision.to_json(), "alerts": [*decision.alerts, *alerts], "mode": self.mode.value, "plan": plan}
        number = await self._write("decision", value)
        self.last_number = number
        if plan == "wait":
            self.pending = Pending(number, decision, self.means.clock.now_s() + self.settings.approval_s)
        elif plan == "act" and self._lease is not None:
            self._act(number, decision, self._lease)
        return number

    def _what_becomes_of_it(self) -> str:
        if self.mode is Mode.RECOMMEND or self._lease is None or not self._is_settled:
            return "show"
        if self._acting is not None:
            return "busy"
        return "wait" if self.mode is Mode.APPROVE else "act"

    def _act(self, number: int, decision: Decision, lease: Lease) -> None:
        self._acting_number = number
        self._acting = asyncio.create_task(self._carry_out(number, decision, lease))

    async def _carry_out(self, number: int, decision: Decision, lease: Lease) -> None:
        executor = Executor(
            self.means, self.settings.execute, stop=lambda: bool(self._stopped) or self._closing.is_set()
        )
        report: ExecutionReport | None = None
        try:
            report = await executor.execute(decision.plan, f"{number}", lease)
        except* (PortError, LeaseLostError) as group:
            # What is open is taken up by recovery in the next cycle.
            self._is_settled = False
            self.trouble = _sentences(group)
        finally:
            self._acting, self._acting_number = None, None
        if report is not None:
            snapshot = decision.known.collected.snapshot
            self.memory = remembered(self.memory, report.steps, snapshot, self.settings.memory)
            if report.left:
                self._is_settled = False
            self._savings.begin(number, decision, report)
            self._on_change("execution", number, report.to_json())

    def _expire(self) -> None:
        if self.pending is not None and self.means.clock.now_s() >= self.pending.until_s:
            self.pending = None

    def _waiting(self, number: int) -> Pending:
        self._expire()
        if self.pending is None or self.pending.number != number:
            waits = "no plan waits" if self.pending is None else f"plan {self.pending.number} waits"
            raise ModelError(f"plan {number} does not wait to be approved; {waits}")
        return self.pending

    async def _keep_stop(self) -> None:
        if self._lease is None:
            raise LeaseLostError("another instance holds the lease; press the button there, or wait until it is gone")
        value = {"why": self._stopped or "", "at_s": self.means.clock.now_s()}
        await self.means.store.keep(STOP_KIND, STOP_NAME, value, fence=self._lease.fence)
        await self._write("stop", value)

    async def _write(self, kind: str, value: Mapping[str, Any]) -> int:
        number = await self.means.store.append(kind, value, at_s=self.means.clock.now_s())
        self._on_change(kind, number, value)
        return number


def _gauge_of(settings: LoopSettings) -> Gauge | None:
    """The gauge that the time between whole decisions follows; None where that time is fixed."""
    shortest_s, longest_s = settings.schedule.macro_shortest_s, settings.schedule.macro_longest_s
    return Gauge(shortest_s, longest_s, settings.volatility) if shortest_s < longest_s else None


def _sentences(group: BaseExceptionGroup[BaseException]) -> str:
    """All that a group says, one after the other, each once."""
    inner = [_sentences(error) if isinstance(error, BaseExceptionGroup) else str(error) for error in group.exceptions]
    return "; ".join(dict.fromkeys(inner))


def _recovery_json(report: RecoveryReport) -> dict[str, Any]:
    return {
        "steps": [{"key": step.key, "end": step.end.value, "runs_on": step.runs_on} for step in report.steps],
        "released": list(report.released),
        "power": {node: state.name for node, state in report.power},
        "unread": list(report.unread),
        "alerts": list(report.alerts),
    }
