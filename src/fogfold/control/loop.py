"""The service that operates a cluster: it looks, decides when it is time, asks where it must, and has it carried out.

One instance acts at a time, by the lease; another that waits for it only looks. One plan is carried out at a time; what
falls due meanwhile decides, is written down, and is not acted on. A lost lease, a silent cluster or a store that is
away end nothing but the cycle in which they come.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from fogfold.control.collect import Collected
from fogfold.control.deciding import Decider, Decision, Known
from fogfold.control.execute import Executor
from fogfold.control.failure import LeaseLostError, PortError, PortTimeoutError
from fogfold.control.guard.memory import Memory, MemorySettings, seen
from fogfold.control.load_evidence import EvidenceSettings, LoadEvidence, observe_load, site_loads
from fogfold.control.means import ExecuteSettings, Means
from fogfold.control.outcome import ExecutionReport, remembered
from fogfold.control.ports import Lease
from fogfold.control.power import PowerRecord
from fogfold.control.readings import Readings
from fogfold.control.recover import RecoveryReport, recover
from fogfold.control.schedule import Rhythm, Run, Schedule, ScheduleSettings
from fogfold.control.signs import Signs, SignSettings
from fogfold.control.switching import POWER_KIND, record_of_kept
from fogfold.control.watch import Watch
from fogfold.errors import ModelError
from fogfold.model.identity import NodeId, SiteId
from fogfold.model.resources import check_number

__all__ = ["Loop", "LoopSettings", "Mode", "Pending", "Status"]

STOP_KIND, STOP_NAME = "stop", "button"
"""Under which the stop button is kept."""


class Mode(StrEnum):
    """What becomes of a plan."""

    RECOMMEND = "recommend"
    """It is shown, and nothing more."""
    APPROVE = "approve"
    """It waits until somebody says yes or no, or until it is too old."""
    AUTOMATIC = "automatic"


@dataclass(frozen=True)
class LoopSettings:
    """How the service goes on."""

    holder: str
    """A name that no other process ever bears: under it the lease is held."""
    mode: Mode = Mode.RECOMMEND
    collect_s: float = 30.0
    """Time between two looks: what evidence and signs are counted in."""
    lease_s: float = 60.0
    approval_s: float = 600.0
    """How long a plan waits to be approved; later it is of another cluster."""
    schedule: ScheduleSettings = field(default_factory=ScheduleSettings)
    signs: SignSettings = field(default_factory=SignSettings)
    memory: MemorySettings = field(default_factory=MemorySettings)
    evidence: EvidenceSettings = field(default_factory=EvidenceSettings)
    execute: ExecuteSettings = field(default_factory=ExecuteSettings)

    def __post_init__(self) -> None:
        for name in ("collect_s", "lease_s", "approval_s"):
            check_number(name, float(getattr(self, name)), above=True)
        if not self.holder:
            raise ModelError("holder is empty; give a name that no other process bears")
        if not self.lease_s > self.collect_s:
            raise ModelError(
                f"lease_s is {self.lease_s:g} and collect_s {self.collect_s:g}; a lease must outlast a look, by which "
                "it is renewed"
            )


@dataclass(frozen=True)
class Pending:
    """A plan that waits to be approved."""

    number: int
    """Of its decision in the journal."""
    decision: Decision
    until_s: float


@dataclass(frozen=True)
class Status:
    """How the service stands."""

    mode: Mode
    stopped: str
    """Why everything is stopped by hand; empty where it is not."""
    holds_lease: bool
    now_s: float
    next_in_s: float | None
    interval_s: float
    decisions: int
    acting: int | None
    """Number of the decision that is being carried out."""
    pending: int | None
    trouble: str
    """What kept the last cycle from being whole; empty where nothing did."""


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
        self._signs = Signs(settings.signs)
        self._on_change = on_change
        self._lease: Lease | None = None
        self._is_settled = False
        self._stopped: str | None = None
        self._acting: asyncio.Task[None] | None = None
        self._acting_number: int | None = None
        self._decisions = 0
        self._closing = asyncio.Event()

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
                    await self.means.store.release(self._lease)
                except PortError as error:
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
            if run is None:
                return
            try:
                await self._decide(run, readings, collected)
            finally:
                self._schedule.finished(run)
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
        for event in self._signs.see(readings, collected):
            self._schedule.notice(event)
        loads = site_loads(collected.snapshot, collected.blind)
        self.evidence = {
            site: observe_load(self.evidence.get(site, LoadEvidence()), load, now_s, self.settings.evidence)
            for site, load in loads.items()
        }

    async def _settle(self, lease: Lease) -> None:
        """End what an instance before left open; until all of it is, nothing new is begun."""
        report = await recover(self.means, lease, self.settings.execute)
        await self._load_records()
        if report.steps or report.released or report.power or report.alerts:
            await self._write("recovery", _recovery_json(report))
        if report.lease_lost:
            raise LeaseLostError("the lease was lost during recovery")
        self._is_settled = report.is_complete

    async def _load_records(self) -> None:
        kept = await self.means.store.kept(POWER_KIND)
        self.records = {NodeId(name): record_of_kept(NodeId(name), value) for name, value in kept.items()}

    async def _decide(self, run: Run, readings: Readings, collected: Collected) -> None:
        clock = self.means.clock
        await self._load_records()
        self.memory, alerts = seen(self.memory, collected.snapshot, clock.now_s(), self.settings.memory)
        if run.rhythm is Rhythm.MACRO:
            self._schedule.see_pressure({node: pressure.score for node, pressure in collected.pressure.items()})
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
        decision = self.decider.decide(known, run)
        self._decisions += 1
        self.last = decision
        is_light = run.rhythm is Rhythm.MICRO and decision.is_empty and not decision.refused
        if is_light:
            return
        plan = "none"
        if not decision.is_empty:
            plan = self._what_becomes_of_it()
        value = {**decision.to_json(), "alerts": [*decision.alerts, *alerts], "mode": self.mode.value, "plan": plan}
        number = await self._write("decision", value)
        self.last_number = number
        if plan == "wait":
            self.pending = Pending(number, decision, clock.now_s() + self.settings.approval_s)
        elif plan == "act" and self._lease is not None:
            self._act(number, decision, self._lease)

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
